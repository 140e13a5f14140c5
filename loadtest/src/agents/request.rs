//! The requests that agents send, as bytes and headers.

use bytes::Bytes;
use clientmcp_core::mcp::version::Version;
use http::header::HOST;
use http_body_util::Full;

/// A request that can be sent to any router.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Request {
    /// A tool call of 2026-07-28; the tag is also its JSON-RPC id.
    pub(super) fn modern_call(token: &str, tag: u64, tool: &str) -> Self {
        let version = Version::MODERN.as_str();
        let meta = format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
        );
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{tag},"method":"tools/call","params":{{"_meta":{meta},"name":"{tool}","arguments":{{"tag":{tag}}}}}}}"#
        );
        Self::post(token, body)
            .with("mcp-protocol-version", version)
            .with("mcp-method", "tools/call")
            .with("mcp-name", tool)
    }

    /// The same in a session of the newest of the 2025 revisions.
    pub(super) fn legacy_call(token: &str, session: &str, tag: u64, tool: &str) -> Self {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{tag},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"tag":{tag}}}}}}}"#
        );
        Self::post(token, body).in_session(session)
    }

    /// Begins a session.
    pub(super) fn initialize(token: &str) -> Self {
        let version = Version::NEWEST_LEGACY.as_str();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"loadtest","version":"1"}}}}}}"#
        );
        Self::post(token, body)
    }

    /// Says that a session has begun.
    pub(super) fn initialized(token: &str, session: &str) -> Self {
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        Self::post(token, body.to_owned()).in_session(session)
    }

    /// The request for a host.
    pub(super) fn build(&self, host: &str) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::post("/mcp").header(HOST, host);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request
            .body(Full::new(self.body.clone()))
            .expect("tokens, sessions and names are visible ASCII")
    }

    fn post(token: &str, body: String) -> Self {
        Self {
            headers: Vec::new(),
            body: body.into(),
        }
        .with("authorization", format!("Bearer {token}"))
        .with("content-type", "application/json")
        .with("accept", "application/json, text/event-stream")
    }

    fn in_session(self, session: &str) -> Self {
        self.with("mcp-protocol-version", Version::NEWEST_LEGACY.as_str())
            .with("mcp-session-id", session)
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
