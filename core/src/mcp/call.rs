//! What is checked of a call once the registration is known (SPEC.md §5.4).
//!
//! A call is a request that goes to the app: `tools/call`, `prompts/get`, `resources/read`,
//! `completion/complete`, and `resources/list` where the app gives the list itself.

use std::time::Duration;

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::error::{RpcError, code, shorten};
use super::local;
use super::method::Method;
use super::mirror;
use super::offer::Offer;
use super::outcome::{Failure, Reply};
use super::request::Request;
use super::task;
use super::version::Era;
use crate::json::Json;
use crate::registration::Kind;
use crate::tool::TaskMode;

/// A call that may go to the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// The deadline that the app wants for it.
    pub timeout: Option<Duration>,
    /// Whether it may, or must, become a task. `Never` unless the agent takes tasks.
    pub task: TaskMode,
    /// The kinds that it was checked against: it must not be sent to an app that offers another
    /// content of one of them.
    pub against: &'static [Kind],
}

/// Checks a call against what its app offers.
///
/// A refusal may be the fault of a registration that has been replaced: before it goes out,
/// whoever holds a copy asks for the present one, and checks again.
///
/// # Errors
/// The answer to give instead. 404, -32601 if a modern app does not offer the method; 400, -32602
/// if params lack what the method needs; 200, -32602 for an unknown tool or prompt, and for an
/// unknown resource in the modern era (-32002 in the legacy one). Then for tools in the modern era
/// 400, -32020 for `Mcp-Param-*`; then, if the tool requires what the agent did not declare, 400,
/// -32021 in the modern era and a tool error in the legacy one. A completion of an app that has
/// none, and a list that the app has registered, are answered.
pub fn check(request: &Request, headers: &HeaderMap, offer: &Offer) -> Result<Admitted, Reply> {
    let refuse = |error| Reply::Error(request.refuse(error));
    if request.era() == Era::Modern && !offer.serves(request.method) {
        let name = request.method.as_str();
        return Err(refuse(RpcError::method_not_found(Era::Modern, name)));
    }
    match request.method {
        Method::CallTool => check_tool(request, Some(headers), offer),
        Method::GetPrompt => check_prompt(request, offer).map_err(refuse),
        Method::ReadResource => check_resource(request, offer).map_err(refuse),
        Method::Complete if offer.rest.completions => Ok(Admitted::against(&[Kind::Rest])),
        Method::Complete => Err(Reply::Result(Json::constant(
            r#"{"completion":{"values":[]}}"#,
        ))),
        _ => match local::answer(request, offer) {
            None => Ok(Admitted::against(&[Kind::Resources])),
            Some(Ok(result)) => Err(Reply::Result(result)),
            Some(Err(error)) => Err(Reply::Error(error)),
        },
    }
}

/// Checks a call that follows on another one in the same task: its agent has said all that headers
/// say with the first.
///
/// # Errors
/// As [`check`].
pub fn check_next(request: &Request, offer: &Offer) -> Result<Admitted, Reply> {
    check_tool(request, None, offer)
}

impl Admitted {
    fn against(against: &'static [Kind]) -> Self {
        Self {
            timeout: None,
            task: TaskMode::Never,
            against,
        }
    }
}

fn check_tool(
    request: &Request,
    headers: Option<&HeaderMap>,
    offer: &Offer,
) -> Result<Admitted, Reply> {
    let refuse = |error| Reply::Error(request.refuse(error));
    let name = request.target().map_err(refuse)?;
    let arguments = arguments(request).map_err(refuse)?;
    let Some(tool) = offer.tools.get(&name) else {
        let message = format!("Unknown tool: {}", shorten(&name));
        return Err(refuse(RpcError::invalid_params(message)));
    };
    if let Some(headers) = headers.filter(|_| request.era() == Era::Modern) {
        mirror::check(headers, &tool.header_params, arguments).map_err(refuse)?;
    }
    let mode = tool.options.task;
    let takes_tasks = task::is_taken_by(request);
    let admitted = Admitted {
        timeout: tool.options.timeout,
        task: if takes_tasks { mode } else { TaskMode::Never },
        against: &[Kind::Tools, Kind::Rest],
    };
    let requires = tool.options.requires.as_ref();
    let mut required: Map<String, Value> = requires
        .and_then(|required| required.value().ok())
        .unwrap_or_default();
    if mode == TaskMode::Required {
        task::require(&mut required);
    }
    match request.capabilities.missing(&required) {
        None => Ok(admitted),
        Some(missing) => Err(match request.era() {
            Era::Modern => refuse(RpcError::missing_capability(&missing)),
            Era::Legacy => Failure::missing_capability(&missing).to_answer(request.method),
        }),
    }
}

fn check_prompt(request: &Request, offer: &Offer) -> Result<Admitted, RpcError> {
    let name = request.target()?;
    arguments(request)?;
    if !offer.prompts.has(&name) {
        let message = format!("Unknown prompt: {}", shorten(&name));
        return Err(RpcError::invalid_params(message));
    }
    Ok(Admitted::against(&[Kind::Prompts]))
}

fn check_resource(request: &Request, offer: &Offer) -> Result<Admitted, RpcError> {
    let uri = request.target()?;
    if !offer.resources.may_have(&uri) {
        let code = match request.era() {
            Era::Legacy => code::RESOURCE_NOT_FOUND,
            Era::Modern => code::INVALID_PARAMS,
        };
        let error = RpcError::new(http::StatusCode::OK, code, "Resource not found");
        return Err(error.with_data(json!({ "uri": uri })));
    }
    Ok(Admitted::against(&[Kind::Resources]))
}

/// The arguments, where there are any.
fn arguments(request: &Request) -> Result<Option<&Json>, RpcError> {
    let arguments = request.params.arguments.as_ref();
    let arguments = arguments.filter(|arguments| !arguments.is_null());
    if arguments.is_some_and(|arguments| !arguments.is_object()) {
        return Err(RpcError::invalid_envelope(
            "params.arguments must be an object",
        ));
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests;
