//! Calls of a link, from their arrival to the app that gets them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::channel::{CallRequest, Origin};
use clientmcp_core::ids::{CallId, ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::json::Json;
use clientmcp_core::mcp::version::Era;
use clientmcp_core::message::{Call as AppCall, CallContext};
use clientmcp_core::registration::{ContentHash, Kind};
use clientmcp_proto::link::CallKey;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{self, Cancelled, NotHere, Settled, absent, not_here, refused};
use tokio::time::{Instant, sleep, sleep_until};

use super::Link;
use super::replies::{call_id, label, lost, refusal, refused, session_ended, unknown};
use crate::asking::FRESH;
use crate::bridge;
use crate::connection::{Connection, NotTaken};
use crate::places::{self, Place};
use crate::registry::Found;
use crate::state::NodeState;
use crate::waiting::{self, Waiter};

/// How often a call follows its app that comes and goes while it is looked for.
const SEEK_ROUNDS: usize = 3;

/// A call that is to be brought to its app.
#[derive(Debug)]
struct Delivery {
    client_id: ClientId,
    session: Option<String>,
    arrived: Instant,
    /// Attach to the call if it runs, and never start it.
    attach_only: bool,
    /// Runs of nodes that the router cannot reach.
    unreachable: Vec<(MemberId, Incarnation)>,
    request: CallRequest,
}

/// What is wrong with a call: its router speaks another language.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("{0} cannot be read")]
struct Unreadable(&'static str);

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
            // It ran on a connection that is gone.
            Ok(None) if delivery.attach_only => self.turn_away(node, id, unknown()),
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
                _ if delivery.was_cancelled(node) => Word::Cancelled(Cancelled {}),
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
        if waiter.is_none() {
            let call = &delivery.request;
            let (bytes, origin) = (call.call.params.len(), call.origin.clone());
            let entered = node.waiting.enter(&delivery.client_id, bytes, origin);
            let Some(entered) = entered else {
                return Some(refused(refused::Why::TooManyWait));
            };
            *waiter = Some(entered);
        }
        let cancelled = &waiter.as_ref()?.cancelled;
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
            () = cancelled.cancelled() => Some(Word::Cancelled(Cancelled {})),
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

fn not_here(why: not_here::Why) -> Word {
    Word::NotHere(NotHere { why: why.into() })
}

impl Delivery {
    /// Whether the app may have got it before.
    fn again(&self) -> bool {
        self.request.call.attempt > 0
    }

    fn deadline(&self) -> Instant {
        self.arrived + self.request.call.deadline
    }

    /// A session that has set the level of its log messages gets them by that.
    fn note_log_level(&mut self, node: &NodeState) {
        let session = self.session.as_deref();
        let noted = session.and_then(|session| node.registry.log_level(&self.client_id, session));
        if let Some(level) = noted {
            let call = &mut self.request.call;
            call.context = CallContext::with_log_level(&call.context, level);
        }
    }

    /// Whether its agent has cancelled it while its app was looked for.
    fn was_cancelled(&self, node: &NodeState) -> bool {
        let origin = self.request.origin.as_ref();
        origin.is_some_and(|origin| node.waiting.was_cancelled(&self.client_id, origin))
    }

    /// Whether it has waited as long as apps are expected back.
    fn has_waited(&self, node: &NodeState) -> bool {
        self.arrived.elapsed() >= node.timings.grace
    }

    fn read(id: CallId, call: v1::Call, params: Bytes) -> Result<Self, Unreadable> {
        let era = match call.era() {
            v1::Era::Legacy => Era::Legacy,
            v1::Era::Modern => Era::Modern,
            v1::Era::Unspecified => return Err(Unreadable("the era")),
        };
        let session = some(call.session_id);
        let origin = match &session {
            Some(session) if !call.request_id.is_empty() => Some(Origin {
                session: session.clone(),
                request_id: json(call.request_id, "the request id")?,
            }),
            _ => None,
        };
        let hashes = [
            (Kind::Tools, call.tools_hash),
            (Kind::Prompts, call.prompts_hash),
            (Kind::Resources, call.resources_hash),
            (Kind::Rest, call.rest_hash),
        ];
        let instance = some(call.instance).map(|instance| InstanceId::parse(&instance));
        let root_id = CallKey::read(&call.root_id).map_or(id, call_id);
        Ok(Self {
            client_id: ClientId::parse(&call.client_id).map_err(|_| Unreadable("the client ID"))?,
            arrived: Instant::now(),
            attach_only: call.attach_only,
            unreachable: bridge::unreachable(&call.unreachable),
            request: CallRequest {
                call: AppCall {
                    id,
                    root_id,
                    round: call.round,
                    attempt: call.attempt,
                    method: call.method,
                    params: json(params, "the params")?,
                    deadline: Duration::from_millis(call.deadline_ms),
                    traceparent: some(call.traceparent),
                    tracestate: some(call.tracestate),
                    context: json(call.context, "the context")?,
                },
                era,
                instance: instance
                    .transpose()
                    .map_err(|_| Unreadable("the instance"))?,
                checked: checked(&hashes)?,
                origin,
            },
            session,
        })
    }
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// The contents that a call was checked against; an empty text stands for none.
fn checked(hashes: &[(Kind, String)]) -> Result<Vec<(Kind, ContentHash)>, Unreadable> {
    let named = hashes.iter().filter(|(_, text)| !text.is_empty());
    let read = |(kind, text): &(Kind, String)| Some((*kind, ContentHash::parse(text)?));
    let read = named.map(|hash| read(hash).ok_or(Unreadable("a content's hash")));
    read.collect()
}

/// The router has checked it. An attach has neither params nor context.
fn json(text: Bytes, what: &'static str) -> Result<Json, Unreadable> {
    if text.is_empty() {
        return Ok(Json::EMPTY_OBJECT);
    }
    Json::trusted(text).map_err(|_| Unreadable(what))
}
