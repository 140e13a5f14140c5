//! What is noted of legacy sessions: that they were ended, or what they have asked for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use clientmcp_core::ids::ClientId;
use clientmcp_core::message::LogLevel;
use clientmcp_core::session_note::{SessionChange, SessionNote, TooMany};

use super::entry::Entry;
use super::{Registry, SessionWasEnded};
use crate::limits;

/// The notes of one client ID: bounded, the oldest are forgotten first.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    notes: HashMap<Arc<str>, SessionNote>,
    order: VecDeque<Arc<str>>,
}

impl Sessions {
    pub(super) fn get(&self, session: &str) -> Option<&SessionNote> {
        self.notes.get(session)
    }

    pub(super) fn is_ended(&self, session: &str) -> bool {
        self.get(session).is_some_and(|note| note.ended)
    }

    /// Bytes of what they watch together.
    fn weight(&self) -> usize {
        self.notes.values().map(SessionNote::weight).sum()
    }

    /// Notes what stands from here on. A session that was ended stays so.
    fn put(&mut self, session: &str, note: SessionNote) {
        if let Some(before) = self.notes.get_mut(session) {
            if !before.ended {
                *before = note;
            }
            return;
        }
        let session: Arc<str> = session.into();
        self.notes.insert(session.clone(), note);
        self.order.push_back(session);
        if self.order.len() > limits::SESSIONS_NOTED
            && let Some(oldest) = self.order.pop_front()
        {
            self.notes.remove(&oldest);
        }
    }
}

impl Registry {
    /// What is noted of a session.
    pub(crate) fn session_note(&self, client_id: &ClientId, session: &str) -> Option<SessionNote> {
        let entries = self.lock();
        entries.get(client_id)?.sessions.get(session).cloned()
    }

    /// The level that a session has set.
    pub(crate) fn log_level(&self, client_id: &ClientId, session: &str) -> Option<LogLevel> {
        let entries = self.lock();
        let note = entries.get(client_id)?.sessions.get(session)?;
        note.log_level
    }

    /// Changes what is noted of a session, and gives the whole note. Where nothing is known of
    /// the client ID, nothing is noted.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn change_session(
        &self,
        client_id: &ClientId,
        session: &str,
        change: &SessionChange,
    ) -> Result<SessionNote, TooMany> {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(client_id) else {
            let mut note = SessionNote::default();
            return note.change(change, 0).map(|()| note);
        };
        let before = entry.sessions.get(session);
        let mut note = before.cloned().unwrap_or_default();
        note.change(change, entry.sessions.weight())?;
        entry.sessions.put(session, note.clone());
        let told = entry.watch_changed();
        drop(entries);
        told.tell();
        Ok(note)
    }

    /// Takes over what the store has noted: from here on this node answers for the sessions.
    pub(crate) fn replace_sessions(&self, client_id: &ClientId, notes: Vec<(String, SessionNote)>) {
        self.change_entry(client_id, |entry| {
            entry.sessions = Sessions::default();
            for (session, note) in notes {
                entry.sessions.put(&session, note);
            }
        });
    }

    /// The same, late: what was noted here meanwhile stands. What became of the resources that
    /// the others watch is not known.
    pub(crate) fn complete_sessions(
        &self,
        client_id: &ClientId,
        notes: Vec<(String, SessionNote)>,
    ) {
        self.change_entry(client_id, |entry| {
            for (session, note) in notes {
                let is_known = entry.sessions.get(&session).is_some();
                if note.ended || !is_known {
                    entry.sessions.put(&session, note);
                    entry.update_stream(&session);
                }
            }
        });
    }

    /// Changes what is noted, and sees to it that streams of ended sessions end, and that the app
    /// knows what is watched. Where nothing is known of the client ID, nothing is noted.
    fn change_entry(&self, client_id: &ClientId, change: impl FnOnce(&mut Entry)) {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(client_id) else {
            return;
        };
        change(entry);
        entry.end_streams_of_ended_sessions();
        let told = entry.watch_changed();
        drop(entries);
        told.tell();
    }

    /// Remembers that a session was ended, and ends its stream. Where nothing is known of the
    /// client ID, the store alone remembers.
    pub(crate) fn end_session(&self, client_id: &ClientId, session: &str) {
        self.change_entry(client_id, |entry| {
            entry.sessions.put(session, SessionNote::ended());
        });
    }

    /// Whether a session was ended, as far as is known here.
    ///
    /// # Errors
    /// [`SessionWasEnded`].
    pub(super) fn check_session(
        entry: &Entry,
        session: Option<&str>,
    ) -> Result<(), SessionWasEnded> {
        match session {
            Some(session) if entry.sessions.is_ended(session) => Err(SessionWasEnded),
            _ => Ok(()),
        }
    }
}
