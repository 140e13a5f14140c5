//! One call, from its check against the registration to its one answer, wherever the app is.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::limits::REQUEST_BODY_BYTES;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::offer::Offer;
use clientmcp_core::mcp::outcome::{Failure, Outcome, Reply};
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::version::Era;
use clientmcp_core::registration::Kind;
use clientmcp_core::token::CallGrant;
use clientmcp_proto::v1::{self, absent, outcome, refused};
use tokio::sync::mpsc;
use tokio::time::Instant;
use uuid::Uuid;

use crate::delivery::{Abandoned, Delivery, Loss, Next};
use crate::gateway::Gateway;
use crate::links::{End, Event, InFlight, News, NotSent, Run};
use crate::metrics::Held;
use crate::placement::{Route, Unplaced};
use crate::refusal;
use crate::registrations::{App, Known};
use crate::request_body::Share;
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

/// Checks a request against what the app offers, and gives the deadline that the app wants.
pub(crate) type Check =
    Box<dyn Fn(&Request, &Offer) -> Result<Option<Duration>, Reply> + Send + Sync>;

/// A call that is under way.
pub(crate) struct Call {
    gateway: Arc<Gateway>,
    request: Arc<Request>,
    check: Check,
    client_id: ClientId,
    context: Bytes,
    id: Uuid,
    begun: Instant,
    deadline: Instant,
    /// What it was checked against last.
    known: Option<Arc<Known>>,
    checks: usize,
    /// The instance that it is for. Nobody else gets it once it has left.
    app: Option<App>,
    delivery: Delivery,
    route: Route,
    /// While it is between holders.
    abandoned: Abandoned,
    _counted: Held,
    _share: Share,
}

enum Stage {
    /// To be checked against the registration; `fresh` if what is remembered is out of date.
    Unchecked { fresh: bool },
    /// To be sent.
    Checked,
    /// Its app remembers no calls: it is looked for where it runs, and nowhere else.
    Orphaned(Run),
    /// Sent.
    Sent(InFlight, Run),
}

impl Call {
    /// A call that begins when it is [`run`](Self::run).
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        grant: &CallGrant,
        request: Arc<Request>,
        check: Check,
        share: Share,
    ) -> Self {
        let begun = Instant::now();
        Self {
            gateway: gateway.clone(),
            client_id: grant.client_id().clone(),
            context: request.context(grant.subject()).to_json().into_bytes(),
            request,
            check,
            id: Uuid::now_v7(),
            begun,
            deadline: begun + gateway.config.timings.call_deadline,
            known: None,
            checks: 0,
            app: None,
            delivery: Delivery::default(),
            abandoned: Abandoned::new(gateway, grant.client_id()),
            route: gateway.placement.route(grant.client_id()),
            _counted: gateway.metrics.call_begun(),
            _share: share,
        }
    }

    /// Carries the call to its end; progress and log messages go to `events`. Dropping this
    /// cancels the call.
    pub(crate) async fn run(mut self, events: mpsc::Sender<Event>) -> Answered {
        let mut stage = Stage::Unchecked { fresh: false };
        let verdict = loop {
            let step = match stage {
                Stage::Unchecked { fresh } => self.check_against_registration(fresh).await,
                Stage::Checked => self.send().await,
                Stage::Orphaned(run) => self.attach(run).await,
                Stage::Sent(in_flight, run) => match self.await_end(in_flight, &events).await {
                    Ok(end) => self.handle_end(&run, end),
                    Err(verdict) => Err(verdict),
                },
            };
            match step {
                Ok(next) => stage = next,
                Err(verdict) => break verdict,
            }
        };
        self.abandoned.disarm();
        let verdict = self.in_truth(verdict);
        let label = verdict.label();
        self.gateway.metrics.call_ended(label, self.begun.elapsed());
        tracing::debug!(call = %self.id, client_id = %self.client_id, outcome = label, "call ended");
        Answered {
            verdict,
            known: self.known,
        }
    }

    /// Waits for the link's last word, or for the deadline: the app is told to stop then.
    async fn await_end(
        &mut self,
        mut in_flight: InFlight,
        events: &mpsc::Sender<Event>,
    ) -> Result<End, Verdict> {
        let mut deadline = pin!(tokio::time::sleep_until(self.deadline));
        loop {
            let news = tokio::select! {
                news = in_flight.next() => news,
                () = &mut deadline => {
                    in_flight.cancel(v1::cancel::Reason::Timeout);
                    return Err(self.timed_out());
                }
            };
            match news {
                News::End(end) => return Ok(end),
                // A slow agent is waited for: what comes meanwhile is dropped by the link. A
                // legacy agent may be gone while its call runs on.
                News::Event(event) => {
                    self.delivery.handle_progress();
                    let told = tokio::time::timeout_at(self.deadline, events.send(event));
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
            return Err(undelivered());
        }
        let remembered = self.gateway.registrations.recall(&self.client_id);
        let (known, app) = match remembered.filter(|_| !fresh) {
            Some((known, app)) => (known, Some(app)),
            None => self.describe().await?,
        };
        self.known = Some(known.clone());
        self.app = app;
        let wanted = match (self.check)(&self.request, &known.offer) {
            Ok(wanted) => wanted,
            // What is remembered must not refuse what the app offers by now.
            Err(_) if !fresh => return Ok(Stage::Unchecked { fresh: true }),
            Err(reply) => return Err(Verdict::Refused(reply)),
        };
        let timings = &self.gateway.config.timings;
        let wanted = wanted.unwrap_or(timings.call_deadline);
        self.deadline = self.begun + wanted.min(timings.call_deadline_max);
        Ok(Stage::Checked)
    }

    async fn describe(&self) -> Result<(Arc<Known>, Option<App>), Verdict> {
        let session = self.request.session.as_ref().map(|session| &session.key);
        let described = self
            .gateway
            .registrations
            .describe(&self.client_id, session)
            .await
            .map_err(|error| self.refuse(error.into()))?;
        let absent = described.absent.unwrap_or_default();
        let known = described
            .known
            .ok_or_else(|| Verdict::Failed(self.absent(&absent)))?;
        Ok((known, described.app))
    }

    async fn send(&mut self) -> Result<Stage, Verdict> {
        let placed = tokio::select! {
            placed = self.route.next() => placed,
            () = tokio::time::sleep_until(self.deadline) => return Err(self.too_late()),
        };
        let peer = placed.map_err(|unplaced| match unplaced {
            Unplaced::NoNode => self.refuse(refusal::no_node()),
            Unplaced::OutOfReach => undelivered(),
        })?;
        let run = peer.run();
        match peer.start(self.frame(), self.request.params.raw.clone().into_bytes()) {
            Ok(in_flight) => {
                self.abandoned.disarm();
                tracing::trace!(call = %self.id, node = %run, "call sent");
                Ok(Stage::Sent(in_flight, run))
            }
            Err(NotSent::Down) => {
                self.route.not_here(&run);
                Ok(Stage::Checked)
            }
            Err(NotSent::Full) => Err(Verdict::Failed(Failure::busy(BUSY_RETRY_MS))),
            Err(NotSent::TooLarge) => Err(self.refuse(RpcError::too_large(REQUEST_BODY_BYTES))),
        }
    }

    /// The call as the node gets it; its params travel beside.
    fn frame(&self) -> v1::Call {
        let request = &self.request;
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        let hash = |kind| {
            let known = self.known.as_ref();
            known.map_or_else(String::new, |known| {
                known.offer.hashes.get(kind).to_string()
            })
        };
        let session = request.session.as_ref();
        v1::Call {
            call_id: Bytes::copy_from_slice(self.id.as_bytes()),
            client_id: self.client_id.to_string(),
            method: request.method.as_str().to_owned(),
            params: Bytes::new(),
            params_bytes: 0,
            deadline_ms: u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX),
            root_id: Bytes::copy_from_slice(self.id.as_bytes()),
            round: 0,
            attempt: self.delivery.attempt(),
            instance: self
                .app
                .as_ref()
                .map_or_else(String::new, |app| app.instance.clone()),
            attach_only: self.delivery.attach_only(),
            unreachable: self.gateway.placement.unreachable(),
            tools_hash: hash(Kind::Tools),
            rest_hash: hash(Kind::Rest),
            context: self.context.clone(),
            traceparent: request.trace.parent.clone().unwrap_or_default(),
            tracestate: request.trace.state.clone().unwrap_or_default(),
            era: match request.era() {
                Era::Legacy => v1::Era::Legacy,
                Era::Modern => v1::Era::Modern,
            }
            .into(),
            session_id: session.map_or_else(String::new, |s| s.key.as_str().to_owned()),
            request_id: Bytes::copy_from_slice(request.id.as_json().as_bytes()),
        }
    }

    fn handle_end(&mut self, run: &Run, end: End) -> Result<Stage, Verdict> {
        match end {
            End::Outcome(outcome) => self.handle_outcome(run, outcome),
            End::Moved(to) => {
                let next = self.redeliver(Loss::Moved)?;
                self.gateway.metrics.redirects.inc();
                self.route.elsewhere(run, &to);
                Ok(next)
            }
            End::LinkLost {
                not_delivered: true,
            } => {
                self.route.not_here(run);
                Ok(Stage::Checked)
            }
            End::LinkLost {
                not_delivered: false,
            } => self.redeliver(Loss::Run(run.clone())),
        }
    }

    /// The call may have reached the app, and its answer will not come on this way any more.
    fn redeliver(&mut self, loss: Loss) -> Result<Stage, Verdict> {
        let resumes = self.app.as_ref().is_some_and(|app| app.resumes);
        let next = self.delivery.handle_loss(loss, resumes);
        if next != Next::GiveUp {
            // However long it took so far, its app has the time that apps have to come back.
            self.route = self.gateway.placement.route(&self.client_id);
            self.abandoned.arm(self.id);
            self.gateway.metrics.redeliveries.inc();
        }
        match next {
            Next::Deliver => Ok(Stage::Checked),
            Next::Attach(run) => Ok(Stage::Orphaned(run)),
            Next::GiveUp => Err(Verdict::Failed(Failure::unknown())),
        }
    }

    /// Attaches to a call that runs at a node whose link was lost, if the link is back in time.
    async fn attach(&mut self, run: Run) -> Result<Stage, Verdict> {
        let unknown = || Verdict::Failed(Failure::unknown());
        let back = self.gateway.placement.comes_up(&run);
        let back = tokio::time::timeout(self.gateway.config.timings.orphan, back);
        let peer = back.await.map_err(|_| unknown())?;
        let in_flight = peer.start(self.frame(), Bytes::new());
        let in_flight = in_flight.map_err(|_| unknown())?;
        self.abandoned.disarm();
        Ok(Stage::Sent(in_flight, run))
    }

    fn handle_outcome(&mut self, run: &Run, outcome: outcome::Outcome) -> Result<Stage, Verdict> {
        use outcome::Outcome;
        Err(match outcome {
            Outcome::Result(result) => Verdict::Result(result),
            Outcome::Error(error) => Verdict::Error(error),
            Outcome::Refused(refused) => return self.handle_refusal(run, &refused),
            Outcome::Elsewhere(to) => return self.redirect(run, &to),
            Outcome::NotHere(_) => {
                self.route.not_here(run);
                return Ok(Stage::Checked);
            }
            Outcome::Absent(absent) => Verdict::Failed(self.absent(&absent)),
            Outcome::Lost(v1::Lost {
                not_delivered: true,
                ..
            }) => {
                // Proof: it is sent as if it never had been, if there still is time.
                self.route.not_here(run);
                return Ok(Stage::Checked);
            }
            Outcome::Lost(v1::Lost { r#final: true, .. }) => Verdict::Failed(Failure::unknown()),
            Outcome::Lost(_) => return self.redeliver(Loss::Socket),
            Outcome::TimedOut(_) => self.timed_out(),
            Outcome::Cancelled(_) => Verdict::Cancelled,
        })
    }

    fn handle_refusal(&mut self, run: &Run, refused: &v1::Refused) -> Result<Stage, Verdict> {
        use refused::Why;
        Err(match refused.why() {
            // It ran before, so there was room for it, and there will be.
            Why::TooManyCalls | Why::QueueFull | Why::TooManyWait
                if self.delivery.attempt() > 0 =>
            {
                self.route.not_here(run);
                return Ok(Stage::Checked);
            }
            Why::Stale | Why::OtherInstance => return Ok(Stage::Unchecked { fresh: true }),
            Why::TooManyCalls | Why::QueueFull | Why::TooManyWait => {
                Verdict::Failed(Failure::busy(BUSY_RETRY_MS))
            }
            Why::TooLarge => self.refuse(RpcError::too_large(REQUEST_BODY_BYTES)),
            Why::SessionEnded => self.refuse(RpcError::session_not_found()),
            // Somebody else has sent this ID, which cannot be; or it was sent before.
            Why::Duplicate | Why::Unspecified => Verdict::Failed(Failure::unknown()),
        })
    }

    fn redirect(&mut self, run: &Run, to: &v1::Elsewhere) -> Result<Stage, Verdict> {
        self.gateway.metrics.redirects.inc();
        if self.route.elsewhere(run, to) {
            Ok(Stage::Checked)
        } else {
            Err(undelivered())
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
        match self.delivery.attempt() {
            0 => undelivered(),
            _ => self.timed_out(),
        }
    }

    /// Of a call that was delivered before, nobody can say that it did not run.
    fn in_truth(&self, verdict: Verdict) -> Verdict {
        let again = self.delivery.attempt() > 0;
        match verdict {
            Verdict::Failed(failure)
                if again && matches!(failure.outcome, Outcome::Offline | Outcome::NotDelivered) =>
            {
                Verdict::Failed(Failure::unknown())
            }
            Verdict::Refused(_) if again => Verdict::Failed(Failure::unknown()),
            verdict => verdict,
        }
    }

    fn refuse(&self, error: RpcError) -> Verdict {
        Verdict::Refused(Reply::Error(self.request.refuse(error)))
    }
}

fn undelivered() -> Verdict {
    Verdict::Failed(Failure::not_delivered(UNDELIVERED_RETRY_MS))
}
