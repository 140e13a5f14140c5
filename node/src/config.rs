//! What a node is told at its start. It reads nothing from its environment.

use std::net::SocketAddr;

use clientmcp_core::ids::MemberId;
use clientmcp_core::secret::Secrets;
use clientmcp_core::timings::Timings;

/// The configuration of a node.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node's name; one running process of the cluster has it.
    pub member_id: MemberId,
    /// The internal port: gRPC, and the tunnels through which routers bring apps' WebSockets.
    pub listen: SocketAddr,
    /// Where other processes reach the internal port, `host:port`. `None`: where it is bound.
    pub advertise: Option<String>,
    /// The port of direct mode, to which apps connect without a router. `None`: there is none.
    pub public_listen: Option<SocketAddr>,
    /// The WebSocket URL of the public port as apps reach it. `None`: `ws://`, its address and
    /// the path.
    pub public_url: Option<String>,
    /// The port for operators: `/metrics`, `/livez`, `/readyz`, `/status`.
    pub admin_listen: SocketAddr,
    /// What tokens and processes of the cluster are known by.
    pub secrets: Secrets,
    /// The intervals of the cluster.
    pub timings: Timings,
    /// Origins of pages that may connect to the public port, beside loopback and its own host.
    pub allowed_origins: Vec<String>,
}

impl Config {
    /// A node with the product's defaults on free loopback ports.
    #[must_use]
    pub fn new(member_id: MemberId, secrets: Secrets) -> Self {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            member_id,
            listen: loopback,
            advertise: None,
            public_listen: None,
            public_url: None,
            admin_listen: loopback,
            secrets,
            timings: Timings::default(),
            allowed_origins: Vec::new(),
        }
    }
}
