//! Calls: taking, cancelling, losing and answering them (SPEC.md §4.7, §7).

use serde::Deserialize;

use super::flight::{CancelName, Flight};
use super::{CallRequest, Channel, NotAttached, Origin, Outcome, Output, Refusal, Settled};
use crate::ids::CallId;
use crate::json::Json;
use crate::limits;
use crate::mcp::version::Era;
use crate::message::{CancelReason, ClusterMessage};
use crate::tick::Tick;

impl Channel {
    /// Sends a call to the app.
    ///
    /// # Errors
    /// [`Refusal`]; then there is no answer.
    pub fn call(&mut self, now: Tick, request: CallRequest) -> Result<(), Refusal> {
        self.admit(now, &request)?;
        let CallRequest {
            call, era, origin, ..
        } = request;
        let text = call.prepare();
        if text.max_len() > limits::MESSAGE_BYTES {
            return Err(Refusal::TooLarge);
        }
        if self.outbox.bytes() + text.max_len() > limits::QUEUE_BYTES_PER_CONNECTION {
            return Err(Refusal::QueueFull);
        }
        let deadline = now + call.deadline.min(self.timings.call_deadline_max);
        let flight = Flight {
            deadline,
            era,
            origin,
            sent: false,
            progress: wants_progress(&call.context),
            reached: f64::NEG_INFINITY,
            orphaned_until: None,
        };
        self.flights.insert(call.id, flight);
        self.outbox.push_call(now, call.id, text, deadline);
        Ok(())
    }

    fn admit(&mut self, now: Tick, request: &CallRequest) -> Result<(), Refusal> {
        let call = &request.call;
        if !self.is_serving() || self.token_ends <= now {
            return Err(Refusal::Unavailable);
        }
        let instance = self.identity.as_ref().map(|identity| &identity.0);
        if request
            .instance
            .as_ref()
            .is_some_and(|meant| Some(meant) != instance)
        {
            return Err(Refusal::OtherInstance);
        }
        let hashes = self.hashes().ok_or(Refusal::Unavailable)?;
        let is_stale = |meant: Option<_>, is| meant.is_some_and(|meant| meant != is);
        if is_stale(request.tools_hash, hashes.tools) || is_stale(request.rest_hash, hashes.rest) {
            return Err(Refusal::Stale);
        }
        if self
            .flights
            .was_cancelled(call.id, request.origin.as_ref(), now)
        {
            return Err(Refusal::Cancelled);
        }
        if self.flights.knows(call.id) {
            return Err(Refusal::Duplicate);
        }
        if self.flights.len() >= limits::CALLS_IN_FLIGHT_PER_APP {
            return Err(Refusal::TooManyCalls);
        }
        Ok(())
    }

    /// Gives a call up: its answer is [`Outcome::Cancelled`]. A cancel that finds no call is kept
    /// for a while, for the call that is on its way.
    pub fn cancel(&mut self, now: Tick, id: CallId, reason: CancelReason) {
        if self.ended {
            return;
        }
        if self.flights.get_mut(id).is_some() {
            self.abandon(now, id, reason, Outcome::Cancelled);
            self.end_if_expired(now);
        } else if !self.flights.knows(id) {
            let until = now + self.timings.early_cancel;
            self.flights.cancel_early(CancelName::Call(id), until);
        }
    }

    /// A legacy agent's `notifications/cancelled`: as [`Channel::cancel`]. The id's JSON type
    /// counts.
    pub fn cancel_request(&mut self, now: Tick, session: &str, request_id: &Json) {
        if let Some(id) = self.flights.of_request(session, request_id) {
            self.cancel(now, id, CancelReason::Agent);
        } else if !self.ended {
            let origin = Origin {
                session: session.to_owned(),
                request_id: request_id.clone(),
            };
            let until = now + self.timings.early_cancel;
            self.flights
                .cancel_early(CancelName::Request(origin), until);
        }
    }

    /// The answers to these calls arrived at their router: they may be forgotten.
    pub fn settled(&mut self, now: Tick, ids: &[CallId]) {
        for id in ids {
            if !self.flights.forget(*id) || !self.resumes() || self.ended {
                continue;
            }
            self.settled.ids.push(*id);
            self.settled
                .due
                .get_or_insert(now + self.timings.settle_within);
            if self.settled.ids.len() == limits::SETTLED_PER_MESSAGE {
                self.send_settled(now);
            }
        }
    }

    pub(super) fn send_settled(&mut self, now: Tick) {
        let Settled { ids, .. } = std::mem::take(&mut self.settled);
        self.send(now, &ClusterMessage::Settled { ids });
    }

    /// The router of these calls is lost. Their answers are held for
    /// [`crate::timings::Timings::orphan`]; if no router attaches until then, modern calls are
    /// cancelled and legacy ones run out unheard. Either way each still has its one
    /// [`Output::Answer`], for the driver to drop.
    pub fn orphan(&mut self, now: Tick, ids: &[CallId]) {
        let until = now + self.timings.orphan;
        for id in ids {
            if let Some(flight) = self.flights.get_mut(*id) {
                flight.orphaned_until = Some(until);
            }
        }
    }

    /// A router takes a call over; [`Output::Dispatched`] is said again, and an answer that was
    /// held comes out at once.
    ///
    /// # Errors
    /// [`NotAttached`].
    pub fn attach(&mut self, id: CallId) -> Result<(), NotAttached> {
        if let Some(flight) = self.flights.get_mut(id) {
            flight.orphaned_until = None;
            if flight.sent {
                self.outputs.push_back(Output::Dispatched(id));
            }
            return Ok(());
        }
        if let Some(outcome) = self.flights.release(id) {
            self.outputs.push_back(Output::Answer(id, outcome));
            return Ok(());
        }
        Err(if self.flights.answered(id) {
            NotAttached::Answered
        } else {
            NotAttached::Unknown
        })
    }

    /// The last word on a call in flight: said, or held for its router to come back.
    pub(super) fn answer(&mut self, id: CallId, outcome: Outcome) {
        let Some(flight) = self.flights.take(id) else {
            return;
        };
        match flight.orphaned_until {
            Some(until) => self.flights.hold(id, outcome, until),
            None => self.outputs.push_back(Output::Answer(id, outcome)),
        }
    }

    /// Ends a call that the app has not answered. The app is told, unless it never got the call.
    fn abandon(&mut self, now: Tick, id: CallId, reason: CancelReason, outcome: Outcome) {
        if !self.outbox.withdraw(id) {
            self.send(now, &ClusterMessage::Cancel { id, reason });
        }
        self.answer(id, outcome);
    }

    /// What time does to calls.
    pub(super) fn expire_calls(&mut self, now: Tick) {
        for id in self.flights.overdue(now) {
            let sent = self.flights.get_mut(id).is_some_and(|flight| flight.sent);
            let outcome = if sent {
                Outcome::TimedOut
            } else {
                Outcome::NotDelivered
            };
            self.abandon(now, id, CancelReason::Timeout, outcome);
        }
        for id in self.flights.abandoned(now) {
            let Some(flight) = self.flights.get_mut(id) else {
                continue;
            };
            flight.orphaned_until = None;
            if flight.era == Era::Modern {
                self.abandon(now, id, CancelReason::Disconnect, Outcome::Cancelled);
            }
        }
        for id in self.flights.unclaimed(now) {
            self.release(id);
        }
        self.flights.forget_early(now);
    }

    /// Everything in flight, and everything held, is answered now.
    pub(super) fn answer_all(&mut self) {
        for id in self.flights.ids() {
            let withdrawn = self.outbox.withdraw(id);
            let outcome = if withdrawn {
                Outcome::NotDelivered
            } else {
                Outcome::Lost
            };
            if self.flights.take(id).is_some() {
                self.outputs.push_back(Output::Answer(id, outcome));
            }
        }
        for id in self.flights.held_ids() {
            self.release(id);
        }
    }

    fn release(&mut self, id: CallId) {
        if let Some(outcome) = self.flights.release(id) {
            self.outputs.push_back(Output::Answer(id, outcome));
        }
    }
}

/// Whether the agent wants progress: the only member of a call's context that matters here.
fn wants_progress(context: &Json) -> bool {
    #[derive(Deserialize)]
    struct View {
        #[serde(default)]
        progress: bool,
    }
    context.read::<View>().is_ok_and(|view| view.progress)
}
