//! What only sessions of the 2025 revisions have (SPEC.md §6).

use std::sync::Arc;

use clientmcp_core::json::Json;
use clientmcp_core::mcp::body;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::header::SESSION_ID;
use clientmcp_core::mcp::legacy::{self, Initialize, Notice};
use clientmcp_core::mcp::local;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::session::Session;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::Asking;
use crate::answer::Answer;
use crate::authorize;
use crate::body::Response;
use crate::gateway::{Gateway, unix_seconds};
use crate::refusal;
use crate::respond;
use crate::sessions;

/// `initialize`: a session begins, and no router keeps it.
pub(super) async fn initialize(
    asking: &Asking,
    initialize: &Initialize,
) -> Result<Response, RpcError> {
    let registrations = &asking.gateway.registrations;
    let described = registrations
        .describe(asking.grant.client_id(), None)
        .await
        .map_err(|error| RpcError::from(error).for_request(&initialize.id))?;
    let result = local::initialize(&initialize.negotiated, &described.offer());
    let message = body::result(&initialize.id, result.as_str());
    let session =
        asking
            .gateway
            .sessions
            .mint(&asking.grant, &initialize.negotiated, rand::random());
    let mut response = respond::deliver(Answer::ok(message), asking.accept);
    let mut session = HeaderValue::try_from(session).expect("session IDs are visible ASCII");
    session.set_sensitive(true);
    response.headers_mut().insert(SESSION_ID, session);
    Ok(response)
}

/// A notification of a session.
pub(super) async fn notice(
    asking: &Asking,
    session: &Session,
    notice: Notice,
) -> Result<(), RpcError> {
    match notice {
        Notice::Cancelled { request_id, reason } => {
            let client_id = asking.grant.client_id();
            sessions::cancel(&asking.gateway, client_id, session, &request_id, reason).await
        }
        Notice::Other => check_session(asking, session).await,
    }
}

/// What a session asks for is noted; `None` if it asks for something else.
pub(super) async fn change(asking: &Asking, request: &Request) -> Option<Answer> {
    // Only sessions have these methods.
    let session = request.session.as_ref()?;
    let change = match legacy::session_change(request)? {
        Ok(change) => change,
        Err(error) => return Some(error.into()),
    };
    let client_id = asking.grant.client_id();
    Some(
        match sessions::change(&asking.gateway, client_id, session, change).await {
            Ok(()) => Answer::ok(body::result(&request.id, Json::EMPTY_OBJECT.as_str())),
            Err(error) => request.refuse(error).into(),
        },
    )
}

/// Makes sure that a session was not ended.
pub(super) async fn check_session(asking: &Asking, session: &Session) -> Result<(), RpcError> {
    let registrations = &asking.gateway.registrations;
    registrations
        .describe(asking.grant.client_id(), Some(&session.key))
        .await?;
    Ok(())
}

/// DELETE: ends a session.
pub(super) async fn end(gateway: &Arc<Gateway>, headers: &HeaderMap) -> Result<Response, RpcError> {
    let grant = authorize::call(gateway, headers)?;
    let session = legacy::end(headers, &gateway.sessions, &grant, unix_seconds())?;
    sessions::end(gateway, grant.client_id(), &session).await?;
    Ok(refusal::empty(StatusCode::NO_CONTENT))
}
