//! The timer of a loop that is told with each turn when something is due next.

use std::pin::Pin;
use std::time::Instant;

use tokio::time::Sleep;

/// Rings at a time or before it. To ring early is harmless, for whoever is woken finds nothing to
/// do and says again when; so a time that moves on with each message sets no timer anew.
#[derive(Debug)]
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    /// When the timer will be ready. The timer itself cannot be asked whether it is still to come:
    /// it may elapse between the question and the wait, and would be taken for one that has rung.
    set: Option<Instant>,
}

impl Alarm {
    /// An alarm that is not set.
    pub(crate) fn new() -> Self {
        Self {
            sleep: Box::pin(tokio::time::sleep_until(tokio::time::Instant::now())),
            set: None,
        }
    }

    /// Rings at this time, or before it.
    pub(crate) fn set_before(&mut self, at: Instant) {
        if self.set.is_none_or(|set| at < set) {
            self.sleep.as_mut().reset(at.into());
            self.set = Some(at);
        }
    }

    /// Waits until it rings, which it does once for each time that it was set.
    pub(crate) async fn rung(&mut self) {
        if self.set.is_none() {
            std::future::pending::<()>().await;
        }
        self.sleep.as_mut().await;
        self.set = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    fn after(seconds: u64) -> Instant {
        let now = tokio::time::Instant::now().into_std();
        now + Duration::from_secs(seconds)
    }

    fn has_rung(alarm: &mut Alarm) -> bool {
        alarm.rung().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn an_alarm_that_elapses_while_nobody_waits_is_not_forgotten() {
        let mut alarm = Alarm::new();
        alarm.set_before(after(1));
        advance(Duration::from_secs(2)).await;
        assert!(alarm.sleep.is_elapsed());
        assert!(has_rung(&mut alarm));
    }

    #[tokio::test(start_paused = true)]
    async fn it_rings_once_for_each_time_that_it_was_set() {
        let mut alarm = Alarm::new();
        assert!(!has_rung(&mut alarm), "not set");
        for _ in 0..2 {
            alarm.set_before(after(1));
            advance(Duration::from_secs(1)).await;
            assert!(has_rung(&mut alarm));
            assert!(!has_rung(&mut alarm));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_earlier_time_sets_it_anew() {
        let mut alarm = Alarm::new();
        alarm.set_before(after(5));
        alarm.set_before(after(2));
        alarm.set_before(after(9));
        advance(Duration::from_millis(1999)).await;
        assert!(!has_rung(&mut alarm));
        advance(Duration::from_millis(1)).await;
        assert!(has_rung(&mut alarm));
    }
}
