//! Letting the apps of a node that stops go.
//!
//! Apps that remember calls are asked to move, spread over half of the time, and their calls go
//! with them. The others are closed once they have nothing in flight; they come back to other
//! nodes all by themselves, so they are not let go all at once.

use std::sync::Arc;

use clientmcp_core::message::MoveReason;
use tokio::time::{Instant, sleep, timeout};

use crate::connection::{Connection, stopping};
use crate::limits;
use crate::moving;
use crate::state::NodeState;

/// Has all apps go elsewhere within the time that the node has for it, and waits for the ends of
/// their sockets.
pub(crate) async fn let_go(node: &NodeState) {
    let others = moving::has_others(node);
    if others {
        // Routers and load balancers take note; calls go on.
        sleep(node.timings.pre_drain).await;
    }
    let until = Instant::now() + node.timings.drain;
    let moving = async {
        if others {
            let open = open_sockets(node);
            moving::ask(node, &open, MoveReason::Drain, node.timings.drain / 2).await;
        }
    };
    tokio::join!(moving, close_idle(node, others, until));
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

/// Closes sockets that have no call in flight, but for those that can move, until none is left or
/// the time is up.
async fn close_idle(node: &NodeState, others: bool, until: Instant) {
    loop {
        let open = open_sockets(node);
        let left = until.saturating_duration_since(Instant::now());
        if open.is_empty() || left.is_zero() {
            return;
        }
        let steps = left.as_millis() / limits::DRAIN_STEP.as_millis();
        let steps = usize::try_from(steps.max(1)).unwrap_or(usize::MAX);
        let batch = limits::DRAIN_BATCH.max(open.len().div_ceil(steps));
        let idle = open
            .iter()
            .filter(|connection| connection.is_idle() && !(others && connection.resumes()));
        for connection in idle.take(batch) {
            connection.close(stopping());
        }
        sleep(limits::DRAIN_STEP.min(left)).await;
    }
}

fn open_sockets(node: &NodeState) -> Vec<Arc<Connection>> {
    let mut open = node.open_sockets();
    open.retain(|connection| !connection.has_ended());
    open
}
