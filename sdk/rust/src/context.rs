//! What a handler knows about its call, and what it can say before the call ends.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clientmcp_core::ids::CallId;
use clientmcp_core::json::Json;
use clientmcp_core::message::{self, AppMessage, Call, CallContext, Log, LogLevel, Progress, Task};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::event::Event;
use crate::input::InputResponses;
use crate::result::{CallError, RpcError};
use crate::run::Run;

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

    /// Resolves when nobody waits any more, and says why.
    pub(crate) async fn cancelled(&self) -> CancelReason {
        self.token.cancelled().await;
        self.reason().expect("the reason is set before the token")
    }

    /// Why nobody waits any more.
    pub(crate) fn reason(&self) -> Option<CancelReason> {
        self.reason.get().copied()
    }
}

/// A call, as its handler sees it. Clones are of the same call.
///
/// A handler that asks the agent for something ([`elicit`](Self::elicit) and its siblings) goes on
/// in another call, with which the agent brings its answer: [`call_id`](Self::call_id),
/// [`round`](Self::round), [`deadline`](Self::deadline) and where progress and log messages go
/// follow it; all else stays that of the first.
#[derive(Clone)]
pub struct Context {
    call: Arc<Call>,
    caller: Arc<CallContext>,
    arguments: Json,
    uri: Option<Arc<str>>,
    /// What the handler gave the agent to bring back.
    state: Option<Json>,
    responses: Arc<InputResponses>,
    pub(crate) run: Arc<Run>,
}

/// What a task is to be ([`Context::become_task`]); where nothing is said the cluster decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskOptions {
    /// How long the result is to be kept.
    pub ttl: Option<Duration>,
    /// How often agents are to ask for it.
    pub poll_interval: Option<Duration>,
    /// How it stands, for people.
    pub status_message: Option<String>,
}

impl Context {
    pub(crate) fn new(
        (call, caller): (Call, CallContext),
        (arguments, uri): (Json, Option<String>),
        (state, responses): (Option<Json>, InputResponses),
        run: Arc<Run>,
    ) -> Self {
        Self {
            call: Arc::new(call),
            caller: Arc::new(caller),
            arguments,
            uri: uri.map(Arc::from),
            state,
            responses: Arc::new(responses),
            run,
        }
    }

    /// Resolves when nobody waits for the result any more, and says why. What a handler answers
    /// after that goes nowhere.
    pub async fn cancelled(&self) -> CancelReason {
        self.run.cancellation().cancelled().await
    }

    /// Why nobody waits for the result any more; `None` while somebody does.
    #[must_use]
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.run.cancellation().reason()
    }

    /// The same for code that takes a token.
    #[must_use]
    pub fn cancellation_token(&self) -> &CancellationToken {
        &self.run.cancellation().token
    }

    /// When the call is given up.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.run.round().deadline.into_std()
    }

    /// Reports progress, if the agent asked for it; only growing values reach it. Progress that
    /// comes faster than it can be sent is dropped.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if !progress.is_finite() {
            return;
        }
        let progress = Progress {
            progress: number(progress),
            total: total.filter(|total| total.is_finite()).map(number),
            message: message.map(Json::of),
        };
        if let Some(round) = self.run.open_round().filter(|round| round.wants_progress) {
            let id = round.id;
            self.note(id, &AppMessage::Progress { id, progress });
        }
    }

    /// Sends a log message to the agent, if it wants to see ones of this level. One that cannot
    /// be written as JSON is dropped, and so are messages that come faster than they can be sent.
    pub fn log<T: Serialize + ?Sized>(&self, level: LogLevel, logger: Option<&str>, data: &T) {
        let round = self.run.open_round();
        let wanted = round.filter(|round| round.log_level.is_some_and(|least| level >= least));
        let Some(id) = wanted.map(|round| round.id) else {
            return;
        };
        let data = serde_json::to_vec(data).map(Json::parse);
        let Ok(Ok(data)) = data else {
            tracing::warn!(call = %id, "a log message is no JSON");
            return;
        };
        let log = Log {
            level,
            logger: logger.map(Json::of),
            data,
        };
        self.note(id, &AppMessage::Log { id, log });
    }

    /// Lets the call go on as a task: the agent is answered at once, and asks for the result later.
    /// Returns whether it does: the tool must have said that it may
    /// ([`Tool::task`](crate::Tool::task)), and the agent must know tasks.
    pub async fn become_task(&self, options: TaskOptions) -> bool {
        let Some(round) = self.run.open_round().filter(|_| self.caller.tasks) else {
            return false;
        };
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let task = Task {
            ttl_ms: options.ttl.map(ms),
            poll_interval_ms: options.poll_interval.map(ms),
            status_message: options.status_message.as_ref().map(Json::of),
        };
        let id = round.id;
        let message = AppMessage::Task { id, task }.to_json();
        let events = self.run.events();
        events.send(Event::Task(id, message)).await.is_ok()
    }

    /// What the handler gave the agent to bring back ([`Answer::input_required`]); `None` in the
    /// first round.
    ///
    /// # Errors
    /// [`CallError`] if it is of another type.
    ///
    /// [`Answer::input_required`]: crate::Answer::input_required
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>, CallError> {
        let Some(state) = &self.state else {
            return Ok(None);
        };
        let state = state.value();
        state.map(Some).map_err(|error| {
            RpcError::invalid_params(format!("the state is of another kind: {error}")).into()
        })
    }

    /// What the agent answered to an [`Answer::input_required`](crate::Answer::input_required).
    #[must_use]
    pub fn input_responses(&self) -> &InputResponses {
        &self.responses
    }

    /// The error for a resource that does not exist, in the agent's revision.
    #[must_use]
    pub fn resource_not_found(&self) -> CallError {
        let uri = self.uri().unwrap_or_default();
        RpcError::resource_not_found(uri, self.run.round().legacy).into()
    }

    /// The call's ID.
    #[must_use]
    pub fn call_id(&self) -> String {
        self.run.round().id.to_string()
    }

    /// The ID of the first call of a chain of rounds; the call's own ID if there is but one.
    #[must_use]
    pub fn root_id(&self) -> String {
        self.run.round().root_id.to_string()
    }

    /// The number of the round, from 0.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.run.round().number
    }

    /// MCP's method: `tools/call`, `prompts/get`, ….
    #[must_use]
    pub fn method(&self) -> &str {
        &self.call.method
    }

    /// The agent's parameters as they came: `name`, `arguments`, `_meta` and what else there is.
    #[must_use]
    pub fn params(&self) -> &Json {
        &self.call.params
    }

    /// The agent's arguments as they came, or the variables of a resource's template; `{}` if there
    /// are none.
    #[must_use]
    pub fn arguments(&self) -> &Json {
        &self.arguments
    }

    /// The URI of the resource that is read.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.uri.as_deref()
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
        self.run.round().log_level
    }

    /// Whether the agent wants to see progress.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.run.round().wants_progress
    }

    /// Whether the call may become a task.
    #[must_use]
    pub fn may_become_task(&self) -> bool {
        self.caller.tasks
    }

    /// The agent's W3C trace context: `traceparent` and `tracestate`.
    #[must_use]
    pub fn trace_context(&self) -> (Option<&str>, Option<&str>) {
        let call = &self.call;
        (call.traceparent.as_deref(), call.tracestate.as_deref())
    }

    fn note(&self, id: CallId, note: &AppMessage) {
        if self.cancel_reason().is_none()
            && let Err(error) = self.run.events().try_send(Event::Note(id, note.to_json()))
        {
            tracing::debug!(call = %id, "a message to the agent was dropped: {error}");
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("call_id", &self.run.round().id)
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
