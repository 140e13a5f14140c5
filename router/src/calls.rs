//! One call, from its check against the registration to its one answer, wherever the app is.

mod frame;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::json::Json;
use clientmcp_core::limits::REQUEST_BODY_BYTES;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::outcome::{Failure, Reply};
use clientmcp_core::mcp::task::TaskCall;
use clientmcp_core::registration::Kind;
use clientmcp_core::tool::TaskMode;
use clientmcp_proto::v1::{self, absent};
use tokio::sync::mpsc;
use tokio::time::Instant;
use uuid::Uuid;

use crate::abandoned::Abandoned;
use crate::delivery::{Delivery, Next, Over};
use crate::gateway::unix_ms;
use crate::limits;
use crate::links::{End, Event, InFlight, News, NotSent, Receipt, Run, Settling};
use crate::metrics::Held;
use crate::notices::Said;
use crate::order::Order;
use crate::placement::{Route, Unplaced};
use crate::refusal;
use crate::registrations::{App, Known};
use crate::tasks::Watcher;
use crate::verdict::{Answered, Verdict};

/// The registration may change under a call that is being checked, and its instance as well; not
/// more often than this.
const CHECKS: usize = 8;
/// When to try again what an app was too busy for, in milliseconds.
const BUSY_RETRY_MS: u64 = 1_000;
/// When to try again what could not be delivered, in milliseconds.
const UNDELIVERED_RETRY_MS: u64 = 1_000;
/// When to try again an app that was lost a moment ago, in milliseconds.
const AWAY_RETRY_MS: u64 = 2_000;

/// A call that is under way.
pub(crate) struct Call {
    order: Arc<Order>,
    id: Uuid,
    /// The first call of its chain of rounds, and its number in that (SPEC.md §4.7).
    root_id: Uuid,
    round: u32,
    params: Bytes,
    begun: Instant,
    deadline: Instant,
    /// What it was checked against last.
    known: Option<Arc<Known>>,
    /// The kinds of it that count.
    against: &'static [Kind],
    checks: usize,
    delivery: Delivery,
    /// An app that remembers no calls is looked for until then.
    orphaned_until: Option<Instant>,
    route: Route,
    /// While its app may run it.
    abandoned: Abandoned,
    /// Whether it may, or must, be a task.
    mode: TaskMode,
    /// Whoever makes a task of it, or has.
    watcher: Option<Watcher>,
    /// For its answer.
    receipt: Option<Receipt>,
    _counted: Held,
}

enum Stage {
    /// To be checked against the registration; `fresh` if what is remembered is out of date.
    Unchecked { fresh: bool },
    /// To be sent.
    Checked,
    /// Its app remembers no calls: it is looked for where it runs, and nowhere else.
    Orphaned(Run),
    /// Sent, and when.
    Sent(InFlight, Run, Instant),
}

impl Call {
    /// The first call of a chain of rounds; it begins when it is [`run`](Self::run).
    pub(crate) fn new(order: &Arc<Order>) -> Self {
        let params = order.request.params.raw.clone();
        Self::of_round(order, None, 0, params)
    }

    /// A call that follows on another one, with params of its own (SPEC.md §4.7). `root_id` is
    /// that of the first.
    pub(crate) fn of_round(
        order: &Arc<Order>,
        root_id: Option<Uuid>,
        round: u32,
        params: Json,
    ) -> Self {
        let begun = Instant::now();
        let gateway = &order.gateway;
        let id = Uuid::now_v7();
        Self {
            id,
            root_id: root_id.unwrap_or(id),
            round,
            params: params.into_bytes(),
            begun,
            deadline: begun + gateway.config.timings.call_deadline,
            known: None,
            against: &[],
            checks: 0,
            delivery: Delivery::default(),
            orphaned_until: None,
            abandoned: Abandoned::new(gateway, &order.client_id),
            mode: TaskMode::Never,
            watcher: None,
            receipt: None,
            route: gateway.placement.route(&order.client_id),
            _counted: gateway.metrics.call_begun(),
            order: order.clone(),
        }
    }

    /// A call of a task, which may have been delivered before by another router.
    pub(crate) fn of_task(order: &Arc<Order>, stored: &TaskCall) -> Self {
        let mut call = Self::of_round(
            order,
            Some(stored.root_id.0),
            stored.round,
            stored.params.clone(),
        );
        call.id = stored.id.0;
        let remaining = stored.ends_at_ms.saturating_sub(unix_ms());
        call.deadline = call.begun + Duration::from_millis(remaining);
        if let Some(app) = &stored.app {
            call.delivery = Delivery::to(App {
                instance: app.instance.clone(),
                resumes: app.resumes,
            });
            call.mode = TaskMode::Required;
            call.route.insist();
        }
        call
    }

    /// Tells of the call, and asks before it is sent.
    pub(crate) fn watched_by(mut self, watcher: Watcher) -> Self {
        self.abandoned.unless(watcher.released().clone());
        self.watcher = Some(watcher);
        self
    }

    /// Its ID: the root of those that follow on it.
    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    /// Carries the call to its end; progress and log messages are said to the agent. Dropping this
    /// cancels the call.
    pub(crate) async fn run(mut self, said: &mpsc::Sender<Said>) -> Answered {
        let mut stage = if self.delivery.may_have_run() {
            Stage::Checked
        } else {
            Stage::Unchecked { fresh: false }
        };
        let verdict = loop {
            let step = match stage {
                Stage::Unchecked { fresh } => self.check_against_registration(fresh).await,
                Stage::Checked => self.send().await,
                Stage::Orphaned(run) => self.attach(run).await,
                Stage::Sent(in_flight, run, at) => match self.await_end(in_flight, said).await {
                    Some(end) => self.handle_end(&run, end, at.elapsed()),
                    None => Err(self.timed_out()),
                },
            };
            match step {
                Ok(next) => stage = next,
                Err(verdict) => break verdict,
            }
        };
        let label = verdict.label();
        self.order
            .gateway
            .metrics
            .call_ended(label, self.begun.elapsed());
        tracing::debug!(call = %self.id, client_id = %self.order.client_id, outcome = label, "call ended");
        Answered {
            verdict,
            known: self.known,
            receipt: self.receipt,
        }
    }

    /// Waits for the link's last word. `None`: the deadline has passed, and the app is told to
    /// stop.
    async fn await_end(
        &mut self,
        mut in_flight: InFlight,
        said: &mpsc::Sender<Said>,
    ) -> Option<End> {
        let mut deadline = pin!(tokio::time::sleep_until(self.deadline));
        let mut released = pin!(released(self.watcher.clone()));
        loop {
            let news = tokio::select! {
                news = in_flight.next() => news,
                () = &mut released => {
                    in_flight.release();
                    self.abandoned.disarm();
                    // Whoever released it hears nothing more of it.
                    return std::future::pending().await;
                }
                () = &mut deadline => {
                    self.abandoned.because(v1::cancel::Reason::Timeout);
                    in_flight.cancel(v1::cancel::Reason::Timeout);
                    return None;
                }
            };
            match news {
                News::End(end) => return Some(end),
                News::Event(Event::Task(wish)) => {
                    if let Some(watcher) = &self.watcher {
                        watcher.wish(wish).await;
                    }
                }
                // A slow agent is waited for: what comes meanwhile is dropped by the link. A
                // legacy agent may be gone while its call runs on.
                News::Event(event) => {
                    self.delivery.handle_progress();
                    let told = said.send(Said::Event(event));
                    let told = tokio::time::timeout_at(self.deadline, told);
                    let _ = told.await;
                }
            }
        }
    }

    /// Checks against what is remembered or, if that is known to be out of date or is missing,
    /// against what the node says.
    async fn check_against_registration(&mut self, fresh: bool) -> Result<Stage, Verdict> {
        self.checks += 1;
        if self.checks > CHECKS {
            return Err(self.undelivered());
        }
        let remembered = self
            .order
            .gateway
            .registrations
            .recall(&self.order.client_id);
        let (known, app) = match remembered.filter(|_| !fresh) {
            Some((known, app)) => (known, Some(app)),
            None => self.describe().await?,
        };
        self.known = Some(known.clone());
        self.delivery.aim(app);
        let admitted = match (self.order.check)(&self.order.request, &known.offer) {
            Ok(admitted) => admitted,
            // What is remembered must not refuse what the app offers by now.
            Err(_) if !fresh => return Ok(Stage::Unchecked { fresh: true }),
            Err(reply) => return Err(self.unless_it_ran(Verdict::Refused(reply))),
        };
        let timings = &self.order.gateway.config.timings;
        let wanted = admitted.timeout.unwrap_or(timings.call_deadline);
        self.against = admitted.against;
        self.deadline = self.begun + wanted.min(timings.call_deadline_max);
        self.mode = admitted.task;
        match &self.watcher {
            Some(watcher) if self.mode != TaskMode::Never => {
                let app = self.delivery.app();
                watcher.aimed(self.mode, app, self.deadline).await;
            }
            _ => {}
        }
        Ok(Stage::Checked)
    }

    async fn describe(&self) -> Result<(Arc<Known>, Option<App>), Verdict> {
        let session = self
            .order
            .request
            .session
            .as_ref()
            .map(|session| &session.key);
        let described = self
            .order
            .gateway
            .registrations
            .describe(&self.order.client_id, session)
            .await
            .map_err(|error| self.unless_it_ran(self.refuse(error.into())))?;
        let absent = described.absent.unwrap_or_default();
        let known = described
            .known
            .ok_or_else(|| self.verdict(Over::Absent(absent)))?;
        Ok((known, described.app))
    }

    async fn send(&mut self) -> Result<Stage, Verdict> {
        let placed = tokio::select! {
            placed = self.route.next() => placed,
            () = tokio::time::sleep_until(self.deadline) => {
                self.abandoned.because(v1::cancel::Reason::Timeout);
                return Err(self.too_late());
            }
        };
        let peer = placed.map_err(|unplaced| match unplaced {
            Unplaced::NoNode => self.unless_it_ran(self.refuse(refusal::no_node())),
            Unplaced::OutOfReach => self.undelivered(),
        })?;
        let run = peer.run();
        match peer.start(self.frame(), self.params.clone(), self.settling()) {
            Ok(in_flight) => Ok(self.sent(in_flight, run)),
            Err(NotSent::Down) => {
                self.route.not_here(&run);
                Ok(Stage::Checked)
            }
            // The link is full, and there was room for it before.
            Err(NotSent::Full) if self.delivery.may_have_run() => {
                self.route.not_here(&run);
                Ok(Stage::Checked)
            }
            Err(NotSent::Full) => Err(self.verdict(Over::Busy)),
            Err(NotSent::TooLarge) => Err(self.verdict(Over::TooLarge)),
        }
    }

    /// What may be a task is settled when its result is stored.
    fn settling(&self) -> Settling {
        match self.mode {
            TaskMode::Optional | TaskMode::Required if self.watcher.is_some() => Settling::Later,
            _ => Settling::OnArrival,
        }
    }

    fn sent(&mut self, in_flight: InFlight, run: Run) -> Stage {
        if self.settling() == Settling::Later {
            self.receipt = Some(in_flight.receipt());
        }
        tracing::trace!(call = %self.id, node = %run, attempt = self.delivery.attempt(), "call sent");
        if self.delivery.may_have_run() {
            self.order.gateway.metrics.redeliveries.inc();
        }
        // Its node may be lost before it hears of a cancel.
        if self.delivery.is_remembered() {
            self.abandoned.arm(self.id, self.delivery.instance());
        }
        Stage::Sent(in_flight, run, Instant::now())
    }

    fn handle_end(&mut self, run: &Run, end: End, carried: Duration) -> Result<Stage, Verdict> {
        let attempt = self.delivery.attempt();
        let next = self.delivery.handle_end(run, end, carried);
        if self.delivery.attempt() > attempt {
            self.route.insist();
        }
        if self.delivery.may_have_run() {
            self.abandoned.arm(self.id, self.delivery.instance());
        } else {
            self.abandoned.disarm();
        }
        Ok(match next {
            Next::Over(over) => {
                match over {
                    // Perhaps while it waited for an app that runs it.
                    Over::Cancelled => self.abandoned.because(v1::cancel::Reason::Agent),
                    _ => self.abandoned.disarm(),
                }
                return Err(self.verdict(over));
            }
            Next::Check => Stage::Unchecked { fresh: true },
            Next::Deliver => {
                self.route.insist();
                Stage::Checked
            }
            Next::Follow(to) => {
                self.order.gateway.metrics.redirects.inc();
                self.route.elsewhere(run, &to);
                Stage::Checked
            }
            Next::Ask => {
                self.route.not_here(run);
                Stage::Checked
            }
            Next::Repeat => {
                self.route.insist();
                self.route.not_here(run);
                Stage::Checked
            }
            Next::Attach(run) => Stage::Orphaned(run),
        })
    }

    /// Attaches to a call that runs at a node whose link was lost, if the link is back in time.
    async fn attach(&mut self, run: Run) -> Result<Stage, Verdict> {
        let orphan = self.order.gateway.config.timings.orphan;
        let until = self.orphaned_until.get_or_insert(Instant::now() + orphan);
        let until = self.deadline.min(*until);
        loop {
            let back = self.order.gateway.placement.comes_up(&run);
            let back = tokio::time::timeout_at(until, back).await;
            let Ok(peer) = back else {
                // Its node gives it up as well.
                self.abandoned.disarm();
                return Err(self.verdict(Over::Unknown));
            };
            match peer.start(self.frame(), Bytes::new(), self.settling()) {
                Ok(in_flight) => return Ok(self.sent(in_flight, run)),
                Err(_) => tokio::time::sleep(limits::PLACE_AGAIN).await,
            }
        }
    }

    fn verdict(&self, over: Over) -> Verdict {
        match over {
            Over::Result(result) => Verdict::Result(result),
            Over::Error(error) => Verdict::Error(error),
            Over::Absent(absent) => self.unless_it_ran(Verdict::Failed(self.absent(&absent))),
            Over::Busy => Verdict::Failed(Failure::busy(BUSY_RETRY_MS)),
            Over::TooLarge => self.refuse(RpcError::too_large(REQUEST_BODY_BYTES)),
            Over::SessionEnded => self.refuse(RpcError::session_not_found()),
            Over::TimedOut => self.timed_out(),
            Over::Cancelled => Verdict::Cancelled,
            Over::Unknown => Verdict::Failed(Failure::unknown()),
        }
    }

    fn timed_out(&self) -> Verdict {
        let deadline = self.deadline - self.begun;
        let ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        Verdict::Failed(Failure::timeout(ms))
    }

    fn absent(&self, absent: &v1::Absent) -> Failure {
        let name = self.known.as_ref().and_then(|known| known.name());
        match absent.why() {
            absent::Why::Away => Failure::away(name.as_deref(), AWAY_RETRY_MS),
            absent::Why::Gone | absent::Why::NeverSeen | absent::Why::Unspecified => {
                Failure::offline(name.as_deref())
            }
        }
    }

    /// The deadline has passed before the call could be sent.
    fn too_late(&self) -> Verdict {
        if self.delivery.may_have_run() {
            self.timed_out()
        } else {
            self.undelivered()
        }
    }

    fn undelivered(&self) -> Verdict {
        let failure = Failure::not_delivered(UNDELIVERED_RETRY_MS);
        self.unless_it_ran(Verdict::Failed(failure))
    }

    /// Of a call that was delivered before, nobody can say that it did not run.
    fn unless_it_ran(&self, verdict: Verdict) -> Verdict {
        if self.delivery.may_have_run() {
            self.verdict(Over::Unknown)
        } else {
            verdict
        }
    }

    fn refuse(&self, error: RpcError) -> Verdict {
        Verdict::Refused(Reply::Error(self.order.request.refuse(error)))
    }
}

/// Resolves when another router is to carry the call.
async fn released(watcher: Option<Watcher>) {
    match watcher {
        Some(watcher) => watcher.released().cancelled().await,
        None => std::future::pending().await,
    }
}
