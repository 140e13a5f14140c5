//! What a request of 2026-07-28 must have, in the order in which it is checked (SPEC.md §5.4).
//!
//! The order matters where more than one thing is wrong: agents tell by the code what to mend,
//! and which era the server is of.

use http::{HeaderMap, HeaderName};

use super::capability::Capabilities;
use super::error::{RpcError, shorten};
use super::header::{self, Field};
use super::message::{RawRequest, decode_string};
use super::meta::Members;
use super::method::Method;
use super::params::Params;
use super::request::Request;
use super::sentinel;
use super::version::{Era, Version};
use crate::json::Json;
use crate::message::LogLevel;

/// Checks a request. What depends on the registration (`Mcp-Param-*`, required capabilities)
/// follows in [`super::call`].
///
/// # Errors
/// In this order: 400, -32602 without `_meta` or its protocol version; 400, -32020 if the version
/// header is missing or another; 400, -32022 if the version is not served; 400, -32602 without
/// client capabilities, or with members of the wrong type; 400, -32020 for `Mcp-Method` and
/// `Mcp-Name`; 404, -32601. Each has the request's id.
pub fn check(headers: &HeaderMap, request: RawRequest) -> Result<Request, RpcError> {
    let id = request.id.clone();
    check_members(headers, request).map_err(|error| error.for_request(&id))
}

fn check_members(headers: &HeaderMap, request: RawRequest) -> Result<Request, RpcError> {
    let RawRequest { id, method, params } = request;
    let members = Members::read(&params)?;
    let version = check_version(headers, &members)?;
    let (capabilities, capabilities_json) = client_capabilities(&members)?;
    let client_info = members.client_info.clone();
    if client_info.as_ref().is_some_and(|info| !info.is_object()) {
        return Err(invalid("clientInfo", "must be an object"));
    }
    let log_level = log_level(&members)?;
    let progress_token = members.progress_token()?;
    check_method_header(headers, &method)?;
    check_name_header(headers, &method, &params)?;
    let method = Method::parse(&method, version)
        .ok_or_else(|| RpcError::method_not_found(Era::Modern, &method))?;
    Ok(Request {
        id,
        method,
        version,
        session: None,
        capabilities,
        capabilities_json,
        client_info,
        progress_token,
        log_level,
        trace: members.trace(headers),
        params,
    })
}

fn check_version(headers: &HeaderMap, members: &Members) -> Result<Version, RpcError> {
    let stated = members
        .protocol_version
        .as_ref()
        .ok_or_else(|| invalid("protocolVersion", "is required"))?;
    let stated = decode_string(stated.as_str())
        .ok_or_else(|| invalid("protocolVersion", "must be a string"))?;
    expect_header(
        headers,
        &header::PROTOCOL_VERSION,
        "MCP-Protocol-Version",
        |value| value == stated,
    )?;
    match Version::parse(&stated) {
        Some(version) if version.era() == Era::Modern => Ok(version),
        _ => Err(RpcError::unsupported_version(&stated)),
    }
}

fn client_capabilities(members: &Members) -> Result<(Capabilities, Json), RpcError> {
    let declared = members
        .client_capabilities
        .as_ref()
        .ok_or_else(|| invalid("clientCapabilities", "is required"))?;
    let capabilities = declared
        .value()
        .ok()
        .and_then(Capabilities::declared)
        .ok_or_else(|| invalid("clientCapabilities", "must be an object"))?;
    Ok((capabilities, declared.clone()))
}

fn log_level(members: &Members) -> Result<Option<LogLevel>, RpcError> {
    let Some(level) = &members.log_level else {
        return Ok(None);
    };
    decode_string(level.as_str())
        .and_then(|name| LogLevel::parse(&name))
        .map(Some)
        .ok_or_else(|| invalid("logLevel", "is no log level"))
}

fn check_method_header(headers: &HeaderMap, method: &str) -> Result<(), RpcError> {
    expect_header(headers, &header::METHOD, "Mcp-Method", |value| {
        value == method
    })
}

/// Methods that are unknown have no name either.
fn check_name_header(headers: &HeaderMap, method: &str, params: &Params) -> Result<(), RpcError> {
    let Some(member) = Method::parse(method, Version::MODERN).and_then(Method::name_member) else {
        return Ok(());
    };
    let body = match member {
        "uri" => &params.uri,
        "taskId" => &params.task_id,
        _ => &params.name,
    };
    let body = body.as_ref().and_then(|json| decode_string(json.as_str()));
    expect_header(headers, &header::NAME, "Mcp-Name", |value| {
        match (sentinel::decode(value), &body) {
            // What the body lacks is not the header's fault; it is refused as -32602 later.
            (Some(_), None) => true,
            (Some(value), Some(body)) => value == *body,
            (None, _) => false,
        }
    })?;
    if body.is_none() {
        let message = format!("params.{member} must be a string");
        return Err(RpcError::invalid_envelope(message));
    }
    Ok(())
}

fn expect_header(
    headers: &HeaderMap,
    name: &HeaderName,
    shown: &'static str,
    matches: impl Fn(&str) -> bool,
) -> Result<(), RpcError> {
    let message = match header::read(headers, name) {
        Field::One(value) if matches(value) => return Ok(()),
        Field::One(value) => format!(
            "Header mismatch: {shown} '{}' does not match the body",
            shorten(value)
        ),
        Field::Absent => format!("Header mismatch: {shown} is required"),
        Field::Malformed(problem) => format!("Header mismatch: {shown} {problem}"),
    };
    Err(RpcError::header_mismatch(message))
}

fn invalid(member: &'static str, problem: &'static str) -> RpcError {
    RpcError::invalid_envelope(format!(
        "params._meta[\"io.modelcontextprotocol/{member}\"] {problem}"
    ))
}

#[cfg(test)]
mod tests;
