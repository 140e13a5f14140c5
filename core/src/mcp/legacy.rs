//! What a request of the 2025 revisions must have (SPEC.md §5.5, §6).

use http::HeaderMap;

use super::accept::Accept;
use super::capability::Capabilities;
use super::cors;
use super::error::{RpcError, shorten};
use super::header::{self, Field};
use super::message::{Notification, RawRequest, RequestId, decode_string};
use super::meta::Members;
use super::method::Method;
use super::params::Params;
use super::request::Request;
use super::session::{Negotiated, Session, SessionKeys};
use super::version::{Era, Version, VersionHeader, negotiate};
use crate::json::Json;
use crate::limits;
use crate::message::LogLevel;
use crate::session_note::SessionChange;
use crate::token::CallGrant;

/// The least severe log messages that a legacy agent gets that asks for no level.
pub const DEFAULT_LOG_LEVEL: LogLevel = LogLevel::Info;

/// An `initialize`: the session that it asks for.
#[derive(Debug, Clone)]
pub struct Initialize {
    /// The id of the request.
    pub id: RequestId,
    /// What was negotiated; give it to [`SessionKeys::mint`].
    pub negotiated: Negotiated,
}

/// What a notification of an agent means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A request of the same session is to be cancelled.
    Cancelled {
        /// Its id: the JSON type counts.
        request_id: RequestId,
        /// Why, for a log.
        reason: Option<String>,
    },
    /// Nothing that the cluster acts on.
    Other,
}

impl Notice {
    /// Reads a notification. A cancellation without a readable id means nothing.
    #[must_use]
    pub fn of(notification: &Notification) -> Notice {
        let params = &notification.params;
        let id = params.request_id.as_ref();
        match id.and_then(|id| RequestId::parse(id.as_str())) {
            Some(request_id) if notification.method == "notifications/cancelled" => {
                Notice::Cancelled {
                    request_id,
                    reason: params
                        .reason
                        .as_ref()
                        .and_then(|json| decode_string(json.as_str()))
                        .map(|reason| shorten(&reason).into_owned()),
                }
            }
            _ => Notice::Other,
        }
    }
}

/// Reads `initialize`. Its version header is not looked at; what its params lack or have of
/// another type counts as not said.
#[must_use]
pub fn initialize(request: RawRequest) -> Initialize {
    let RawRequest { id, params, .. } = request;
    let requested = params.protocol_version.as_ref();
    let requested = requested.and_then(|json| decode_string(json.as_str()));
    let capabilities = params.capabilities.as_ref();
    let capabilities = capabilities.and_then(|json| json.value().ok());
    let capabilities = capabilities.and_then(Capabilities::declared);
    let version = negotiate(requested.as_deref());
    Initialize {
        id,
        negotiated: Negotiated {
            version,
            capabilities: capabilities.unwrap_or_default().in_revision(version),
            client_info: params.client_info.filter(Json::is_object),
        },
    }
}

/// The session of a request.
///
/// # Errors
/// 400 if the version header names no legacy revision, 400 without a session header, 404 if the
/// session is unknown.
pub fn session(
    headers: &HeaderMap,
    keys: &SessionKeys,
    grant: &CallGrant,
    now_unix_s: u64,
) -> Result<Session, RpcError> {
    check_version_header(headers)?;
    match header::read(headers, &header::SESSION_ID) {
        Field::One(text) => keys
            .verify(text, grant, now_unix_s)
            .map_err(|_| RpcError::session_not_found()),
        Field::Absent => Err(RpcError::invalid_request(
            "Mcp-Session-Id is required: initialize first, \
             or send MCP-Protocol-Version: 2026-07-28 and _meta",
        )),
        Field::Malformed(problem) => {
            let message = format!("Mcp-Session-Id {problem}");
            Err(RpcError::invalid_request(message))
        }
    }
}

/// The session whose GET stream is asked for.
///
/// # Errors
/// 405 for a modern request and without a session header, 406 if no event stream is accepted,
/// else as for [`session`].
pub fn open_stream(
    headers: &HeaderMap,
    keys: &SessionKeys,
    grant: &CallGrant,
    now_unix_s: u64,
) -> Result<Session, RpcError> {
    refuse_without_session(headers)?;
    let session = session(headers, keys, grant, now_unix_s)?;
    Accept::read(headers)?.require_events()?;
    Ok(session)
}

/// The session that DELETE ends.
///
/// # Errors
/// 405 for a modern request and without a session header, else as for [`session`].
pub fn end(
    headers: &HeaderMap,
    keys: &SessionKeys,
    grant: &CallGrant,
    now_unix_s: u64,
) -> Result<Session, RpcError> {
    refuse_without_session(headers)?;
    session(headers, keys, grant, now_unix_s)
}

fn refuse_without_session(headers: &HeaderMap) -> Result<(), RpcError> {
    if VersionHeader::read(headers).is_modern() || !headers.contains_key(&header::SESSION_ID) {
        return Err(RpcError::method_not_allowed(cors::ALLOW_WITHOUT_SESSION));
    }
    Ok(())
}

fn check_version_header(headers: &HeaderMap) -> Result<(), RpcError> {
    let problem = match VersionHeader::read(headers) {
        VersionHeader::Absent => return Ok(()),
        VersionHeader::Served(version) if version.era() == Era::Legacy => return Ok(()),
        VersionHeader::Served(version) => {
            format!("{} does not belong to a session", version.as_str())
        }
        VersionHeader::Outdated(text) | VersionHeader::Unknown(text) => {
            format!("'{}' is not served", shorten(text))
        }
        VersionHeader::Malformed(problem) => problem.to_owned(),
    };
    let served: Vec<&str> = Version::ALL
        .into_iter()
        .filter(|version| version.era() == Era::Legacy)
        .map(Version::as_str)
        .collect();
    Err(RpcError::invalid_request(format!(
        "MCP-Protocol-Version {problem}; sessions have {}",
        served.join(", ")
    )))
}

/// Checks a request of a session.
///
/// # Errors
/// -32601 with 200 if the method is unknown, 400 if `_meta` is wrong. Each has the request's id.
pub fn check(
    headers: &HeaderMap,
    session: &Session,
    request: RawRequest,
) -> Result<Request, RpcError> {
    let id = request.id.clone();
    check_members(headers, session, request).map_err(|error| error.for_request(&id))
}

fn check_members(
    headers: &HeaderMap,
    session: &Session,
    request: RawRequest,
) -> Result<Request, RpcError> {
    let RawRequest { id, method, params } = request;
    let method = Method::parse(&method, session.version)
        .ok_or_else(|| RpcError::method_not_found(Era::Legacy, &method))?;
    let members = Members::read(&params)?;
    Ok(Request {
        id,
        method,
        version: session.version,
        session: Some(session.clone()),
        capabilities: session.capabilities.clone(),
        capabilities_json: session.capabilities.to_json(),
        client_info: session.client_info.clone(),
        progress_token: members.progress_token()?,
        log_level: Some(DEFAULT_LOG_LEVEL),
        trace: members.trace(headers),
        params,
    })
}

/// What `logging/setLevel`, `resources/subscribe` and `resources/unsubscribe` change of their
/// session; `None` for any other method.
///
/// # Errors
/// -32602 with 200 if params lack what the method needs. It has the request's id.
pub fn session_change(request: &Request) -> Option<Result<SessionChange, RpcError>> {
    let params = &request.params;
    let change = match request.method {
        Method::SetLevel => log_level(params).map(SessionChange::LogLevel),
        Method::Subscribe => uri(params).map(SessionChange::Subscribe),
        Method::Unsubscribe => uri(params).map(SessionChange::Unsubscribe),
        _ => return None,
    };
    Some(change.map_err(|error| request.refuse(error)))
}

fn log_level(params: &Params) -> Result<LogLevel, RpcError> {
    let level = params.level.as_ref();
    level
        .and_then(|json| decode_string(json.as_str()))
        .and_then(|name| LogLevel::parse(&name))
        .ok_or_else(|| RpcError::invalid_params("params.level must be a log level"))
}

fn uri(params: &Params) -> Result<String, RpcError> {
    let uri = params.uri.as_ref();
    let uri = uri.and_then(|json| decode_string(json.as_str()));
    match uri {
        Some(uri) if uri.len() <= limits::URI_BYTES => Ok(uri.into_owned()),
        Some(_) => Err(RpcError::invalid_params("params.uri is too long")),
        None => Err(RpcError::invalid_params("params.uri must be a string")),
    }
}

/// A session, or all of its client ID together, watch as many resources as they may.
#[must_use]
pub fn too_many_watched() -> RpcError {
    RpcError::invalid_params("Too many resources are watched: unsubscribe from some first")
}

#[cfg(test)]
mod tests;
