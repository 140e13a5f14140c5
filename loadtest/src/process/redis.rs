//! A Redis server, and the few commands that a run gives it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::{Process, Signal};
use crate::network::Host;

const PORT: u16 = 6379;
/// A server that runs answers within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// The store's server.
#[derive(Debug)]
pub struct Redis {
    host: Host,
    log: PathBuf,
    process: Option<Process>,
}

/// An answer in the Redis protocol, as far as the commands here need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A text, or a number as text.
    Text(String),
    /// Nothing.
    Nil,
    /// A list.
    List(Vec<Answer>),
}

impl Redis {
    /// A server that does not run yet; its log goes to this folder.
    #[must_use]
    pub fn new(host: Host, folder: &Path) -> Self {
        let log = folder.join(format!("{}.log", host.name));
        Self {
            host,
            log,
            process: None,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        (self.host.ip, PORT).into()
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr())
    }

    /// Its place in the network.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Starts it, empty: nothing is ever written to a disk. It answers when this returns.
    ///
    /// # Errors
    /// It runs already, or does not start.
    pub async fn start(&mut self) -> anyhow::Result<()> {
        ensure!(self.process.is_none(), "Redis runs already");
        let mut command = self.host.command(Path::new("redis-server"));
        let folder = self.log.parent().context("a log is in a folder")?;
        command
            .args(["--bind", &self.host.ip.to_string()])
            .args(["--port", &PORT.to_string(), "--protected-mode", "no"])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(folder);
        let mut process = Process::start("redis", &mut command, &self.log)?;
        let addr = self.addr();
        process
            .wait_until("ready", PATIENCE, async || {
                ask(addr, &["PING"]).await.is_ok()
            })
            .await?;
        self.process = Some(process);
        Ok(())
    }

    /// Kills it (SIGKILL): what it held is lost.
    ///
    /// # Errors
    /// It does not run.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.process
            .take()
            .context("Redis does not run")?
            .kill()
            .await
    }

    /// Stands still, or goes on.
    ///
    /// # Errors
    /// It does not run.
    pub async fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let process = self.process.as_ref().context("Redis does not run")?;
        process.signal(signal).await
    }

    /// Gives it a command, on a connection of its own.
    ///
    /// # Errors
    /// It does not answer, or refuses.
    pub async fn ask(&self, command: &[&str]) -> anyhow::Result<Answer> {
        ask(self.addr(), command).await
    }

    /// Gives it many commands at once.
    ///
    /// # Errors
    /// As for [`Redis::ask`].
    pub async fn ask_all(&self, commands: &[Vec<String>]) -> anyhow::Result<Vec<Answer>> {
        let asked = tokio::time::timeout(PATIENCE, exchange(self.addr(), commands)).await;
        asked.context("Redis does not answer")?
    }
}

async fn ask(addr: SocketAddr, command: &[&str]) -> anyhow::Result<Answer> {
    let command = command.iter().map(|&word| word.to_owned()).collect();
    let asked = tokio::time::timeout(PATIENCE, exchange(addr, &[command])).await;
    let mut answers = asked.context("Redis does not answer")??;
    answers.pop().context("Redis does not answer")
}

async fn exchange(addr: SocketAddr, commands: &[Vec<String>]) -> anyhow::Result<Vec<Answer>> {
    let mut stream = TcpStream::connect(addr).await?;
    let (read, mut write) = stream.split();
    let mut text = String::new();
    for command in commands {
        text.push_str(&format!("*{}\r\n", command.len()));
        for word in command {
            text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
    }
    let mut read = BufReader::new(read);
    let answers = async {
        let mut answers = Vec::with_capacity(commands.len());
        for _ in commands {
            answers.push(answer(&mut read).await?);
        }
        anyhow::Ok(answers)
    };
    let (written, answers) = tokio::join!(write.write_all(text.as_bytes()), answers);
    written?;
    answers
}

async fn answer(
    read: &mut (impl tokio::io::AsyncBufRead + Unpin + Send),
) -> anyhow::Result<Answer> {
    let mut line = String::new();
    read.read_line(&mut line).await?;
    let line = line.trim_end();
    let Some((kind, rest)) = line.split_at_checked(1) else {
        bail!("Redis has hung up");
    };
    match kind {
        "+" | ":" => Ok(Answer::Text(rest.to_owned())),
        "$" if rest == "-1" => Ok(Answer::Nil),
        "$" => {
            let mut bytes = vec![0; rest.parse::<usize>()? + 2];
            read.read_exact(&mut bytes).await?;
            bytes.truncate(bytes.len() - 2);
            Ok(Answer::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        "*" => {
            let count: usize = rest.parse()?;
            let mut list = Vec::with_capacity(count);
            for _ in 0..count {
                list.push(Box::pin(answer(read)).await?);
            }
            Ok(Answer::List(list))
        }
        _ => bail!("Redis refuses: {rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::process::Folder;

    #[tokio::test]
    async fn answers_are_read() {
        let mut bytes = &b"*3\r\n$3\r\na\r\n\r\n$-1\r\n:7\r\n-ERR no\r\n"[..];
        let text = |text: &str| Answer::Text(text.to_owned());
        let list = answer(&mut bytes).await.unwrap();
        assert_eq!(
            list,
            Answer::List(vec![text("a\r\n"), Answer::Nil, text("7")])
        );
        assert!(answer(&mut bytes).await.is_err(), "a refusal");
        assert!(answer(&mut bytes).await.is_err(), "the end");
    }

    #[tokio::test]
    async fn a_server_starts_empty_again() {
        let folder = Folder::new().unwrap();
        let mut network = Network::loopback().unwrap();
        let mut redis = Redis::new(network.host("redis").unwrap(), folder.path());
        redis.start().await.unwrap();
        redis.ask(&["SET", "a", "b c"]).await.unwrap();
        let get = [vec!["GET".to_owned(), "a".to_owned()]];
        assert_eq!(
            redis.ask_all(&get).await.unwrap(),
            [Answer::Text("b c".to_owned())]
        );
        redis.kill().await.unwrap();
        assert!(redis.ask(&["PING"]).await.is_err());
        redis.start().await.unwrap();
        assert_eq!(redis.ask_all(&get).await.unwrap(), [Answer::Nil]);
    }
}
