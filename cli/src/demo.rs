//! What `clientmcp dev` serves beside the router: the demo page, the SDK that it is built on,
//! and fresh tokens for it.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{self, Claims};
use clientmcp_router::{Body, Response};
use http::{HeaderValue, Method, header};
use serde::Serialize;

const PAGE: &str = include_str!("../demo/index.html");
const SCRIPT: &str = include_str!("../demo/demo.js");
const SDK: &str = include_str!("../demo/clientmcp.js");

/// Everything that somebody needs to connect an app and an agent to a development cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Where agents call.
    pub agent_url: String,
    /// Where apps connect.
    pub connect_url: String,
    /// The client ID that both tokens name.
    pub client_id: String,
    /// Lets an app connect.
    pub app_token: String,
    /// Lets an agent call it.
    pub agent_token: String,
    /// Metrics and status.
    pub admin_url: String,
    /// How long the tokens are valid.
    pub expires_in_ms: u64,
}

/// Mints tokens for one client ID of a development cluster, and serves the demo page.
#[derive(Debug)]
pub(crate) struct Demo {
    secrets: Secrets,
    client_id: ClientId,
    ttl: Duration,
    /// The router's public and admin address, known once it is bound.
    addresses: OnceLock<(SocketAddr, SocketAddr)>,
}

impl Demo {
    /// A demo whose router is still to start. Its tokens are valid for `ttl`.
    #[must_use]
    pub(crate) fn new(secrets: Secrets, client_id: ClientId, ttl: Duration) -> Self {
        Self {
            secrets,
            client_id,
            ttl,
            addresses: OnceLock::new(),
        }
    }

    /// Tells where the router serves.
    pub(crate) fn serve_at(&self, public: SocketAddr, admin: SocketAddr) {
        let _ = self.addresses.set((public, admin));
    }

    /// Addresses, and tokens that begin now.
    #[must_use]
    pub(crate) fn session(&self) -> Session {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let mint = |serve| {
            let claims = Claims {
                client_id: self.client_id.clone(),
                agent: None,
                serve,
                call: !serve,
                expires_at: (now + self.ttl).as_secs(),
                not_before: None,
            };
            token::mint(&self.secrets, &claims)
        };
        let unbound = SocketAddr::from(([127, 0, 0, 1], 0));
        let (public, admin) = self.addresses.get().copied().unwrap_or((unbound, unbound));
        Session {
            agent_url: format!("http://{public}/mcp"),
            connect_url: format!("ws://{public}/v1/connect"),
            client_id: self.client_id.to_string(),
            app_token: mint(true),
            agent_token: mint(false),
            admin_url: format!("http://{admin}"),
            expires_in_ms: u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Answers the demo's paths; `None` for all others. The router has checked Host and Origin.
    #[must_use]
    pub(crate) fn respond(&self, method: &Method, path: &str) -> Option<Response> {
        if method != Method::GET && method != Method::HEAD {
            return None;
        }
        let (content_type, body) = match path {
            "/" => (
                "text/html; charset=utf-8",
                Bytes::from_static(PAGE.as_bytes()),
            ),
            "/demo.js" => (
                "text/javascript; charset=utf-8",
                Bytes::from_static(SCRIPT.as_bytes()),
            ),
            "/sdk/clientmcp.js" => (
                "text/javascript; charset=utf-8",
                Bytes::from_static(SDK.as_bytes()),
            ),
            "/dev/session" => {
                let session =
                    serde_json::to_vec(&self.session()).expect("strings and numbers serialise");
                ("application/json", Bytes::from(session))
            }
            _ => return None,
        };
        let mut response = Response::new(Body::whole(body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        Some(response)
    }
}
