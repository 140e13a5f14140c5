//! Logs: text for people, JSON for collectors, always to standard error.

use anyhow::Context;
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

/// How and how much is logged.
#[derive(Debug, Args)]
pub(crate) struct Logging {
    /// What is logged: a level, or levels by module as in "info,clientmcp_node=debug"
    /// [default: info; dev: warn]
    #[arg(long, env = "CLIENTMCP_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// How log lines are written
    #[arg(
        long,
        env = "CLIENTMCP_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    log_format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

impl Logging {
    /// Starts logging for the process, at `default` if nothing else was asked for.
    pub(crate) fn start(&self, default: &str) -> anyhow::Result<()> {
        let directives = self.log.as_deref().unwrap_or(default);
        let filter =
            EnvFilter::try_new(directives).with_context(|| format!("--log {directives}"))?;
        let lines = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .with_writer(std::io::stderr);
        match self.log_format {
            Format::Text => lines.init(),
            Format::Json => lines.json().flatten_event(true).init(),
        }
        Ok(())
    }
}
