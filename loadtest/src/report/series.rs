//! Latencies of a run, and what happened in each of its seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::apps;
use crate::audit::{Call, Durations, Fault, Outcome, Summary};

/// Latencies, and what happened in each second.
#[derive(Debug, Clone, Serialize)]
pub struct LoadReport {
    /// By tool: how much longer than its own time a call took, from when it was due. Probes are
    /// left out.
    pub latency: BTreeMap<&'static str, Summary>,
    /// How much later than planned calls were made. Where that is long the machine was too busy
    /// for what was asked of it, and every other time says little of the cluster.
    pub late: Summary,
    /// In their order, from the start of the run.
    pub seconds: Vec<Second>,
}

/// A second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Second {
    /// Calls that the app answered.
    pub ok: u32,
    /// Calls that ended as `unknown`.
    pub unknown: u32,
    /// Calls that ended in another way.
    pub other: u32,
    /// Of the calls that were due in it: how much longer than their tools they took.
    pub p50_ms: f64,
    /// The same, all but one in a hundred.
    pub p99_ms: f64,
    /// The same, at most.
    pub max_ms: f64,
    /// How many faults there were in it.
    pub faults: u32,
}

/// Sorts calls into tools and seconds.
#[must_use]
pub fn load_report(calls: &[Call], faults: &[Fault]) -> LoadReport {
    let mut tools: BTreeMap<&'static str, Durations> = BTreeMap::new();
    let last = calls.iter().filter_map(|call| call.ended).max();
    let count = last.map_or(0, |last| second(last) + 1);
    let mut ended = vec![[0_u32; 3]; count];
    let mut due: Vec<Vec<u64>> = vec![Vec::new(); count];
    let mut late = Durations::none();
    for call in calls {
        late.record(call.begun.saturating_sub(call.ask.due));
        let (Some(end), Some(excess)) = (call.ended, call.excess()) else {
            continue;
        };
        let kind = match call.outcome {
            Some(Outcome::Ok) => 0,
            Some(Outcome::Unknown) => 1,
            _ => 2,
        };
        ended[second(end)][kind] += 1;
        let micros = u64::try_from(excess.as_micros()).unwrap_or(u64::MAX);
        due[second(call.ask.due).min(count - 1)].push(micros);
        if !call.ask.probe {
            let tool = tools.entry(call.ask.work.tool());
            let tool = tool.or_insert_with(Durations::none);
            tool.record(excess);
        }
    }
    let seconds = ended.iter().zip(&mut due).enumerate();
    LoadReport {
        late: late.summary(),
        latency: apps::ALL
            .iter()
            .filter_map(|work| Some((work.tool(), tools.get(work.tool())?.summary())))
            .collect(),
        seconds: seconds
            .map(|(index, (ended, due))| {
                due.sort_unstable();
                let faults = faults.iter().filter(|fault| second(fault.at) == index);
                Second {
                    ok: ended[0],
                    unknown: ended[1],
                    other: ended[2],
                    p50_ms: quantile(due, 50),
                    p99_ms: quantile(due, 99),
                    max_ms: quantile(due, 100),
                    faults: u32::try_from(faults.count()).unwrap_or(u32::MAX),
                }
            })
            .collect(),
    }
}

fn second(time: Duration) -> usize {
    usize::try_from(time.as_secs()).unwrap_or(usize::MAX)
}

/// A percentile of sorted microseconds, in milliseconds; 0 of none.
fn quantile(sorted: &[u64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    let value = sorted.get(rank.saturating_sub(1)).copied();
    value.unwrap_or_default() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::Work;
    use crate::audit::Ask;

    fn call(due_ms: u64, ended_ms: u64, work: Work, outcome: Outcome) -> Call {
        Call {
            ask: Ask {
                app: 0,
                work,
                legacy: false,
                probe: false,
                due: Duration::from_millis(due_ms),
            },
            begun: Duration::from_millis(due_ms + 5),
            ended: Some(Duration::from_millis(ended_ms)),
            outcome: Some(outcome),
            router: None,
        }
    }

    #[test]
    fn latency_counts_from_when_a_call_was_due_and_without_its_work() {
        let calls = [
            call(100, 110, Work::Instant, Outcome::Ok),
            call(200, 2_230, Work::Long, Outcome::Ok),
            call(1_500, 1_501, Work::Instant, Outcome::Unknown),
        ];
        let report = load_report(&calls, &[]);
        assert_eq!(report.seconds.len(), 3);
        let ended = |second: usize| (report.seconds[second].ok, report.seconds[second].unknown);
        assert_eq!([ended(0), ended(1), ended(2)], [(1, 0), (0, 1), (1, 0)]);
        assert_eq!(report.seconds[0].p50_ms, 10.0);
        assert_eq!(report.seconds[0].max_ms, 30.0);
        assert_eq!(report.latency.len(), 2);
        assert!((report.late.max_ms - 5.0).abs() < 0.1);
        assert!((report.latency["work_2000"].max_ms - 30.0).abs() < 0.1);
    }

    #[test]
    fn percentiles_are_of_what_is_there() {
        assert_eq!(quantile(&[], 99), 0.0);
        assert_eq!(quantile(&[1000], 50), 1.0);
        let many: Vec<u64> = (1..=100).map(|ms| ms * 1000).collect();
        assert_eq!((quantile(&many, 50), quantile(&many, 99)), (50.0, 99.0));
    }
}
