//! The clocks of the process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clientmcp_core::tick::Tick;
use tokio::time::Instant;

/// The monotonic clock, counted from the start of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    started: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Tick {
        Tick(self.started.elapsed())
    }

    /// The moment as the runtime's timers count it. A moment that no timer reaches lies far off.
    pub(crate) fn instant(&self, tick: Tick) -> Instant {
        const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
        self.started + tick.0.min(self.started.elapsed() + FAR)
    }
}

/// Seconds since 1970. For tokens alone, which name absolute times.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}
