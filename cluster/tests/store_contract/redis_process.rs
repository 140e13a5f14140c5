//! A `redis-server` process for one test.

use std::net::TcpListener;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Runs until it is dropped. Keeps nothing on disk.
pub(crate) struct RedisProcess {
    port: u16,
    child: Child,
    /// Kept open, so that the server can go on logging.
    _log: Lines<BufReader<ChildStdout>>,
}

impl RedisProcess {
    /// Starts a server on a free port and waits until it takes connections.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// As [`start`](Self::start), with further arguments.
    pub(crate) async fn start_with(arguments: &[&str]) -> Self {
        for _ in 0..10 {
            if let Some(server) = Self::start_at(Self::free_port(), arguments).await {
                return server;
            }
        }
        panic!("redis-server found no free port");
    }

    /// A port that was free a moment ago.
    pub(crate) fn free_port() -> u16 {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    }

    /// Starts a server on a port; `None` if it ends at once, as it does when the port is taken.
    pub(crate) async fn start_at(port: u16, arguments: &[&str]) -> Option<Self> {
        let mut child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .arg("--dir")
            .arg(std::env::temp_dir())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "these tests need a Redis server and could not start redis-server: {error}; \
                     install it, for example with `apt-get install redis-server`"
                )
            });
        let mut log = BufReader::new(child.stdout.take().unwrap()).lines();
        while let Some(line) = log.next_line().await.unwrap() {
            if line.contains("eady to accept connections") {
                return Some(Self {
                    port,
                    child,
                    _log: log,
                });
            }
        }
        None
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Ends the server as a crash would, and waits until it is gone.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Sends the server's process a signal.
    pub(crate) async fn signal(&self, signal: &str) {
        let pid = self.child.id().expect("it runs until it is dropped");
        let sent = Command::new("kill")
            .args(["-s", signal, &pid.to_string()])
            .status()
            .await;
        assert!(sent.unwrap().success());
    }

    /// A connection past the store, to look at what it wrote and to be unkind to it.
    pub(crate) async fn plain(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// Runs a command past the store.
    pub(crate) async fn command<T: redis::FromRedisValue>(&self, words: &str) -> T {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().unwrap());
        for word in words {
            command.arg(word);
        }
        command.query_async(&mut self.plain().await).await.unwrap()
    }
}
