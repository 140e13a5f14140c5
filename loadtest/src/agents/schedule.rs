//! Which call is made when: a function of the seed alone. What the cluster does changes nothing
//! of it, so a call that waits holds no other up (no coordinated omission).

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::Style;
use crate::apps::Work;

/// How often each kind of work is asked for, by weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix(pub [(Work, u32); 4]);

impl Mix {
    /// Many short calls, and some that are running whenever something is lost.
    pub const FULL: Mix = Mix([
        (Work::Instant, 70),
        (Work::Short, 20),
        (Work::Long, 8),
        (Work::Longest, 2),
    ]);
    /// Without the longest, for runs that are short themselves.
    pub const SHORT: Mix = Mix([
        (Work::Instant, 60),
        (Work::Short, 25),
        (Work::Long, 15),
        (Work::Longest, 0),
    ]);

    fn pick(&self, rng: &mut StdRng) -> Work {
        let total: u32 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut ticket = rng.random_range(0..total);
        for (work, weight) in self.0 {
            if ticket < weight {
                return work;
            }
            ticket -= weight;
        }
        Work::Instant
    }
}

/// A call that will be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// When, since the load began.
    pub at: Duration,
    /// Whom.
    pub app: u32,
    /// What.
    pub work: Work,
    /// How.
    pub style: Style,
}

/// What a load consists of.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Calls per second, on average.
    pub rate: f64,
    /// Called are the apps below this number, each as often as any other.
    pub apps: u32,
    /// What is asked of them.
    pub mix: Mix,
    /// Each request on a connection of its own; else half of them.
    pub all_fresh: bool,
}

/// An endless sequence of calls (an empty one at the rate 0), at random times: as many callers who know nothing of each other.
#[derive(Debug)]
pub struct Schedule {
    rng: StdRng,
    plan: Plan,
    at: f64,
}

impl Schedule {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64, plan: Plan) -> Self {
        Self {
            rng: StdRng::seed_from_u64(seed),
            plan,
            at: 0.0,
        }
    }
}

impl Iterator for Schedule {
    type Item = Planned;

    fn next(&mut self) -> Option<Planned> {
        if self.plan.rate <= 0.0 {
            return None;
        }
        let chance: f64 = self.rng.random();
        self.at -= (1.0 - chance).ln() / self.plan.rate;
        Some(Planned {
            at: Duration::from_secs_f64(self.at),
            app: self.rng.random_range(0..self.plan.apps),
            work: self.plan.mix.pick(&mut self.rng),
            style: Style {
                legacy: self.rng.random(),
                fresh: self.rng.random::<bool>() || self.plan.all_fresh,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan {
        rate: 200.0,
        apps: 500,
        mix: Mix::FULL,
        all_fresh: false,
    };

    fn planned(seed: u64, plan: Plan) -> Vec<Planned> {
        Schedule::new(seed, plan).take(20_000).collect()
    }

    #[test]
    fn a_seed_is_a_sequence() {
        assert_eq!(planned(7, PLAN), planned(7, PLAN));
        assert_ne!(planned(7, PLAN), planned(8, PLAN));
    }

    #[test]
    fn rate_and_mix_are_as_asked() {
        let calls = planned(1, PLAN);
        assert!(calls.is_sorted_by_key(|call| call.at));
        let seconds = calls[calls.len() - 1].at.as_secs_f64();
        let rate = calls.len() as f64 / seconds;
        assert!((190.0..210.0).contains(&rate), "{rate}");
        for (work, weight) in Mix::FULL.0 {
            let count = calls.iter().filter(|call| call.work == work).count();
            let share = count as f64 * 100.0 / calls.len() as f64;
            assert!((share - f64::from(weight)).abs() < 1.5, "{work:?}: {share}");
        }
        assert!(calls.iter().any(|call| !call.style.fresh));
        assert!(calls.iter().all(|call| call.app < 500));
    }

    #[test]
    fn short_runs_have_no_call_that_outlasts_them() {
        let plan = Plan {
            mix: Mix::SHORT,
            all_fresh: true,
            ..PLAN
        };
        let calls = planned(3, plan);
        assert!(calls.iter().all(|call| call.work != Work::Longest));
        assert!(calls.iter().all(|call| call.style.fresh));
    }
}
