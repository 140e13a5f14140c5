//! What is checked of a call once the registration is known (SPEC.md §5.4).

use http::HeaderMap;
use serde_json::{Map, Value};

use super::error::{RpcError, shorten};
use super::mirror;
use super::offer::Offer;
use super::outcome::{Failure, Reply};
use super::request::Request;
use super::version::Era;
use crate::tool::Tool;

/// Finds the tool of a `tools/call` and checks the call against it.
///
/// A refusal over `Mcp-Param-*` may be the fault of a registration that has been replaced: before
/// it goes out, whoever holds a copy asks for the present one, and checks again.
///
/// # Errors
/// The answer to give instead, in this order: 400, -32602 if params have no name, or arguments
/// that are no object; 200, -32602 if there is no such tool; in the modern era 400, -32020 for
/// `Mcp-Param-*`; then, if the tool requires what the agent did not declare, 400, -32021 in the
/// modern era and a tool error in the legacy one.
pub fn check<'o>(
    request: &Request,
    headers: &HeaderMap,
    offer: &'o Offer,
) -> Result<&'o Tool, Reply> {
    let refuse = |error| Reply::Error(request.refuse(error));
    let name = request.target().map_err(refuse)?;
    let arguments = request.params.arguments.as_ref();
    let arguments = arguments.filter(|arguments| !arguments.is_null());
    if arguments.is_some_and(|arguments| !arguments.is_object()) {
        let error = RpcError::invalid_envelope("params.arguments must be an object");
        return Err(refuse(error));
    }
    let Some(tool) = offer.tools.get(&name) else {
        let message = format!("Unknown tool: {}", shorten(&name));
        return Err(refuse(RpcError::invalid_params(message)));
    };
    if request.era() == Era::Modern {
        mirror::check(headers, &tool.header_params, arguments).map_err(refuse)?;
    }
    let required: Map<String, Value> = match &tool.options.requires {
        None => return Ok(tool),
        Some(required) => required.value().unwrap_or_default(),
    };
    match request.capabilities.missing(&required) {
        None => Ok(tool),
        Some(missing) => Err(match request.era() {
            Era::Modern => refuse(RpcError::missing_capability(&missing)),
            Era::Legacy => Failure::missing_capability(&missing).to_answer(request.method),
        }),
    }
}

#[cfg(test)]
mod tests;
