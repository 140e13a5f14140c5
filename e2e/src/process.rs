//! A program that a test starts, and the folder that it writes to. It is ended by its process ID,
//! when the test says so or when it is dropped.

use std::ffi::OsStr;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::{Child, Command};

use crate::waiting::{soon, until};

/// A program that was started, and what it wrote.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program; what it prints goes to `<folder>/<name>.log`. It inherits `PATH` alone.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(name: &str, command: &mut Command, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = std::fs::File::create(&log).expect("the folder can be written");
        let both = file.try_clone().expect("a file can be written twice");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = command.as_std().get_program().to_owned();
        let given: Vec<_> = command
            .as_std()
            .get_envs()
            .map(|(k, v)| (k.to_owned(), v.map(OsStr::to_owned)))
            .collect();
        command.env_clear().env("PATH", path);
        for (key, value) in given {
            command.env(key, value.unwrap_or_default());
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(both)
            .kill_on_drop(true)
            .spawn();
        let child = child.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        Self { child, log }
    }

    /// Its process ID.
    ///
    /// # Panics
    /// If it has ended.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the process runs")
    }

    /// Whether its end has not been seen yet.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.child.id().is_some()
    }

    /// Asks it to stop (SIGTERM).
    pub async fn terminate(&self) {
        self.signal("TERM").await;
    }

    /// Stops it where it stands (SIGKILL), and waits until it is gone.
    ///
    /// # Panics
    /// If it has ended.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("the process runs");
    }

    /// Sends a signal by its name.
    ///
    /// # Panics
    /// If the process has ended.
    pub async fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status()
            .await;
        assert!(sent.expect("there is a program kill").success());
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it goes on.
    pub async fn ended(&mut self) -> ExitStatus {
        let log = self.log.clone();
        soon(&format!("the end of {}", log.display()), self.child.wait())
            .await
            .expect("a child can be waited for")
    }

    /// What it has written so far.
    ///
    /// # Panics
    /// If the log is gone.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).expect("the log stands")).into_owned()
    }

    /// Waits until a condition holds, and fails at once if the process ends before.
    ///
    /// # Panics
    /// If it ends, or the condition does not come to hold.
    pub async fn wait_until(&mut self, what: &str, mut condition: impl AsyncFnMut() -> bool) {
        until(&format!("{what} ({})", self.log.display()), async || {
            let ended = self.child.try_wait().expect("a child can be waited for");
            assert!(
                ended.is_none(),
                "{what}: ended with {ended:?}:\n{}",
                self.log()
            );
            condition().await
        })
        .await;
    }

    /// Waits until the log has this many lines that contain a text.
    pub async fn wait_for_lines(&mut self, text: &str, count: usize) {
        let log = self.log.clone();
        self.wait_until(&format!("{count} lines with {text:?}"), async || {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            log.lines().filter(|line| line.contains(text)).count() >= count
        })
        .await;
    }
}

/// A folder for a test's files; it stays if the test fails.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder below the system's folder for such things.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "clientmcp-e2e-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the folder for temporary files can be written");
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("the folder can be written");
        path
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A program that was built beside this test.
///
/// # Panics
/// If it was not.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let built = test
        .parent()
        .and_then(Path::parent)
        .expect("tests are built into <target>/<profile>/deps");
    let program = built.join(name);
    assert!(
        program.is_file(),
        "{} is missing: run `make build` first",
        program.display()
    );
    program
}

/// A loopback address whose port was free a moment ago.
///
/// # Panics
/// If none is.
#[must_use]
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener
        .local_addr()
        .expect("a bound socket has an address")
}
