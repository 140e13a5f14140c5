//! Carrying out what a channel asks for.

use std::sync::Arc;

use clientmcp_core::channel::{Outcome, Output};
use clientmcp_core::close::{CloseCode, Closing, Departure};
use clientmcp_core::registration::Hashes;
use clientmcp_core::tick::Tick;
use tokio::runtime::Handle;

use super::{Connection, State};
use crate::claims;
use crate::socket::Frame;

impl Connection {
    /// Carries out, in order, all that the channel asks for.
    pub(super) fn carry_out(self: &Arc<Self>, state: &mut State, now: Tick) {
        while let Some(output) = state.channel.poll_output() {
            match output {
                Output::LookUp(wanted) => {
                    self.spawn(claims::look_up(self.clone(), wanted));
                }
                Output::Claim(input) => {
                    let begin = || self.node.registry.begin_change(&self.client_id);
                    state.registering.get_or_insert_with(begin);
                    self.spawn(claims::claim(self.clone(), *input));
                }
                Output::Registered(hashes) => self.handle_registered(state, &hashes),
                Output::Verify(token) => {
                    let verified = self.node.verify(&token);
                    state.channel.handle_verified(now, verified);
                }
                // Its router counts on nothing from the moment in which it sent it.
                Output::Dispatched(_) => {}
                Output::Progress(id, progress) => {
                    if let Some(link) = state.routes.get(&id) {
                        link.progress(id, progress);
                    }
                }
                Output::Task(id, task) => {
                    if let Some(link) = state.routes.get(&id) {
                        link.task(id, task);
                    }
                }
                Output::Log(id, log) => {
                    if let Some(link) = state.routes.get(&id) {
                        link.log(id, log);
                    }
                }
                Output::ResourceUpdated { uri, params } => {
                    let registry = &self.node.registry;
                    registry.resource_updated(&self.client_id, &uri, params.bytes());
                }
                Output::ListWatched => {
                    let uris = self.node.registry.watched(&self.client_id);
                    state.channel.handle_watched(now, uris);
                }
                Output::Misread(why) => {
                    let reason = why.reason();
                    tracing::debug!(client_id = %self.client_id, socket = self.number, reason, "message dropped");
                }
                Output::Answer(id, outcome) => {
                    state.in_flight -= 1;
                    self.node.metrics.calls_in_flight.dec();
                    self.node
                        .metrics
                        .calls
                        .with_label_values(&[label(&outcome)])
                        .inc();
                    // Without a route nobody waits any more.
                    let Some(link) = state.routes.remove(&id) else {
                        continue;
                    };
                    match (outcome, &state.moved_to) {
                        (Outcome::Moved, Some(to)) => link.moved(id, to.clone()),
                        (outcome, _) => link.answer(id, outcome, state.channel.resumes()),
                    }
                }
                Output::Ended(departure) => self.handle_ended(state, departure),
            }
        }
    }

    fn handle_registered(&self, state: &mut State, hashes: &Hashes) {
        state.registering = None;
        let instance = state.channel.instance();
        tracing::info!(
            client_id = %self.client_id,
            socket = self.number,
            instance = instance.map(|(instance, _)| tracing::field::display(instance)),
            tools = %hashes.tools,
            "registered"
        );
    }

    fn handle_ended(self: &Arc<Self>, state: &mut State, departure: Departure) {
        state.ended = true;
        state.registering = None;
        tracing::debug!(client_id = %self.client_id, socket = self.number, ?departure, "ended");
        self.let_go(state, departure);
    }

    /// After a crash: what others wait for is still answered, and the claim is given up.
    pub(super) fn give_up(self: &Arc<Self>, state: &mut State) {
        state.crashed = true;
        state.ended = true;
        state.registering = None;
        let crashed = "the connection failed inside the node: connect again";
        let closing = Closing::new(CloseCode::Restart, crashed);
        state.farewell = Some(Frame::Close(closing));
        for (id, link) in state.routes.drain() {
            link.answer(id, Outcome::Lost, false);
        }
        self.node
            .metrics
            .calls_in_flight
            .sub(state.in_flight.try_into().unwrap_or(i64::MAX));
        state.in_flight = 0;
        self.let_go(state, Departure::Lost);
    }

    /// Gives the claim up, if there is one and it is still the present one.
    fn let_go(self: &Arc<Self>, state: &mut State, departure: Departure) {
        let Some(claim) = state.claim.take() else {
            return;
        };
        // Until the store knows, nobody goes by what it says.
        let changing = self.node.registry.begin_change(&self.client_id);
        if self.node.registry.remove(&self.client_id, &claim).is_some() {
            self.node.metrics.apps.dec();
            let node = self.node.clone();
            let client_id = self.client_id.clone();
            self.spawn(async move {
                claims::release(node, client_id, claim, departure).await;
                drop(changing);
            });
        }
    }

    fn spawn(&self, errand: impl Future<Output = ()> + Send + 'static) {
        // There is no runtime any more when connections are dropped together with it.
        if Handle::try_current().is_ok() {
            self.node.errand(errand);
        }
    }
}

fn label(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Result(_) => "result",
        Outcome::Error(_) => "error",
        Outcome::NotDelivered => "not_delivered",
        Outcome::Lost => "lost",
        Outcome::TimedOut => "timed_out",
        Outcome::Cancelled => "cancelled",
        Outcome::Moved => "moved",
        Outcome::Unknown => "unknown",
    }
}
