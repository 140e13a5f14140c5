//! Distributions of durations.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// A longer duration is counted as this.
const LONGEST: Duration = Duration::from_secs(600);

/// Many durations, to three digits.
#[derive(Debug, Clone)]
pub struct Durations(Histogram<u64>);

/// A distribution in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// The median.
    pub p50_ms: f64,
    /// All but one in a hundred are below.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

impl Durations {
    /// None.
    ///
    /// # Panics
    /// Never: the bounds are literals.
    #[must_use]
    pub fn none() -> Self {
        let histogram = Histogram::new_with_max(micros(LONGEST), 3);
        Self(histogram.expect("bounds are literals"))
    }

    /// One more.
    pub fn record(&mut self, duration: Duration) {
        self.0.saturating_record(micros(duration));
    }

    /// All of another distribution.
    ///
    /// # Panics
    /// Never: all have the same bounds.
    pub fn add(&mut self, other: &Durations) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    /// In numbers.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let ms = |micros: u64| micros as f64 / 1000.0;
        Summary {
            count: self.0.len(),
            p50_ms: ms(self.0.value_at_quantile(0.5)),
            p99_ms: ms(self.0.value_at_quantile(0.99)),
            max_ms: ms(self.0.max()),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_ones_are_kept() {
        let mut durations = Durations::none();
        for ms in [1, 2, 30_000] {
            durations.record(Duration::from_millis(ms));
        }
        durations.record(Duration::from_secs(100_000));
        let summary = durations.summary();
        assert_eq!(summary.count, 4);
        assert!((summary.p50_ms - 2.0).abs() < 0.01, "{summary:?}");
        assert!((summary.max_ms - 600_000.0).abs() < 1_000.0, "{summary:?}");
    }
}
