//! What `clientmcp dev` serves beside the router: the demo page, the SDK that it is built on,
//! and fresh tokens for it.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{self, Claims};
use clientmcp_router::{Body, Response};
use http::request::Parts;
use http::uri::Authority;
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

    /// Answers the demo's paths; `None` for all others. The router has checked Host and Origin, as
    /// far as it checks hosts where it does not listen on loopback alone.
    #[must_use]
    pub(crate) fn respond(&self, head: &Parts) -> Option<Response> {
        if head.method != Method::GET && head.method != Method::HEAD {
            return None;
        }
        let (content_type, body) = match head.uri.path() {
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
            "/dev/session" if !has_a_name_of_its_own(head) => return None,
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

/// Whether a request names its host by an address or as localhost. Any other name may be one that
/// a foreign page had pointed at this port (DNS rebinding), to read the tokens as its own.
fn has_a_name_of_its_own(head: &Parts) -> bool {
    let header = head.headers.get(header::HOST);
    let header = header.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let Some(authority) = head.uri.authority().cloned().or(header) else {
        return false;
    };
    let host = authority.host().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn tokens_are_not_for_pages_under_other_names() {
        let secrets = Secrets::new(["0123456789abcdef0123456789abcdef"]).unwrap();
        let client_id = ClientId::parse("demo").unwrap();
        let demo = Demo::new(secrets, client_id, Duration::from_secs(60));
        let answers = |path: &str, host: Option<&str>| {
            let mut request = Request::get(path);
            if let Some(host) = host {
                request = request.header(header::HOST, host);
            }
            let head = request.body(()).unwrap().into_parts().0;
            demo.respond(&head).is_some()
        };
        for (host, ok) in [
            (Some("localhost:8080"), true),
            (Some("127.0.0.1:8080"), true),
            (Some("192.168.1.5:8080"), true),
            (Some("[::1]:8080"), true),
            (Some("evil.example.com"), false),
            (Some("localhost.evil.example.com:8080"), false),
            (Some("127.0.0.1.evil.example.com:8080"), false),
            (Some("not a host"), false),
            (None, false),
        ] {
            assert_eq!(answers("/dev/session", host), ok, "{host:?}");
        }
        assert!(
            answers("/", Some("evil.example.com")),
            "the page has no secret"
        );
    }
}
