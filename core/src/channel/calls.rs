//! Calls: taking, cancelling, losing and answering them (SPEC.md §4.7, §7).

use super::flight::{CancelName, Flight, Wants};
use super::{
    CallRequest, Channel, NotAttached, Origin, Outcome, Output, Refusal, Successor, Taken,
};
use crate::ids::CallId;
use crate::json::Json;
use crate::limits;
use crate::mcp::version::Era;
use crate::message::{CancelReason, ClusterMessage};
use crate::tick::Tick;

/// Calls whose answers arrived, to be told to the app in batches.
#[derive(Debug, Default)]
pub(super) struct Settled {
    ids: Vec<CallId>,
    pub(super) due: Option<Tick>,
}

impl Channel {
    /// Sends a call to the app. One that was delivered before (its `attempt` is not 0) is attached
    /// to if it is known here; else an app that remembers calls is asked again, and no other.
    ///
    /// # Errors
    /// [`Refusal`]; then there is no answer.
    pub fn call(&mut self, now: Tick, request: CallRequest) -> Result<Taken, Refusal> {
        let again = request.call.attempt > 0;
        self.admit(now, &request)?;
        if again && self.attach(request.call.id).is_ok() {
            return Ok(Taken::Attached);
        }
        if again && !self.resumes() {
            return Err(Refusal::NotRepeatable);
        }
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
            wants: Wants::of(&call.context),
            reached: f64::NEG_INFINITY,
            again,
            orphaned_until: None,
        };
        self.flights.insert(call.id, flight);
        self.outbox.push_call(now, call.id, text, deadline);
        Ok(Taken::Begun)
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
        if call.attempt > 0 {
            // It was admitted when it was delivered first.
            let origin = request.origin.as_ref();
            if self.flights.was_cancelled(call.id, origin, now) {
                return Err(Refusal::Cancelled);
            }
            return Ok(());
        }
        let mut checked = request.checked.iter();
        if checked.any(|(kind, hash)| hashes.get(*kind) != *hash) {
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

    /// As [`Channel::cancel`], for a call that may have been between holders when it was given up:
    /// the app may run it although it is not known here, and is told.
    pub fn cancel_wherever(&mut self, now: Tick, id: CallId, reason: CancelReason) {
        let is_known = self.flights.knows(id);
        self.cancel(now, id, reason);
        if !is_known && !self.ended && self.resumes() {
            self.send(now, &ClusterMessage::Cancel { id, reason });
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
            let flight = self.flights.get_mut(id);
            let may_run = flight.is_some_and(|flight| flight.sent || flight.again);
            let outcome = if may_run {
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
            // What may be a task by now goes on until another router drives it.
            if flight.era == Era::Modern && !flight.wants.tasks {
                self.abandon(now, id, CancelReason::Disconnect, Outcome::Cancelled);
            }
        }
        for id in self.flights.unclaimed(now) {
            self.release(id);
        }
        self.flights.forget_early(now);
    }

    /// Everything in flight, and everything held, is answered now.
    pub(super) fn answer_all(&mut self, successor: Option<Successor>) {
        let moves = self.resumes() && successor == Some(Successor::SameInstance);
        for id in self.flights.ids() {
            let withdrawn = self.outbox.withdraw(id);
            // One that was delivered before may run although it never left this outbox.
            let again = self.flights.get_mut(id).is_some_and(|flight| flight.again);
            let outcome = match withdrawn {
                _ if moves => Outcome::Moved,
                true if !again => Outcome::NotDelivered,
                _ => Outcome::Lost,
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
