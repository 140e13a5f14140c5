//! Giving client IDs up.

use std::sync::Arc;

use clientmcp_cluster::store::ClaimRequest;
use clientmcp_core::claim::Claim;
use clientmcp_core::close::Departure;
use clientmcp_core::ids::ClientId;
use tokio::time::sleep;

use crate::limits;
use crate::state::NodeState;

/// Gives a claim up in the store, and tries again while the store does not answer. If it never
/// does, the record still names this node, and whoever asks it is told better.
pub(crate) async fn release(
    node: Arc<NodeState>,
    client_id: ClientId,
    claim: Claim,
    departure: Departure,
) {
    let retention = node.timings.registration_retention;
    for _ in 0..limits::RELEASE_TRIES {
        match node
            .store
            .release(&client_id, &claim, departure, retention)
            .await
        {
            Ok(released) => {
                tracing::debug!(%client_id, released, "released");
                return;
            }
            Err(error) => {
                tracing::debug!(%client_id, %error, "cannot release");
                sleep(limits::RETRY_INTERVAL).await;
            }
        }
    }
    tracing::warn!(%client_id, "the store was not told that an app has gone");
}

/// A claim whose answer never came: if it was made, it is read back by its nonce and given up.
pub(super) async fn release_unanswered(node: Arc<NodeState>, request: ClaimRequest) {
    for _ in 0..limits::RELEASE_TRIES {
        match node.store.record(&request.client_id).await {
            Ok(record) => {
                let holder = record.and_then(|record| record.holder);
                let claim = holder.map(|holder| holder.claim);
                let is_ours = |claim: &Claim| {
                    claim.nonce == request.nonce && claim.incarnation == request.incarnation
                };
                if let Some(claim) = claim.filter(is_ours) {
                    release(node, request.client_id, claim, Departure::Lost).await;
                }
                return;
            }
            Err(error) => {
                tracing::debug!(client_id = %request.client_id, %error, "cannot read a claim back");
                sleep(limits::RETRY_INTERVAL).await;
            }
        }
    }
}
