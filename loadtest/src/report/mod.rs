//! What came of a run: for people at a terminal, as JSON, as a page.

mod html;
mod series;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

pub use series::{LoadReport, load_report};

use crate::audit::{Fault, Gaps, Leaks, Verdict};
use crate::chaos::Sizes;

/// A run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// What fixed its calls and faults.
    pub seed: u64,
    /// How large it was.
    pub sizes: Sizes,
    /// Latencies, and what happened in each second.
    pub load: LoadReport,
    /// What became of the calls.
    pub verdict: Verdict,
    /// The gaps of all faults.
    pub gaps: Gaps,
    /// Each fault.
    pub faults: Vec<FaultReport>,
    /// All that was done, in its order.
    pub events: Vec<Event>,
    /// What the scenario measured beside.
    pub notes: Vec<String>,
    /// What was left in the processes.
    pub leaks: Leaks,
    /// What must not be.
    pub complaints: Vec<String>,
    /// Where the logs are, if they were kept.
    pub logs: Option<PathBuf>,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// When, since the start of the run.
    pub at: Duration,
    /// What.
    pub text: String,
}

/// A fault and its gaps.
#[derive(Debug, Clone)]
pub struct FaultReport {
    /// The fault.
    pub fault: Fault,
    /// How long its apps could not be called.
    pub gaps: Gaps,
}

impl FaultReport {
    /// Of a fault.
    #[must_use]
    pub fn new(fault: &Fault, gaps: &Gaps) -> Self {
        Self {
            fault: fault.clone(),
            gaps: gaps.clone(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "atMs": ms(self.fault.at),
            "what": self.fault.what,
            "affectedApps": self.fault.affected.len(),
            "callsInFlight": self.fault.in_flight,
            "callsInFlightToAffected": self.fault.in_flight_affected,
            "gap": self.gaps.summary(),
            "notBack": self.gaps.never_back(),
        })
    }
}

impl Report {
    /// Whether nothing is to be said against the cluster.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.verdict.is_good() && self.complaints.is_empty()
    }

    /// The line that says it all.
    #[must_use]
    pub fn last_line(&self) -> String {
        last_line(std::slice::from_ref(self))
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let verdict = &self.verdict;
        let faults: Vec<Value> = self.faults.iter().map(FaultReport::json).collect();
        let event = |event: &Event| json!({"atMs": ms(event.at), "text": event.text});
        json!({
            "scenario": self.scenario,
            "seed": self.seed,
            "sizes": self.sizes,
            "good": self.is_good(),
            "calls": {
                "issued": verdict.issued,
                "outcomes": verdict.outcomes,
                "failed": verdict.failed,
                "double": verdict.double,
                "lost": verdict.lost,
                "crossDelivered": verdict.crossed,
                "unknown": verdict.unknown,
                "unknownThatRan": verdict.unknown_ran,
                "examples": verdict.examples,
            },
            "gap": self.gaps.summary(),
            "late": self.load.late,
            "latency": self.load.latency,
            "seconds": self.load.seconds,
            "faults": faults,
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
            "notes": self.notes,
            "processes": self.leaks.processes,
            "complaints": self.complaints,
            "logs": self.logs,
        })
    }

    /// For people at a terminal: tables, then what must not be.
    #[must_use]
    pub fn text(&self) -> String {
        text::text(self)
    }
}

/// The last line of one run, or of several together.
#[must_use]
pub fn last_line(reports: &[Report]) -> String {
    let mut gaps = Gaps::none();
    for report in reports {
        gaps.add(&report.gaps);
    }
    let sum = |number: fn(&Report) -> usize| reports.iter().map(number).sum::<usize>();
    format!(
        "failed {}, double {}, unknown {}, gap p99 {:.0} ms",
        sum(|report| report.verdict.failed),
        sum(|report| report.verdict.double),
        sum(|report| report.verdict.unknown),
        gaps.summary().p99_ms,
    )
}

/// A page that needs nothing else, with these runs.
#[must_use]
pub fn html(reports: &[Report]) -> String {
    html::page(reports)
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
