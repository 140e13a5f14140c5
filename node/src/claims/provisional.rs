//! Registering while the store is away (SPEC.md §4.10).
//!
//! The claim is made here, with an epoch from the store's clock as this node estimates it, and is
//! told to every node that is known; the younger one wins. It is written when the store is back,
//! over lower epochs alone, like any claim that a store has lost.

use std::sync::Arc;

use clientmcp_cluster::member::Member;
use clientmcp_cluster::store::StoreError;
use clientmcp_core::channel::{ClaimInput, Claimed};
use clientmcp_core::claim::{Claim, Epoch};
use clientmcp_core::close::{CloseCode, Closing, Departure};
use clientmcp_proto::v1::DisplaceResponse;
use clientmcp_proto::v1::displace_response::Outcome;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::{displace_here, displacing, registration, release, remember_sessions_late};
use crate::connection::{Connection, TakenOver};
use crate::content::Registration;
use crate::registry::NewerHolder;

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
    let mut claim = Claim {
        epoch: Epoch::next(Epoch(0), seen, store_micros),
        incarnation: node.incarnation,
        nonce: rand::random(),
    };
    // Another estimate of the store's clock may be ahead: then once more, above it.
    for _ in 0..2 {
        match tell_all(connection, input, claim.epoch).await {
            Told::Youngest => return Ok(hold(connection, input, claim, registration).await),
            Told::Late => {
                connection.handle_claimed(Claimed::Late);
                return Ok("late");
            }
            Told::Below(newer) => claim.epoch = Epoch::next(newer, seen, store_micros),
        }
    }
    let text = "another node holds this client ID too: connect again";
    connection.close(Closing::new(CloseCode::Restart, text));
    Ok("displaced")
}

async fn hold(
    connection: &Arc<Connection>,
    input: &ClaimInput,
    claim: Claim,
    registration: Registration,
) -> &'static str {
    let node = &connection.node;
    tracing::info!(client_id = %connection.client_id, "registered without the store");
    match connection.take_over(claim, claim.epoch, input, registration, false) {
        TakenOver::Settled => {
            let client_id = connection.client_id.clone();
            node.errand(remember_sessions_late(node.clone(), client_id));
            node.unwritten.notify_one();
            "provisional"
        }
        TakenOver::Ended => {
            let client_id = connection.client_id.clone();
            release(node.clone(), client_id, claim, Departure::Lost).await;
            "gone"
        }
    }
}

/// What the nodes that are known say to a claim.
enum Told {
    /// Nobody holds anything newer.
    Youngest,
    /// Somebody holds the client ID under this epoch, which is not below.
    Below(Epoch),
    /// Somebody holds a later connection of the same instance.
    Late,
}

/// Tells every node that is known, this one among them.
async fn tell_all(connection: &Connection, input: &ClaimInput, epoch: Epoch) -> Told {
    let node = &connection.node;
    let ours = NewerHolder {
        node: node.member_id.clone(),
        incarnation: node.incarnation,
        epoch,
        instance: input.instance.clone(),
        connection: input.connection,
        address: node.address.clone(),
    };
    let ours = &ours;
    let tell = |member: Member| async move {
        // As if it held the client ID: it says so if it does not.
        let client_id = &connection.client_id;
        let request = displacing::request(client_id, &member.id, member.incarnation, ours);
        let told = node.peers.displace(&member.address, request);
        match timeout(node.timings.displace_wait, told).await.ok()?.ok()? {
            DisplaceResponse {
                outcome: Some(Outcome::Newer(newer)),
            } => Some(Epoch(newer.epoch)),
            _ => None,
        }
        // Who does not answer serves nobody, or is told when the claim is written.
    };
    let telling = node.other_nodes().into_iter().map(tell);
    let theirs = join_all(telling).await.into_iter().flatten().max();
    let newer = theirs.or_else(|| displace_here(node, &connection.client_id, ours));
    match newer {
        None => Told::Youngest,
        Some(newer) if newer >= epoch => Told::Below(newer),
        Some(_) => Told::Late,
    }
}
