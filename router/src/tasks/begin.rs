//! A call that may become a task, until it does or has its answer.

use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use clientmcp_cluster::store::TaskKey;
use clientmcp_core::ids::CallId;
use clientmcp_core::json::Json;
use clientmcp_core::mcp::rounds::asked::Asked;
use clientmcp_core::mcp::task::{Task, TaskApp, TaskCall};
use clientmcp_core::message;
use clientmcp_core::tool::TaskMode;
use tokio::sync::mpsc;

use super::driver::{Driver, Running};
use super::records::Record;
use super::watcher::{Aimed, Step, Watcher};
use crate::calls::Call;
use crate::gateway::unix_ms;
use crate::notices::Said;
use crate::order::Order;
use crate::verdict::{Answered, Verdict};

/// Carries a call whose agent takes tasks. It becomes one when it has run for a while or when its app
/// wishes it, and with its answer if its tool says so. What is quicker is answered as any call, and
/// so is an app that asks for input first: that is between it and the agent (the extension, "Task
/// Creation"). Without the store no task begins, and the call is answered when it is over.
///
/// Dropping this cancels the call, as long as it is no task.
pub(crate) async fn carry(order: Arc<Order>, said: mpsc::Sender<Said>) -> Answered {
    let (watcher, steps) = Watcher::new();
    let call = Call::new(&order).watched_by(watcher.clone());
    let id = CallId(call.id());
    let future: Pin<Box<dyn Future<Output = Answered> + Send>> =
        Box::pin(async move { call.run(&said).await });
    let candidate = Candidate {
        order,
        id,
        running: Running {
            answer: future,
            steps,
            watcher,
        },
        sent: None,
    };
    candidate.run().await
}

/// A call that is no task yet.
struct Candidate {
    order: Arc<Order>,
    id: CallId,
    running: Running,
    sent: Option<Sent>,
}

/// What is known of a call that its app may run.
#[derive(Debug, Clone)]
struct Sent {
    mode: TaskMode,
    app: Option<TaskApp>,
    ends_at_ms: u64,
}

impl Candidate {
    async fn run(mut self) -> Answered {
        let after = self.order.gateway.config.timings.task_after;
        let mut due = pin!(tokio::time::sleep(after));
        loop {
            tokio::select! {
                answered = &mut self.running.answer => return self.end(answered).await,
                Some(step) = self.running.steps.recv() => match step {
                    Step::Aimed(aimed) => self.note(aimed),
                    Step::Wish(wish) => match self.begin(&read_wish(wish)).await {
                        Some(begun) => return self.hand_over(begun),
                        None => break,
                    },
                },
                () = &mut due, if self.sent.is_some() => {
                    match self.begin(&message::Task::default()).await {
                        Some(begun) => return self.hand_over(begun),
                        None => break,
                    }
                }
            }
        }
        // What could not become a task goes on as a call.
        settle(self.finish().await)
    }

    /// The call, without regard to tasks.
    async fn finish(&mut self) -> Answered {
        loop {
            tokio::select! {
                answered = &mut self.running.answer => return answered,
                Some(step) = self.running.steps.recv() => {
                    if let Step::Aimed(aimed) = step {
                        self.note(aimed);
                    }
                }
            }
        }
    }

    fn note(&mut self, aimed: Aimed) {
        self.sent = Some(Sent {
            mode: aimed.mode,
            app: aimed.app,
            ends_at_ms: aimed.ends_at_ms,
        });
        // Nobody waits for it if the call is over.
        let _ = aimed.go.send(());
    }

    /// The call is over before it was a task.
    async fn end(mut self, answered: Answered) -> Answered {
        let mut wish = None;
        while let Ok(step) = self.running.steps.try_recv() {
            match step {
                Step::Aimed(aimed) => self.note(aimed),
                // It came before the answer.
                Step::Wish(said) => wish = Some(read_wish(said)),
            }
        }
        let must = self
            .sent
            .as_ref()
            .is_some_and(|sent| sent.mode == TaskMode::Required);
        if must && is_final(&answered.verdict) {
            wish.get_or_insert_default();
        }
        let begun = match &wish {
            Some(wish) => self.begin(wish).await,
            None => None,
        };
        match begun {
            Some(begun) => {
                self.running.answer = Box::pin(std::future::ready(answered));
                self.hand_over(begun)
            }
            None => settle(answered),
        }
    }

    /// A task for the call; `None`: there can be none.
    async fn begin(&mut self, wish: &message::Task) -> Option<(TaskKey, Record)> {
        let sent = self.sent.clone()?;
        let order = &self.order;
        let task = Task::begin(order.subject.clone(), unix_ms(), wish);
        let call = TaskCall::of(&order.request, self.id, sent.app, sent.ends_at_ms);
        let tasks = &order.gateway.tasks;
        match tasks.create(&order.client_id, &task, &call).await {
            Ok((key, stamp)) => Some((key, Record { stamp, task, call })),
            Err(error) => {
                tracing::warn!(%error, client_id = %order.client_id, "a call becomes no task");
                None
            }
        }
    }

    /// From here on the call needs nobody who waits for it.
    fn hand_over(self, (key, record): (TaskKey, Record)) -> Answered {
        let gateway = &self.order.gateway;
        let created = record.task.created(key.id).into_bytes();
        let known = gateway.registrations.recall(&self.order.client_id);
        gateway.metrics.tasks_begun.inc();
        Driver::new(
            gateway,
            key,
            record,
            self.order.request.clone(),
            self.running,
        )
        .spawn();
        Answered {
            verdict: Verdict::Result(created),
            known: known.map(|(known, _)| known),
            receipt: None,
        }
    }
}

/// Whether nothing follows on it.
fn is_final(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Result(result) => matches!(Asked::in_result(result), Ok(None)),
        Verdict::Error(_) => true,
        Verdict::Failed(_) | Verdict::Refused(_) | Verdict::Cancelled => false,
    }
}

/// The answer goes to the agent itself.
fn settle(mut answered: Answered) -> Answered {
    if let Some(receipt) = answered.receipt.take() {
        receipt.settle();
    }
    answered
}

/// What the app says of a task; what cannot be read says nothing.
pub(super) fn read_wish(wish: Bytes) -> message::Task {
    let wish = Json::parse(wish).ok();
    let wish = wish.and_then(|wish| message::Task::read(&wish).ok());
    wish.unwrap_or_default()
}
