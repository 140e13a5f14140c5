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

mod io;

use std::sync::Arc;

use bytes::Bytes;

use crate::close::Closing;
use crate::ids::{CallId, ClientId, InstanceId};
use crate::json::Json;
use crate::message::CancelReason;
use crate::registration::{Hashes, Kind};
use crate::tick::Tick;
use crate::timings::Timings;
use crate::token::ServeGrant;

pub use io::{
    CallRequest, ClaimInput, Claimed, NotAttached, Origin, Outcome, Output, Refusal, Successor,
    Transmit,
};

/// One app's connection.
#[derive(Debug)]
pub struct Channel {
    grant: ServeGrant,
    timings: Arc<Timings>,
}

impl Channel {
    /// A connection that was accepted at `now`, right after its token was verified.
    #[must_use]
    pub fn new(grant: ServeGrant, timings: Arc<Timings>, now: Tick) -> Self {
        let _ = now;
        Self { grant, timings }
    }

    // Getters.

    /// The client ID that the token names.
    #[must_use]
    pub fn client_id(&self) -> &ClientId {
        self.grant.client_id()
    }

    /// The app's instance and connection number, once it has registered.
    #[must_use]
    pub fn instance(&self) -> Option<(&InstanceId, u64)> {
        todo!()
    }

    /// What the app offers; `None` until its first registration stands.
    #[must_use]
    pub fn hashes(&self) -> Option<&Hashes> {
        todo!()
    }

    /// Whether the app remembers call IDs (`resume`).
    #[must_use]
    pub fn resumes(&self) -> bool {
        todo!()
    }

    /// Whether new calls are taken.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        todo!()
    }

    /// Whether this channel has ended: nothing but its close frame may still have to be sent.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        todo!()
    }

    /// Calls that were taken and not answered.
    #[must_use]
    pub fn calls_in_flight(&self) -> usize {
        todo!()
    }

    /// Bytes that wait to be pulled.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        todo!()
    }

    // What the world did.

    /// A text frame arrived. Counts as life, as all frames do.
    pub fn handle_text(&mut self, now: Tick, frame: Bytes) {
        let _ = (now, frame);
        todo!()
    }

    /// A binary frame arrived: 1003.
    pub fn handle_binary(&mut self, now: Tick) {
        let _ = now;
        todo!()
    }

    /// Something else arrived: a ping, a pong, a part of a message.
    pub fn handle_frame_seen(&mut self, now: Tick) {
        let _ = now;
        todo!()
    }

    /// The socket took bytes.
    pub fn handle_written(&mut self, now: Tick) {
        let _ = now;
        todo!()
    }

    /// The answer to [`Output::LookUp`]: the kinds whose content is not known.
    pub fn handle_contents(&mut self, now: Tick, unknown: &[Kind]) {
        let _ = (now, unknown);
        todo!()
    }

    /// The answer to [`Output::Claim`].
    pub fn handle_claimed(&mut self, now: Tick, claimed: Claimed) {
        let _ = (now, claimed);
        todo!()
    }

    /// The answer to [`Output::Verify`]; `Err` is how the token's error closes
    /// ([`crate::token::TokenError::closing`], [`crate::token::ScopeError::closing`]).
    pub fn handle_verified(&mut self, now: Tick, verified: Result<ServeGrant, Closing>) {
        let _ = (now, verified);
        todo!()
    }

    /// A newer connection holds the client ID. When this returns, nothing more is dispatched.
    pub fn handle_displaced(&mut self, now: Tick, by: Successor) {
        let _ = (now, by);
        todo!()
    }

    /// Time has passed: [`Channel::poll_timeout`] was reached.
    pub fn handle_timeout(&mut self, now: Tick) {
        let _ = now;
        todo!()
    }

    /// The socket is gone, or the peer's close frame came; `code` is that frame's, `None` where
    /// there was none (1006).
    pub fn handle_closed(&mut self, now: Tick, code: Option<u16>) {
        let _ = (now, code);
        todo!()
    }

    // What we ask of it.

    /// Sends a call to the app.
    ///
    /// # Errors
    /// [`Refusal`]; then there is no answer.
    pub fn call(&mut self, now: Tick, request: CallRequest) -> Result<(), Refusal> {
        let _ = (now, request);
        todo!()
    }

    /// Gives a call up: its answer is [`Outcome::Cancelled`]. A cancel that finds no call is kept
    /// for a while, for the call that is on its way.
    pub fn cancel(&mut self, now: Tick, id: CallId, reason: CancelReason) {
        let _ = (now, id, reason);
        todo!()
    }

    /// A legacy agent's `notifications/cancelled`: as [`Channel::cancel`].
    pub fn cancel_request(&mut self, now: Tick, session: &str, request_id: &Json) {
        let _ = (now, session, request_id);
        todo!()
    }

    /// The answers to these calls arrived at their router: they may be forgotten.
    pub fn settled(&mut self, now: Tick, ids: &[CallId]) {
        let _ = (now, ids);
        todo!()
    }

    /// The router of these calls is lost. Their answers are held for [`Timings::orphan`]; if no
    /// router attaches until then, modern calls are cancelled and legacy ones run out unheard.
    /// Either way each still has its one [`Output::Answer`], for the driver to drop.
    pub fn orphan(&mut self, now: Tick, ids: &[CallId]) {
        let _ = (now, ids);
        todo!()
    }

    /// A router takes an orphan over; an answer that was held comes out at once.
    ///
    /// # Errors
    /// [`NotAttached`].
    pub fn attach(&mut self, now: Tick, id: CallId) -> Result<(), NotAttached> {
        let _ = (now, id);
        todo!()
    }

    /// Closes the connection: calls in flight are answered now, the close frame is sent next.
    pub fn close(&mut self, now: Tick, closing: Closing) {
        let _ = (now, closing);
        todo!()
    }

    // What to do next.

    /// The next frame for the socket. A call that was pulled counts as delivered.
    pub fn poll_transmit(&mut self, now: Tick) -> Option<Transmit> {
        let _ = now;
        todo!()
    }

    /// The next thing that the driver must know or do.
    pub fn poll_output(&mut self) -> Option<Output> {
        todo!()
    }

    /// When to call [`Channel::handle_timeout`] next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Tick> {
        todo!()
    }
}
