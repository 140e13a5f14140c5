//! Every call of a run: when it was due, when it began, how it ended.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::classify::Outcome;
use crate::apps::Work;

/// What is known of a call before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The app that is called.
    pub app: u32,
    /// What it is asked for.
    pub work: Work,
    /// Whether it is called in a session of a 2025 revision.
    pub legacy: bool,
    /// Whether it asks if an app is back, beside the scheduled load.
    pub probe: bool,
    /// When it was to be made, since the start of the run.
    pub due: Duration,
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What was asked.
    pub ask: Ask,
    /// When it was made.
    pub begun: Duration,
    /// When its answer was complete.
    pub ended: Option<Duration>,
    /// What the answer was.
    pub outcome: Option<Outcome>,
    /// Through which router it went.
    pub router: Option<SocketAddr>,
}

impl Call {
    /// How much longer than its work the call took, from when it was due.
    #[must_use]
    pub fn excess(&self) -> Option<Duration> {
        let took = self.ended?.saturating_sub(self.ask.due);
        Some(took.saturating_sub(self.ask.work.time()))
    }

    /// Whether the app answered it, and rightly.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.outcome == Some(Outcome::Ok)
    }
}

/// All calls of a run; a call's tag is its place.
#[derive(Debug)]
pub struct Book {
    began: Instant,
    calls: Mutex<Vec<Call>>,
}

impl Book {
    /// An empty one; the run begins.
    #[must_use]
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            calls: Mutex::default(),
        }
    }

    /// The time since the run began.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// A call is made; returns its tag.
    pub fn begin(&self, ask: Ask) -> u64 {
        let mut calls = self.calls();
        calls.push(Call {
            ask,
            begun: self.now(),
            ended: None,
            outcome: None,
            router: None,
        });
        calls.len() as u64 - 1
    }

    /// A call ended.
    ///
    /// # Panics
    /// If there is no such call.
    pub fn end(&self, tag: u64, outcome: Outcome, router: Option<SocketAddr>) {
        let ended = self.now();
        let index = usize::try_from(tag).expect("a tag is a place in the list");
        let call = &mut self.calls()[index];
        call.ended = Some(ended);
        call.outcome = Some(outcome);
        call.router = router;
    }

    /// All calls so far.
    #[must_use]
    pub fn all(&self) -> Vec<Call> {
        self.calls().clone()
    }

    /// The apps of the calls that have begun and not ended, one entry a call.
    #[must_use]
    pub fn in_flight(&self) -> Vec<u32> {
        let calls = self.calls();
        let open = calls.iter().filter(|call| call.ended.is_none());
        open.map(|call| call.ask.app).collect()
    }

    /// How many calls there are, and how many ended with each kind of outcome.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for call in self.calls().iter() {
            tally.issued += 1;
            match &call.outcome {
                None => tally.in_flight += 1,
                Some(Outcome::Ok) => tally.ok += 1,
                Some(Outcome::Unknown) => tally.unknown += 1,
                Some(_) => tally.other += 1,
            }
        }
        tally
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        // Nothing that runs under the lock panics half-way.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Book {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the calls stand, for those who watch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Made.
    pub issued: usize,
    /// Not answered yet.
    pub in_flight: usize,
    /// Answered by the app.
    pub ok: usize,
    /// Answered with the outcome `unknown`.
    pub unknown: usize,
    /// Ended in any other way.
    pub other: usize,
}
