//! What changes of a legacy session while it lasts (SPEC.md §6): all else stands in its ID.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::{Json, JsonError};
use crate::limits;
use crate::message::LogLevel;

/// The note of one session, kept where its client ID is answered for, and in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionNote {
    /// It was ended: nothing is said in its name any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// The least severe log messages that it wants, if it has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// The resources of which it wants to hear.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub uris: BTreeSet<String>,
}

/// What a session asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// `logging/setLevel`
    LogLevel(LogLevel),
    /// `resources/subscribe`
    Subscribe(String),
    /// `resources/unsubscribe`
    Unsubscribe(String),
}

/// A session, or all of one client ID, watch as many resources as they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many resources are watched")]
pub struct TooMany;

impl SessionNote {
    /// The note of a session that was ended: what else was noted counts no more.
    #[must_use]
    pub fn ended() -> Self {
        Self {
            ended: true,
            ..Self::default()
        }
    }

    /// Notes a change. Whatever is asked for twice is noted once. `of_all` is what the sessions
    /// of the client ID watch together ([`SessionNote::weight`]), this one included.
    ///
    /// # Errors
    /// [`TooMany`]; then nothing has changed.
    pub fn change(&mut self, change: &SessionChange, of_all: usize) -> Result<(), TooMany> {
        match change {
            SessionChange::LogLevel(level) => self.log_level = Some(*level),
            SessionChange::Subscribe(uri) if self.uris.contains(uri) => {}
            SessionChange::Subscribe(uri) => {
                let full = of_all + uri.len() > limits::WATCHED_BYTES_BY_SESSIONS;
                if full || !fits(&self.uris, uri) {
                    return Err(TooMany);
                }
                self.uris.insert(uri.clone());
            }
            SessionChange::Unsubscribe(uri) => {
                self.uris.remove(uri);
            }
        }
        Ok(())
    }

    /// Bytes of what it watches.
    #[must_use]
    pub fn weight(&self) -> usize {
        weight(&self.uris)
    }

    /// Its text in the store.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::of(self)
    }

    /// Reads its text.
    ///
    /// # Errors
    /// [`JsonError`].
    pub fn read(text: &Json) -> Result<Self, JsonError> {
        text.read()
    }
}

/// Whether a stream that watches these resources may watch one more.
#[must_use]
pub fn fits(uris: &BTreeSet<String>, more: &str) -> bool {
    let bytes = weight(uris) + more.len();
    uris.len() < limits::WATCHED_PER_STREAM && bytes <= limits::WATCHED_BYTES_PER_STREAM
}

fn weight(uris: &BTreeSet<String>) -> usize {
    uris.iter().map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watching(uris: &[&str]) -> SessionNote {
        SessionNote {
            uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
            ..SessionNote::default()
        }
    }

    #[test]
    fn a_note_is_changed_and_comes_back_from_its_text() {
        let mut note = SessionNote::default();
        let subscribe = |uri: &str| SessionChange::Subscribe(uri.to_owned());
        let changes = [
            (subscribe("a:1"), r#"{"uris":["a:1"]}"#),
            (subscribe("a:1"), r#"{"uris":["a:1"]}"#),
            (subscribe("b:\"2"), r#"{"uris":["a:1","b:\"2"]}"#),
            (
                SessionChange::LogLevel(LogLevel::Warning),
                r#"{"logLevel":"warning","uris":["a:1","b:\"2"]}"#,
            ),
            (
                SessionChange::Unsubscribe("a:1".to_owned()),
                r#"{"logLevel":"warning","uris":["b:\"2"]}"#,
            ),
            (
                SessionChange::Unsubscribe("c:1".to_owned()),
                r#"{"logLevel":"warning","uris":["b:\"2"]}"#,
            ),
        ];
        for (change, text) in changes {
            note.change(&change, note.weight()).unwrap();
            assert_eq!(note.to_json().as_str(), text);
            assert_eq!(SessionNote::read(&note.to_json()), Ok(note.clone()));
        }
        assert_eq!(SessionNote::ended().to_json().as_str(), r#"{"ended":true}"#);
        let later = Json::constant(r#"{"ended":true,"of":"a later release"}"#);
        assert_eq!(SessionNote::read(&later), Ok(SessionNote::ended()));
    }

    #[test]
    fn a_session_watches_a_bounded_number_of_resources() {
        let many: Vec<String> = (0..limits::WATCHED_PER_STREAM)
            .map(|n| n.to_string())
            .collect();
        let mut full = watching(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let one_more = SessionChange::Subscribe("x:1".to_owned());
        assert_eq!(full.change(&one_more, 0), Err(TooMany));
        let again = SessionChange::Subscribe("7".to_owned());
        assert_eq!(full.change(&again, 0), Ok(()));
        let long = "x".repeat(limits::WATCHED_BYTES_PER_STREAM);
        let mut full = watching(&[&long]);
        assert_eq!(full.change(&one_more, 0), Err(TooMany));
        assert_eq!(full, watching(&[&long]));
        // The others leave no room for it.
        let mut empty = SessionNote::default();
        let all = limits::WATCHED_BYTES_BY_SESSIONS - "x:1".len();
        assert_eq!(empty.change(&one_more, all + 1), Err(TooMany));
        assert_eq!(empty.change(&one_more, all), Ok(()));
        let level = SessionChange::LogLevel(LogLevel::Info);
        assert_eq!(empty.change(&level, usize::MAX), Ok(()));
    }
}
