//! `clientmcp dev`: a whole cluster in one process.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use clientmcp_core::ids::ClientId;

use crate::cluster::{Cluster, Options};
use crate::demo::Session;
use crate::logging::Logging;
use crate::secret_source::SecretSource;
use crate::shutdown::StopSignals;

/// Runs a router and some nodes in this process, with everything in memory, a new
/// secret (unless one is given), and a demo page. Nothing is kept when it ends.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  clientmcp dev                              then open http://127.0.0.1:8080/
  clientmcp dev --listen 127.0.0.1:0 --json  on a free port, for scripts: one line of JSON once it serves")]
pub struct Dev {
    /// Where agents and applications connect; port 0 takes a free one
    #[arg(
        long,
        env = "CLIENTMCP_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:8080"
    )]
    listen: SocketAddr,
    /// Where metrics and status are served
    #[arg(
        long,
        env = "CLIENTMCP_ADMIN_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:0"
    )]
    admin_listen: SocketAddr,
    /// How many nodes
    #[arg(long, env = "CLIENTMCP_DEV_NODES", value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u8).range(1..=16))]
    nodes: u8,
    /// The client ID that the printed tokens name
    #[arg(
        long,
        env = "CLIENTMCP_CLIENT",
        value_name = "ID",
        default_value = "demo"
    )]
    client: String,
    /// How long the printed tokens are valid
    #[arg(long, env = "CLIENTMCP_TOKEN_TTL", value_name = "TIME", default_value = "1day",
          value_parser = humantime::parse_duration)]
    ttl: Duration,
    /// Allow browser pages of this origin; may be given more than once
    #[arg(
        long,
        env = "CLIENTMCP_ALLOWED_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ','
    )]
    allowed_origin: Vec<String>,
    /// Print one line of JSON instead of text, once the cluster serves
    #[arg(long, env = "CLIENTMCP_JSON")]
    json: bool,
    #[command(flatten)]
    secrets: SecretSource,
    #[command(flatten)]
    logging: Logging,
}

impl Dev {
    pub(super) fn run(self) -> anyhow::Result<()> {
        self.logging.start("warn")?;
        let client_id = ClientId::parse(&self.client).context("--client")?;
        let mut options = Options::new(self.secrets.read_or_generate()?, client_id);
        options.listen = self.listen;
        options.admin_listen = self.admin_listen;
        options.nodes = usize::from(self.nodes);
        options.token_ttl = self.ttl;
        // No load balancer has to notice that it stops.
        options.timings.pre_drain = Duration::ZERO;
        options.timings.drain = Duration::from_secs(1);
        options.allowed_origins = self.allowed_origin;
        super::block_on(async move {
            let mut signals = StopSignals::listen()?;
            let cluster = Cluster::start(options).await?;
            let session = cluster.session();
            if !self.listen.ip().is_loopback() {
                tracing::warn!(listen = %self.listen, "whoever reaches this port gets tokens from /dev/session");
            }
            if self.json {
                println!("{}", serde_json::to_string(&session)?);
            } else {
                print!("{}", greeting(&session, usize::from(self.nodes)));
            }
            tokio::select! {
                () = signals.next() => {}
                error = cluster.failed() => return Err(error),
            }
            tokio::select! {
                () = cluster.stop() => Ok(()),
                () = signals.next() => Ok(()),
            }
        })
    }
}

/// What a newcomer reads first.
fn greeting(session: &Session, nodes: usize) -> String {
    let Session {
        agent_url,
        connect_url,
        client_id,
        app_token,
        agent_token,
        admin_url,
        ..
    } = session;
    let page = agent_url.trim_end_matches("mcp");
    format!(
        "\
clientmcp dev: one router and {nodes} nodes in this process; nothing is kept when it ends.

  Demo page    {page}
  Agent URL    {agent_url}
  Connect URL  {connect_url}
  Status       {admin_url}/status
  Client ID    {client_id}

  Agent token  {agent_token}

  App token    {app_token}

1. Open the demo page: it is an application with four tools.

2. Call them from any MCP client. Paste one of these:

   Claude Code
     claude mcp add --transport http {client_id} {agent_url} --header \"Authorization: Bearer {agent_token}\"

   Cursor and others that read \"mcpServers\" (VS Code's mcp.json calls that member \"servers\")
     {{\"mcpServers\":{{\"{client_id}\":{{\"type\":\"http\",\"url\":\"{agent_url}\",\"headers\":{{\"Authorization\":\"Bearer {agent_token}\"}}}}}}}}

   MCP Inspector, on the command line
     npx -y @modelcontextprotocol/inspector@latest --cli {agent_url} --transport http --header \"Authorization: Bearer {agent_token}\" --method tools/list

   curl
     curl -s {agent_url} -H 'Authorization: Bearer {agent_token}' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: show_message' -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"show_message\",\"arguments\":{{\"text\":\"Hello\"}},\"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}'

Ctrl-C ends it.
"
    )
}
