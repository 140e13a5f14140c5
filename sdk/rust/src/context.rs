//! What a handler knows about its call, and what it can say before the call ends.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clientmcp_core::json::{Json, ObjectWriter};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::event::Event;
use crate::wire::{Call, about};

/// Why a call was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CancelReason {
    /// The agent cancelled it.
    Agent,
    /// The agent's connection was lost.
    Disconnect,
    /// It did not end within its deadline.
    Timeout,
    /// The process that carried it stops.
    Shutdown,
    /// The application itself closed its connection.
    #[serde(skip_deserializing)]
    Closed,
    /// Something that this SDK does not know.
    #[serde(other)]
    Other,
}

/// How severe a log message is, from the least to the most (RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For developers.
    Debug,
    /// In the normal course of things.
    Info,
    /// Normal, and worth noting.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
    /// Something fundamental is wrong.
    Critical,
    /// Somebody has to act at once.
    Alert,
    /// Nothing works any more.
    Emergency,
}

impl LogLevel {
    /// The level's name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        use serde::de::IntoDeserializer as _;
        let name: serde::de::value::StrDeserializer<serde::de::value::Error> =
            name.into_deserializer();
        Self::deserialize(name).ok()
    }
}

/// Tells a handler that nobody waits for it any more.
#[derive(Debug, Default)]
pub(crate) struct Cancellation {
    token: CancellationToken,
    reason: OnceLock<CancelReason>,
}

impl Cancellation {
    /// Cancels, unless that was done before.
    pub(crate) fn cancel(&self, reason: CancelReason) {
        if self.reason.set(reason).is_ok() {
            self.token.cancel();
        }
    }
}

/// A call, as its handler sees it. Clones are of the same call.
#[derive(Clone)]
pub struct Context {
    call: Arc<Call>,
    arguments: Json,
    deadline: Instant,
    cancellation: Arc<Cancellation>,
    events: mpsc::Sender<Event>,
}

impl Context {
    pub(crate) fn new(
        call: Arc<Call>,
        arguments: Json,
        deadline: Instant,
        cancellation: Arc<Cancellation>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            call,
            arguments,
            deadline,
            cancellation,
            events,
        }
    }

    /// Resolves when nobody waits for the result any more, and says why. What a handler answers
    /// after that goes nowhere.
    pub async fn cancelled(&self) -> CancelReason {
        self.cancellation.token.cancelled().await;
        self.cancel_reason().unwrap_or(CancelReason::Other)
    }

    /// Why nobody waits for the result any more; `None` while somebody does.
    #[must_use]
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.cancellation.reason.get().copied()
    }

    /// The same for code that takes a token.
    #[must_use]
    pub fn cancellation_token(&self) -> &CancellationToken {
        &self.cancellation.token
    }

    /// When the call is given up.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Reports progress, if the agent asked for it; only growing values reach it. Progress that
    /// comes faster than it can be sent is dropped.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if !self.wants_progress() || !progress.is_finite() {
            return;
        }
        let mut note = about("progress", self.call.id);
        number(&mut note, "progress", progress);
        if let Some(total) = total.filter(|total| total.is_finite()) {
            number(&mut note, "total", total);
        }
        note.string_if("message", message);
        self.note(note.finish());
    }

    /// Sends a log message to the agent, if it wants to see ones of this level. One that cannot
    /// be written as JSON is dropped, and so are messages that come faster than they can be sent.
    pub fn log<T: Serialize + ?Sized>(&self, level: LogLevel, logger: Option<&str>, data: &T) {
        if !self
            .call
            .caller
            .log_level
            .is_some_and(|least| level >= least)
        {
            return;
        }
        let data = serde_json::to_vec(data).map(Json::parse);
        let Ok(Ok(data)) = data else {
            tracing::warn!(call = %self.call.id, "a log message is no JSON");
            return;
        };
        let mut note = about("log", self.call.id);
        note.name("level", level.as_str())
            .string_if("logger", logger)
            .raw("data", &data);
        self.note(note.finish());
    }

    /// The call's ID.
    #[must_use]
    pub fn call_id(&self) -> String {
        self.call.id.to_string()
    }

    /// The ID of the first call of a chain of rounds; the call's own ID if there is but one.
    #[must_use]
    pub fn root_id(&self) -> String {
        self.call.root_id.to_string()
    }

    /// The number of the round, from 0.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.call.round
    }

    /// The agent's parameters as they came: `name`, `arguments`, `_meta` and what else there is.
    #[must_use]
    pub fn params(&self) -> &Json {
        &self.call.params
    }

    /// The agent's arguments as they came; `{}` if it gave none.
    #[must_use]
    pub fn arguments(&self) -> &Json {
        &self.arguments
    }

    /// The MCP revision that the agent speaks.
    #[must_use]
    pub fn protocol_version(&self) -> Option<&str> {
        self.call.caller.protocol_version.as_deref()
    }

    /// Name and version of the agent (MCP's `Implementation`), as they came.
    #[must_use]
    pub fn client_info(&self) -> Option<&Json> {
        self.call.caller.client_info.as_ref()
    }

    /// The capabilities that the agent declared, as they came.
    #[must_use]
    pub fn client_capabilities(&self) -> &Json {
        &self.call.caller.client_capabilities
    }

    /// Who calls, as the agent's token says.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.call.caller.subject.as_deref()
    }

    /// The least severe level of log messages that the agent wants to see; `None` for none at all.
    #[must_use]
    pub fn log_level(&self) -> Option<LogLevel> {
        self.call.caller.log_level
    }

    /// Whether the agent wants to see progress.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.call.caller.progress
    }

    /// The agent's W3C trace context: `traceparent` and `tracestate`.
    #[must_use]
    pub fn trace_context(&self) -> (Option<&str>, Option<&str>) {
        let call = &self.call;
        (call.traceparent.as_deref(), call.tracestate.as_deref())
    }

    fn note(&self, note: Json) {
        if self.cancel_reason().is_none()
            && let Err(error) = self.events.try_send(Event::Note(self.call.id, note))
        {
            tracing::debug!(call = %self.call.id, "a message to the agent was dropped: {error}");
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("call_id", &self.call.id)
            .field("method", &self.call.method)
            .finish_non_exhaustive()
    }
}

/// Whole numbers are written as such: 50, not 50.0.
fn number(object: &mut ObjectWriter, key: &str, value: f64) {
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        object.plain(key, format_args!("{:.0}", value + 0.0));
    } else {
        object.raw(key, &Json::of(&value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_have_names() {
        let names = [
            "debug",
            "info",
            "notice",
            "warning",
            "error",
            "critical",
            "alert",
            "emergency",
        ];
        let levels: Vec<LogLevel> = names
            .iter()
            .map(|name| LogLevel::parse(name).unwrap())
            .collect();
        assert!(levels.is_sorted());
        for (level, name) in levels.iter().zip(names) {
            assert_eq!(level.as_str(), name);
        }
        assert_eq!(LogLevel::parse("verbose"), None);
    }

    #[test]
    fn numbers_are_written_as_people_do() {
        let table = [
            (0.0, "0"),
            (-0.0, "0"),
            (50.0, "50"),
            (0.5, "0.5"),
            (1e20, "1e+20"),
        ];
        for (value, text) in table {
            let mut object = ObjectWriter::new();
            number(&mut object, "n", value);
            assert_eq!(object.finish().as_str(), format!("{{\"n\":{text}}}"));
        }
    }

    #[test]
    fn the_first_reason_counts() {
        let cancellation = Cancellation::default();
        cancellation.cancel(CancelReason::Agent);
        cancellation.cancel(CancelReason::Timeout);
        assert_eq!(cancellation.reason.get(), Some(&CancelReason::Agent));
        assert!(cancellation.token.is_cancelled());
    }
}
