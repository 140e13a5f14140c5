//! Planned moves (SPEC.md §4.10): apps whose node stops, whose client ID the ring has given to
//! another node, or whose tunnel comes through a router that stops.
//!
//! Each app is asked once on a connection, and the asking is spread over time. It connects
//! anew, registers, and is displaced here; its calls go on at the new connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::ids::ClientId;
use clientmcp_core::message::MoveReason;
use tokio::time::{Instant, sleep};

use crate::connection::Connection;
use crate::limits;
use crate::state::NodeState;

/// Whether there is another node that takes what moves.
pub(crate) fn has_others(node: &NodeState) -> bool {
    let view = node.membership.view();
    let ring = view.ring();
    ring.members().iter().any(|id| *id != node.member_id)
}

/// Asks apps to move, spread over `within`. Those that cannot are left as they are.
pub(crate) async fn ask(
    node: &NodeState,
    connections: &[Arc<Connection>],
    reason: MoveReason,
    within: Duration,
) {
    let pause = within / u32::try_from(connections.len().max(1)).unwrap_or(u32::MAX);
    for connection in connections {
        connection.ask_to_move(reason, node.timings.reconnect_within, url(node, connection));
        sleep(pause).await;
    }
}

/// A router stops: the apps whose tunnels come through it move.
pub(crate) fn away_from_router(node: &Arc<NodeState>, router: &str, within: Duration) {
    let mut connections = node.open_sockets();
    connections.retain(|connection| connection.via.as_deref() == Some(router));
    tracing::info!(
        router,
        apps = connections.len(),
        "a router stops: its apps move"
    );
    let state = node.clone();
    node.errand(async move {
        ask(&state, &connections, MoveReason::Drain, within).await;
    });
}

/// Where an app that is connected straight to this node finds its next one.
fn url(node: &NodeState, connection: &Connection) -> Option<String> {
    if connection.via.is_some() {
        return None;
    }
    let view = node.membership.view();
    let others = view.ring().successors(&connection.client_id);
    let mut members = others.filter(|id| **id != node.member_id);
    view.member(members.next()?)?.public_url.clone()
}

/// Moves what the ring has given to other nodes, until it is dropped.
pub(crate) async fn rebalance(node: Arc<NodeState>) {
    let mut views = node.membership.changed();
    let mut asked: HashMap<ClientId, Asked> = HashMap::new();
    loop {
        tokio::select! {
            changed = views.changed() => if changed.is_err() {
                std::future::pending::<()>().await;
            },
            () = sleep(limits::REBALANCE_INTERVAL) => {}
        }
        // Several nodes join together, and the last view counts.
        sleep(node.timings.settle_ring).await;
        views.borrow_and_update();
        if !node.draining.is_cancelled() {
            round(&node, &mut asked).await;
        }
    }
}

/// When an app was asked to move that is here all the same.
#[derive(Debug, Clone, Copy)]
struct Asked {
    times: u32,
    again: Instant,
}

impl Asked {
    /// A minute after the first time, two after the second, and so on.
    fn once_more(before: Option<Self>) -> Self {
        let times = before.map_or(0, |asked| asked.times);
        Self {
            times: times + 1,
            again: Instant::now() + limits::MOVE_AGAIN * 2_u32.pow(times.min(6)),
        }
    }
}

async fn round(node: &Arc<NodeState>, asked: &mut HashMap<ClientId, Asked>) {
    let holdings = node.registry.holdings();
    let view = node.membership.view();
    let is_ours = |client_id: &ClientId| {
        let owner = view.ring().owner(client_id);
        owner.is_none_or(|owner| *owner == node.member_id)
    };
    let misplaced: Vec<_> = holdings.iter().filter(|(id, _)| !is_ours(id)).collect();
    let now = Instant::now();
    asked.retain(|client_id, asked| {
        misplaced.iter().any(|(id, _)| id == client_id) || asked.again > now
    });
    for (client_id, holding) in misplaced {
        let before = asked.get(client_id).copied();
        if before.is_some_and(|asked| asked.again > Instant::now()) {
            continue;
        }
        let connection = &holding.connection;
        let within = node.timings.reconnect_within;
        let to = url(node, connection);
        if connection.ask_to_move(MoveReason::Rebalance, within, to) {
            asked.insert(client_id.clone(), Asked::once_more(before));
        } else if !holding.resume && connection.is_idle() {
            asked.insert(client_id.clone(), Asked::once_more(before));
            let text = "the client ID belongs to another node: connect again";
            connection.close(Closing::new(CloseCode::Restart, text));
        }
        sleep(limits::MOVE_STEP.mul_f64(rand::random_range(0.5..1.5))).await;
    }
}
