//! The `clientmcp` program.

use std::process::ExitCode;

use clap::Parser;
use clientmcp_cli::command::Command;

/// Connects AI agents with tools inside running applications, through a cluster.
///
/// An application dials out over a WebSocket and registers its tools; agents call them over MCP
/// at one stable address. Try it in one process:
///
///     clientmcp dev
#[derive(Debug, Parser)]
#[command(
    name = "clientmcp",
    version,
    max_term_width = 100,
    verbatim_doc_comment
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Program::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("clientmcp: {error:#}");
            ExitCode::FAILURE
        }
    }
}
