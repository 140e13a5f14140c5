//! A plain TCP load balancer, as clouds have them: it knows no HTTP, asks each router whether it
//! is ready, and gives new connections to ready ones alone, in turn.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::process::is_ready;

/// How often each router is asked whether it is ready.
const CHECK_EVERY: Duration = Duration::from_millis(200);

/// A router behind the balancer.
#[derive(Debug, Clone, Copy)]
pub struct Backend {
    /// Where connections go.
    pub addr: SocketAddr,
    /// Where `/readyz` is.
    pub admin: SocketAddr,
}

/// A running balancer; it ends when this is dropped.
#[derive(Debug)]
pub struct Balancer {
    addr: SocketAddr,
    inner: Arc<Inner>,
    _running: DropGuard,
}

#[derive(Debug)]
struct Inner {
    backends: Vec<Backend>,
    ready: Mutex<Vec<bool>>,
    /// By the peer's address: the backend of each connection.
    carried: Mutex<HashMap<SocketAddr, SocketAddr>>,
    next: AtomicUsize,
}

impl Balancer {
    /// Starts one before these routers, which are taken for ready until the first check.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start(backends: Vec<Backend>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let stopping = CancellationToken::new();
        let inner = Arc::new(Inner {
            ready: Mutex::new(vec![true; backends.len()]),
            backends,
            carried: Mutex::default(),
            next: AtomicUsize::new(0),
        });
        for index in 0..inner.backends.len() {
            let checking = check(inner.clone(), index);
            tokio::spawn(stopping.clone().run_until_cancelled_owned(checking));
        }
        let accepting = accept(inner.clone(), listener, stopping.clone());
        tokio::spawn(stopping.clone().run_until_cancelled_owned(accepting));
        Ok(Self {
            addr,
            inner,
            _running: stopping.drop_guard(),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Which router carried the connection from this address; asked once, at its end.
    pub(super) fn backend(&self, peer: SocketAddr) -> Option<SocketAddr> {
        lock(&self.inner.carried).remove(&peer)
    }
}

impl Inner {
    /// Ready backends, beginning with the one whose turn it is.
    fn candidates(&self) -> Vec<SocketAddr> {
        let ready = lock(&self.ready);
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.backends.len();
        (0..count)
            .map(|step| (first + step) % count)
            .filter(|&index| ready[index])
            .map(|index| self.backends[index].addr)
            .collect()
    }
}

async fn check(inner: Arc<Inner>, index: usize) {
    loop {
        let ready = is_ready(inner.backends[index].admin).await;
        lock(&inner.ready)[index] = ready;
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

async fn accept(inner: Arc<Inner>, listener: TcpListener, stopping: CancellationToken) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let carrying = carry(inner.clone(), stream, peer);
                tokio::spawn(stopping.clone().run_until_cancelled_owned(carrying));
            }
            // Out of file descriptors, most likely: another accept at once would fail too.
            Err(_) => tokio::time::sleep(CHECK_EVERY).await,
        }
    }
}

/// Connects to the first candidate that takes the connection, and copies bytes.
async fn carry(inner: Arc<Inner>, mut stream: TcpStream, peer: SocketAddr) {
    for addr in inner.candidates() {
        let Ok(mut backend) = TcpStream::connect(addr).await else {
            continue;
        };
        lock(&inner.carried).insert(peer, addr);
        // Small messages are not held back on either side.
        let _ = (stream.set_nodelay(true), backend.set_nodelay(true));
        let copied = tokio::io::copy_bidirectional(&mut stream, &mut backend).await;
        if copied.is_err() {
            // A reset is passed on as one, as balancers do.
            let _ = (stream.set_zero_linger(), backend.set_zero_linger());
        }
        return;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that runs under the locks panics half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A backend that says its name to each connection, and whether it is ready to each check.
    async fn backend(name: &'static str, ready: bool) -> Backend {
        let listeners = [
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        ];
        let [addr, admin] = [0, 1].map(|index: usize| listeners[index].local_addr().unwrap());
        let [serving, checks] = listeners;
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = serving.accept().await.unwrap();
                stream.write_all(name.as_bytes()).await.unwrap();
            }
        });
        let status = if ready { "200 OK" } else { "503 No" };
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = checks.accept().await.unwrap();
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Backend { addr, admin }
    }

    async fn ask(balancer: &Balancer) -> (String, Option<SocketAddr>) {
        let mut stream = TcpStream::connect(balancer.addr()).await.unwrap();
        let mut name = String::new();
        stream.read_to_string(&mut name).await.unwrap();
        (name, balancer.backend(stream.local_addr().unwrap()))
    }

    #[tokio::test]
    async fn ready_routers_get_connections_in_turn() {
        let a = backend("a", true).await;
        let b = backend("b", true).await;
        let balancer = Balancer::start(vec![a, b]).await.unwrap();
        let mut got = Vec::new();
        for _ in 0..4 {
            let (name, carried) = ask(&balancer).await;
            assert_eq!(carried, Some(if name == "a" { a.addr } else { b.addr }));
            got.push(name);
        }
        assert_eq!(got, ["a", "b", "a", "b"]);
    }

    #[tokio::test]
    async fn a_router_that_is_not_ready_gets_none_and_one_that_refuses_is_passed_over() {
        let away = backend("away", false).await;
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = backend("there", true).await;
        // Says that it is ready, and refuses: killed a moment ago.
        let killed = Backend {
            addr: gone.local_addr().unwrap(),
            admin: there.admin,
        };
        drop(gone);
        let balancer = Balancer::start(vec![away, killed, there]).await.unwrap();
        while lock(&balancer.inner.ready)[0] {
            tokio::task::yield_now().await;
        }
        for _ in 0..6 {
            assert_eq!(ask(&balancer).await.0, "there");
        }
    }
}
