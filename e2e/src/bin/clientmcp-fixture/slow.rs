//! `test_slow`, and `test_slow_stats`, which tells how its calls ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clientmcp_sdk::{CallError, Context, ToolError};
use serde_json::Value;
use tokio::time::{Instant, interval_at, sleep};

/// Between reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// How the calls of `test_slow` ended. One that has begun is in exactly one of running, cancelled
/// and finished.
#[derive(Debug, Default)]
pub(crate) struct SlowStats {
    started: AtomicU64,
    cancelled: AtomicU64,
    finished: AtomicU64,
}

impl SlowStats {
    /// The text of `test_slow_stats`.
    pub(crate) fn text(&self) -> String {
        let [started, cancelled, finished] =
            [&self.started, &self.cancelled, &self.finished].map(|n| n.load(Ordering::SeqCst));
        format!(r#"{{"started":{started},"cancelled":{cancelled},"finished":{finished}}}"#)
    }
}

/// Answers after a while, and says meanwhile how far it is.
pub(crate) async fn slow(
    arguments: &Value,
    call: &Context,
    stats: &SlowStats,
) -> Result<String, CallError> {
    let ms = milliseconds(&arguments["ms"])
        .ok_or_else(|| ToolError::new("ms must be an integer of 0 or more"))?;
    stats.started.fetch_add(1, Ordering::SeqCst);
    tokio::select! {
        () = sleep(Duration::from_millis(ms)) => {}
        _ = report(ms, call) => {}
        reason = call.cancelled() => {
            stats.cancelled.fetch_add(1, Ordering::SeqCst);
            return Err(ToolError::new(format!("cancelled: {reason:?}")).into());
        }
    }
    stats.finished.fetch_add(1, Ordering::SeqCst);
    Ok(format!("slept {ms} ms"))
}

/// Reports progress for ever.
#[expect(clippy::cast_precision_loss, reason = "nobody sleeps for 2^53 ms")]
async fn report(ms: u64, call: &Context) -> std::convert::Infallible {
    let mut ticks = interval_at(Instant::now() + REPORT_EVERY, REPORT_EVERY);
    let mut done = 0;
    loop {
        ticks.tick().await;
        done += 200;
        if done < ms {
            call.progress(done as f64, Some(ms as f64), None);
        }
    }
}

/// A whole number of 0 or more, however it is written.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, not negative, and below 2^53"
)]
fn milliseconds(value: &Value) -> Option<u64> {
    let ms = value.as_f64()?;
    (ms >= 0.0 && ms.fract() == 0.0 && ms < 9_007_199_254_740_992.0).then_some(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn milliseconds_are_whole_and_not_negative() {
        for (value, ms) in [(json!(0), 0), (json!(250), 250), (json!(2e2), 200)] {
            assert_eq!(milliseconds(&value), Some(ms));
        }
        for value in [json!(null), json!(-1), json!(1.5), json!("1"), json!(1e300)] {
            assert_eq!(milliseconds(&value), None, "{value}");
        }
    }
}
