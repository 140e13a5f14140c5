//! Tasks that nobody drives: their router is gone, or has let them go.

use std::sync::Arc;

use clientmcp_cluster::store::TaskKey;
use tokio_util::sync::CancellationToken;

use super::driver::Driver;
use super::records::TaskError;
use crate::gateway::Gateway;

/// Taken over at once; the others are found the next time, by this router or another.
const AT_ONCE: usize = 32;

/// Looks for tasks that nobody drives, and drives them, until the router stops.
pub(crate) async fn take_over(gateway: Arc<Gateway>, stop: CancellationToken) {
    let beat = gateway.tasks.beat();
    loop {
        // Routers that start together must not look together.
        let pause = beat.mul_f64(rand::random_range(0.5..1.0));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            // One that drains takes nothing over.
            () = gateway.closing.cancelled() => break,
            () = stop.cancelled() => return,
        }
        let undriven = match gateway.tasks.undriven(AT_ONCE).await {
            Ok(undriven) => undriven,
            Err(error) => {
                tracing::debug!(%error, "tasks cannot be looked for");
                continue;
            }
        };
        for key in undriven {
            match drive(&gateway, &key).await {
                Ok(true) => {
                    gateway.metrics.tasks_taken_over.inc();
                    tracing::info!(task = %key.id, client_id = %key.client_id, "task taken over");
                }
                Ok(false) => {}
                Err(error) => tracing::warn!(task = %key.id, %error, "a task was not taken over"),
            }
        }
    }
    stop.cancelled().await;
}

/// Drives a task, if nobody does.
pub(super) async fn drive(gateway: &Arc<Gateway>, key: &TaskKey) -> Result<bool, TaskError> {
    if gateway.tasks.is_held(key) {
        return Ok(false);
    }
    let Some(record) = gateway.tasks.drive(key).await? else {
        return Ok(false);
    };
    match Driver::resume(gateway, key.clone(), record) {
        Ok(driver) => {
            driver.spawn();
            Ok(true)
        }
        Err(error) => {
            tracing::error!(task = %key.id, error = %error.message, "a task's call cannot be made");
            Ok(false)
        }
    }
}
