//! `clientmcp loadtest`: load and faults on a cluster of real processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use clientmcp_loadtest::chaos::{self, Given, Options, Scenario};
use clientmcp_loadtest::report::{self, Report};

/// Loads a cluster, and says what it did.
#[derive(Debug, Args)]
pub struct Loadtest {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Break a cluster while agents call its apps, and compare what agents were told with what apps ran
    Chaos(Chaos),
}

/// Starts Redis (redis-server must be installed), nodes, routers and apps, calls the apps at a
/// fixed rate, breaks things, and audits from outside. Nothing outside of this machine is used.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
struct Chaos {
    /// What to do: names as --list shows them, or `all` for every one of them
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    scenarios: Vec<String>,
    /// Show the scenarios
    #[arg(long)]
    list: bool,
    /// Small and quick, 10 to 25 s each, for test suites
    #[arg(long)]
    short: bool,
    /// Fixes which calls are made and what is broken in which order; random where absent
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Nodes at the start
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
    nodes: Option<u32>,
    /// Routers at the start
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
    routers: Option<u32>,
    /// Connected apps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=18_000))]
    apps: Option<u32>,
    /// Calls per second
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// How often the fault happens
    #[arg(long, value_name = "N", visible_aliases = ["kills", "takeovers"])]
    times: Option<u32>,
    /// How long each fault lasts; in `random`, how long faults go on
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// The program that is started as nodes and routers; this one where absent
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Level of the processes' logs
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
    /// Keep the processes' logs although nothing failed
    #[arg(long)]
    keep_logs: bool,
    /// Write what came of it as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write what came of it as a page with charts, which needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  clientmcp loadtest chaos --list
  clientmcp loadtest chaos kills --kills 50 --html kills.html
  clientmcp loadtest chaos random --duration 10m --seed 7     the same calls and faults each time
  clientmcp loadtest chaos all --short

Each call carries a tag. Its app notes each run of the tag; the answer repeats the tag and names
the app. At the end the notes are compared with what the agents were told. The last line is

  failed N, double N, unknown N, gap p99 N ms

  failed   calls that no app answered (offline, not delivered, timeout, an error, a broken
           connection), that were answered and never ran, or answered by another app. Not
           counted: connections broken by a router that was killed on purpose
  double   calls that ran more than once
  unknown  calls of which the cluster says that it does not know whether they ran
  gap      for each app that a fault hit: from the fault to the first answer to a call that
           began after it; 99 of 100 are shorter

The exit code is 0 only if the first three are 0, every app came back, every process that was
asked to stop ended with 0, and nothing is left over in the processes at the end. Otherwise the
logs are kept, and the report says where.

All of it runs on this machine. The report says how much later than planned calls were made: if
that is more than some milliseconds the machine is too busy, and times say little. Use a release
build for the full sizes.

Scenarios that need silence between processes (cut-...) put each process into a network namespace
of its own, which needs root (CAP_NET_ADMIN), ip and nft. They are removed at the end.";

impl Loadtest {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let Kind::Chaos(chaos) = self.kind;
        chaos.run()
    }
}

impl Chaos {
    fn run(self) -> anyhow::Result<()> {
        if self.list {
            for scenario in Scenario::all() {
                println!("{:<16} {}", scenario.name(), scenario.summary());
            }
            return Ok(());
        }
        let scenarios = self.scenarios()?;
        let options = self.options()?;
        super::block_on(async move {
            let mut reports = Vec::new();
            for scenario in scenarios {
                let report = chaos::run(scenario, &options).await;
                let report = report.with_context(|| scenario.name())?;
                println!("{}", report.text());
                reports.push(report);
                // After each, so that an interrupted set leaves what it has found.
                self.write(&reports)?;
            }
            conclude(&reports)
        })
    }

    fn scenarios(&self) -> anyhow::Result<Vec<Scenario>> {
        if self.scenarios.iter().any(|name| name == "all") {
            return Ok(Scenario::all().collect());
        }
        let parsed = self.scenarios.iter().map(|name| name.parse());
        parsed
            .collect::<Result<_, String>>()
            .map_err(|error| anyhow::anyhow!("{error}; --list shows them"))
    }

    fn options(&self) -> anyhow::Result<Options> {
        ensure!(
            self.rate
                .is_none_or(|rate| (0.0..=100_000.0).contains(&rate)),
            "--rate: must be between 0 and 100000"
        );
        let program = match &self.binary {
            Some(file) => std::path::absolute(file).context("--binary")?,
            None => std::env::current_exe().context("--binary: name it")?,
        };
        ensure!(
            program.is_file(),
            "--binary: {} is no file",
            program.display()
        );
        Ok(Options {
            program,
            log: self.log.clone(),
            seed: self
                .seed
                .unwrap_or_else(|| u64::from(rand::random::<u32>())),
            short: self.short,
            keep_logs: self.keep_logs,
            given: Given {
                nodes: self.nodes,
                routers: self.routers,
                apps: self.apps,
                rate: self.rate,
                times: self.times,
                duration: self.duration,
            },
        })
    }

    fn write(&self, reports: &[Report]) -> anyhow::Result<()> {
        if let Some(file) = &self.json {
            let all: Vec<_> = reports.iter().map(Report::json).collect();
            write(file, &serde_json::to_string_pretty(&all)?).context("--json")?;
        }
        if let Some(file) = &self.html {
            write(file, &report::html(reports)).context("--html")?;
        }
        Ok(())
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| file.display().to_string())
}

/// One line for each run of several, and the last line.
fn conclude(reports: &[Report]) -> anyhow::Result<()> {
    if reports.len() > 1 {
        for report in reports {
            let verdict = if report.is_good() { "good" } else { "BAD " };
            println!("{verdict} {:<16} {}", report.scenario, report.last_line());
        }
        println!();
    }
    let bad: Vec<&str> = reports
        .iter()
        .filter(|report| !report.is_good())
        .map(|report| report.scenario.as_str())
        .collect();
    println!("{}", report::last_line(reports));
    if !bad.is_empty() {
        bail!("not as it must be: {}", bad.join(", "));
    }
    Ok(())
}
