//! What is answered from the registration: discovery, lists, ping and their like.
//!
//! The node is asked each time, for a list must be as the last `list_changed` said, and a session
//! that was ended must be unknown to every router.

use clientmcp_core::mcp::local;
use clientmcp_core::mcp::request::Request;

use super::Asking;
use crate::answer::{self, Answer};

/// The answer to a request; `None` if the app alone can give it.
pub(super) async fn answer(asking: &Asking, request: &Request) -> Option<Answer> {
    let registrations = &asking.gateway.registrations;
    let session = request.session.as_ref().map(|session| &session.key);
    let described = registrations.describe(asking.grant.client_id(), session);
    let offer = match described.await {
        Ok(described) => described.offer(),
        Err(error) => return Some(request.refuse(error.into()).into()),
    };
    Some(match local::answer(request, &offer)? {
        Ok(result) => answer::of_result(request, result.into_bytes(), &offer.rest),
        Err(error) => error.into(),
    })
}
