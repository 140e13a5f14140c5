//! What a router answers by itself, from the registration (SPEC.md §5.4, §5.5, §8).

use serde_json::{Map, Value, json};

use super::error::RpcError;
use super::list;
use super::method::Method;
use super::offer::Offer;
use super::request::Request;
use super::session::Negotiated;
use super::task;
use super::version::{Era, Version};
use crate::json::{Json, ObjectWriter};
use crate::registration::Kind;

/// The result of a request that needs no app; `None` for what goes to the app
/// ([`super::call::check`]), what changes a session ([`super::legacy::session_change`]), and for
/// `subscriptions/listen`.
///
/// Legacy agents were told at `initialize`, perhaps before there was an app, that everything
/// exists, and find nothing: lists are empty. Modern agents were told what is registered.
///
/// # Errors
/// -32601 with 404 if a modern app does not offer the method; -32602 for a stale cursor. Each has
/// the request's id.
#[must_use]
pub fn answer(request: &Request, offer: &Offer) -> Option<Result<Json, RpcError>> {
    if request.era() == Era::Modern && !offer.serves(request.method) {
        let name = request.method.as_str();
        return Some(Err(
            request.refuse(RpcError::method_not_found(Era::Modern, name))
        ));
    }
    let result = match request.method {
        Method::Initialize | Method::Ping => Ok(Json::EMPTY_OBJECT),
        Method::Discover => Ok(discover(offer)),
        Method::ListTools => list::tools(request, offer),
        Method::ListPrompts => list::prompts(request, offer),
        Method::ListResources if offer.resources.is_dynamic() => return None,
        Method::ListResources => list::resources(request, offer),
        Method::ListResourceTemplates => list::templates(request, offer),
        Method::CallTool
        | Method::GetPrompt
        | Method::ReadResource
        | Method::Complete
        | Method::SetLevel
        | Method::Subscribe
        | Method::Unsubscribe
        | Method::Listen
        | Method::GetTask
        | Method::UpdateTask
        | Method::CancelTask => return None,
    };
    Some(result.map_err(|error| request.refuse(error)))
}

/// The result of `initialize`; [`super::body::result`] makes the response of it.
#[must_use]
pub fn initialize(negotiated: &Negotiated, offer: &Offer) -> Json {
    let mut result = ObjectWriter::with_capacity(512);
    result
        .name("protocolVersion", negotiated.version.as_str())
        .raw(
            "capabilities",
            &Json::of(&json!({
                "completions": {},
                "logging": {},
                "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true },
                "tools": { "listChanged": true },
            })),
        )
        .raw("serverInfo", &offer.rest.server_info)
        .raw_if("instructions", offer.rest.instructions.as_ref());
    result.finish()
}

/// The result of `server/discover`; serverInfo and cache hints are added to it like to any other.
fn discover(offer: &Offer) -> Json {
    let mut capabilities = Map::new();
    capabilities.insert("logging".to_owned(), json!({}));
    capabilities.insert("tools".to_owned(), json!({ "listChanged": true }));
    if offer.has(Kind::Prompts) {
        capabilities.insert("prompts".to_owned(), json!({ "listChanged": true }));
    }
    if offer.has(Kind::Resources) {
        let capability = json!({ "listChanged": true, "subscribe": true });
        capabilities.insert("resources".to_owned(), capability);
    }
    if offer.rest.completions {
        capabilities.insert("completions".to_owned(), json!({}));
    }
    if offer.tools.has_tasks() {
        capabilities.insert("extensions".to_owned(), json!({ task::EXTENSION: {} }));
    }
    let mut result = ObjectWriter::with_capacity(512);
    result
        .raw("supportedVersions", &Json::of(&[Version::MODERN.as_str()]))
        .raw("capabilities", &Json::of(&Value::Object(capabilities)))
        .raw_if("instructions", offer.rest.instructions.as_ref());
    result.finish()
}

#[cfg(test)]
mod tests;
