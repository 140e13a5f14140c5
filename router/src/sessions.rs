//! What a router tells the place where a legacy session meets: at the holder of its client ID, or
//! at the owner.

use clientmcp_core::ids::ClientId;
use clientmcp_core::limits::TOKEN_LEEWAY_S;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::message::RequestId;
use clientmcp_core::mcp::session::Session;
use clientmcp_proto::v1::{self, cancel_request_response, end_session_response};

use crate::gateway::{Gateway, unix_seconds};
use crate::links::{Peer, Silence};
use crate::placement::Unplaced;
use crate::refusal;

/// Cancels a request of a session, through whichever router it came. A cancel that finds no call
/// is kept for the call that is on its way.
///
/// # Errors
/// 404 if the session was ended, 503 if nobody could be told.
pub(crate) async fn cancel(
    gateway: &Gateway,
    client_id: &ClientId,
    session: &Session,
    request_id: &RequestId,
    reason: Option<String>,
) -> Result<(), RpcError> {
    let word = Word::Cancel(v1::CancelRequestRequest {
        target: None,
        client_id: client_id.to_string(),
        session_id: session.key.as_str().to_owned(),
        request_id: request_id.as_json().to_owned().into(),
        reason: reason.unwrap_or_default(),
    });
    tell(gateway, client_id, &word).await
}

/// Ends a session: from here on it is unknown to every router.
///
/// # Errors
/// As for [`cancel`].
pub(crate) async fn end(
    gateway: &Gateway,
    client_id: &ClientId,
    session: &Session,
) -> Result<(), RpcError> {
    let left = session.expires_at.saturating_sub(unix_seconds());
    let word = Word::End(v1::EndSessionRequest {
        target: None,
        client_id: client_id.to_string(),
        session_id: session.key.as_str().to_owned(),
        ttl_s: left.saturating_add(TOKEN_LEEWAY_S + 1),
    });
    tell(gateway, client_id, &word).await
}

/// What is told.
enum Word {
    Cancel(v1::CancelRequestRequest),
    End(v1::EndSessionRequest),
}

/// What a node says to that.
enum Answer {
    Accepted,
    SessionEnded,
    Elsewhere(v1::Elsewhere),
    NotHere,
}

impl Word {
    async fn tell(&self, peer: &Peer) -> Result<Answer, Silence> {
        let bridge = peer.bridge();
        let mut client = bridge.client();
        Ok(match self {
            Word::Cancel(request) => {
                let request = v1::CancelRequestRequest {
                    target: peer.target(),
                    ..request.clone()
                };
                let response = bridge.within(client.cancel_request(request)).await?;
                response.at.into()
            }
            Word::End(request) => {
                let request = v1::EndSessionRequest {
                    target: peer.target(),
                    ..request.clone()
                };
                let response = bridge.within(client.end_session(request)).await?;
                response.at.into()
            }
        })
    }
}

impl From<Option<cancel_request_response::At>> for Answer {
    fn from(at: Option<cancel_request_response::At>) -> Self {
        use cancel_request_response::At;
        match at {
            Some(At::Accepted(_)) => Answer::Accepted,
            Some(At::SessionEnded(_)) => Answer::SessionEnded,
            Some(At::Elsewhere(to)) => Answer::Elsewhere(to),
            Some(At::NotHere(_)) | None => Answer::NotHere,
        }
    }
}

impl From<Option<end_session_response::At>> for Answer {
    fn from(at: Option<end_session_response::At>) -> Self {
        use end_session_response::At;
        match at {
            Some(At::Accepted(_)) => Answer::Accepted,
            Some(At::SessionEnded(_)) => Answer::SessionEnded,
            Some(At::Elsewhere(to)) => Answer::Elsewhere(to),
            Some(At::NotHere(_)) | None => Answer::NotHere,
        }
    }
}

/// Tells the node that knows; telling it twice does no harm.
async fn tell(gateway: &Gateway, client_id: &ClientId, word: &Word) -> Result<(), RpcError> {
    let mut route = gateway.placement.route(client_id);
    loop {
        let peer = route.next().await.map_err(|unplaced| match unplaced {
            Unplaced::NoNode => refusal::no_node(),
            Unplaced::OutOfReach => refusal::out_of_reach(),
        })?;
        let run = peer.run();
        match word.tell(&peer).await {
            Ok(Answer::Accepted) => return Ok(()),
            Ok(Answer::SessionEnded) => return Err(RpcError::session_not_found()),
            Ok(Answer::Elsewhere(to)) => {
                gateway.metrics.redirects.inc();
                route.elsewhere(&run, &to);
            }
            Ok(Answer::NotHere) => route.not_here(&run),
            Err(error) => {
                tracing::debug!(node = %run, %error, "a node was not told");
                route.not_here(&run);
            }
        }
    }
}
