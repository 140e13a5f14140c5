//! What a router tells the place where a legacy session meets: the holder of its client ID, or the
//! owner.

use clientmcp_core::ids::ClientId;
use clientmcp_core::json::Json;
use clientmcp_core::limits::TOKEN_LEEWAY_S;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::legacy;
use clientmcp_core::mcp::message::RequestId;
use clientmcp_core::mcp::session::{Session, SessionKey};
use clientmcp_core::session_note::SessionChange;
use clientmcp_core::timings::Timings;
use clientmcp_proto::v1::{
    self, answer_response, cancel_request_response, change_session_response, end_session_response,
};

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

/// Notes what a session asks for.
///
/// # Errors
/// As for [`cancel`]; -32602 if the session watches as many resources as it may.
pub(crate) async fn change(
    gateway: &Gateway,
    client_id: &ClientId,
    session: &Session,
    change: SessionChange,
) -> Result<(), RpcError> {
    use v1::change_session_request::Change;

    let word = Word::Change(v1::ChangeSessionRequest {
        target: None,
        client_id: client_id.to_string(),
        session_id: session.key.as_str().to_owned(),
        ttl_s: ttl_s(session),
        change: Some(match change {
            SessionChange::LogLevel(level) => Change::LogLevel(level.as_str().to_owned()),
            SessionChange::Subscribe(uri) => Change::Subscribe(uri),
            SessionChange::Unsubscribe(uri) => Change::Unsubscribe(uri),
        }),
    });
    tell(gateway, client_id, &word).await
}

/// How long a note on a session is of use.
fn ttl_s(session: &Session) -> u64 {
    let left = session.expires_at.saturating_sub(unix_seconds());
    left.saturating_add(TOKEN_LEEWAY_S + 1)
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
    let word = Word::End(v1::EndSessionRequest {
        target: None,
        client_id: client_id.to_string(),
        session_id: session.key.as_str().to_owned(),
        ttl_s: ttl_s(session),
    });
    tell(gateway, client_id, &word).await
}

/// Brings an agent's answer to a request of a server to whoever carries the call. One that nobody
/// comes for in time is dropped.
///
/// # Errors
/// As for [`cancel`].
pub(crate) async fn answer(
    gateway: &Gateway,
    client_id: &ClientId,
    session: &SessionKey,
    request_id: String,
    answer: Json,
) -> Result<(), RpcError> {
    let word = Word::Answer(v1::AnswerRequest {
        target: None,
        client_id: client_id.to_string(),
        session_id: session.as_str().to_owned(),
        request_id,
        answer: answer.into_bytes(),
        unreachable: gateway.placement.unreachable(),
    });
    tell(gateway, client_id, &word).await
}

/// What is told.
enum Word {
    Cancel(v1::CancelRequestRequest),
    Change(v1::ChangeSessionRequest),
    End(v1::EndSessionRequest),
    Answer(v1::AnswerRequest),
}

/// What a node says to that.
enum Answer {
    Accepted,
    SessionEnded,
    TooMany,
    Elsewhere(v1::Elsewhere),
    NotHere,
}

impl Word {
    async fn tell(&self, peer: &Peer, timings: &Timings) -> Result<Answer, Silence> {
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
            Word::Change(request) => {
                let request = v1::ChangeSessionRequest {
                    target: peer.target(),
                    ..request.clone()
                };
                let response = bridge.within(client.change_session(request)).await?;
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
            Word::Answer(request) => {
                let request = v1::AnswerRequest {
                    target: peer.target(),
                    ..request.clone()
                };
                let answering = client.answer(request);
                let response = bridge.within_more(timings.answer_kept, answering).await?;
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

impl From<Option<change_session_response::At>> for Answer {
    fn from(at: Option<change_session_response::At>) -> Self {
        use change_session_response::At;
        match at {
            Some(At::Accepted(_)) => Answer::Accepted,
            Some(At::SessionEnded(_)) => Answer::SessionEnded,
            Some(At::TooMany(_)) => Answer::TooMany,
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

impl From<Option<answer_response::At>> for Answer {
    fn from(at: Option<answer_response::At>) -> Self {
        use answer_response::At;
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
        match word.tell(&peer, &gateway.config.timings).await {
            Ok(Answer::Accepted) => return Ok(()),
            Ok(Answer::SessionEnded) => return Err(RpcError::session_not_found()),
            Ok(Answer::TooMany) => return Err(legacy::too_many_watched()),
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
