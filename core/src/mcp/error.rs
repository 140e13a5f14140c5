//! The one place where an error becomes an HTTP status and a JSON-RPC body (SPEC.md §5.6, §11).

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::message::RequestId;
use super::version::{Era, Version};

/// JSON-RPC error codes.
///
/// Those that MCP does not define lie outside the range that JSON-RPC reserves, and begin with
/// the HTTP status that is nearest in meaning.
pub mod code {
    /// Not JSON.
    pub const PARSE_ERROR: i64 = -32_700;
    /// JSON, but no request.
    pub const INVALID_REQUEST: i64 = -32_600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// Params that the method cannot take.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// The cluster's own fault.
    pub const INTERNAL_ERROR: i64 = -32_603;
    /// No such resource; revisions before 2026-07-28 alone.
    pub const RESOURCE_NOT_FOUND: i64 = -32_002;
    /// Header and body disagree.
    pub const HEADER_MISMATCH: i64 = -32_020;
    /// The agent lacks a capability.
    pub const MISSING_CAPABILITY: i64 = -32_021;
    /// A protocol revision that is not served.
    pub const UNSUPPORTED_VERSION: i64 = -32_022;

    /// The token is missing, wrong or expired.
    pub const UNAUTHORIZED: i64 = 40_100;
    /// The token does not allow this, or Host or Origin are foreign.
    pub const FORBIDDEN: i64 = 40_300;
    /// No such path.
    pub const NOT_FOUND: i64 = 40_400;
    /// No such session, or it has ended.
    pub const SESSION_NOT_FOUND: i64 = 40_401;
    /// The HTTP method is not for this path.
    pub const METHOD_NOT_ALLOWED: i64 = 40_500;
    /// The agent accepts nothing that could be answered.
    pub const NOT_ACCEPTABLE: i64 = 40_600;
    /// The body did not arrive in time.
    pub const REQUEST_TIMEOUT: i64 = 40_800;
    /// The request exceeds the size limit.
    pub const TOO_LARGE: i64 = 41_300;
    /// The body is not declared as JSON.
    pub const UNSUPPORTED_MEDIA_TYPE: i64 = 41_500;
    /// The agent lacks a capability, where -32021 cannot be said: legacy revisions.
    pub const CAPABILITY_ABSENT: i64 = 42_200;
    /// The agent did not give the input that the app asked for.
    pub const NO_INPUT: i64 = 42_201;
    /// Apps connect with a WebSocket upgrade.
    pub const UPGRADE_REQUIRED: i64 = 42_600;
    /// The request's headers exceed the size limit.
    pub const HEADERS_TOO_LARGE: i64 = 43_100;
    /// No node is ready.
    pub const UNAVAILABLE: i64 = 50_300;
    /// The app is not connected.
    pub const APP_OFFLINE: i64 = 50_301;
    /// The call never reached the app.
    pub const NOT_DELIVERED: i64 = 50_302;
    /// The app was lost while the call ran.
    pub const OUTCOME_UNKNOWN: i64 = 50_303;
    /// No answer within the deadline.
    pub const TIMED_OUT: i64 = 50_400;
}

/// A refusal or failure as an agent sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The HTTP status, if the response has not begun.
    pub status: StatusCode,
    /// The JSON-RPC code ([`code`]).
    pub code: i64,
    /// One sentence for whoever reads the log of the agent.
    pub message: Cow<'static, str>,
    /// The `data` member.
    pub data: Option<Value>,
    /// The request that failed, where its id could be read.
    pub id: Option<RequestId>,
    /// Headers that the status asks for: `Allow`, `Retry-After`, `WWW-Authenticate`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl RpcError {
    /// An error without data, id or headers.
    #[must_use]
    pub fn new(status: StatusCode, code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            data: None,
            id: None,
            headers: Vec::new(),
        }
    }

    /// The body is not JSON: 400, -32700.
    #[must_use]
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code::PARSE_ERROR, message)
    }

    /// The body is no request that may stand here: 400, -32600.
    #[must_use]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, message)
    }

    /// The envelope's params are wrong: 400, -32602.
    #[must_use]
    pub fn invalid_envelope(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code::INVALID_PARAMS, message)
    }

    /// The params are wrong for the method (an unknown tool, a stale cursor): 200, -32602.
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::OK, code::INVALID_PARAMS, message)
    }

    /// No such method: -32601, with 404 in the modern era and 200 in the legacy one.
    #[must_use]
    pub fn method_not_found(era: Era, method: &str) -> Self {
        let status = match era {
            Era::Legacy => StatusCode::OK,
            Era::Modern => StatusCode::NOT_FOUND,
        };
        let message = format!("Method not found: {}", shorten(method));
        Self::new(status, code::METHOD_NOT_FOUND, message)
    }

    /// Header and body disagree: 400, -32020.
    #[must_use]
    pub fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code::HEADER_MISMATCH, message)
    }

    /// The agent did not declare what is required: 400, -32021. `required` has the shape of
    /// MCP's `ClientCapabilities`.
    #[must_use]
    pub fn missing_capability(required: &Value) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            code::MISSING_CAPABILITY,
            "The request needs client capabilities that it does not declare",
        )
        .with_data(json!({ "requiredCapabilities": required }))
    }

    /// A revision that is not served: 400, -32022, naming those that are.
    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            code::UNSUPPORTED_VERSION,
            "Unsupported protocol version",
        )
        .with_data(json!({
            "supported": [Version::MODERN.as_str()],
            "requested": shorten(requested),
        }))
    }

    /// The token is missing, wrong or expired: 401.
    #[must_use]
    pub fn unauthorized(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, code::UNAUTHORIZED, message).with_header(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"mcp\""),
        )
    }

    /// The token does not allow this, or Host or Origin are foreign: 403.
    #[must_use]
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code::FORBIDDEN, message)
    }

    /// No such path: 404.
    #[must_use]
    pub fn path_not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            code::NOT_FOUND,
            "Nothing here: agents use /mcp, apps /v1/connect",
        )
    }

    /// No such session, or it has ended: 404, upon which an agent initializes again.
    #[must_use]
    pub fn session_not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            code::SESSION_NOT_FOUND,
            "Session not found: initialize again",
        )
    }

    /// The HTTP method is not for this path: 405. `allow` lists those that are.
    #[must_use]
    pub fn method_not_allowed(allow: &'static str) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            code::METHOD_NOT_ALLOWED,
            "HTTP method not allowed",
        )
        .with_header(header::ALLOW, HeaderValue::from_static(allow))
    }

    /// The request exceeds the size limit: 413.
    #[must_use]
    pub fn too_large(limit_bytes: usize) -> Self {
        let message = format!("The request exceeds the limit of {limit_bytes} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, code::TOO_LARGE, message)
    }

    /// No node is ready: 503 with `Retry-After`.
    #[must_use]
    pub fn unavailable(message: impl Into<Cow<'static, str>>, retry_after_s: u64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code::UNAVAILABLE, message)
            .with_header(header::RETRY_AFTER, HeaderValue::from(retry_after_s))
    }

    /// The cluster's own fault: 500, -32603. The reason goes to the log, not to the agent.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            code::INTERNAL_ERROR,
            "Internal error",
        )
    }

    /// The app broke the protocol: 200, -32603, for the app's answers have no HTTP status.
    #[must_use]
    pub fn app_fault(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::OK, code::INTERNAL_ERROR, message)
    }

    /// The same error for the request with this id.
    #[must_use]
    pub fn for_request(mut self, id: &RequestId) -> Self {
        self.id = Some(id.clone());
        self
    }

    /// The same error with a `data` member.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The same error with a response header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The JSON-RPC error object.
    pub(crate) fn to_object(&self) -> String {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error.to_string()
    }

    /// Adds the headers that the status asks for.
    pub fn apply_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }
}

/// What the agent sent, short enough to be quoted in an error.
pub(super) fn shorten(text: &str) -> Cow<'_, str> {
    const QUOTED_CHARS: usize = 128;
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_methods_have_the_status_of_their_era() {
        let status = |era| RpcError::method_not_found(era, "x").status.as_u16();
        assert_eq!((status(Era::Legacy), status(Era::Modern)), (200, 404));
    }

    #[test]
    fn only_short_quotations_are_sent_back() {
        assert_eq!(shorten("short"), "short");
        let long = "ä".repeat(1000);
        assert_eq!(shorten(&long).chars().count(), 129);
    }

    #[test]
    fn product_codes_lie_outside_the_reserved_range() {
        for code in [
            code::UNAUTHORIZED,
            code::FORBIDDEN,
            code::NOT_FOUND,
            code::SESSION_NOT_FOUND,
            code::METHOD_NOT_ALLOWED,
            code::NOT_ACCEPTABLE,
            code::REQUEST_TIMEOUT,
            code::TOO_LARGE,
            code::UNSUPPORTED_MEDIA_TYPE,
            code::CAPABILITY_ABSENT,
            code::NO_INPUT,
            code::UPGRADE_REQUIRED,
            code::HEADERS_TOO_LARGE,
            code::UNAVAILABLE,
            code::APP_OFFLINE,
            code::NOT_DELIVERED,
            code::OUTCOME_UNKNOWN,
            code::TIMED_OUT,
        ] {
            assert!(!(-32_768..=-32_000).contains(&code), "{code}");
        }
    }
}
