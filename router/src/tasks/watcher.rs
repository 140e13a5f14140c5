//! What a call says to whoever makes a task of it.

use bytes::Bytes;
use clientmcp_core::mcp::task::TaskApp;
use clientmcp_core::tool::TaskMode;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::gateway::unix_ms;
use crate::registrations::App;

/// Steps that wait for the watcher.
const STEPS: usize = 4;

/// The call's end of the way between a call and whoever makes a task of it.
#[derive(Debug, Clone)]
pub(crate) struct Watcher {
    steps: mpsc::Sender<Step>,
    released: CancellationToken,
}

/// What a call says.
#[derive(Debug)]
pub(super) enum Step {
    /// It is about to be sent.
    Aimed(Aimed),
    /// Its app says something of the task, as JSON.
    Wish(Bytes),
}

/// A call that is about to be sent: nobody has got it before.
#[derive(Debug)]
pub(super) struct Aimed {
    /// Whether it may, or must, be a task.
    pub(super) mode: TaskMode,
    /// Whom it goes to, where that is known.
    pub(super) app: Option<TaskApp>,
    /// Its deadline, in milliseconds since 1970.
    pub(super) ends_at_ms: u64,
    /// It is sent when this is answered.
    pub(super) go: oneshot::Sender<()>,
}

impl Watcher {
    /// Both ends.
    pub(super) fn new() -> (Self, mpsc::Receiver<Step>) {
        let (steps, heard) = mpsc::channel(STEPS);
        let released = CancellationToken::new();
        (Self { steps, released }, heard)
    }

    /// Returns when the call may be sent.
    pub(crate) async fn aimed(&self, mode: TaskMode, app: Option<&App>, deadline: Instant) {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let remaining_ms = u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX);
        let (go, may_go) = oneshot::channel();
        let aimed = Aimed {
            mode,
            app: app.map(|app| TaskApp {
                instance: app.instance.clone(),
                resumes: app.resumes,
            }),
            ends_at_ms: unix_ms().saturating_add(remaining_ms),
            go,
        };
        let is_heard = self.steps.send(Step::Aimed(aimed)).await.is_ok();
        if is_heard && may_go.await.is_err() {
            // It must not be sent; whoever says so drops it.
            std::future::pending::<()>().await;
        }
    }

    /// The app says something of the task.
    pub(crate) async fn wish(&self, wish: Bytes) {
        // Nobody listens to a call that is no task any more.
        let _ = self.steps.send(Step::Wish(wish)).await;
    }

    /// Another router is to carry the call: dropping it cancels nothing from here on.
    pub(super) fn release(&self) {
        self.released.cancel();
    }

    /// Cancelled when another router is to carry the call.
    pub(crate) fn released(&self) -> &CancellationToken {
        &self.released
    }
}
