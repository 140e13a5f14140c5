//! An agent of 2026-07-28: each request stands by itself.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use clientmcp_core::mcp::version::Version;

use crate::answer::Answer;
use crate::exchange::Request;
use crate::raw_json::member;

/// What every modern agent accepts.
pub const ACCEPT: &str = "application/json, text/event-stream";

/// An agent with a token, and with what it declares about itself in each request.
#[derive(Debug)]
pub struct Modern {
    token: String,
    capabilities: String,
    meta: String,
    next_id: AtomicU64,
}

impl Modern {
    /// An agent that declares no capabilities.
    #[must_use]
    pub fn new(token: String) -> Self {
        Self {
            token,
            capabilities: "{}".to_owned(),
            meta: String::new(),
            next_id: AtomicU64::new(1),
        }
    }

    /// The same agent with these client capabilities (a JSON object).
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: &str) -> Self {
        capabilities.clone_into(&mut self.capabilities);
        self
    }

    /// The same agent with more members in each `_meta` (`"progressToken":1`, …).
    #[must_use]
    pub fn with_meta(mut self, members: &str) -> Self {
        members.clone_into(&mut self.meta);
        self
    }

    /// A request with everything that it needs; `id` and `params` (an object without `_meta`) are
    /// JSON text.
    ///
    /// # Panics
    /// If `params` is no object.
    #[must_use]
    pub fn request(&self, id: &str, method: &str, params: &str) -> Request {
        let params = self.params(params);
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let request = self.post(body).with("Mcp-Method", method);
        let named = match method {
            "resources/read" => member(&params, "uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => member(&params, "taskId"),
            _ => member(&params, "name"),
        };
        match named {
            Some(name) => request.with("Mcp-Name", name.trim_matches('"')),
            None => request,
        }
    }

    /// A call of a tool; `arguments` is JSON text.
    #[must_use]
    pub fn call(&self, id: &str, tool: &str, arguments: &str) -> Request {
        self.request(
            id,
            "tools/call",
            &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#),
        )
    }

    /// A notification.
    #[must_use]
    pub fn notification(&self, method: &str, params: &str) -> Request {
        let params = self.params(params);
        self.post(format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#
        ))
        .with("Mcp-Method", method)
    }

    /// A POST with the headers that depend on no body.
    #[must_use]
    pub fn post(&self, body: impl Into<bytes::Bytes>) -> Request {
        Request::new(http::Method::POST, "/mcp")
            .with("Authorization", format!("Bearer {}", self.token))
            .with("Content-Type", "application/json")
            .with("Accept", ACCEPT)
            .with("MCP-Protocol-Version", Version::MODERN.as_str())
            .body(body)
    }

    /// Asks, and checks what comes back against the revision's schema.
    ///
    /// # Panics
    /// If it is not valid, or no answer at all.
    pub async fn ask(&self, router: SocketAddr, method: &str, params: &str) -> Answer {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let response = self.request(&id, method, params).send(router).await;
        Answer::read(response)
            .await
            .checked(Version::MODERN, method, &id)
    }

    /// Calls a tool, as [`Modern::ask`].
    pub async fn use_tool(&self, router: SocketAddr, tool: &str, arguments: &str) -> Answer {
        self.ask(
            router,
            "tools/call",
            &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#),
        )
        .await
    }

    fn params(&self, params: &str) -> String {
        let members = params
            .trim()
            .strip_prefix('{')
            .expect("params are an object");
        let comma = if members.trim_start().starts_with('}') {
            ""
        } else {
            ","
        };
        let more = if self.meta.is_empty() {
            String::new()
        } else {
            format!(",{}", self.meta)
        };
        format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","io.modelcontextprotocol/clientCapabilities":{}{more}}}{comma}{members}"#,
            Version::MODERN.as_str(),
            self.capabilities,
        )
    }
}
