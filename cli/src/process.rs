//! The life of a node or router process.

use anyhow::bail;
use tracing::info;

use crate::shutdown::StopSignals;

/// A member of the cluster that runs in this process.
pub(crate) trait Running: Sized {
    /// Waits until it ends unasked, and says why.
    fn failed(&self) -> impl Future<Output = anyhow::Error> + Send;
    /// Stops it in good order, within its own deadline.
    fn stop(self) -> impl Future<Output = ()> + Send;
}

impl Running for clientmcp_node::Node {
    async fn failed(&self) -> anyhow::Error {
        anyhow::Error::msg(self.failed().await)
    }

    async fn stop(self) {
        self.stop().await;
    }
}

impl Running for clientmcp_router::Router {
    async fn failed(&self) -> anyhow::Error {
        anyhow::Error::msg(self.failed().await)
    }

    async fn stop(self) {
        self.stop().await;
    }
}

/// Starts a member and runs it until a signal, a second signal, or its own failure.
pub(crate) async fn run<M, E>(start: impl Future<Output = Result<M, E>>) -> anyhow::Result<()>
where
    M: Running,
    E: std::error::Error + Send + Sync + 'static,
{
    // Before the start, so that a signal that arrives during it is not lost.
    let mut signals = StopSignals::listen()?;
    let member = start.await?;

    tokio::select! {
        () = signals.next() => {}
        error = member.failed() => return Err(error),
    }
    info!("stopping; a second signal stops at once");
    tokio::select! {
        () = member.stop() => Ok(()),
        () = signals.next() => bail!("stopped at once by a second signal"),
    }
}
