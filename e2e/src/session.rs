//! An agent of the 2025 revisions: it begins a session, and each request names it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use clientmcp_core::mcp::version::Version;
use http::{Method, StatusCode};

use crate::answer::Answer;
use crate::exchange::Request;
use crate::modern::ACCEPT;

/// A session that stands.
#[derive(Debug)]
pub struct Session {
    token: String,
    version: Version,
    id: String,
    next_id: AtomicU64,
}

impl Session {
    /// Initializes at a router, and says that it is initialized.
    ///
    /// # Panics
    /// If the router negotiates another revision, or answers something that is not valid.
    pub async fn begin(router: SocketAddr, token: &str, version: Version) -> Self {
        Self::begin_with(router, token, version, "{}").await
    }

    /// The same, declaring client capabilities (a JSON object).
    ///
    /// # Panics
    /// As [`Session::begin`].
    pub async fn begin_with(
        router: SocketAddr,
        token: &str,
        version: Version,
        capabilities: &str,
    ) -> Self {
        let initialize = initialize_with(token, version.as_str(), capabilities);
        let response = initialize.send(router).await;
        assert_eq!(response.status, StatusCode::OK);
        let id = response
            .header("mcp-session-id")
            .expect("a session ID")
            .to_owned();
        assert!(id.bytes().all(|byte| (0x21..0x7f).contains(&byte)), "{id}");
        let answer = Answer::read(response)
            .await
            .checked(version, "initialize", "0");
        assert_eq!(answer.result()["protocolVersion"], version.as_str());
        let session = Self {
            token: token.to_owned(),
            version,
            id,
            next_id: AtomicU64::new(1),
        };
        session
            .notify(router, "notifications/initialized", "{}")
            .await;
        session
    }

    /// The session ID.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The negotiated revision.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// A request; `id` and `params` are JSON text.
    #[must_use]
    pub fn request(&self, id: &str, method: &str, params: &str) -> Request {
        self.post(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ))
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

    /// The answer to a request of the server; `id` and `outcome` (`"result":…` or `"error":…`) are
    /// JSON text.
    #[must_use]
    pub fn response(&self, id: &str, outcome: &str) -> Request {
        self.post(format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#))
    }

    /// Answers a request of the server, which is accepted without a word.
    ///
    /// # Panics
    /// If it is answered otherwise.
    pub async fn respond(&self, router: SocketAddr, id: &str, outcome: &str) {
        let response = self.response(id, outcome).send(router).await;
        assert_eq!(response.status, StatusCode::ACCEPTED);
        assert!(response.bytes().await.is_empty());
    }

    /// A notification.
    #[must_use]
    pub fn notification(&self, method: &str, params: &str) -> Request {
        self.post(format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#
        ))
    }

    /// A POST of the session.
    #[must_use]
    pub fn post(&self, body: impl Into<bytes::Bytes>) -> Request {
        self.named(post(&self.token)).body(body)
    }

    /// The GET that opens the session's stream.
    #[must_use]
    pub fn stream(&self) -> Request {
        self.named(authorized(Method::GET, &self.token))
            .with("Accept", "text/event-stream")
    }

    /// The DELETE that ends the session.
    #[must_use]
    pub fn end(&self) -> Request {
        self.named(authorized(Method::DELETE, &self.token))
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
            .checked(self.version, method, &id)
    }

    /// Calls a tool, as [`Session::ask`].
    pub async fn use_tool(&self, router: SocketAddr, tool: &str, arguments: &str) -> Answer {
        self.ask(
            router,
            "tools/call",
            &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#),
        )
        .await
    }

    /// Sends a notification, which is accepted without a word.
    ///
    /// # Panics
    /// If it is answered otherwise.
    pub async fn notify(&self, router: SocketAddr, method: &str, params: &str) {
        let response = self.notification(method, params).send(router).await;
        assert_eq!(response.status, StatusCode::ACCEPTED);
        assert_eq!(response.header("content-type"), None);
        assert!(response.bytes().await.is_empty());
    }

    fn named(&self, request: Request) -> Request {
        let request = request.with("Mcp-Session-Id", &self.id);
        // 2025-03-26 has no such header.
        if self.version == Version::V2025_03_26 {
            return request;
        }
        request.with("MCP-Protocol-Version", self.version.as_str())
    }
}

/// An `initialize` that asks for a revision by name.
#[must_use]
pub fn initialize(token: &str, version: &str) -> Request {
    initialize_with(token, version, "{}")
}

fn initialize_with(token: &str, version: &str, capabilities: &str) -> Request {
    post(token).body(format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"e2e","version":"1"}}}}}}"#
    ))
}

/// A POST that names no session.
#[must_use]
pub fn post(token: &str) -> Request {
    authorized(Method::POST, token)
        .with("Content-Type", "application/json")
        .with("Accept", ACCEPT)
}

fn authorized(method: Method, token: &str) -> Request {
    Request::new(method, "/mcp").with("Authorization", format!("Bearer {token}"))
}
