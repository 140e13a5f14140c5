//! What the apps ran, as they saw it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A handler was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The call that it was started for.
    pub tag: u64,
    /// The app that it ran in.
    pub app: u32,
    /// The instance of that app.
    pub instance: String,
}

/// Every run of every app, in the order in which they began.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Vec<Run>>);

impl Ledger {
    /// Notes a run.
    pub fn note(&self, run: Run) {
        self.runs().push(run);
    }

    /// All runs so far.
    #[must_use]
    pub fn all(&self) -> Vec<Run> {
        self.runs().clone()
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Run>> {
        // Nothing that runs under the lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
