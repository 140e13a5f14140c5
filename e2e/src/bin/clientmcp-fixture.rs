//! The fixture app as a process of its own, until it is told to end; see `e2e/fixture/README.md`.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clientmcp_e2e::fixture;
use clientmcp_sdk::{App, Builder, Status};
use tokio::signal::unix::{SignalKind, signal};

/// Offers the tools of the catalogue through a cluster.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where apps connect to the cluster: ws://HOST:PORT/v1/connect
    #[arg(long, env = "CLIENTMCP_URL")]
    url: String,
    /// The app's token
    #[arg(long, env = "CLIENTMCP_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// A file with the app's token; it is read again when another is needed
    #[arg(long, conflicts_with = "token", required_unless_present = "token")]
    token_file: Option<PathBuf>,
    /// The name of this run of the app; random by default
    #[arg(long)]
    instance: Option<String>,
}

impl Arguments {
    fn complete(&self, mut builder: Builder) -> Builder {
        if let Some(instance) = &self.instance {
            builder = builder.instance(instance);
        }
        match (&self.token, self.token_file.clone()) {
            (Some(token), _) => builder.token(token),
            (None, Some(file)) => {
                builder.token_provider(move |_| tokio::fs::read_to_string(file.clone()))
            }
            (None, None) => builder,
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    log_to_stderr();
    let arguments = Arguments::parse();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

    let app = fixture::app_with(&arguments.url, |builder| arguments.complete(builder));
    let code = tokio::select! {
        stopped = report(&app) => { stopped?; ExitCode::FAILURE }
        _ = terminate.recv() => ExitCode::SUCCESS,
        _ = interrupt.recv() => ExitCode::SUCCESS,
    };
    app.close().await;
    Ok(code)
}

/// Prints `ready` when the app is online for the first time, `online` for each new connection, and
/// every change of its status to stderr. Ends when the app has stopped by itself.
async fn report(app: &App) -> anyhow::Result<()> {
    let mut changes = app.status();
    let mut connection = 0;
    loop {
        let status = changes.borrow_and_update().clone();
        match &status {
            Status::Online(online) if online.connection != connection => {
                if connection == 0 {
                    print_line("ready")?;
                }
                connection = online.connection;
                print_line("online")?;
            }
            _ => eprintln!("{status:?}"),
        }
        if matches!(status, Status::Stopped(_)) {
            return Ok(());
        }
        changes.changed().await?;
    }
}

fn print_line(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
}
