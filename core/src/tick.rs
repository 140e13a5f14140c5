//! Points on the monotonic clock of a process, handed in by whoever owns the clock.

use std::ops::Add;
use std::time::Duration;

/// A moment: the time since the process started.
///
/// Drivers make it from their own monotonic clock; nothing in this crate reads one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tick(pub Duration);

impl Tick {
    /// The start of the process.
    pub const START: Tick = Tick(Duration::ZERO);

    /// The time from `earlier` to this moment; zero if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Tick) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The time from this moment to `later`; zero if that has passed.
    #[must_use]
    pub fn until(self, later: Tick) -> Duration {
        later.since(self)
    }
}

impl Add<Duration> for Tick {
    type Output = Tick;

    fn add(self, wait: Duration) -> Tick {
        Tick(self.0.saturating_add(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_never_underflow_and_sums_never_overflow() {
        let second = Duration::from_secs(1);
        let later = Tick::START + second;
        assert_eq!(later.since(Tick::START), second);
        assert_eq!(Tick::START.since(later), Duration::ZERO);
        assert_eq!(Tick::START.until(later), second);
        assert_eq!(later + Duration::MAX, Tick(Duration::MAX));
    }
}
