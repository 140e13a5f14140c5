//! What a router is told at its start. Everything is checked already; nothing here reads the
//! environment.

use std::net::SocketAddr;
use std::sync::Arc;

use clientmcp_core::ids::MemberId;
use clientmcp_core::secret::Secrets;
use clientmcp_core::timings::Timings;

use crate::body::Response;

/// Answers paths that are not the router's own; `None` is a 404.
///
/// It is asked after Host and Origin were checked, and may look at nothing but the head.
pub type Extra = Arc<dyn Fn(&http::request::Parts) -> Option<Response> + Send + Sync>;

/// The configuration of a router.
#[derive(Clone)]
pub struct Config {
    /// Its name in the cluster.
    pub member_id: MemberId,
    /// Where agents and apps connect.
    pub listen: SocketAddr,
    /// Where others reach it, `host:port`; where it listens if absent.
    pub advertise: Option<String>,
    /// Where operators connect: `/metrics`, `/livez`, `/readyz`, `/status`.
    pub admin_listen: SocketAddr,
    /// The secrets that sign and verify tokens and sessions.
    pub secrets: Secrets,
    /// All intervals of the protocol.
    pub timings: Timings,
    /// Names by which it may be called (SPEC.md §9.2): `host` or `host:port`.
    pub allowed_hosts: Vec<String>,
    /// Origins of pages that may call it, beside loopback and its own host (SPEC.md §9.3).
    pub allowed_origins: Vec<String>,
    /// Connections that may be open at once, tunnels among them.
    pub max_connections: usize,
    /// Answers other paths.
    pub extra: Option<Extra>,
}

impl Config {
    /// A router with the product's defaults on free loopback ports.
    #[must_use]
    pub fn new(member_id: MemberId, secrets: Secrets) -> Self {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            member_id,
            listen: loopback,
            advertise: None,
            admin_listen: loopback,
            secrets,
            timings: Timings::default(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_connections: crate::limits::CONNECTIONS,
            extra: None,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("member_id", &self.member_id)
            .field("listen", &self.listen)
            .field("admin_listen", &self.admin_listen)
            .finish_non_exhaustive()
    }
}
