//! `_meta` of a request: what MCP itself puts there (MCP "Overview", General fields).

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::RpcError;
use super::message::{RequestId, decode_string};
use super::params::Params;
use crate::json::{self, Json, JsonError};

/// The token of a request that wants progress, as the agent wrote it: a string or an integer.
pub type ProgressToken = RequestId;

/// The members of `_meta` that are read. Each stands there at most once.
#[derive(Debug, Clone, Default)]
pub struct Members {
    /// `io.modelcontextprotocol/protocolVersion`
    pub protocol_version: Option<Json>,
    /// `io.modelcontextprotocol/clientInfo`
    pub client_info: Option<Json>,
    /// `io.modelcontextprotocol/clientCapabilities`
    pub client_capabilities: Option<Json>,
    /// `io.modelcontextprotocol/logLevel`
    pub log_level: Option<Json>,
    /// `progressToken`
    pub progress_token: Option<Json>,
    /// `traceparent`
    pub traceparent: Option<Json>,
    /// `tracestate`
    pub tracestate: Option<Json>,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(
        borrow,
        default,
        deserialize_with = "json::present",
        rename = "io.modelcontextprotocol/protocolVersion"
    )]
    protocol_version: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "json::present",
        rename = "io.modelcontextprotocol/clientInfo"
    )]
    client_info: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "json::present",
        rename = "io.modelcontextprotocol/clientCapabilities"
    )]
    client_capabilities: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "json::present",
        rename = "io.modelcontextprotocol/logLevel"
    )]
    log_level: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "json::present",
        rename = "progressToken"
    )]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    tracestate: Option<&'a RawValue>,
}

impl Members {
    /// Reads `_meta`; without one, or with one that is `null`, there are no members.
    ///
    /// # Errors
    /// 400: -32600 if a member stands there twice that is read, -32602 if `_meta` is no object.
    pub fn read(params: &Params) -> Result<Members, RpcError> {
        let Some(meta) = params.meta.as_ref().filter(|meta| !meta.is_null()) else {
            return Ok(Members::default());
        };
        let raw: Raw<'_> = meta.read().map_err(|error| match error {
            JsonError::Duplicate(_) => {
                RpcError::invalid_request(format!("Invalid request: _meta: {error}"))
            }
            _ => RpcError::invalid_envelope("params._meta must be an object"),
        })?;
        let part = |member: Option<&RawValue>| member.map(|member| meta.part(member));
        Ok(Members {
            protocol_version: part(raw.protocol_version),
            client_info: part(raw.client_info),
            client_capabilities: part(raw.client_capabilities),
            log_level: part(raw.log_level),
            progress_token: part(raw.progress_token),
            traceparent: part(raw.traceparent),
            tracestate: part(raw.tracestate),
        })
    }

    /// The progress token; `null` counts as none.
    ///
    /// # Errors
    /// 400, -32602 if it is neither a string nor an integer.
    pub fn progress_token(&self) -> Result<Option<ProgressToken>, RpcError> {
        match self
            .progress_token
            .as_ref()
            .filter(|token| !token.is_null())
        {
            None => Ok(None),
            Some(token) => RequestId::parse(token.as_str()).map(Some).ok_or_else(|| {
                RpcError::invalid_envelope("The progress token must be a string or an integer")
            }),
        }
    }

    /// The trace context (W3C) to hand on: from `_meta`, else from the HTTP headers. What does
    /// not have the format is left out.
    #[must_use]
    pub fn trace(&self, headers: &HeaderMap) -> Trace {
        let member = |json: &Option<Json>| {
            let text = json.as_ref().and_then(|json| decode_string(json.as_str()));
            text.map(std::borrow::Cow::into_owned)
        };
        let header = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.map(|text| text.trim().to_owned())
        };
        let (parent, state) = match member(&self.traceparent) {
            Some(parent) => (Some(parent), member(&self.tracestate)),
            None => (header("traceparent"), header("tracestate")),
        };
        let parent = parent.filter(|parent| is_traceparent(parent));
        let state = state.filter(|state| parent.is_some() && is_tracestate(state));
        Trace { parent, state }
    }
}

/// W3C trace context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// `traceparent`
    pub parent: Option<String>,
    /// `tracestate`
    pub state: Option<String>,
}

fn is_traceparent(text: &str) -> bool {
    text.len() == 55
        && text.bytes().enumerate().all(|(at, byte)| match at {
            2 | 35 | 52 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

fn is_tracestate(text: &str) -> bool {
    const TRACESTATE_BYTES: usize = 512;
    !text.is_empty()
        && text.len() <= TRACESTATE_BYTES
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(meta: &str) -> Result<Members, RpcError> {
        let params = format!(r#"{{"_meta":{meta}}}"#);
        Members::read(&Params::read(Some(Json::parse(params).unwrap())).unwrap())
    }

    #[test]
    fn members_are_read_once() {
        let key = "io.modelcontextprotocol/protocolVersion";
        for (meta, code) in [
            (
                r#"{"progressToken":1,"progressToken":1}"#.to_owned(),
                -32_600,
            ),
            (format!(r#"{{"{key}":"a","{key}":"a"}}"#), -32_600),
            ("[]".to_owned(), -32_602),
            ("5".to_owned(), -32_602),
        ] {
            assert_eq!(members(&meta).unwrap_err().code, code, "{meta}");
        }
        assert!(members("null").unwrap().protocol_version.is_none());
    }

    #[test]
    fn progress_tokens_keep_their_type() {
        for (token, expected) in [
            ("0", Some("0")),
            ("\"0\"", Some("\"0\"")),
            ("\"\"", Some("\"\"")),
            ("9007199254740993", Some("9007199254740993")),
            ("null", None),
        ] {
            let members = members(&format!(r#"{{"progressToken":{token}}}"#)).unwrap();
            let read = members.progress_token().unwrap();
            assert_eq!(read.as_ref().map(RequestId::as_json), expected);
        }
        for token in ["1.5", "true", "{}", "1e3"] {
            let members = members(&format!(r#"{{"progressToken":{token}}}"#)).unwrap();
            assert_eq!(members.progress_token().unwrap_err().code, -32_602);
        }
    }

    #[test]
    fn trace_context_comes_from_meta_or_headers() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        let other = "00-ffffffffffffffffffffffffffffffff-00f067aa0ba902b7-01";
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", other.parse().unwrap());
        headers.insert("tracestate", "a=b".parse().unwrap());
        let from_headers = members("{}").unwrap().trace(&headers);
        assert_eq!(from_headers.parent.as_deref(), Some(other));
        assert_eq!(from_headers.state.as_deref(), Some("a=b"));
        let meta = format!(r#"{{"traceparent":"{parent}"}}"#);
        let from_meta = members(&meta).unwrap().trace(&headers);
        assert_eq!(from_meta.parent.as_deref(), Some(parent));
        assert_eq!(from_meta.state, None);
        let odd = members(r#"{"traceparent":"nonsense","tracestate":"a=b"}"#).unwrap();
        assert_eq!(odd.trace(&headers), Trace::default());
    }
}
