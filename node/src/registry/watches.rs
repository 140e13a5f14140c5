//! Who watches a client ID: GET streams and subscriptions, and the resources of which each wants
//! to hear.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use tokio::sync::{Notify, oneshot};

use super::entry::Entry;
use super::{PresenceWatch, Registry, SessionWasEnded};
use crate::connection::Connection;

/// Why a session's stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The session has a newer stream.
    Replaced,
    /// The session was ended.
    SessionEnded,
}

/// One stream.
#[derive(Debug)]
pub(super) struct Watch {
    /// Whose it is, and how it is told to end; none in the modern era.
    session: Option<(Box<str>, oneshot::Sender<StreamEnd>)>,
    /// What it wants to hear of. The session's note says it for that stream.
    uris: BTreeSet<String>,
    updates: Arc<Updates>,
}

impl Watch {
    fn is_of(&self, session: &str) -> bool {
        self.session.as_ref().is_some_and(|it| &*it.0 == session)
    }
}

/// Updates that a stream has not been told yet: the last one of each resource.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    waiting: Mutex<Vec<(String, Bytes)>>,
    arrived: Notify,
}

impl Updates {
    fn push(&self, uri: &str, params: Bytes) {
        let mut waiting = self.lock();
        match waiting.iter_mut().find(|(waits, _)| waits == uri) {
            Some((_, before)) => *before = params,
            None => waiting.push((uri.to_owned(), params)),
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// The params of the next one.
    pub(crate) fn next(&self) -> Option<Bytes> {
        let mut waiting = self.lock();
        let next = (!waiting.is_empty()).then(|| waiting.remove(0).1);
        if waiting.is_empty() {
            *waiting = Vec::new();
        }
        next
    }

    /// Resolves when there may be one. Cancel safe.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, Bytes)>> {
        // Nothing that runs under the lock panics half-way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that watches a client ID; dropping it ceases to.
#[derive(Debug)]
pub(crate) struct Watching {
    /// The presence of the client ID.
    pub(crate) presence: PresenceWatch,
    /// Resolves when the stream has to end. `None`: it belongs to no session.
    pub(crate) end: Option<oneshot::Receiver<StreamEnd>>,
    /// Updates of the resources that it watches.
    pub(crate) updates: Arc<Updates>,
    number: u64,
}

impl Watching {
    /// Has the stream told of all that it watches, for what became of it is not known.
    pub(crate) fn update_all(&self) {
        let entries = self.presence.registry.lock();
        let Some(entry) = entries.get(&self.presence.client_id) else {
            return;
        };
        if let Some(watch) = entry.watches.get(&self.number) {
            entry.update_all(watch);
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut entries = self.presence.registry.lock();
        let Some(entry) = entries.get_mut(&self.presence.client_id) else {
            return;
        };
        entry.watches.remove(&self.number);
        let told = entry.watch_changed();
        drop(entries);
        told.tell();
    }
}

impl Registry {
    /// Begins to watch. A session's earlier stream ends. `uris` are what a stream without a
    /// session wants to hear of.
    pub(crate) fn watch(
        self: &Arc<Self>,
        client_id: &ClientId,
        session: Option<&str>,
        uris: Vec<String>,
    ) -> Result<Watching, SessionWasEnded> {
        let presence = self.presence(client_id);
        let updates = Arc::<Updates>::default();
        let mut entries = self.lock();
        let entry = entries.entry(client_id.clone()).or_default();
        if let Err(ended) = Self::check_session(entry, session) {
            drop(entries);
            return Err(ended);
        }
        let (session, end) = match session {
            None => (None, None),
            Some(session) => {
                entry.end_stream(session, StreamEnd::Replaced);
                let (end, ended) = oneshot::channel();
                (Some((session.into(), end)), Some(ended))
            }
        };
        entry.numbers += 1;
        let number = entry.numbers;
        let watch = Watch {
            session,
            uris: uris.into_iter().collect(),
            updates: updates.clone(),
        };
        entry.watches.insert(number, watch);
        let told = entry.watch_changed();
        drop(entries);
        told.tell();
        Ok(Watching {
            presence,
            end,
            updates,
            number,
        })
    }

    /// A resource has changed: every stream that watches it is told.
    pub(crate) fn resource_updated(&self, client_id: &ClientId, uri: &str, params: &Bytes) {
        let entries = self.lock();
        let Some(entry) = entries.get(client_id) else {
            return;
        };
        for watch in entry.watches.values() {
            if entry.wanted(watch).contains(uri) {
                watch.updates.push(uri, params.clone());
            }
        }
    }

    /// Everything that somebody watches of a client ID, sorted.
    pub(crate) fn watched(&self, client_id: &ClientId) -> Vec<String> {
        let entries = self.lock();
        let Some(entry) = entries.get(client_id) else {
            return Vec::new();
        };
        let wanted = entry.watches.values().flat_map(|watch| entry.wanted(watch));
        let wanted: BTreeSet<&String> = wanted.collect();
        wanted.into_iter().cloned().collect()
    }
}

impl Entry {
    /// What a stream wants to hear of.
    fn wanted<'a>(&'a self, watch: &'a Watch) -> &'a BTreeSet<String> {
        static NOTHING: BTreeSet<String> = BTreeSet::new();
        match &watch.session {
            None => &watch.uris,
            Some((session, _)) => {
                let note = self.sessions.get(session);
                note.map_or(&NOTHING, |note| &note.uris)
            }
        }
    }

    /// Tells a stream of all that it watches.
    fn update_all(&self, watch: &Watch) {
        for uri in self.wanted(watch) {
            let params = serde_json::json!({ "uri": uri }).to_string();
            watch.updates.push(uri, params.into());
        }
    }

    /// Tells the stream of a session, if there is one, of all that it watches.
    pub(super) fn update_stream(&self, session: &str) {
        let mut watches = self.watches.values();
        if let Some(watch) = watches.find(|watch| watch.is_of(session)) {
            self.update_all(watch);
        }
    }

    /// Ends the stream of a session, if there is one.
    pub(super) fn end_stream(&mut self, session: &str, why: StreamEnd) {
        let number = self.watches.iter().find(|(_, watch)| watch.is_of(session));
        let number = number.map(|(number, _)| *number);
        let watch = number.and_then(|number| self.watches.remove(&number));
        if let Some((_, end)) = watch.and_then(|watch| watch.session) {
            // Its receiver may have gone in this moment.
            let _ = end.send(why);
        }
    }

    pub(super) fn end_streams_of_ended_sessions(&mut self) {
        let sessions = self
            .watches
            .values()
            .filter_map(|watch| watch.session.as_ref());
        let ended = sessions.filter(|(session, _)| self.sessions.is_ended(session));
        let ended: Vec<Box<str>> = ended.map(|(session, _)| session.clone()).collect();
        for session in ended {
            self.end_stream(&session, StreamEnd::SessionEnded);
        }
    }

    /// What is watched may have changed: the app's connection is to be told, once the table is
    /// not locked any more.
    pub(super) fn watch_changed(&self) -> WatchChanged {
        let holding = self.holding.as_ref();
        WatchChanged(holding.map(|holding| holding.connection.clone()))
    }
}

/// Whom to tell that what is watched may have changed.
#[must_use]
pub(super) struct WatchChanged(Option<Arc<Connection>>);

impl WatchChanged {
    /// Tells it. The table must not be locked.
    pub(super) fn tell(self) {
        if let Some(connection) = self.0 {
            connection.watch_changed();
        }
    }
}
