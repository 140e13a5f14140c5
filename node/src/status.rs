//! What operators are told: `/status` and `/readyz`.

use serde_json::{Value, json};

use crate::state::NodeState;

/// The node in numbers.
pub(crate) fn status(node: &NodeState) -> Value {
    let view = node.membership.view();
    json!({
        "role": "node",
        "id": node.member_id,
        "incarnation": node.incarnation,
        "version": env!("CARGO_PKG_VERSION"),
        "ready": ready(node).is_ok(),
        "storeAnswers": node.membership.store_answers(),
        "fenced": node.is_fenced(),
        "connections": node.metrics.sockets.get(),
        "apps": node.registry.count(),
        "calls": node.metrics.calls_in_flight.get(),
        "callsWaiting": node.waiting.count(),
        "callsWaitingForInput": node.answers.count(),
        "links": node.metrics.links.get(),
        "contents": node.contents.count(),
        "members": view.members(),
    })
}

/// Whether the node takes new sockets; the reason if not.
pub(crate) fn ready(node: &NodeState) -> Result<(), String> {
    if node.draining.is_cancelled() {
        return Err("the node stops".to_owned());
    }
    if node.is_cut_off() {
        return Err("the node is cut off from the store, and others have it".to_owned());
    }
    Ok(())
}
