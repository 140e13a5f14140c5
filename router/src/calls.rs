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

use crate::gateway::Gateway;
use crate::links::{End, Event, InFlight, News, NotSent, Run};
use crate::metrics::Held;
use crate::placement::{Route, Unplaced};
use crate::refusal;
use crate::registrations::Known;
use crate::request_body::Share;
use crate::verdict::{Answered, Verdict};

/// The registration may change under a call that is being checked; not more often than this.
const CHECKS: usize = 4;
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
    attempt: u32,
    /// It runs already: it is attached to, and not started.
    attach: bool,
    route: Route,
    _counted: Held,
    _share: Share,
}

enum Stage {
    /// To be checked against the registration; `fresh` if what is remembered is out of date.
    Unchecked { fresh: bool },
    /// To be sent.
    Checked,
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
            attempt: 0,
            attach: false,
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
        &self,
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
                    let _ = events.send(event).await;
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
        let known = match remembered.filter(|_| !fresh) {
            Some(known) => known,
            None => self.describe().await?,
        };
        self.known = Some(known.clone());
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

    async fn describe(&self) -> Result<Arc<Known>, Verdict> {
        let session = self.request.session.as_ref().map(|session| &session.key);
        let described = self
            .gateway
            .registrations
            .describe(&self.client_id, session)
            .await
            .map_err(|error| self.refuse(error.into()))?;
        let absent = described.absent.unwrap_or_default();
        described
            .known
            .ok_or_else(|| Verdict::Failed(self.absent(&absent)))
    }

    async fn send(&mut self) -> Result<Stage, Verdict> {
        let placed = tokio::select! {
            placed = self.route.next() => placed,
            () = tokio::time::sleep_until(self.deadline) => return Err(undelivered()),
        };
        let peer = placed.map_err(|unplaced| match unplaced {
            Unplaced::NoNode => self.refuse(refusal::no_node()),
            Unplaced::OutOfReach => undelivered(),
        })?;
        let run = peer.run();
        match peer.start(self.frame(), self.request.params.raw.clone().into_bytes()) {
            Ok(in_flight) => {
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
            attempt: self.attempt,
            instance: String::new(),
            attach_only: self.attach,
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
                self.attach = true;
                self.attempt += 1;
                self.redirect(run, &to)
            }
            End::LinkLost {
                not_delivered: true,
            } => {
                self.route.not_here(run);
                Ok(Stage::Checked)
            }
            End::LinkLost {
                not_delivered: false,
            } => Err(Verdict::Failed(Failure::unknown())),
        }
    }

    fn handle_outcome(&mut self, run: &Run, outcome: outcome::Outcome) -> Result<Stage, Verdict> {
        use outcome::Outcome;
        Err(match outcome {
            Outcome::Result(result) => Verdict::Result(result),
            Outcome::Error(error) => Verdict::Error(error),
            Outcome::Refused(refused) => return self.handle_refusal(&refused),
            Outcome::Elsewhere(to) => return self.redirect(run, &to),
            Outcome::NotHere(_) => {
                self.route.not_here(run);
                return Ok(Stage::Checked);
            }
            Outcome::Absent(absent) => Verdict::Failed(self.absent(&absent)),
            Outcome::Lost(v1::Lost {
                not_delivered: true,
            }) => undelivered(),
            Outcome::Lost(_) => Verdict::Failed(Failure::unknown()),
            Outcome::TimedOut(_) => self.timed_out(),
            Outcome::Cancelled(_) => Verdict::Cancelled,
        })
    }

    fn handle_refusal(&self, refused: &v1::Refused) -> Result<Stage, Verdict> {
        use refused::Why;
        Err(match refused.why() {
            Why::Stale => return Ok(Stage::Unchecked { fresh: true }),
            Why::TooManyCalls | Why::QueueFull => Verdict::Failed(Failure::busy(BUSY_RETRY_MS)),
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

    /// Of a call that runs already, nobody can say that it did not run.
    fn in_truth(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Failed(failure)
                if self.attach
                    && matches!(failure.outcome, Outcome::Offline | Outcome::NotDelivered) =>
            {
                Verdict::Failed(Failure::unknown())
            }
            Verdict::Refused(_) if self.attach => Verdict::Failed(Failure::unknown()),
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
