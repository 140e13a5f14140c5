//! The Rust crate rmcp 3.x as an agent, in the mode named by the first argument: `legacy` (its
//! default handshake, which asks for 2026-07-28 and must be answered with 2025-11-25), `discover`
//! (stateless 2026-07-28) or `auto` (asks server/discover first).
//!
//! Each scenario prints one line, `ok|FAIL <agent> <mode> <scenario> [detail]`.

mod agent;
mod answers;
mod offers;
mod scenarios;
mod wire;

use std::{env, process::ExitCode};

use anyhow::{Context, bail};

/// Which half of the protocol the connection must end up in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let mode = env::args()
        .nth(1)
        .context("usage: agent-rmcp legacy|discover|auto")?;
    let era = match mode.as_str() {
        "legacy" => Era::Legacy,
        "discover" | "auto" => Era::Modern,
        other => bail!("no mode {other}: it is legacy, discover or auto"),
    };
    let url = env::var("MCP_URL").context("MCP_URL is not set")?;
    let token = env::var("MCP_TOKEN").context("MCP_TOKEN is not set")?;
    let passed = scenarios::run(&mode, era, &url, &token).await?;
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
