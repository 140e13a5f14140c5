//! The sums: failed, run twice, lost, unknown.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use super::book::Call;
use super::classify::Outcome;
use crate::apps::Run;

/// A router whose connections were broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouterKill {
    /// Where it listened.
    pub router: SocketAddr,
    /// When it was killed, since the start of the run.
    pub at: Duration,
}

/// A connection to a killed router breaks within this time.
const BREAKS_WITHIN: Duration = Duration::from_secs(1);
/// How many examples of each outcome that is wrong are quoted.
const EXAMPLES: usize = 8;

/// What became of all calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Calls that were made.
    pub issued: usize,
    /// Calls by the kind of their outcome.
    pub outcomes: BTreeMap<&'static str, usize>,
    /// Calls that the cluster failed: anything but an answer of the app or `unknown`, and lost
    /// ones.
    pub failed: usize,
    /// Calls that ran more than once.
    pub double: usize,
    /// Calls that were answered, and did not run.
    pub lost: usize,
    /// Answers of another app, or to another call.
    pub crossed: usize,
    /// Calls with the outcome `unknown`.
    pub unknown: usize,
    /// Of those, the ones that ran.
    pub unknown_ran: usize,
    /// What went wrong, by example: some calls of each outcome.
    pub examples: BTreeMap<&'static str, Vec<String>>,
}

/// Compares what agents were told with what apps ran.
#[must_use]
pub fn judge(calls: &[Call], runs: &[Run], kills: &[RouterKill]) -> Verdict {
    let mut ran: HashMap<u64, Vec<&Run>> = HashMap::new();
    for run in runs {
        ran.entry(run.tag).or_default().push(run);
    }
    let mut verdict = Verdict {
        issued: calls.len(),
        ..Verdict::default()
    };
    for (tag, call) in (0_u64..).zip(calls) {
        let ran = ran.get(&tag).map_or(&[][..], Vec::as_slice);
        verdict.add(tag, call, &outcome(call, kills), ran);
    }
    verdict
}

/// How a call ended, a killed router taken into account.
fn outcome(call: &Call, kills: &[RouterKill]) -> Outcome {
    let outcome = call.outcome.clone();
    let outcome = outcome.unwrap_or_else(|| Outcome::NoAnswer("the run ended".to_owned()));
    let (Outcome::NoAnswer(_), Some(ended)) = (&outcome, call.ended) else {
        return outcome;
    };
    let broken = kills.iter().any(|kill| {
        call.router == Some(kill.router)
            && call.begun <= kill.at + BREAKS_WITHIN
            && (kill.at..=kill.at + BREAKS_WITHIN).contains(&ended)
    });
    if broken {
        Outcome::RouterKilled
    } else {
        outcome
    }
}

impl Verdict {
    fn add(&mut self, tag: u64, call: &Call, outcome: &Outcome, ran: &[&Run]) {
        *self.outcomes.entry(outcome.kind()).or_default() += 1;
        let mut wrong = outcome.is_failure();
        match outcome {
            Outcome::Ok if ran.is_empty() => {
                self.lost += 1;
                wrong = true;
            }
            Outcome::Unknown => {
                self.unknown += 1;
                self.unknown_ran += usize::from(!ran.is_empty());
            }
            Outcome::CrossDelivery(_) => self.crossed += 1,
            _ => {}
        }
        if ran.iter().any(|run| run.app != call.ask.app) {
            self.crossed += 1;
            wrong = true;
        }
        self.failed += usize::from(wrong);
        self.double += usize::from(ran.len() > 1);
        if wrong || ran.len() > 1 || *outcome == Outcome::Unknown {
            let examples = self.examples.entry(outcome.kind()).or_default();
            if examples.len() < EXAMPLES {
                examples.push(example(tag, call, outcome, ran.len()));
            }
        }
    }

    /// Whether nothing is to be said against the cluster.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.double == 0 && self.unknown == 0
    }
}

fn example(tag: u64, call: &Call, outcome: &Outcome, runs: usize) -> String {
    let ask = &call.ask;
    let seconds = |time: Option<Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64());
    format!(
        "call {tag} ({}, {}{}) of app-{} by {}: {:.3} s to {:.3} s, {outcome}, ran {runs} times",
        ask.work.tool(),
        if ask.legacy { "legacy" } else { "modern" },
        if ask.probe { ", probe" } else { "" },
        ask.app,
        call.router
            .map_or("-".to_owned(), |router| router.to_string()),
        call.begun.as_secs_f64(),
        seconds(call.ended),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::Work;
    use crate::audit::Ask;

    const ROUTER: &str = "127.0.0.1:1";

    fn call(app: u32, outcome: Option<Outcome>) -> Call {
        Call {
            ask: Ask {
                app,
                work: Work::Instant,
                legacy: false,
                probe: false,
                due: Duration::from_secs(1),
            },
            begun: Duration::from_secs(1),
            ended: outcome.is_some().then_some(Duration::from_secs(2)),
            outcome,
            router: ROUTER.parse().ok(),
        }
    }

    fn run(tag: u64, app: u32) -> Run {
        Run {
            tag,
            app,
            instance: "i".to_owned(),
        }
    }

    #[test]
    fn answers_are_compared_with_runs() {
        let broken = || Some(Outcome::NoAnswer("reset".to_owned()));
        let calls = [
            call(1, Some(Outcome::Ok)),
            // Answered, and never run.
            call(1, Some(Outcome::Ok)),
            // Run twice.
            call(1, Some(Outcome::Ok)),
            // Unknown: one ran, one did not.
            call(1, Some(Outcome::Unknown)),
            call(1, Some(Outcome::Unknown)),
            // Run by another app than the one that was called.
            call(1, Some(Outcome::Ok)),
            call(1, Some(Outcome::Offline)),
            call(1, broken()),
            call(1, None),
        ];
        let runs = [run(0, 1), run(2, 1), run(2, 1), run(3, 1), run(5, 2)];
        let verdict = judge(&calls, &runs, &[]);
        assert_eq!(verdict.issued, 9);
        assert_eq!(verdict.double, 1);
        assert_eq!(verdict.lost, 1);
        assert_eq!((verdict.unknown, verdict.unknown_ran), (2, 1));
        assert_eq!(verdict.crossed, 1);
        // Lost, crossed, offline, broken, unanswered.
        assert_eq!(verdict.failed, 5);
        assert_eq!(verdict.outcomes["ok"], 4);
        assert_eq!(verdict.outcomes["no answer"], 2);
        assert!(!verdict.is_good());
    }

    #[test]
    fn a_run_twice_of_one_tag_in_two_instances_is_double_whatever_the_agent_was_told() {
        let verdict = judge(
            &[call(1, Some(Outcome::Unknown))],
            &[run(0, 1), run(0, 1)],
            &[],
        );
        assert_eq!((verdict.double, verdict.failed), (1, 0));
        assert!(!verdict.is_good());
    }

    #[test]
    fn only_what_a_killed_router_carried_is_excused() {
        let kill = |router: &str, at: u64| RouterKill {
            router: router.parse().unwrap(),
            at: Duration::from_millis(at),
        };
        let broken = || [call(1, Some(Outcome::NoAnswer("reset".to_owned())))];
        let table = [
            (kill(ROUTER, 1_990), 0),
            (kill(ROUTER, 990), 1),
            (kill(ROUTER, 2_010), 1),
            (kill("127.0.0.1:2", 1_990), 1),
        ];
        for (kill, failed) in table {
            assert_eq!(judge(&broken(), &[], &[kill]).failed, failed, "{kill:?}");
        }
        let offline = [call(1, Some(Outcome::Offline))];
        assert_eq!(judge(&offline, &[], &[kill(ROUTER, 1_990)]).failed, 1);
    }
}
