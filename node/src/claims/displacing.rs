//! A newer claim takes a client ID away from an older one.

use std::sync::Arc;

use clientmcp_cluster::view::Whereabouts;
use clientmcp_core::claim::{Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_proto::v1::{DisplaceRequest, Elsewhere, Target, displace_response::Outcome};
use tokio::time::sleep;

use crate::connection::successor;
use crate::limits;
use crate::peers::PeerError;
use crate::places;
use crate::registry::{Displaced, NewerHolder};
use crate::state::NodeState;

/// Ends whatever is held here under an older claim. When this returns, nothing more is
/// dispatched to it. Gives the epoch of what is held here if that is newer.
pub(crate) fn displace_here(
    node: &NodeState,
    client_id: &ClientId,
    by: &NewerHolder,
) -> Option<Epoch> {
    match node.registry.displace(client_id, by) {
        Displaced::Removed(holding) => {
            node.metrics.apps.dec();
            let to = if by.incarnation == node.incarnation {
                "here"
            } else {
                "elsewhere"
            };
            node.metrics.displaced.with_label_values(&[to]).inc();
            tracing::info!(%client_id, socket = holding.connection.number, to = %by.node, "displaced");
            holding.connection.displace(
                successor(&holding.instance, Some(&by.instance)),
                to_newer(by),
            );
            None
        }
        Displaced::NothingOlder => None,
        Displaced::HeldNewer(claim) => Some(claim.epoch),
    }
}

fn to_newer(by: &NewerHolder) -> Elsewhere {
    Elsewhere {
        node_id: by.node.to_string(),
        incarnation: by.incarnation.0,
        epoch: by.epoch.0,
        address: by.address.clone(),
    }
}

/// Tells the former holder until it has let go or is gone.
pub(super) async fn tell(node: Arc<NodeState>, previous: Holder, ours: NewerHolder) {
    loop {
        match find(&node, &previous).await {
            Former::At { address, lost } => {
                let (former, run) = (&previous.node, previous.claim.incarnation);
                let request = request(&previous.client_id, former, run, &ours);
                match node.peers.displace(&address, request).await {
                    Ok(response) => return settle(&previous.client_id, response.outcome),
                    // Nobody can serve a socket where nobody listens.
                    Err(PeerError::Refused) => return,
                    Err(PeerError::Silent) if lost => return,
                    Err(PeerError::Silent) => {}
                }
            }
            Former::Gone => return,
            Former::Unknown => {}
        }
        sleep(limits::RETRY_INTERVAL).await;
    }
}

/// Where a former holder is.
enum Former {
    /// At this address. `lost`: its lease has lapsed or it has left, but it may still answer.
    At { address: String, lost: bool },
    /// Nowhere any more.
    Gone,
    /// The store, which alone knows, does not answer.
    Unknown,
}

async fn find(node: &NodeState, previous: &Holder) -> Former {
    let view = node.membership.view();
    match view.whereabouts(&previous.node, previous.claim.incarnation) {
        Whereabouts::Present(member) => Former::At {
            address: member.address.clone(),
            lost: false,
        },
        Whereabouts::Lost(lost) => Former::At {
            address: lost.member.address.clone(),
            lost: true,
        },
        Whereabouts::Unknown => match places::just_joined(node, previous).await {
            Ok(Some(address)) => Former::At {
                address,
                lost: false,
            },
            Ok(None) => Former::Gone,
            Err(_) => Former::Unknown,
        },
    }
}

/// What a run of a node is told about a client ID.
pub(super) fn request(
    client_id: &ClientId,
    former: &MemberId,
    run: Incarnation,
    ours: &NewerHolder,
) -> DisplaceRequest {
    DisplaceRequest {
        target: Some(Target {
            node_id: former.to_string(),
            incarnation: run.0,
        }),
        client_id: client_id.to_string(),
        node_id: ours.node.to_string(),
        incarnation: ours.incarnation.0,
        epoch: ours.epoch.0,
        instance: ours.instance.to_string(),
        connection: ours.connection,
        address: ours.address.clone(),
    }
}

/// It has let go, or holds something newer still: then it is about to tell us so itself.
fn settle(client_id: &ClientId, outcome: Option<Outcome>) {
    if let Some(Outcome::Newer(newer)) = outcome {
        tracing::info!(%client_id, node = newer.node_id, "a newer claim is held there");
    }
}
