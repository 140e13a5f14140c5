//! What a handler knows about its call, and what it can say before the call ends.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clientmcp_core::json::Json;
use clientmcp_core::message::{self, AppMessage, Call, CallContext, Log, LogLevel, Progress};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::event::Event;

/// Why a call was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    Closed,
}

impl From<message::CancelReason> for CancelReason {
    fn from(reason: message::CancelReason) -> Self {
        match reason {
            message::CancelReason::Agent => Self::Agent,
            message::CancelReason::Disconnect => Self::Disconnect,
            message::CancelReason::Timeout => Self::Timeout,
            message::CancelReason::Shutdown => Self::Shutdown,
        }
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
    caller: Arc<CallContext>,
    arguments: Json,
    deadline: Instant,
    cancellation: Arc<Cancellation>,
    events: mpsc::Sender<Event>,
}

impl Context {
    pub(crate) fn new(
        (call, caller): (Call, CallContext),
        arguments: Json,
        deadline: Instant,
        cancellation: Arc<Cancellation>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            call: Arc::new(call),
            caller: Arc::new(caller),
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
        self.cancel_reason()
            .expect("the reason is set before the token")
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
        let progress = Progress {
            progress: number(progress),
            total: total.filter(|total| total.is_finite()).map(number),
            message: message.map(Json::of),
        };
        let id = self.call.id;
        self.note(&AppMessage::Progress { id, progress });
    }

    /// Sends a log message to the agent, if it wants to see ones of this level. One that cannot
    /// be written as JSON is dropped, and so are messages that come faster than they can be sent.
    pub fn log<T: Serialize + ?Sized>(&self, level: LogLevel, logger: Option<&str>, data: &T) {
        if self.log_level().is_none_or(|least| level < least) {
            return;
        }
        let data = serde_json::to_vec(data).map(Json::parse);
        let Ok(Ok(data)) = data else {
            tracing::warn!(call = %self.call.id, "a log message is no JSON");
            return;
        };
        let log = Log {
            level,
            logger: logger.map(Json::of),
            data,
        };
        let id = self.call.id;
        self.note(&AppMessage::Log { id, log });
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
    pub fn protocol_version(&self) -> &str {
        &self.caller.protocol_version
    }

    /// Name and version of the agent (MCP's `Implementation`), as they came.
    #[must_use]
    pub fn client_info(&self) -> Option<&Json> {
        self.caller.client_info.as_ref()
    }

    /// The capabilities that the agent declared, as they came.
    #[must_use]
    pub fn client_capabilities(&self) -> &Json {
        &self.caller.client_capabilities
    }

    /// Who calls, as the agent's token says.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.caller.subject.as_str()
    }

    /// The least severe level of log messages that the agent wants to see; `None` for none at all.
    #[must_use]
    pub fn log_level(&self) -> Option<LogLevel> {
        self.caller.log_level
    }

    /// Whether the agent wants to see progress.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.caller.progress
    }

    /// The agent's W3C trace context: `traceparent` and `tracestate`.
    #[must_use]
    pub fn trace_context(&self) -> (Option<&str>, Option<&str>) {
        let call = &self.call;
        (call.traceparent.as_deref(), call.tracestate.as_deref())
    }

    fn note(&self, note: &AppMessage) {
        if self.cancel_reason().is_none()
            && let Err(error) = self
                .events
                .try_send(Event::Note(self.call.id, note.to_json()))
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
fn number(value: f64) -> Json {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and exact in 53 bits"
    )]
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        Json::of(&(value as i64))
    } else {
        Json::of(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_do() {
        let table = [
            (0.0, "0"),
            (-0.0, "0"),
            (50.0, "50"),
            (-3.0, "-3"),
            (0.5, "0.5"),
            (1e20, "1e+20"),
        ];
        for (value, text) in table {
            assert_eq!(number(value).as_str(), text);
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
