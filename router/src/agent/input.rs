//! What legacy agents answer to requests of a server (SPEC.md §7.7).

use std::time::Duration;

use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::message::Response;
use clientmcp_core::mcp::rounds::answer;
use clientmcp_core::mcp::session::Session;

use super::{Asking, legacy};
use crate::sessions;

/// Whether its answer arrived is told an agent if that is known by then: some agents send nothing
/// else until they hear of it.
const HEARD_WITHIN: Duration = Duration::from_secs(1);

/// Hands an agent's answer on to whoever carries the call for which it was asked. The agent waits
/// for that at most a moment; an answer that has not arrived by then is still on its way.
pub(super) async fn answer(
    asking: &Asking,
    session: &Session,
    response: &Response,
) -> Result<(), RpcError> {
    // An id that is none of ours names nothing that anybody waits for.
    let Some(request_id) = answer::id(response) else {
        return legacy::check_session(asking, session).await;
    };
    let text = answer::text(response);
    let (gateway, share) = (asking.gateway.clone(), asking.share.clone());
    let (client_id, session) = (asking.grant.client_id().clone(), session.key.clone());
    let handing_on = tokio::spawn(async move {
        let _share = share;
        tokio::select! {
            told = sessions::answer(&gateway, &client_id, &session, request_id, text) => told,
            () = gateway.abort.cancelled() => Ok(()),
        }
    });
    match tokio::time::timeout(HEARD_WITHIN, handing_on).await {
        Ok(Ok(told)) => told,
        Ok(Err(error)) => {
            tracing::error!(%error, "handing an answer on failed");
            Err(RpcError::internal())
        }
        Err(_) => Ok(()),
    }
}
