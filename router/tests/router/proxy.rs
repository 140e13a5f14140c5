//! A network between router and node that can go silent: no byte passes, and nothing is reset.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    addr: SocketAddr,
    silent: watch::Sender<bool>,
}

impl Proxy {
    /// A proxy to an address.
    pub(crate) async fn start(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (silent, silence) = watch::channel(false);
        tokio::spawn(accept(listener, to.to_owned(), silence));
        Self { addr, silent }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Nothing passes any more, or all again.
    pub(crate) fn silence(&self, silent: bool) {
        self.silent.send_replace(silent);
    }
}

async fn accept(listener: TcpListener, to: String, silence: watch::Receiver<bool>) {
    loop {
        let (near, _) = listener.accept().await.unwrap();
        let far = TcpStream::connect(&to).await.unwrap();
        let ((near_reads, near_writes), (far_reads, far_writes)) =
            (near.into_split(), far.into_split());
        tokio::spawn(pump(near_reads, far_writes, silence.clone()));
        tokio::spawn(pump(far_reads, near_writes, silence.clone()));
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut silence: watch::Receiver<bool>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read) = from.read(&mut buffer).await {
        let passes = silence.wait_for(|silent| !silent).await.is_ok();
        if read == 0 || !passes || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
