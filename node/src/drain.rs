//! Letting the apps of a node that stops go.
//!
//! They come back to other nodes all by themselves, so they are not let go all at once, and none
//! while it has a call to answer, as long as there is time.

use std::sync::Arc;

use tokio::time::{Instant, sleep, timeout};

use crate::connection::{Connection, stopping};
use crate::limits;
use crate::state::NodeState;

/// Closes all sockets within the time that the node has for it, and waits for their ends.
pub(crate) async fn close_sockets(node: &NodeState) {
    let until = Instant::now() + node.timings.drain;
    loop {
        let open = open_sockets(node);
        let left = until.saturating_duration_since(Instant::now());
        if open.is_empty() || left.is_zero() {
            break;
        }
        let steps = left.as_millis() / limits::DRAIN_STEP.as_millis();
        let steps = usize::try_from(steps.max(1)).unwrap_or(usize::MAX);
        let batch = limits::DRAIN_BATCH.max(open.len().div_ceil(steps));
        let idle = open.iter().filter(|connection| connection.is_idle());
        for connection in idle.take(batch) {
            connection.close(stopping());
        }
        sleep(limits::DRAIN_STEP).await;
    }
    for connection in open_sockets(node) {
        connection.close(stopping());
    }
    // Close frames get their time.
    node.sockets.close();
    let ended = node.sockets.wait();
    if timeout(limits::SOCKETS_END_WITHIN, ended).await.is_err() {
        tracing::info!(left = node.sockets.len(), "dropping sockets");
    }
}

fn open_sockets(node: &NodeState) -> Vec<Arc<Connection>> {
    let mut open = node.open_sockets();
    open.retain(|connection| !connection.has_ended());
    open
}
