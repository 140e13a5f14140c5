//! The connection of one app as its node sees it, without the socket (SPEC.md §4).
//!
//! # How to drive it
//!
//! A [`Channel`] is a state machine. It reads no clock and does no I/O; four kinds of methods,
//! told apart by their names, connect it to the world:
//!
//! - **Getters** tell what stands.
//! - **`handle_*`** tell it what the world did: a frame arrived, the store answered, time passed.
//! - **Plain verbs** are what we ask of it: [`Channel::call`], [`Channel::cancel`],
//!   [`Channel::close`].
//! - **`poll_*`** tell what to do next. After any of the above, poll outputs until there are none,
//!   transmit what the socket takes, and wait until [`Channel::poll_timeout`] for the next event.
//!
//! [`Channel::poll_transmit`] is the outbox: a frame that was not pulled has not left, so that a
//! call may be withdrawn, or proved undelivered. A driver therefore pulls a frame only when the
//! socket has room for it, and holds at most a few at a time.
//!
//! # Tokens
//!
//! The deadline of a token (its `exp` and the leeway) is monotonic, made when the channel is. An
//! idle connection is closed with 4401 at that moment. With calls in flight, none are taken any
//! more, those run to their own deadlines, and the connection is closed when the last one has
//! ended. `auth` in place renews at any time before that.

mod calls;
mod flight;
mod inbound;
mod io;
mod moving;
mod outbox;
mod registering;
mod watched;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::close::{CloseCode, Closing, Departure};
use crate::ids::{ClientId, InstanceId};
use crate::limits;
use crate::message::ClusterMessage;
use crate::registration::Hashes;
use crate::tick::Tick;
use crate::timings::Timings;
use crate::token::ServeGrant;

use calls::Settled;
use flight::Flights;
use outbox::Outbox;
use registering::Registering;
use watched::Watched;

pub use io::{
    CallRequest, ClaimInput, Claimed, NotAttached, Origin, Outcome, Output, Refusal, Successor,
    Taken, Transmit,
};

/// One app's connection.
#[derive(Debug)]
pub struct Channel {
    grant: ServeGrant,
    timings: Arc<Timings>,
    /// Until when the token is good, leeway included.
    token_ends: Tick,
    /// The token has ended; calls in flight run out.
    expired: bool,
    /// Nothing happens any more but that the close frame is sent.
    ended: bool,
    last_seen: Tick,
    last_ping: Tick,
    /// Which instance this is, from its first `register` on.
    identity: Option<(InstanceId, u64)>,
    registration: Option<Registration>,
    registering: Registering,
    flights: Flights,
    settled: Settled,
    watched: Watched,
    asked_to_move: bool,
    outbox: Outbox,
    outputs: VecDeque<Output>,
}

/// What stands.
#[derive(Debug)]
struct Registration {
    hashes: Hashes,
    resume: bool,
}

impl Channel {
    /// A connection that was accepted at `now`, right after its token was verified.
    #[must_use]
    pub fn new(grant: ServeGrant, timings: Arc<Timings>, now: Tick) -> Self {
        Self {
            token_ends: token_ends(&grant, now),
            registering: Registering::new(now + timings.register_deadline),
            grant,
            timings,
            expired: false,
            ended: false,
            last_seen: now,
            last_ping: now,
            identity: None,
            registration: None,
            flights: Flights::default(),
            settled: Settled::default(),
            watched: Watched::default(),
            asked_to_move: false,
            outbox: Outbox::default(),
            outputs: VecDeque::new(),
        }
    }

    // ---- Getters ----

    /// The client ID that the token names.
    #[must_use]
    pub fn client_id(&self) -> &ClientId {
        self.grant.client_id()
    }

    /// The app's instance and connection number, from its first `register` on.
    #[must_use]
    pub fn instance(&self) -> Option<(&InstanceId, u64)> {
        let (instance, connection) = self.identity.as_ref()?;
        Some((instance, *connection))
    }

    /// What the app offers; `None` until its first registration stands.
    #[must_use]
    pub fn hashes(&self) -> Option<&Hashes> {
        self.registration
            .as_ref()
            .map(|registration| &registration.hashes)
    }

    /// Whether the app remembers call IDs (`resume`).
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.registration
            .as_ref()
            .is_some_and(|registration| registration.resume)
    }

    /// Whether new calls are taken: a registration stands, and the token is good.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.registration.is_some() && !self.ended && !self.expired
    }

    /// Whether this channel has ended: nothing but its close frame may still have to be sent.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Calls that were taken and that the app has not answered.
    #[must_use]
    pub fn calls_in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Bytes that wait to be pulled.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        self.outbox.bytes()
    }

    /// Whether [`Channel::poll_transmit`] has a frame.
    #[must_use]
    pub fn wants_transmit(&self) -> bool {
        !self.outbox.is_empty()
    }

    // ---- What the world did ----

    /// A binary frame arrived: 1003.
    pub fn handle_binary(&mut self, now: Tick) {
        self.close(
            now,
            Closing::new(CloseCode::Binary, "send text frames alone"),
        );
    }

    /// Something else arrived: a ping, a pong, a part of a message. All of it is life.
    pub fn handle_frame_seen(&mut self, now: Tick) {
        self.last_seen = self.last_seen.max(now);
    }

    /// The socket took bytes.
    pub fn handle_written(&mut self, now: Tick) {
        self.outbox.written(now);
    }

    /// The answer to [`Output::Verify`]; `Err` is how the token's error closes
    /// ([`crate::token::TokenError::closing`], [`crate::token::ScopeError::closing`]).
    pub fn handle_verified(&mut self, now: Tick, verified: Result<ServeGrant, Closing>) {
        if self.ended {
            return;
        }
        match verified {
            Err(closing) => self.close(now, closing),
            Ok(grant) if grant.client_id() != self.client_id() => {
                let reason = "the new token names another client ID: connect with it instead";
                self.close(now, Closing::new(CloseCode::Unauthorized, reason));
            }
            Ok(grant) => {
                self.token_ends = token_ends(&grant, now);
                self.expired = false;
                let message = ClusterMessage::Authorized {
                    expires_at: grant.expires_at(),
                    expires_in: grant.expires_in(),
                };
                self.grant = grant;
                self.send(now, &message);
            }
        }
    }

    /// A newer connection holds the client ID. When this returns, nothing more is dispatched.
    pub fn handle_displaced(&mut self, _now: Tick, by: Successor) {
        let closing = match by {
            Successor::SameInstance => Closing::new(
                CloseCode::Normal,
                "a newer connection of this instance took over",
            ),
            Successor::OtherInstance => Closing::new(
                CloseCode::Replaced,
                "another instance connected with this client ID and took over",
            ),
        };
        self.end(Departure::of_ours(closing.code()), Some(closing), Some(by));
    }

    /// Time has passed: [`Channel::poll_timeout`] was reached.
    pub fn handle_timeout(&mut self, now: Tick) {
        if self.ended {
            return;
        }
        if let Some(closing) = self.overdue(now) {
            self.close(now, closing);
            return;
        }
        self.expire_calls(now);
        if self.settled.due.is_some_and(|due| due <= now) {
            self.send_settled(now);
        }
        self.ask_what_is_watched(now);
        self.expired |= self.token_ends <= now;
        self.end_if_expired(now);
        if !self.ended && self.next_ping().is_some_and(|at| at <= now) {
            self.outbox.push_ping(now);
        }
    }

    /// The socket is gone, or the peer's close frame came; `code` is that frame's, `None` where
    /// there was none (1006).
    pub fn handle_closed(&mut self, _now: Tick, code: Option<u16>) {
        self.end(Departure::of_peer(code), None, None);
    }

    // ---- What we ask of it ----

    /// Closes the connection: calls in flight are answered now, the close frame is sent next.
    pub fn close(&mut self, _now: Tick, closing: Closing) {
        self.end(Departure::of_ours(closing.code()), Some(closing), None);
    }

    // ---- What to do next ----

    /// The next frame for the socket. A call that was pulled counts as delivered.
    pub fn poll_transmit(&mut self, now: Tick) -> Option<Transmit> {
        let pulled = self.outbox.pull(now)?;
        if pulled.transmit == Transmit::Ping {
            self.last_ping = now;
        }
        if let Some(id) = pulled.call {
            if let Some(flight) = self.flights.get_mut(id) {
                flight.sent = true;
            }
            self.outputs.push_back(Output::Dispatched(id));
        }
        Some(pulled.transmit)
    }

    /// The next thing that the driver must know or do.
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        if output.is_none() {
            // An idle connection keeps no memory of its busy times.
            self.outputs = VecDeque::new();
            self.flights.trim();
        }
        output
    }

    /// When to call [`Channel::handle_timeout`] next; `None` once the channel has ended.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Tick> {
        if self.ended {
            return None;
        }
        let waiting = self.outbox.waiting_since();
        let candidates = [
            Some(self.last_seen + self.timings.silence_timeout),
            self.next_ping(),
            self.registering.deadline(),
            waiting.map(|since| since + self.timings.write_stall),
            (!self.expired).then_some(self.token_ends),
            self.flights.next_timeout(),
            self.settled.due,
            self.watched.due(),
        ];
        candidates.into_iter().flatten().min()
    }

    // ---- Inside ----

    /// What is left of the token itself, without leeway.
    fn token_lasts(&self, now: Tick) -> Duration {
        let leeway = Duration::from_secs(limits::TOKEN_LEEWAY_S);
        now.until(self.token_ends).saturating_sub(leeway)
    }

    /// The deadline of the connection itself that has passed, if one has.
    fn overdue(&self, now: Tick) -> Option<Closing> {
        let timings = &self.timings;
        let seconds = |time: Duration| time.as_secs_f32();
        let reason = if self.registering.deadline().is_some_and(|at| at <= now) {
            format!(
                "send register within {} s",
                seconds(timings.register_deadline)
            )
        } else if self.last_seen + timings.silence_timeout <= now {
            let silence = seconds(timings.silence_timeout);
            format!("nothing came for {silence} s: answer pings, or send them")
        } else if self.outbox.waiting_since()? + timings.write_stall <= now {
            let stall = seconds(timings.write_stall);
            format!("nothing was read for {stall} s: read what the cluster sends")
        } else {
            return None;
        };
        Some(Closing::new(CloseCode::TimedOut, reason))
    }

    fn next_ping(&self) -> Option<Tick> {
        let quiet_since = self.last_seen.max(self.last_ping);
        (!self.outbox.has_ping()).then_some(quiet_since + self.timings.ping_interval)
    }

    fn end_if_expired(&mut self, now: Tick) {
        if self.expired && !self.ended && self.flights.is_empty() {
            let reason = "the token has expired: send auth with a new one before it does";
            self.close(now, Closing::new(CloseCode::Unauthorized, reason));
        }
    }

    /// Queues one of our own messages. An app that makes us send more than it reads is let go.
    fn send(&mut self, now: Tick, message: &ClusterMessage) {
        self.outbox
            .push_message(now, message.to_json().into_bytes());
        if self.outbox.bytes() > limits::QUEUE_BYTES_PER_CONNECTION && !self.ended {
            let reason = "too many bytes wait for the app: read what the cluster sends";
            self.close(now, Closing::new(CloseCode::TryLater, reason));
        }
    }

    fn end(
        &mut self,
        departure: Departure,
        closing: Option<Closing>,
        successor: Option<Successor>,
    ) {
        if self.ended {
            // The socket is gone before our close frame left.
            if closing.is_none() {
                self.outbox.close(None);
            }
            return;
        }
        self.ended = true;
        self.answer_all(successor);
        self.outbox.close(closing);
        self.registering = Registering::ended();
        self.settled = Settled::default();
        self.watched = Watched::default();
        self.outputs.push_back(Output::Ended(departure));
    }
}

/// The monotonic moment at which a token ends that was verified just now: whatever the wall clock
/// does from here on.
fn token_ends(grant: &ServeGrant, now: Tick) -> Tick {
    now + grant.expires_in() + Duration::from_secs(limits::TOKEN_LEEWAY_S)
}

#[cfg(test)]
mod tests;
