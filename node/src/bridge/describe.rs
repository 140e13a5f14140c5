//! The registration of a client ID as it stands.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_core::ids::{ClientId, InstanceId};
use clientmcp_core::registration::Kind;
use clientmcp_proto::v1::absent::Why;
use clientmcp_proto::v1::describe_response::At;
use clientmcp_proto::v1::{
    DescribeRequest, DescribeResponse, Hashes, Here, NotHere, Registration as WireRegistration,
    SessionEnded, not_here,
};
use tokio::time::{Instant, sleep};
use tonic::Status;

use super::{client_id, session};
use crate::content::Registration;
use crate::places::{self, Place, Unreachable};
use crate::state::NodeState;
use crate::waiting::LOOK_AGAIN;

/// Describes a client ID, from memory if it is held here, else from what the store remembers.
pub(super) async fn describe(
    node: &Arc<NodeState>,
    request: &DescribeRequest,
) -> Result<DescribeResponse, Status> {
    let client_id = client_id(&request.client_id)?;
    let known = request.known.clone().unwrap_or_default();
    let unreachable = super::unreachable(&request.unreachable);
    let session = session(&request.session_id);
    let place = find(node, &client_id, session, &unreachable).await;
    let (at, registration) = match place {
        Place::Here(holding) => {
            let epoch = holding.claim.epoch.0;
            let app = (holding.instance, holding.resume);
            (At::Here(Here { epoch }), Some((holding.registration, app)))
        }
        Place::SessionEnded => (At::SessionEnded(SessionEnded {}), None),
        Place::Elsewhere(elsewhere) => (At::Elsewhere(elsewhere), None),
        Place::Absent(absent, None) => (At::Absent(absent), None),
        Place::Absent(absent, Some(last)) => {
            let registration = node.contents.registration(&*node.store, &last.hashes);
            match registration.await {
                Ok(registration) => {
                    let app = (last.instance, last.resume);
                    let registration = registration.map(|registration| (registration, app));
                    (At::Absent(absent), registration)
                }
                Err(error) => {
                    tracing::debug!(%client_id, %error, "cannot read a registration");
                    (At::NotHere(store_unreachable()), None)
                }
            }
        }
        Place::Unknown => (At::NotHere(store_unreachable()), None),
    };
    Ok(DescribeResponse {
        at: Some(at),
        registration: registration
            .map(|(registration, app)| on_the_wire(&registration, app, &known)),
    })
}

/// Finds a client ID. Where the store has lost its record, its node writes it again in a moment:
/// nothing is said of it until then.
async fn find(
    node: &Arc<NodeState>,
    client_id: &ClientId,
    session: Option<&str>,
    unreachable: &Unreachable,
) -> Place {
    let until = Instant::now() + 2 * node.timings.heartbeat;
    loop {
        match places::find(node, client_id, session, unreachable).await {
            Place::Absent(absent, None) if absent.why() == Why::Away && Instant::now() < until => {
                sleep(LOOK_AGAIN).await;
            }
            place => return place,
        }
    }
}

/// The answer to a request that is not for this run.
pub(super) fn elsewhere(not_here: NotHere) -> DescribeResponse {
    DescribeResponse {
        at: Some(At::NotHere(not_here)),
        registration: None,
    }
}

fn store_unreachable() -> NotHere {
    super::not_here(not_here::Why::StoreUnreachable)
}

/// Leaves out the contents that the asker has.
fn on_the_wire(
    registration: &Registration,
    (instance, resume): (InstanceId, bool),
    known: &Hashes,
) -> WireRegistration {
    let content = |kind: Kind, known: &str| {
        if registration.hashes().get(kind).to_string() == *known {
            Bytes::new()
        } else {
            registration.content(kind).text().clone()
        }
    };
    WireRegistration {
        hashes: Some(hashes(registration.hashes())),
        tools: content(Kind::Tools, &known.tools),
        prompts: content(Kind::Prompts, &known.prompts),
        resources: content(Kind::Resources, &known.resources),
        rest: content(Kind::Rest, &known.rest),
        instance: instance.to_string(),
        resume,
    }
}

/// Hashes as text.
pub(super) fn hashes(hashes: &clientmcp_core::registration::Hashes) -> Hashes {
    Hashes {
        tools: hashes.tools.to_string(),
        prompts: hashes.prompts.to_string(),
        resources: hashes.resources.to_string(),
        rest: hashes.rest.to_string(),
    }
}
