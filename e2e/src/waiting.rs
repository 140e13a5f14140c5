//! Waiting for events, with a bound that makes a hang a failure that says what did not happen.

use std::time::Duration;

/// How long anything may take that a test waits for. Far above what it takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Between two looks at something that gives no event.
const POLL: Duration = Duration::from_millis(20);

/// Waits for a future.
///
/// # Panics
/// If it takes longer than [`PATIENCE`].
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {PATIENCE:?}"),
    }
}

/// Looks again and again until there is something.
///
/// # Panics
/// If there is nothing for [`PATIENCE`].
pub async fn poll<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    soon(what, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(POLL).await;
        }
    })
    .await
}

/// Looks again and again until a condition holds.
///
/// # Panics
/// If it does not hold for [`PATIENCE`].
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    poll(what, async || condition().await.then_some(())).await;
}
