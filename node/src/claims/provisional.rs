//! Registering while the store is away (SPEC.md §4.10).
//!
//! The claim is made here, with an epoch from the store's clock as this node estimates it, and is
//! told to every node that is known; the younger one wins. It is written when the store is back,
//! over lower epochs alone, like any claim that a store has lost.

use std::sync::Arc;

use clientmcp_cluster::store::StoreError;
use clientmcp_core::channel::ClaimInput;
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::close::{CloseCode, Closing, Departure};
use clientmcp_proto::v1::displace_response::Outcome;
use tokio::time::timeout;

use super::{displace_here, displacing, registration, release};
use crate::connection::{Connection, TakenOver};
use crate::registry::NewerHolder;
use crate::state::NodeState;

/// Registers without the store, unless it is away for this node alone.
pub(super) async fn take(
    connection: &Arc<Connection>,
    input: &ClaimInput,
) -> Result<&'static str, StoreError> {
    let node = &connection.node;
    let store_micros = node
        .membership
        .store_micros()
        .filter(|_| !node.is_cut_off());
    let (Some(store_micros), false) = (store_micros, node.peers_have_store().await) else {
        let elsewhere = "other nodes have the store";
        return Err(StoreError::Unreachable(elsewhere.to_owned()));
    };
    // An app that registers by hash is asked for the content, which then came along.
    let registration = registration(node, input).await?;
    let seen = node.registry.seen(&connection.client_id);
    let claim = Claim {
        epoch: Epoch::next(Epoch(0), seen, store_micros),
        incarnation: node.incarnation,
        nonce: rand::random(),
    };
    let ours = NewerHolder {
        node: node.member_id.clone(),
        incarnation: node.incarnation,
        epoch: claim.epoch,
        instance: input.instance.clone(),
        address: node.address.clone(),
    };
    displace_here(node, &connection.client_id, &ours);
    if is_beaten(node, connection, input, &ours).await {
        let text = "another node holds this client ID too: connect again";
        connection.close(Closing::new(CloseCode::Restart, text));
        return Ok("displaced");
    }
    tracing::info!(client_id = %connection.client_id, "registered without the store");
    match connection.take_over(claim, input, registration, false) {
        TakenOver::Settled => {
            node.unwritten.notify_one();
            Ok("provisional")
        }
        TakenOver::Ended => {
            let client_id = connection.client_id.clone();
            release(node.clone(), client_id, claim, Departure::Lost).await;
            Ok("gone")
        }
    }
}

/// Tells every node that is known. Whether one of them holds something newer.
async fn is_beaten(
    node: &Arc<NodeState>,
    connection: &Connection,
    input: &ClaimInput,
    ours: &NewerHolder,
) -> bool {
    let tell = |member: clientmcp_cluster::member::Member| async move {
        // As if it held the client ID: it says so if it does not.
        let previous = Holder {
            client_id: connection.client_id.clone(),
            node: member.id.clone(),
            claim: Claim {
                epoch: Epoch(0),
                incarnation: member.incarnation,
                nonce: 0,
            },
            instance: input.instance.clone(),
            connection: input.connection,
            resume: input.resume,
        };
        let request = displacing::request(&previous, ours, input.connection);
        let told = node.peers.displace(&member.address, request);
        match timeout(node.timings.displace_wait, told).await {
            Ok(Ok(response)) => matches!(response.outcome, Some(Outcome::Newer(_))),
            // Who does not answer serves nobody, or is told when the claim is written.
            Ok(Err(_)) | Err(_) => false,
        }
    };
    let telling = node.other_nodes().into_iter().map(tell);
    futures_util::future::join_all(telling)
        .await
        .contains(&true)
}
