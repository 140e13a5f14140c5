//! How long an app could not be called after a fault.

use std::time::Duration;

use super::book::Call;
use super::durations::{Durations, Summary};
use crate::apps::Work;

/// Something that was done to the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// When, since the start of the run.
    pub at: Duration,
    /// What.
    pub what: String,
    /// The apps that it hit: those that a process held which it befell.
    pub affected: Vec<u32>,
    /// Calls that had begun and not ended, to any app.
    pub in_flight: usize,
    /// Those of them that were to affected apps.
    pub in_flight_affected: usize,
}

/// The gaps of one fault, or of many.
#[derive(Debug, Clone)]
pub struct Gaps {
    durations: Durations,
    /// Apps that nobody could call any more.
    never_back: Vec<u32>,
}

impl Gaps {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        Self {
            durations: Durations::none(),
            never_back: Vec::new(),
        }
    }

    /// The gap of each affected app: from the fault to the first answer to a call of no work that
    /// began after the fault.
    #[must_use]
    pub fn of(fault: &Fault, calls: &[Call]) -> Self {
        let mut gaps = Self::none();
        let highest = fault.affected.iter().max().copied().unwrap_or_default();
        let mut back = vec![None; highest as usize + 1];
        for call in calls {
            let counts = call.ask.work == Work::Instant && call.is_ok() && call.begun >= fault.at;
            let (Some(ended), Some(first)) = (call.ended, back.get_mut(call.ask.app as usize))
            else {
                continue;
            };
            if counts && first.is_none_or(|first| ended < first) {
                *first = Some(ended);
            }
        }
        for &app in &fault.affected {
            match back[app as usize] {
                Some(ended) => gaps.durations.record(ended.saturating_sub(fault.at)),
                None => gaps.never_back.push(app),
            }
        }
        gaps
    }

    /// Adds those of another fault.
    pub fn add(&mut self, other: &Gaps) {
        self.durations.add(&other.durations);
        self.never_back.extend_from_slice(&other.never_back);
    }

    /// Apps that could not be called any more.
    #[must_use]
    pub fn never_back(&self) -> &[u32] {
        &self.never_back
    }

    /// Those of the apps that came back, in numbers.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.durations.summary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Ask, Outcome};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn call(app: u32, work: Work, (begun, ended): (u64, u64), outcome: Outcome) -> Call {
        Call {
            ask: Ask {
                app,
                work,
                legacy: false,
                probe: true,
                due: ms(begun),
            },
            begun: ms(begun),
            ended: Some(ms(ended)),
            outcome: Some(outcome),
            router: None,
        }
    }

    fn fault(affected: &[u32]) -> Fault {
        Fault {
            at: ms(1000),
            what: "n1 killed".to_owned(),
            affected: affected.to_vec(),
            in_flight: 0,
            in_flight_affected: 0,
        }
    }

    #[test]
    fn a_gap_ends_with_the_first_answer_to_a_call_that_began_after_the_fault() {
        let calls = [
            // Began before: it may have been answered by what was lost.
            call(1, Work::Instant, (999, 1001), Outcome::Ok),
            call(1, Work::Instant, (1001, 1100), Outcome::Unknown),
            call(1, Work::Short, (1001, 1205), Outcome::Ok),
            call(1, Work::Instant, (1110, 1400), Outcome::Ok),
            // Began later and was answered earlier: the app was back by then.
            call(1, Work::Instant, (1300, 1302), Outcome::Ok),
            call(2, Work::Instant, (1000, 1005), Outcome::Ok),
            call(3, Work::Instant, (1000, 1001), Outcome::Ok),
        ];
        let summary = Gaps::of(&fault(&[1, 2]), &calls).summary();
        assert_eq!(summary.count, 2);
        assert!((summary.max_ms - 302.0).abs() < 1.0, "{summary:?}");
        assert!((summary.p50_ms - 5.0).abs() < 0.1, "{summary:?}");
    }

    #[test]
    fn an_app_that_never_answers_again_is_named() {
        let calls = [call(1, Work::Instant, (1001, 1002), Outcome::Offline)];
        let mut gaps = Gaps::of(&fault(&[1, 4]), &calls);
        assert_eq!(gaps.never_back(), [1, 4]);
        gaps.add(&Gaps::of(&fault(&[]), &calls));
        assert_eq!(gaps.summary().count, 0);
    }
}
