//! `clientmcp node`: holds applications' WebSockets.

use std::net::SocketAddr;

use clap::Args;

use crate::intervals::Intervals;
use crate::logging::Logging;
use crate::member_identity::MemberIdentity;
use crate::process;
use crate::secret_source::SecretSource;
use crate::store_source::StoreSource;

/// Runs a node. It serves routers on its internal port, and no agent ever connects to it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  clientmcp node --id node-1 --listen 127.0.0.1:9001 --admin-listen 127.0.0.1:9091
  clientmcp node --listen 0.0.0.0:9000 --advertise node-1.internal:9000 --redis-url redis://redis:6379

Direct mode, where applications connect to the node itself:
  clientmcp node --public-listen 0.0.0.0:443 --public-url wss://node-1.example.com/v1/connect

The internal port is for the cluster alone: keep it off the public network.")]
pub struct Node {
    #[command(flatten)]
    identity: MemberIdentity,
    /// Internal port, for routers and other nodes; port 0 takes a free one
    #[arg(
        long,
        env = "CLIENTMCP_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:9000"
    )]
    listen: SocketAddr,
    /// Port for applications that connect straight to this node (direct mode); none by default
    #[arg(long, env = "CLIENTMCP_PUBLIC_LISTEN", value_name = "ADDR")]
    public_listen: Option<SocketAddr>,
    /// WebSocket URL of that port as applications reach it
    #[arg(
        long,
        env = "CLIENTMCP_PUBLIC_URL",
        value_name = "URL",
        requires = "public_listen"
    )]
    public_url: Option<String>,
    /// Port for operators: /metrics, /livez, /readyz, /status
    #[arg(
        long,
        env = "CLIENTMCP_ADMIN_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:9090"
    )]
    admin_listen: SocketAddr,
    /// Allow browser pages of this origin on the public port; may be given more than once
    #[arg(
        long,
        env = "CLIENTMCP_ALLOWED_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ','
    )]
    allowed_origin: Vec<String>,
    #[command(flatten)]
    store: StoreSource,
    #[command(flatten)]
    secrets: SecretSource,
    #[command(flatten)]
    intervals: Intervals,
    #[command(flatten)]
    logging: Logging,
}

impl Node {
    pub(super) fn run(self) -> anyhow::Result<()> {
        self.logging.start("info")?;
        let config = clientmcp_node::Config {
            member_id: self.identity.member_id()?,
            listen: self.listen,
            advertise: self.identity.advertise(self.listen)?,
            public_listen: self.public_listen,
            public_url: self.public_url,
            admin_listen: self.admin_listen,
            secrets: self.secrets.read()?,
            timings: self.intervals.timings()?,
            allowed_origins: self.allowed_origin,
        };
        super::block_on(async move {
            let store = self.store.connect().await?;
            process::run(clientmcp_node::Node::start(config, store)).await
        })
    }
}
