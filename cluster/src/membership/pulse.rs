//! What the membership task knows and everybody may ask without waiting for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use clientmcp_core::tick::Tick;
use tokio::time::Instant;

/// Signs of life, of this process and of the store.
#[derive(Debug)]
pub(super) struct Pulse {
    started: Instant,
    /// When the task was last seen to run, in microseconds after the start.
    looked: AtomicU64,
    /// The store's clock at the start of this process, in microseconds; 0: not known.
    store_started: AtomicU64,
    store_answers: AtomicBool,
}

impl Pulse {
    pub(super) fn new(started: Instant) -> Self {
        Self {
            looked: AtomicU64::new(micros(started.elapsed())),
            started,
            store_started: AtomicU64::new(0),
            store_answers: AtomicBool::new(true),
        }
    }

    pub(super) fn now(&self) -> Tick {
        Tick(self.started.elapsed())
    }

    /// The task runs. Gives how long ago that was said last.
    pub(super) fn look(&self) -> Duration {
        let now = micros(self.started.elapsed());
        let before = self.looked.swap(now, Ordering::AcqRel);
        Duration::from_micros(now.saturating_sub(before))
    }

    /// How long ago the task ran.
    pub(super) fn since_look(&self) -> Duration {
        let looked = self.looked.load(Ordering::Acquire);
        Duration::from_micros(micros(self.started.elapsed()).saturating_sub(looked))
    }

    pub(super) fn note_store(&self, answers: bool) {
        self.store_answers.store(answers, Ordering::Relaxed);
    }

    pub(super) fn store_answers(&self) -> bool {
        self.store_answers.load(Ordering::Relaxed)
    }

    /// The store said what time it is there. An estimate is never taken back: a store whose clock
    /// was set back, or another one, must not lower what epochs are made of.
    pub(super) fn note_store_time(&self, store_micros: u64) {
        let at_start = store_micros.saturating_sub(micros(self.started.elapsed()));
        self.store_started
            .fetch_max(at_start.max(1), Ordering::Relaxed);
    }

    pub(super) fn store_micros(&self) -> Option<u64> {
        let at_start = self.store_started.load(Ordering::Relaxed);
        (at_start > 0).then(|| at_start + micros(self.started.elapsed()))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::clock;

    #[tokio::test(start_paused = true)]
    async fn the_stores_clock_is_estimated_and_never_goes_back() {
        let pulse = Pulse::new(clock());
        assert_eq!(pulse.store_micros(), None);
        pulse.note_store_time(5_000_000);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pulse.store_micros(), Some(6_000_000));
        pulse.note_store_time(10);
        assert_eq!(pulse.store_micros(), Some(6_000_000));
        pulse.note_store_time(7_000_000);
        assert_eq!(pulse.store_micros(), Some(7_000_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_does_not_run_is_late() {
        let pulse = Pulse::new(clock());
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(pulse.since_look(), Duration::from_secs(3));
        assert_eq!(pulse.look(), Duration::from_secs(3));
        assert_eq!(pulse.since_look(), Duration::ZERO);
    }
}
