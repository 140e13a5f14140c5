//! A process's long-lived tasks: one that ends unasked is fatal.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Long-lived tasks, and what became of them.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    /// Cancelled when the tasks are to end.
    stop: CancellationToken,
    failed: CancellationToken,
    first_failure: Arc<OnceLock<&'static str>>,
}

impl Tasks {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What tells the tasks to end.
    #[must_use]
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Starts a task that must not end before it is told to.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let watch = EndWatch {
            name,
            tasks: self.clone(),
        };
        self.tracker.spawn(async move {
            // Dropped when the task ends, also by a panic.
            let _watch = watch;
            task.await;
        });
    }

    /// Resolves with the name of the first task that ended unasked.
    pub async fn failed(&self) -> &'static str {
        self.failed.cancelled().await;
        self.first_failure.get().copied().unwrap_or("task")
    }

    /// Tells all tasks to end and waits for them.
    pub async fn end(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

struct EndWatch {
    name: &'static str,
    tasks: Tasks,
}

impl Drop for EndWatch {
    fn drop(&mut self) {
        if !self.tasks.stop.is_cancelled() {
            tracing::error!(task = self.name, "a task ended unasked");
            let _ = self.tasks.first_failure.set(self.name);
            self.tasks.failed.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_ends_or_panics_is_noticed() {
        let tasks = Tasks::new();
        tasks.spawn("steady", std::future::pending());
        tasks.spawn("panics", async { panic!("on purpose") });
        assert_eq!(tasks.failed().await, "panics");
    }

    #[tokio::test]
    async fn a_task_that_was_told_to_end_has_not_failed() {
        let tasks = Tasks::new();
        let stop = tasks.stop().clone();
        tasks.spawn("obedient", async move { stop.cancelled().await });
        tasks.end().await;
        assert!(!tasks.failed.is_cancelled());
    }
}
