//! What legacy sessions ask through whichever router: cancelling a request, ending a session.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::channel::Origin;
use clientmcp_core::json::Json;
use clientmcp_proto::v1::{
    Accepted, CancelRequestRequest, CancelRequestResponse, EndSessionRequest, EndSessionResponse,
    NotHere, SessionEnded, cancel_request_response, end_session_response, not_here,
};
use tonic::Status;

use super::client_id;
use crate::places::{self, ALL_REACHABLE, Place};
use crate::state::NodeState;

/// Cancels the call that a session's request became, whether it runs, waits for its app, or has
/// not arrived yet.
pub(super) async fn cancel_request(
    node: &Arc<NodeState>,
    checked: Result<(), NotHere>,
    request: CancelRequestRequest,
) -> Result<CancelRequestResponse, Status> {
    use cancel_request_response::At;

    if let Err(not_here) = checked {
        return Ok(CancelRequestResponse {
            at: Some(At::NotHere(not_here)),
        });
    }
    let client_id = client_id(&request.client_id)?;
    let request_id = Json::parse(request.request_id)
        .map_err(|_| Status::invalid_argument("the request id is no JSON"))?;
    let at = match places::find(node, &client_id, Some(&request.session_id), ALL_REACHABLE).await {
        Place::Here(holding) => {
            holding
                .connection
                .cancel_request(&request.session_id, &request_id);
            At::Accepted(Accepted {})
        }
        Place::SessionEnded => At::SessionEnded(SessionEnded {}),
        Place::Elsewhere(elsewhere) => At::Elsewhere(elsewhere),
        Place::Absent(..) | Place::Unknown => {
            // The call waits for the app here, or is on its way.
            let origin = Origin {
                session: request.session_id,
                request_id,
            };
            let keep = node.timings.early_cancel;
            node.waiting.cancel(&client_id, origin, keep);
            At::Accepted(Accepted {})
        }
    };
    Ok(CancelRequestResponse { at: Some(at) })
}

/// Ends a session: noted in the store, so that it outlives this node, and remembered here, so
/// that calls are refused without asking the store.
pub(super) async fn end_session(
    node: &Arc<NodeState>,
    checked: Result<(), NotHere>,
    request: EndSessionRequest,
) -> Result<EndSessionResponse, Status> {
    use end_session_response::At;

    if let Err(not_here) = checked {
        return Ok(EndSessionResponse {
            at: Some(At::NotHere(not_here)),
        });
    }
    let client_id = client_id(&request.client_id)?;
    let session = &request.session_id;
    let at = match places::find(node, &client_id, Some(session), ALL_REACHABLE).await {
        Place::Here(_) | Place::Absent(..) => {
            let ttl = Duration::from_secs(request.ttl_s);
            // What the store does not know would live again with the next node: then nothing has
            // ended, and the agent is told to ask again.
            match node.store.end_session(&client_id, session, ttl).await {
                Ok(()) => {
                    node.registry.end_session(&client_id, session);
                    At::Accepted(Accepted {})
                }
                Err(error) => {
                    tracing::warn!(%client_id, %error, "cannot note that a session was ended");
                    At::NotHere(super::not_here(not_here::Why::StoreUnreachable))
                }
            }
        }
        Place::SessionEnded => At::SessionEnded(SessionEnded {}),
        Place::Elsewhere(elsewhere) => At::Elsewhere(elsewhere),
        Place::Unknown => At::NotHere(super::not_here(not_here::Why::StoreUnreachable)),
    };
    Ok(EndSessionResponse { at: Some(at) })
}
