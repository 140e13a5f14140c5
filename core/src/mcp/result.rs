//! The app's result as the agent gets it (SPEC.md §5.8, §6.5).
//!
//! It passes as it is. In the modern era what the app left out is added; towards older revisions
//! what they cannot express is converted.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::body;
use super::convert::{self, ToolResult};
use super::error::RpcError;
use super::message::string;
use super::method::Method;
use super::outcome::{Failure, Reply};
use super::request::Request;
use super::rounds::asked::{self, Asked, INPUT_REQUIRED};
use super::splice::Splice;
use super::version::Era;
use crate::json::{self, Json, Text};
use crate::tool::RestContent;

/// The `_meta` key of who answers.
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The JSON-RPC response with a result: the app's, or one of ours. `rest` is what the app says of
/// itself.
///
/// # Errors
/// -32021 with 400 if it asks for input that a modern agent did not declare; -32603 with 200 if
/// the app's result breaks the protocol; a product code where a legacy agent is asked for input
/// and the method's results cannot say so. Each has the request's id.
pub fn respond(
    result: impl Into<Bytes>,
    request: &Request,
    rest: &RestContent,
) -> Result<Bytes, RpcError> {
    let refuse = |error| request.refuse(error);
    let text = Text::new(result.into()).map_err(|error| refuse(fault(&error)))?;
    let members: Members<'_> = text.read().map_err(|error| refuse(fault(&error)))?;
    let asked = members.asked(&text).map_err(refuse)?;
    if let Some(asked) = &asked {
        check_input_requests(asked, request).map_err(refuse)?;
    }
    match (request.era(), asked) {
        // Whoever carries the call of a legacy agent asks it ([`super::rounds`]): what comes here
        // could not be asked for.
        (Era::Legacy, Some(asked)) => {
            let required = Value::Object(asked.required());
            match Failure::missing_capability(&required).to_answer(request.method) {
                Reply::Result(result) => Ok(body::result(&request.id, result.as_str())),
                Reply::Error(error) => Err(refuse(error)),
            }
        }
        (Era::Modern, _) => Ok(stamp(&text, &members, request, rest)),
        (Era::Legacy, None) if request.method == Method::CallTool => {
            let result = ToolResult {
                text: &text,
                content: members.content,
                structured: members.structured_content,
            };
            let result = convert::tool_result(&result, request.version);
            let result = result.map_err(|error| refuse(fault(&error)))?;
            Ok(body::result(&request.id, &result))
        }
        (Era::Legacy, None) if request.method == Method::GetPrompt => {
            let result = text.as_str().trim_ascii();
            let result = convert::prompt_result(result, members.messages, request.version);
            let result = result.map_err(|error| refuse(fault(&error)))?;
            Ok(body::result(&request.id, &result))
        }
        (Era::Legacy, None) => Ok(body::result(&request.id, text.as_str().trim_ascii())),
    }
}

fn fault(error: &json::JsonError) -> RpcError {
    RpcError::app_fault(format!("The application's result cannot be used: {error}"))
}

/// What is read of a result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present", rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    ttl_ms: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    cache_scope: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    input_requests: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    request_state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    structured_content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    messages: Option<&'a RawValue>,
}

impl Members<'_> {
    fn asks(&self) -> bool {
        self.result_type.and_then(string).as_deref() == Some(INPUT_REQUIRED)
    }

    fn asked(&self, text: &Text) -> Result<Option<Asked>, RpcError> {
        if !self.asks() {
            return Ok(None);
        }
        Asked::read(text, self.input_requests, self.request_state).map(Some)
    }
}

/// Adds what every result of the modern era has. A `cacheScope` other than `private` becomes
/// that, for what an app says depends on whose app it is; a `ttlMs` that is none becomes 0.
fn stamp(text: &Text, members: &Members<'_>, request: &Request, rest: &RestContent) -> Bytes {
    let mut splice = Splice::new(text.as_str().trim_ascii());
    let info = rest.server_info.as_str();
    match members.meta {
        None => {
            splice.add("_meta", &format!("{{\"{SERVER_INFO_KEY}\":{info}}}"));
        }
        Some(meta) if lacks_server_info(meta) => {
            splice.add_in(meta, SERVER_INFO_KEY, info);
        }
        Some(_) => {}
    }
    if request.method.is_cacheable() && !members.asks() {
        stamp_cache_hints(&mut splice, members, default_ttl_ms(request, rest));
    }
    if members.result_type.is_none() {
        splice.add("resultType", "\"complete\"");
    }
    let length = text.as_str().len() + splice.growth();
    let mut response = body::start(Some(&request.id), "result", length);
    splice.write(&mut response);
    response.push('}');
    response.into()
}

/// How long a result may be cached of which the app says nothing: its word on lists holds for
/// lists.
fn default_ttl_ms(request: &Request, rest: &RestContent) -> u64 {
    match request.method {
        Method::ReadResource => 0,
        _ => rest.ttl_ms,
    }
}

fn stamp_cache_hints(splice: &mut Splice<'_>, members: &Members<'_>, ttl_ms: u64) {
    match members.cache_scope {
        None => {
            splice.add("cacheScope", "\"private\"");
        }
        Some(scope) if string(scope).as_deref() != Some("private") => {
            splice.replace(scope, "\"private\"");
        }
        Some(_) => {}
    }
    match members.ttl_ms {
        None => {
            splice.add("ttlMs", &ttl_ms.to_string());
        }
        Some(ttl) if ttl.get().parse::<u64>().is_err() => {
            splice.replace(ttl, "0");
        }
        Some(_) => {}
    }
}

/// Whether `_meta` is an object without serverInfo. One that is no object is left alone.
fn lacks_server_info(meta: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Info<'a> {
        #[serde(
            borrow,
            default,
            deserialize_with = "json::present",
            rename = "io.modelcontextprotocol/serverInfo"
        )]
        server_info: Option<&'a RawValue>,
    }
    meta.get().starts_with('{')
        && serde_json::from_str::<Info<'_>>(meta.get()).is_ok_and(|info| info.server_info.is_none())
}

/// What a task's result asks for: its `inputRequests` and `requestState`, verbatim. `None`: it asks
/// for nothing.
///
/// # Errors
/// As [`respond`], without an id.
pub(super) fn input_of(
    result: &Json,
    request: &Request,
) -> Result<Option<(Json, Option<Json>)>, RpcError> {
    let text = Text::new(result.bytes().clone()).map_err(|error| fault(&error))?;
    let members: Members<'_> = text.read().map_err(|error| fault(&error))?;
    let Some(asked) = members.asked(&text)? else {
        return Ok(None);
    };
    check_input_requests(&asked, request)?;
    let requests = members.input_requests;
    let requests = requests.map_or(Json::EMPTY_OBJECT, |requests| text.part(requests));
    Ok(Some((requests, asked.state)))
}

/// Refuses a request for input as a whole, if the method's answers may not ask, or if a modern
/// agent did not declare one of the things that are asked for (MCP "Multi Round-Trip Requests").
fn check_input_requests(asked: &Asked, request: &Request) -> Result<(), RpcError> {
    if !request.method.may_ask() {
        return Err(asked::not_allowed());
    }
    match request.capabilities.missing(&asked.required()) {
        Some(missing) if request.era() == Era::Modern => {
            Err(RpcError::missing_capability(&missing))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
