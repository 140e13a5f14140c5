//! The fixture app on the Rust SDK: offers the tools of `e2e/fixture/catalogue.json` as
//! `e2e/fixture/README.md` describes them, until it is told to end.

mod catalogue;
mod slow;
mod tools;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use clientmcp_sdk::{App, Builder, Status};
use tokio::signal::unix::{SignalKind, signal};

use crate::catalogue::Catalogue;
use crate::tools::Fixture;

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

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    log_to_stderr();
    let arguments = Arguments::parse();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

    let catalogue = Catalogue::read().context("the catalogue cannot be read")?;
    let fixture = Fixture::new(catalogue);
    let app = builder(&arguments, &fixture)?.connect();
    fixture.set_app(app.clone());

    let code = tokio::select! {
        stopped = report(&app) => { stopped?; ExitCode::FAILURE }
        _ = terminate.recv() => ExitCode::SUCCESS,
        _ = interrupt.recv() => ExitCode::SUCCESS,
    };
    app.close().await;
    Ok(code)
}

fn builder(arguments: &Arguments, fixture: &Fixture) -> anyhow::Result<Builder> {
    let about = fixture.catalogue();
    let mut builder = App::builder(&arguments.url)
        .server_info_json(about.server_info.clone())
        .instructions(&about.instructions)
        .tools(fixture.tools()?);
    if let Some(instance) = &arguments.instance {
        builder = builder.instance(instance);
    }
    Ok(match (&arguments.token, arguments.token_file.clone()) {
        (Some(token), _) => builder.token(token),
        (None, Some(file)) => {
            builder.token_provider(move |_| tokio::fs::read_to_string(file.clone()))
        }
        (None, None) => builder,
    })
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
        .with_writer(std::io::stderr)
        .init();
}
