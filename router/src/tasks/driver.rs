//! A task and its call, on their way to the end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::store::{Driving, TaskKey};
use clientmcp_core::json::Json;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::method::Method;
use clientmcp_core::mcp::outcome::Reply;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::task::Ended;
use tokio::sync::mpsc;

use super::begin::read_wish;
use super::records::{Held, Record, TaskError, Write};
use super::watcher::{Step, Watcher};
use crate::calls::Call;
use crate::gateway::{Gateway, unix_ms};
use crate::metrics::Held as Counted;
use crate::order::Order;
use crate::verdict::{Answered, Verdict};

/// Between tries to write what a call has become while the store is away.
const WRITE_AGAIN: Duration = Duration::from_secs(1);
/// How long a call takes to notice that it was released.
const RELEASE: Duration = Duration::from_millis(100);

/// A call under way.
pub(super) struct Running {
    pub(super) answer: Pin<Box<dyn Future<Output = Answered> + Send>>,
    pub(super) steps: mpsc::Receiver<Step>,
    pub(super) watcher: Watcher,
}

/// Drives one task as long as its call runs, under a lease in the store.
pub(super) struct Driver {
    gateway: Arc<Gateway>,
    key: TaskKey,
    record: Record,
    /// What the call answers.
    request: Arc<Request>,
    running: Running,
    _held: Option<Held>,
    _counted: Counted,
}

/// What the store says about the lease.
enum Lease {
    /// It runs on.
    Kept,
    /// The task has ended: it was cancelled, or has expired.
    Over,
    /// Another router drives the task.
    Lost,
}

impl Driver {
    /// Drives a task whose call runs.
    pub(super) fn new(
        gateway: &Arc<Gateway>,
        key: TaskKey,
        record: Record,
        request: Arc<Request>,
        running: Running,
    ) -> Self {
        Self {
            _held: gateway.tasks.hold(&key),
            _counted: gateway.metrics.task_driven(),
            gateway: gateway.clone(),
            key,
            record,
            request,
            running,
        }
    }

    /// Drives a task that nobody drives: makes its call, or makes it again.
    ///
    /// # Errors
    /// [`RpcError`] if its params cannot be read, which were read before.
    pub(super) fn resume(
        gateway: &Arc<Gateway>,
        key: TaskKey,
        record: Record,
    ) -> Result<Self, RpcError> {
        let request = Arc::new(record.call.to_request()?);
        let subject = record.task.subject.clone();
        let order = Order::of_task(gateway, key.client_id.clone(), subject, request.clone());
        let (watcher, steps) = Watcher::new();
        let call = Call::of_task(&order, &record.call).watched_by(watcher.clone());
        let answer = Box::pin(async move {
            // A task has neither progress nor log messages.
            let (said, _) = mpsc::channel(1);
            call.run(&said).await
        });
        let running = Running {
            answer,
            steps,
            watcher,
        };
        Ok(Self::new(gateway, key, record, request, running))
    }

    /// Drives it from a task of its own, until it ends or the router stops.
    pub(super) fn spawn(self) {
        let gateway = self.gateway.clone();
        let abort = gateway.abort.clone();
        gateway.errands.spawn(async move {
            tokio::select! {
                () = self.run() => {}
                () = abort.cancelled() => {}
            }
        });
    }

    async fn run(mut self) {
        let mut beat = tokio::time::interval(self.gateway.tasks.beat());
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let closing = self.gateway.closing.clone();
        loop {
            tokio::select! {
                answered = &mut self.running.answer => return self.end(answered).await,
                Some(step) = self.running.steps.recv() => {
                    if let Err(error) = self.handle_step(step).await {
                        tracing::warn!(task = %self.key.id, %error, "a task was not changed");
                    }
                }
                _ = beat.tick() => match self.keep().await {
                    Lease::Kept => {}
                    // Dropping its call cancels that.
                    Lease::Over => return,
                    Lease::Lost => return self.let_go().await,
                },
                () = closing.cancelled() => return self.hand_back().await,
            }
        }
    }

    async fn handle_step(&mut self, step: Step) -> Result<(), TaskError> {
        match step {
            Step::Aimed(aimed) => {
                let changed = self.change(|record| {
                    record.call.app.clone_from(&aimed.app);
                    record.call.ends_at_ms = aimed.ends_at_ms;
                    Write::Call(Driving::Kept)
                });
                changed.await?;
                // Only now may an app get it. Nobody waits for that if the call is over.
                let _ = aimed.go.send(());
            }
            Step::Wish(wish) => {
                let (wish, now) = (read_wish(wish), unix_ms());
                self.change(|record| match record.task.handle_wish(now, &wish) {
                    true => Write::Task(Driving::Kept),
                    false => Write::Nothing,
                })
                .await?;
            }
        }
        Ok(())
    }

    async fn keep(&mut self) -> Lease {
        let tasks = &self.gateway.tasks;
        match tasks.keep(&self.key).await {
            Ok(Some(_)) => Lease::Kept,
            Ok(None) => match tasks.read(&self.key).await {
                Ok(Some(record)) if record.task.has_ended() => Lease::Over,
                Ok(Some(_)) => Lease::Lost,
                Ok(None) => Lease::Over,
                Err(_) => Lease::Kept,
            },
            // While the store is away nobody can take it over either.
            Err(error) => {
                tracing::debug!(task = %self.key.id, %error, "a lease was not renewed");
                Lease::Kept
            }
        }
    }

    /// The call is over. Its app may forget it when the store has the result, and not before.
    async fn end(mut self, answered: Answered) {
        let Answered {
            verdict, receipt, ..
        } = answered;
        let ended = ended(verdict);
        loop {
            let (now, request, ended) = (unix_ms(), self.request.clone(), ended.clone());
            let changed = self.change(move |record| {
                let is_new = match &ended {
                    Some(ended) => record.task.handle_end(now, ended.clone(), &request),
                    None => record.task.handle_cancel(now),
                };
                if is_new {
                    Write::Task(Driving::Over)
                } else {
                    Write::Nothing
                }
            });
            match changed.await {
                Ok(()) => break,
                Err(error @ (TaskError::Store(_) | TaskError::Contended)) => {
                    tracing::warn!(task = %self.key.id, %error, "a result waits for the store");
                    if self.record.task.remaining(unix_ms()) <= WRITE_AGAIN {
                        return;
                    }
                    tokio::time::sleep(WRITE_AGAIN).await;
                }
                Err(error) => {
                    tracing::error!(task = %self.key.id, %error, "a result cannot be kept");
                    return;
                }
            }
        }
        if let Some(receipt) = receipt {
            receipt.settle();
        }
    }

    /// The router stops: another one is to drive the task from here on.
    async fn hand_back(mut self) {
        if let Err(error) = self.change(|_| Write::Task(Driving::Wanted)).await {
            tracing::debug!(task = %self.key.id, %error, "its lease will lapse");
        }
        self.let_go().await;
    }

    /// The call goes on without us.
    async fn let_go(mut self) {
        self.running.watcher.release();
        let _ = tokio::time::timeout(RELEASE, &mut self.running.answer).await;
    }

    async fn change(
        &mut self,
        mut change: impl FnMut(&mut Record) -> Write,
    ) -> Result<(), TaskError> {
        let tasks = &self.gateway.tasks;
        // As a rule nobody else has changed it.
        let mut record = self.record.clone();
        let write = change(&mut record);
        if tasks.write(&self.key, &mut record, write).await? {
            self.record = record;
            return Ok(());
        }
        let changed = tasks.change(&self.key, |record| ((), change(record)));
        if let Some((record, ())) = changed.await? {
            self.record = record;
        }
        Ok(())
    }
}

/// How a verdict ends a task; `None`: its call was cancelled.
fn ended(verdict: Verdict) -> Option<Ended> {
    let reply = match verdict {
        Verdict::Cancelled => return None,
        Verdict::Result(result) => return Some(verbatim(result, Ended::Result)),
        Verdict::Error(error) => return Some(verbatim(error, Ended::Error)),
        Verdict::Failed(failure) => failure.to_answer(Method::CallTool),
        Verdict::Refused(reply) => reply,
    };
    Some(match reply {
        Reply::Result(result) => Ended::Result(result),
        Reply::Error(error) => Ended::refused(&error),
    })
}

/// What the app said.
fn verbatim(text: bytes::Bytes, end: impl FnOnce(Json) -> Ended) -> Ended {
    match Json::parse(text) {
        Ok(json) => end(json),
        Err(error) => {
            let message = format!("The application's answer cannot be used: {error}");
            Ended::refused(&RpcError::app_fault(message))
        }
    }
}
