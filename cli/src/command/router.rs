//! `clientmcp router`: faces agents and applications.

use std::net::SocketAddr;

use clap::Args;

use crate::intervals::Intervals;
use crate::logging::Logging;
use crate::member_identity::MemberIdentity;
use crate::process;
use crate::secret_source::SecretSource;
use crate::store_source::StoreSource;

/// Runs a router. Agents call it at /mcp, applications connect at /v1/connect.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  clientmcp router --id router-1 --listen 127.0.0.1:8080
  clientmcp router --listen 0.0.0.0:8080 --advertise 10.0.0.7:8080 --allowed-host bridge.example.com \\
                   --allowed-origin https://app.example.com --redis-url redis://redis:6379

It speaks plain HTTP: terminate TLS in front of it.")]
pub struct Router {
    #[command(flatten)]
    identity: MemberIdentity,
    /// Public port, for agents and applications; port 0 takes a free one
    #[arg(
        long,
        env = "CLIENTMCP_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:8080"
    )]
    listen: SocketAddr,
    /// Port for operators: /metrics, /livez, /readyz, /status
    #[arg(
        long,
        env = "CLIENTMCP_ADMIN_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:9090"
    )]
    admin_listen: SocketAddr,
    /// Answer only requests for this host; may be given more than once. Without it a router that
    /// listens on loopback answers loopback names alone, and any other answers every host
    #[arg(
        long,
        env = "CLIENTMCP_ALLOWED_HOST",
        value_name = "HOST",
        value_delimiter = ','
    )]
    allowed_host: Vec<String>,
    /// Allow browser pages of this origin; may be given more than once
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

impl Router {
    pub(super) fn run(self) -> anyhow::Result<()> {
        self.logging.start("info")?;
        let mut config =
            clientmcp_router::Config::new(self.identity.member_id()?, self.secrets.read()?);
        config.timings = self.intervals.timings()?;
        config.listen = self.listen;
        config.advertise = self.identity.advertise(self.listen)?;
        config.admin_listen = self.admin_listen;
        config.allowed_hosts = self.allowed_host;
        config.allowed_origins = self.allowed_origin;
        super::block_on(async move {
            let store = self.store.connect().await?;
            process::run(clientmcp_router::Router::start(config, store)).await
        })
    }
}
