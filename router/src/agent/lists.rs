//! What is answered from the registration: discovery, lists, ping and their like.
//!
//! The node is asked each time, for a list must be as the last `list_changed` said, and a session
//! that was ended must be unknown to every router.

use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::local;
use clientmcp_core::mcp::request::Request;

use super::Asking;
use crate::answer::{self, Answer};

/// The answer to a request.
pub(super) async fn answer(asking: &Asking, request: &Request) -> Answer {
    let registrations = &asking.gateway.registrations;
    let session = request.session.as_ref().map(|session| &session.key);
    let described = registrations.describe(asking.grant.client_id(), session);
    let offer = match described.await {
        Ok(described) => described.offer(),
        Err(error) => return request.refuse(error.into()).into(),
    };
    match local::answer(request, &offer) {
        Some(Ok(result)) => answer::of_result(request, result.into_bytes(), &offer.rest),
        Some(Err(error)) => error.into(),
        None => {
            let error = RpcError::method_not_found(request.era(), request.method.as_str());
            request.refuse(error).into()
        }
    }
}
