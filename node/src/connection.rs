//! One app's connection: the [`Channel`] that decides, and the two tasks that feed it.
//!
//! Whoever has something for the channel (the socket, a link, the store, the clock) locks it for
//! a short step, and carries out what it asks for in the same step; nothing is awaited meanwhile.
//! The reading task also keeps the channel's time, the writing task takes frames out of the
//! channel when the socket has room. A step that panics ends this connection and nothing else.
//!
//! Lock order: a connection, then a link or the registry.

mod outputs;
mod sockets;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::channel::{
    CallRequest, Channel, ClaimInput, Claimed, NotAttached, Refusal, Successor, Taken,
};
use clientmcp_core::claim::{Claim, Epoch};
use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::ids::{CallId, ClientId, InstanceId};
use clientmcp_core::json::Json;
use clientmcp_core::message::{CancelReason, MoveReason};
use clientmcp_core::registration::Kind;
use clientmcp_core::tick::Tick;
use clientmcp_core::token::ServeGrant;
use clientmcp_proto::v1::Elsewhere;
use tokio::sync::Notify;

use crate::content::Registration;
use crate::link::Link;
use crate::registry::{Changing, Holding, Installed};
use crate::socket::Frame;
use crate::state::NodeState;

/// One app's connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) node: Arc<NodeState>,
    pub(crate) client_id: ClientId,
    /// For logs.
    pub(crate) number: u64,
    /// The run of the router whose tunnel this is; `None` in direct mode.
    pub(crate) via: Option<Arc<str>>,
    state: Mutex<State>,
    /// Wakes the writing task: there is something to send.
    to_write: Notify,
    /// Wakes the reading task: the connection has ended, or is due earlier than it knew.
    to_read: Notify,
}

#[derive(Debug)]
struct State {
    channel: Channel,
    /// Who waits for the answer to each call.
    routes: HashMap<CallId, Arc<Link>>,
    /// The claim under which the client ID is held; `None` before and after.
    claim: Option<Claim>,
    /// Where the client ID has gone from here.
    moved_to: Option<Elsewhere>,
    /// There from the first register until it was claimed.
    registering: Option<Changing>,
    /// When the reading task wakes by itself.
    armed: Option<Tick>,
    /// The payload of the peer's latest ping that was not answered yet.
    pong: Option<Bytes>,
    /// What is still said when the peer has closed: the last frame of all.
    farewell: Option<Frame>,
    /// Calls that were taken and not answered, those without a route among them.
    in_flight: usize,
    /// The channel has ended: what it has to send is still sent.
    ended: bool,
    /// A step has panicked: the channel is not touched any more.
    crashed: bool,
}

impl Connection {
    /// A connection whose token was verified just before.
    pub(crate) fn new(node: Arc<NodeState>, grant: ServeGrant, via: Option<Arc<str>>) -> Arc<Self> {
        let client_id = grant.client_id().clone();
        let channel = Channel::new(grant, node.timings.clone(), node.clock.now());
        let state = State {
            channel,
            routes: HashMap::new(),
            claim: None,
            moved_to: None,
            registering: None,
            armed: None,
            pong: None,
            farewell: None,
            in_flight: 0,
            ended: false,
            crashed: false,
        };
        Arc::new(Self {
            number: node.next_number(),
            via,
            node,
            client_id,
            state: Mutex::new(state),
            to_write: Notify::new(),
            to_read: Notify::new(),
        })
    }

    /// Sends a call to the app; its answer goes to `link`.
    pub(crate) fn call(
        self: &Arc<Self>,
        link: &Arc<Link>,
        request: CallRequest,
    ) -> Result<(), NotTaken> {
        let id = request.call.id;
        self.step(|state, now| {
            if !state.channel.is_serving() {
                return Err(NotTaken::Ended(Box::new(request)));
            }
            // First: what comes of it, the answer among it, is carried out in this very step.
            let before = state.routes.insert(id, link.clone());
            match state.channel.call(now, request) {
                Ok(taken) => {
                    if taken == Taken::Begun {
                        state.in_flight += 1;
                        self.node.metrics.calls_in_flight.inc();
                    }
                    Ok(())
                }
                Err(refusal) => {
                    state.restore_route(id, before);
                    Err(NotTaken::Refused(refusal))
                }
            }
        })
        .unwrap_or(Err(NotTaken::Refused(Refusal::Unavailable)))
    }

    /// Takes over a call that runs, and whose link was lost.
    pub(crate) fn attach(
        self: &Arc<Self>,
        link: &Arc<Link>,
        id: CallId,
    ) -> Result<(), NotAttached> {
        self.step(|state, _| {
            // First, for an answer that was held comes out at once.
            let before = state.routes.insert(id, link.clone());
            let attached = state.channel.attach(id);
            if attached.is_err() {
                state.restore_route(id, before);
            }
            attached
        })
        .unwrap_or(Err(NotAttached::Unknown))
    }

    /// Gives a call up that may have been between holders: this instance may run it, any other
    /// does not. `false`: the connection serves no more.
    pub(crate) fn cancel_wherever(
        self: &Arc<Self>,
        instance: Option<&InstanceId>,
        id: CallId,
        reason: CancelReason,
    ) -> bool {
        self.step(|state, now| {
            let serves = state.channel.is_serving();
            let serving = state.channel.instance().map(|(instance, _)| instance);
            if serves && serving == instance {
                state.channel.cancel_wherever(now, id, reason);
            }
            serves
        })
        .unwrap_or(false)
    }

    /// Asks the app to move. `false`: it cannot, or was asked already.
    pub(crate) fn ask_to_move(
        self: &Arc<Self>,
        reason: MoveReason,
        within: Duration,
        url: Option<String>,
    ) -> bool {
        self.step(|state, now| state.channel.ask_to_move(now, reason, within, url))
            .unwrap_or(false)
    }

    /// Gives a call up.
    pub(crate) fn cancel(self: &Arc<Self>, id: CallId, reason: CancelReason) {
        self.step(|state, now| state.channel.cancel(now, id, reason));
    }

    /// A legacy agent's cancel.
    pub(crate) fn cancel_request(self: &Arc<Self>, session: &str, request_id: &Json) {
        self.step(|state, now| state.channel.cancel_request(now, session, request_id));
    }

    /// The answers to these calls arrived.
    pub(crate) fn settled(self: &Arc<Self>, ids: &[CallId]) {
        self.step(|state, now| state.channel.settled(now, ids));
    }

    /// A link is lost: its calls wait for another one.
    pub(crate) fn orphan(self: &Arc<Self>, link: &Link, ids: &[CallId]) {
        self.step(|state, now| {
            // A call that another link took over meanwhile is none of ours.
            let is_of_link = |id: &&CallId| state.routes.get(*id).is_some_and(|l| l.is(link));
            let orphans: Vec<CallId> = ids.iter().filter(is_of_link).copied().collect();
            for id in &orphans {
                state.routes.remove(id);
            }
            state.channel.orphan(now, &orphans);
        });
    }

    /// Somebody began or ceased to watch one of the app's resources.
    pub(crate) fn watch_changed(self: &Arc<Self>) {
        self.step(|state, now| state.channel.handle_watch_changed(now));
    }

    /// Which of the kinds that the app named by hash are not known.
    pub(crate) fn handle_contents(self: &Arc<Self>, unknown: &[Kind]) {
        self.step(|state, now| state.channel.handle_contents(now, unknown));
    }

    /// The store granted the claim, and the former holder has let go: from here on the client ID
    /// is held here, unless the app has gone or a newer claim has come meanwhile.
    pub(crate) fn take_over(
        self: &Arc<Self>,
        claim: Claim,
        began: Epoch,
        input: &ClaimInput,
        registration: Registration,
        written: bool,
    ) -> TakenOver {
        self.step(|state, now| {
            if state.ended {
                return TakenOver::Ended;
            }
            let holding = Holding {
                claim,
                began,
                connection: self.clone(),
                instance: input.instance.clone(),
                number: input.connection,
                resume: input.resume,
                registration,
                written,
            };
            match self.node.registry.install(&self.client_id, holding) {
                Installed::Held => {
                    self.node.metrics.apps.inc();
                    state.claim = Some(claim);
                    state.channel.handle_claimed(now, Claimed::Taken);
                }
                Installed::Superseded { by } => {
                    let by = successor(&input.instance, by.as_ref());
                    state.channel.handle_displaced(now, by);
                }
            }
            TakenOver::Settled
        })
        .unwrap_or(TakenOver::Ended)
    }

    /// The claim under which the client ID is held.
    pub(crate) fn present_claim(&self) -> Option<Claim> {
        self.lock().claim
    }

    /// The store's answer to a claim that was not granted, or to a further registration.
    pub(crate) fn handle_claimed(self: &Arc<Self>, claimed: Claimed) {
        self.step(|state, now| state.channel.handle_claimed(now, claimed));
    }

    /// A newer connection holds the client ID. When this returns, nothing more is dispatched.
    /// Its calls go on there if it is the same instance, and one that remembers calls.
    pub(crate) fn displace(self: &Arc<Self>, by: Successor, to: Elsewhere) {
        self.step(|state, now| {
            // The registry has removed it already.
            state.claim = None;
            state.moved_to = Some(to);
            state.channel.handle_displaced(now, by);
        });
    }

    /// Closes the connection.
    pub(crate) fn close(self: &Arc<Self>, closing: Closing) {
        self.step(|state, now| state.channel.close(now, closing));
    }

    /// The hash of the tools that the app offers, as text.
    pub(crate) fn tools_hash(&self) -> String {
        let state = self.lock();
        let hashes = state.channel.hashes();
        hashes.map_or_else(String::new, |hashes| hashes.tools.to_string())
    }

    /// Whether the app remembers call IDs.
    pub(crate) fn resumes(&self) -> bool {
        self.lock().channel.resumes()
    }

    /// Whether no call is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().in_flight == 0
    }

    /// One step: `act` on the channel, then carry out what it asks for. `None`: it has crashed.
    fn step<R>(self: &Arc<Self>, act: impl FnOnce(&mut State, Tick) -> R) -> Option<R> {
        let mut state = self.lock();
        if state.crashed {
            return None;
        }
        let now = self.node.clock.now();
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            let acted = act(&mut state, now);
            self.carry_out(&mut state, now);
            (acted, state.has_frames(), state.must_wake_reader())
        }));
        let Ok((acted, to_write, to_read)) = stepped else {
            tracing::error!(client_id = %self.client_id, socket = self.number, "a connection has crashed");
            self.give_up(&mut state);
            drop(state);
            self.to_write.notify_one();
            self.to_read.notify_one();
            return None;
        };
        drop(state);
        if to_write {
            self.to_write.notify_one();
        }
        if to_read {
            self.to_read.notify_one();
        }
        Some(acted)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A step that panics is caught within, and the state is not touched afterwards.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn restore_route(&mut self, id: CallId, before: Option<Arc<Link>>) {
        match before {
            Some(before) => self.routes.insert(id, before),
            None => self.routes.remove(&id),
        };
    }

    /// Whether the writing task has something to do.
    fn has_frames(&self) -> bool {
        self.pong.is_some() || self.channel.wants_transmit()
    }

    /// Whether the reading task sleeps too long.
    fn must_wake_reader(&self) -> bool {
        match (self.channel.poll_timeout(), self.armed) {
            _ if self.ended => true,
            (Some(due), Some(armed)) => due < armed,
            (due, None) => due.is_some(),
            (None, Some(_)) => false,
        }
    }
}

/// Why a connection did not take a call.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// It serves no more: the call is to be brought elsewhere.
    Ended(Box<CallRequest>),
    /// The call is not taken at all.
    Refused(Refusal),
}

/// What became of a connection's claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenOver {
    /// The client ID is held, or was lost to a newer claim.
    Settled,
    /// The connection had ended: the claim is to be given up.
    Ended,
}

/// How an instance sees the one that took its client ID.
pub(crate) fn successor(instance: &InstanceId, by: Option<&InstanceId>) -> Successor {
    if by == Some(instance) {
        Successor::SameInstance
    } else {
        Successor::OtherInstance
    }
}

/// How the connections of a node that stops are closed.
pub(crate) fn stopping() -> Closing {
    Closing::new(CloseCode::Restart, "the node stops: connect again")
}
