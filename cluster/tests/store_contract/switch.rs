//! An address in front of servers, as a load balancer or a floating IP address is.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Passes connections on until it is dropped.
pub(crate) struct Switch {
    port: u16,
    target: watch::Sender<u16>,
    stranded: Arc<watch::Sender<u64>>,
    task: JoinHandle<()>,
}

impl Switch {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let (target, targets) = watch::channel(port);
        let stranded = Arc::new(watch::Sender::new(0));
        let strandings = stranded.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let target = *targets.borrow();
                tokio::spawn(pass_on(client, target, strandings.subscribe()));
            }
        });
        Self {
            port: own_port,
            target,
            stranded,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// New connections lead to another server; those that exist stay where they are.
    pub(crate) fn turn_to(&self, port: u16) {
        self.target.send_replace(port);
    }

    /// Connections that exist stay open and carry nothing any more.
    pub(crate) fn strand(&self) {
        self.stranded.send_modify(|times| *times += 1);
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(mut client: TcpStream, target: u16, mut stranded: watch::Receiver<u64>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", target)).await else {
        return;
    };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = stranded.changed() => std::future::pending().await,
    }
}
