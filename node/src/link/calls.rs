//! Calls of a link, from their arrival to the app that gets them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use clientmcp_core::ids::CallId;
use clientmcp_proto::link::CallKey;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{self, Cancelled, NotHere, Settled, absent, not_here, refused};
use tokio::time::{Instant, sleep, sleep_until};

use super::Link;
use super::delivery::Delivery;
use super::replies::{call_id, label, lost, refusal, refused, session_ended, unknown};
use crate::asking::FRESH;
use crate::connection::{Connection, NotTaken};
use crate::places::{self, Place};
use crate::registry::Found;
use crate::state::NodeState;
use crate::waiting::{self, Waiter};

/// How often a call follows its app that comes and goes while it is looked for.
const SEEK_ROUNDS: usize = 3;

impl Link {
    /// Takes a call that has arrived whole.
    pub(super) fn begin(self: &Arc<Self>, node: &Arc<NodeState>, call: v1::Call, params: Bytes) {
        let Some(key) = CallKey::read(&call.call_id) else {
            return;
        };
        let id = call_id(key);
        let delivery = match Delivery::read(id, call, params) {
            Ok(delivery) => delivery,
            Err(error) => {
                tracing::warn!(link = self.number, call = %id, %error, "call not taken");
                return self.turn_away(node, id, lost(true));
            }
        };
        if node.is_fenced() {
            return self.turn_away(node, id, not_here(not_here::Why::StoreUnreachable));
        }
        let session = delivery.session.as_deref();
        match node.registry.connection(&delivery.client_id, session) {
            Err(_) => self.turn_away(node, id, session_ended()),
            Ok(_) if delivery.was_cancelled(node) => self.turn_away(node, id, cancelled()),
            // It ran on a connection that is gone.
            Ok(None) if delivery.is_bound_to_connection() => self.turn_away(node, id, unknown()),
            Ok(None) => self.seek(node, delivery),
            Ok(Some(connection)) => {
                if let Some(delivery) = self.hand_over(node, &connection, delivery) {
                    self.seek(node, delivery);
                }
            }
        }
    }

    /// Gives a call to a connection. It comes back if the connection has just ended.
    fn hand_over(
        self: &Arc<Self>,
        node: &NodeState,
        connection: &Arc<Connection>,
        mut delivery: Delivery,
    ) -> Option<Delivery> {
        let id = delivery.request.call.id;
        if let Some((call, reason)) = delivery.gives_up {
            self.ends(id, false);
            let instance = delivery.request.instance.as_ref();
            if !connection.cancel_wherever(instance, call, reason) {
                return Some(delivery);
            }
            self.say(id, cancelled());
            return None;
        }
        // First: the answer may be there before the call returns.
        self.begins(id, connection);
        if delivery.attach_only {
            if connection.attach(self, id).is_err() {
                self.ends(id, false);
                self.turn_away(node, id, unknown());
            }
            return None;
        }
        delivery.note_log_level(node);
        let call = &mut delivery.request.call;
        call.deadline = call.deadline.saturating_sub(delivery.arrived.elapsed());
        let again = delivery.request.call.attempt > 0;
        match connection.call(self, delivery.request) {
            Ok(()) => {
                // A link that was lost in this moment has left its calls to others already.
                if self.is_lost() {
                    connection.orphan(self, &[id]);
                }
                None
            }
            Err(NotTaken::Ended(request)) => {
                self.ends(id, false);
                delivery.request = *request;
                delivery.arrived = Instant::now();
                Some(delivery)
            }
            Err(NotTaken::Refused(why)) => {
                // A duplicate leaves the call that runs under this ID alone.
                if why != clientmcp_core::channel::Refusal::Duplicate {
                    self.ends(id, false);
                }
                let word = refusal(why, again, || connection.tools_hash());
                self.turn_away(node, id, word);
                None
            }
        }
    }

    /// Looks for the app of a call, in a task of its own.
    fn seek(self: &Arc<Self>, node: &Arc<NodeState>, delivery: Delivery) {
        let id = delivery.request.call.id;
        let (link, node) = (self.clone(), node.clone());
        // Entered before the task can end.
        let mut calls = self.calls();
        let seeking = tokio::spawn(async move {
            link.follow(&node, delivery).await;
            link.calls().sought.remove(&id);
        });
        calls.sought.insert(id, seeking.abort_handle());
    }

    async fn follow(self: &Arc<Self>, node: &Arc<NodeState>, mut delivery: Delivery) {
        let id = delivery.request.call.id;
        let lookout = node.lookouts.of(&delivery.client_id);
        let mut waiter = None;
        let mut rounds = 0;
        loop {
            let session = delivery.session.as_deref();
            let unreachable = &delivery.unreachable;
            // All that wait for one app go by the same look.
            let age = waiter.as_ref().map_or(FRESH, |_| waiting::LOOK_AGAIN);
            let place = places::find_as_of(node, &lookout, session, unreachable, age).await;
            let word = match place {
                _ if delivery.was_cancelled(node) => cancelled(),
                Place::Here(_) if node.is_fenced() => not_here(not_here::Why::StoreUnreachable),
                Place::Here(_) if rounds == SEEK_ROUNDS => lost(!delivery.again()),
                Place::Here(holding) => {
                    rounds += 1;
                    waiter = None;
                    if !self.found(id, &holding.connection) {
                        return;
                    }
                    match self.hand_over(node, &holding.connection, delivery) {
                        None => return,
                        Some(back) => delivery = back,
                    }
                    continue;
                }
                Place::SessionEnded => session_ended(),
                Place::Elsewhere(elsewhere) => Word::Elsewhere(elsewhere),
                Place::Absent(absent, _) if absent.why() != absent::Why::Away => {
                    Word::Absent(absent)
                }
                Place::Unknown if node.is_cut_off() || delivery.has_waited(node) => {
                    not_here(not_here::Why::StoreUnreachable)
                }
                // While the store is away nobody knows where it is; it may come back here.
                Place::Absent(..) | Place::Unknown => {
                    match self.wait(node, &delivery, &mut waiter).await {
                        None => continue,
                        Some(word) => word,
                    }
                }
            };
            return self.turn_away(node, id, word);
        }
    }

    /// Waits until the app may have come back; a word if the call waits no longer.
    async fn wait(
        &self,
        node: &Arc<NodeState>,
        delivery: &Delivery,
        waiter: &mut Option<Waiter>,
    ) -> Option<Word> {
        let mut presence = node.registry.presence(&delivery.client_id);
        // What is given up waits for the app as well, and takes no call's place.
        if waiter.is_none() && delivery.gives_up.is_none() {
            let call = &delivery.request;
            let (bytes, origin) = (call.call.params.len(), call.origin.clone());
            let entered = node.waiting.enter(&delivery.client_id, bytes, origin);
            let Some(entered) = entered else {
                return Some(refused(refused::Why::TooManyWait));
            };
            *waiter = Some(entered);
        }
        let is_cancelled = async {
            match waiter {
                Some(waiter) => waiter.cancelled.cancelled().await,
                None => std::future::pending().await,
            }
        };
        // Here already: it came between the look and the subscription.
        if matches!(
            node.registry.find(&delivery.client_id, None),
            Found::Here(_)
        ) {
            return None;
        }
        tokio::select! {
            () = presence.changed() => None,
            () = sleep(waiting::LOOK_AGAIN) => None,
            () = is_cancelled => Some(cancelled()),
            () = sleep_until(delivery.deadline()) => Some(lost(!delivery.again())),
        }
    }

    /// Gives a call up whose app is being looked for. `false`: there is none.
    pub(super) fn stop_seeking(&self, id: CallId) -> bool {
        let sought = self.calls().sought.remove(&id);
        if let Some(seeking) = &sought {
            seeking.abort();
        }
        sought.is_some()
    }

    /// These answers arrived.
    pub(super) fn settle(&self, settled: &Settled) {
        let ids = settled.call_ids.iter();
        let ids: Vec<CallId> = ids
            .filter_map(|id| CallKey::read(id))
            .map(call_id)
            .collect();
        let of_connections = {
            let mut calls = self.calls();
            by_connection(
                ids.into_iter()
                    .filter_map(|id| Some((id, calls.unsettled.remove(&id)?))),
            )
        };
        for (connection, ids) in of_connections {
            connection.settled(&ids);
        }
    }

    /// The link is lost: its calls wait for another one.
    pub(super) fn lose(&self) {
        let (running, sought) = {
            let mut calls = self.calls();
            calls.lost = true;
            calls.unsettled.clear();
            let running = by_connection(calls.running.drain());
            (running, std::mem::take(&mut calls.sought))
        };
        for seeking in sought.values() {
            seeking.abort();
        }
        for (connection, ids) in running {
            connection.orphan(self, &ids);
        }
    }

    fn turn_away(&self, node: &NodeState, id: CallId, word: Word) {
        node.metrics.calls.with_label_values(&[label(&word)]).inc();
        self.say(id, word);
    }
}

/// Groups calls by the connection that has them; those whose connection is gone are left out.
fn by_connection(
    calls: impl Iterator<Item = (CallId, Weak<Connection>)>,
) -> Vec<(Arc<Connection>, Vec<CallId>)> {
    let mut groups: HashMap<u64, (Arc<Connection>, Vec<CallId>)> = HashMap::new();
    for (id, connection) in calls {
        if let Some(connection) = connection.upgrade() {
            let group = groups.entry(connection.number);
            group.or_insert_with(|| (connection, Vec::new())).1.push(id);
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_unstable_by_key(|(connection, _)| connection.number);
    groups
}

fn cancelled() -> Word {
    Word::Cancelled(Cancelled {})
}

fn not_here(why: not_here::Why) -> Word {
    Word::NotHere(NotHere { why: why.into() })
}
