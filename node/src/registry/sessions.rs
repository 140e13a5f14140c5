//! Legacy sessions: which were ended, and the one stream that each has.

use std::sync::Arc;

use clientmcp_core::ids::ClientId;
use tokio::sync::oneshot;

use super::{PresenceWatch, Registry, SessionWasEnded};

/// Why a session's stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The session has a newer stream.
    Replaced,
    /// The session was ended.
    SessionEnded,
}

/// The present stream of a session.
#[derive(Debug)]
pub(super) struct Stream {
    end: oneshot::Sender<StreamEnd>,
}

/// A stream that watches a client ID.
#[derive(Debug)]
pub(crate) struct Watching {
    /// The presence of the client ID.
    pub(crate) presence: PresenceWatch,
    /// Resolves when the stream has to end. `None`: it belongs to no session.
    pub(crate) end: Option<oneshot::Receiver<StreamEnd>>,
}

impl Registry {
    /// Begins to watch. A session's earlier stream ends.
    pub(crate) fn watch(
        self: &Arc<Self>,
        client_id: &ClientId,
        session: Option<&str>,
    ) -> Result<Watching, SessionWasEnded> {
        let presence = self.presence(client_id);
        let Some(session) = session else {
            return Ok(Watching {
                presence,
                end: None,
            });
        };
        let mut entries = self.lock();
        let entry = entries.entry(client_id.clone()).or_default();
        if entry.is_ended(session) {
            drop(entries);
            return Err(SessionWasEnded);
        }
        let (end, ended) = oneshot::channel();
        entry.streams.retain(|_, stream| !stream.end.is_closed());
        let before = entry.streams.insert(session.into(), Stream { end });
        drop(entries);
        if let Some(before) = before {
            // Its receiver may have gone in this moment.
            let _ = before.end.send(StreamEnd::Replaced);
        }
        Ok(Watching {
            presence,
            end: Some(ended),
        })
    }

    /// Remembers that a session was ended, and ends its stream. Where nothing is known of the
    /// client ID, the store alone remembers.
    pub(crate) fn end_session(&self, client_id: &ClientId, session: &str) {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(client_id) else {
            return;
        };
        entry.end_session(session);
        let stream = entry.streams.remove(session);
        drop(entries);
        if let Some(stream) = stream {
            // Its receiver may have gone in this moment.
            let _ = stream.end.send(StreamEnd::SessionEnded);
        }
    }
}
