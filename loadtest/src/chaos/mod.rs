//! Chaos: scenarios that break a cluster under load, and the audit of what that did.

mod catalog;
mod scenario;
mod screen;
mod stage;

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

pub use catalog::{Given, Scenario, Sizes};
use stage::Stage;

use crate::report::Report;

/// What a run is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// `clientmcp`, which is started as nodes and routers.
    pub program: PathBuf,
    /// The level of the processes' logs.
    pub log: String,
    /// Fixes the calls and the faults.
    pub seed: u64,
    /// Small and quick, for test suites.
    pub short: bool,
    /// Keep the logs although nothing failed.
    pub keep_logs: bool,
    /// Sizes other than the scenario's own.
    pub given: Given,
}

/// Plays a scenario to its end, and says what came of it.
///
/// # Errors
/// The cluster could not be started, or the run was interrupted.
pub async fn run(scenario: Scenario, options: &Options) -> anyhow::Result<Report> {
    let sizes = scenario.sizes(options.short).with(&options.given);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // Whatever is dropped here ends what it started: processes, namespaces.
    tokio::select! {
        report = play(scenario, sizes, options) => report,
        _ = interrupt.recv() => anyhow::bail!("interrupted"),
        _ = terminate.recv() => anyhow::bail!("terminated"),
    }
}

async fn play(scenario: Scenario, sizes: Sizes, options: &Options) -> anyhow::Result<Report> {
    let mut stage = Stage::start(scenario, sizes, options).await?;
    if let Err(error) = scenario::play(scenario, &mut stage).await {
        stage.complain(format!("{error:#}"));
    }
    Ok(stage.finish().await)
}
