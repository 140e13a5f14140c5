//! `GET /v1/locate`: where an app connects in direct mode (SPEC.md §4.1).

use clientmcp_core::ids::ClientId;
use clientmcp_core::mcp::error::RpcError;
use serde_json::json;

use crate::authorize;
use crate::body::Response;
use crate::gateway::Gateway;
use crate::refusal;

/// Answers with the WebSocket URL of the owner of the token's client ID, or null where it has no
/// public one.
///
/// # Errors
/// 405, 401, 403, or 503 if no node is ready.
pub(crate) fn answer(gateway: &Gateway, head: &http::request::Parts) -> Result<Response, RpcError> {
    if head.method != http::Method::GET {
        return Err(RpcError::method_not_allowed("GET, OPTIONS"));
    }
    let grant = authorize::serve(gateway, &head.headers)?;
    let url = owner_url(gateway, grant.client_id())?;
    Ok(refusal::json(
        http::StatusCode::OK,
        json!({ "url": url }).to_string(),
    ))
}

fn owner_url(gateway: &Gateway, client_id: &ClientId) -> Result<Option<String>, RpcError> {
    let view = gateway.placement.view();
    let owner = view.ring().owner(client_id);
    let owner = owner.ok_or_else(refusal::no_node)?;
    Ok(view
        .member(owner)
        .and_then(|member| member.public_url.clone()))
}
