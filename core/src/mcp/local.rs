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
/// Agents of both eras are told that prompts and resources exist, and find none: lists are empty.
/// Completions exist for legacy agents, who were told at `initialize`, perhaps before there was an
/// app; for modern ones if the app has them.
///
/// # Errors
/// -32601 with 404 if a modern app does not offer the method; -32602 and, for a resource in the
/// legacy era, -32002 for what does not exist. Each has the request's id.
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
        (Method::ListPrompts, _) => list::empty(request, "prompts"),
        (Method::ListResources, _) => list::empty(request, "resources"),
        (Method::ListResourceTemplates, _) => list::empty(request, "resourceTemplates"),
        (Method::GetPrompt, _) => request
            .target()
            .and_then(|_| Err(RpcError::invalid_params("Unknown prompt"))),
        (Method::ReadResource, era) => request.target().and_then(|uri| {
            let code = match era {
                Era::Legacy => code::RESOURCE_NOT_FOUND,
                Era::Modern => code::INVALID_PARAMS,
            };
            Err(RpcError::new(StatusCode::OK, code, "Resource not found")
                .with_data(json!({ "uri": uri })))
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
        // What is empty does not change: nobody can register it with this version.
        let capability = if offer.has(kind) {
            json!({ "listChanged": true })
        } else {
            json!({})
        };
        capabilities.insert(name.to_owned(), capability);
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
