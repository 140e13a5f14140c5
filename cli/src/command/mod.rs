//! One file per subcommand.

mod dev;
mod loadtest;
mod node;
mod router;
mod status;
mod token;

use std::num::NonZero;

use clap::Subcommand;
use tokio::runtime::Builder;

/// What `clientmcp` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a whole cluster in this process, to try it and to develop against it
    Dev(dev::Dev),
    /// Run a node: it holds the applications' WebSockets
    Node(node::Node),
    /// Run a router: it faces agents and applications
    Router(router::Router),
    /// Break a cluster of real processes under load, and audit what that did
    Loadtest(loadtest::Loadtest),
    /// Print a token for an application or an agent
    Token(token::Token),
    /// Show the members of a running cluster and what they hold
    Status(status::Status),
}

impl Command {
    /// Runs the subcommand to its end.
    ///
    /// # Errors
    /// Whatever stopped it, as one line that names the flag where a flag is the cause.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Dev(dev) => dev.run(),
            Command::Node(node) => node.run(),
            Command::Router(router) => router.run(),
            Command::Loadtest(loadtest) => loadtest.run(),
            Command::Token(token) => token.run(),
            Command::Status(status) => status.run(),
        }
    }
}

/// Runs a process of the cluster on all cores. On a single one nothing is gained by a runtime that
/// shares its work among threads.
fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut runtime = match cores {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build()?.block_on(work)
}
