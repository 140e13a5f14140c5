//! What a router answers by itself, from the registration (SPEC.md §5.4, §5.5, §8).

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::error::{RpcError, code};
use super::legacy;
use super::list;
use super::method::Method;
use super::offer::Offer;
use super::request::Request;
use super::session::Negotiated;
use super::version::{Era, Version};
use crate::json::{Json, ObjectWriter};
use crate::registration::Kind;

/// The result of a request that needs no app; `None` for `tools/call`, for
/// `subscriptions/listen`, and for what a modern app offers beside tools.
///
/// Legacy agents were told at `initialize`, perhaps before there was an app, that prompts,
/// resources and completions exist: they find none. Modern agents are told what the registration
/// has, and to them the rest does not exist.
///
/// # Errors
/// -32601 with 404 if a modern app does not offer the method; -32602 and, in the legacy era,
/// -32002 for a prompt, a resource, a cursor or a level that does not exist. Each has the
/// request's id.
#[must_use]
pub fn answer(request: &Request, offer: &Offer) -> Option<Result<Json, RpcError>> {
    if request.era() == Era::Modern && !offer.serves(request.method) {
        let name = request.method.as_str();
        return Some(Err(
            request.refuse(RpcError::method_not_found(Era::Modern, name))
        ));
    }
    let result = match (request.method, request.era()) {
        (Method::Initialize | Method::Ping, _) => Ok(Json::EMPTY_OBJECT),
        (Method::SetLevel, _) => legacy::set_level(&request.params).map(|_| Json::EMPTY_OBJECT),
        (Method::Discover, _) => Ok(discover(offer)),
        (Method::ListTools, _) => list::tools(request, offer),
        (Method::ListPrompts, Era::Legacy) => list::empty(request, "prompts"),
        (Method::ListResources, Era::Legacy) => list::empty(request, "resources"),
        (Method::ListResourceTemplates, Era::Legacy) => list::empty(request, "resourceTemplates"),
        (Method::GetPrompt, Era::Legacy) => request
            .target()
            .and_then(|_| Err(RpcError::invalid_params("Unknown prompt"))),
        (Method::ReadResource, Era::Legacy) => request.target().and_then(|uri| {
            let message = "Resource not found";
            Err(
                RpcError::new(StatusCode::OK, code::RESOURCE_NOT_FOUND, message)
                    .with_data(json!({ "uri": uri })),
            )
        }),
        (Method::Complete, Era::Legacy) => Ok(Json::constant(r#"{"completion":{"values":[]}}"#)),
        _ => return None,
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
                "resources": { "listChanged": true },
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
    for (kind, name) in [(Kind::Prompts, "prompts"), (Kind::Resources, "resources")] {
        if offer.has(kind) {
            capabilities.insert(name.to_owned(), json!({ "listChanged": true }));
        }
    }
    if offer.rest.completions {
        capabilities.insert("completions".to_owned(), json!({}));
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
