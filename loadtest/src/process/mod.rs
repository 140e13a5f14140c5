//! The processes of a cluster: programs that are started, signalled, awaited and started again.

mod admin;
mod cluster;
mod folder;
mod member;
mod redis;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::process::{Child, Command};

pub use admin::{Page, fetch};
pub use cluster::{Cluster, Shape, shares};
pub use folder::Folder;
pub(crate) use member::is_ready;
pub use member::{Binary, Member, Role};
pub use redis::{Answer, Redis};

/// Between two looks at something that is waited for.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a process is told by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: stop in good order.
    Terminate,
    /// SIGSTOP: stand still.
    Stop,
    /// SIGCONT: go on.
    Continue,
}

impl Signal {
    fn flag(self) -> &'static str {
        match self {
            Signal::Terminate => "-TERM",
            Signal::Stop => "-STOP",
            Signal::Continue => "-CONT",
        }
    }
}

/// A program that was started. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program; what it prints is appended to a file. Of the environment it inherits
    /// `PATH` alone.
    ///
    /// # Errors
    /// It cannot be started, or the file cannot be written.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let file = std::fs::File::options().create(true).append(true).open(log);
        let file = file.with_context(|| log.display().to_string())?;
        let both = file.try_clone()?;
        let given: Vec<_> = command
            .as_std()
            .get_envs()
            .map(|(key, value)| (key.to_owned(), value.map(OsStr::to_owned)))
            .collect();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (key, value) in given {
            command.env(key, value.unwrap_or_default());
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(both)
            // Ctrl-C is for the one who started the cluster, who stops it in good order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{name}: {:?}", command.as_std().get_program()))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
        })
    }

    /// Its process ID; `None` once its end was seen.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Where what it prints is written.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// It has ended.
    pub async fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let Some(pid) = self.pid() else {
            bail!("{} has ended", self.name);
        };
        let sent = Command::new("kill")
            .args([signal.flag(), &pid.to_string()])
            .status()
            .await
            .context("kill")?;
        ensure!(sent.success(), "{}: kill {}", self.name, signal.flag());
        Ok(())
    }

    /// Stops it where it stands (SIGKILL), and waits until it is gone.
    ///
    /// # Errors
    /// It cannot be signalled.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("SIGKILL")
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It goes on for longer than this.
    pub async fn ended(&mut self, within: Duration) -> anyhow::Result<ExitStatus> {
        match tokio::time::timeout(within, self.child.wait()).await {
            Ok(status) => Ok(status?),
            Err(_) => bail!("{} still runs after {within:?}", self.name),
        }
    }

    /// How it ended, if it has.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until a condition holds, and fails at once if the process ends before.
    ///
    /// # Errors
    /// It ends (with the last lines that it printed), or the condition does not come to hold.
    pub async fn wait_until(
        &mut self,
        what: &str,
        within: Duration,
        mut condition: impl AsyncFnMut() -> bool,
    ) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + within;
        while !condition().await {
            if let Some(status) = self.has_ended() {
                bail!("{} ended with {status}: {}", self.name, self.last_lines());
            }
            ensure!(
                tokio::time::Instant::now() < deadline,
                "{} is not {what} after {within:?}: {}",
                self.name,
                self.last_lines()
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// How many files it has open; `None` if it has ended.
    #[must_use]
    pub fn open_files(&self) -> Option<usize> {
        let folder = format!("/proc/{}/fd", self.pid()?);
        Some(std::fs::read_dir(folder).ok()?.count())
    }

    fn last_lines(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_is_started_signalled_and_awaited() {
        let folder = Folder::new().unwrap();
        let log = folder.path().join("log");
        let mut command = Command::new("sleep");
        let mut process = Process::start("sleep", command.arg("60"), &log).unwrap();
        assert!(process.open_files().is_some());
        assert!(process.ended(Duration::from_millis(1)).await.is_err());
        process.signal(Signal::Terminate).await.unwrap();
        let status = process.ended(Duration::from_secs(10)).await.unwrap();
        assert!(!status.success());
        assert!(process.signal(Signal::Stop).await.is_err(), "it has ended");
        let waited = process
            .wait_until("ready", Duration::from_secs(1), async || false)
            .await;
        assert!(waited.unwrap_err().to_string().contains("ended with"));
    }
}
