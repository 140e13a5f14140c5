//! `call`, the one message that carries the agent's words (SPEC.md §4.7).

use std::borrow::Cow;
use std::time::Duration;

use super::MessageError;
use super::wire::View;
use crate::ids::CallId;
use crate::json::{Json, ObjectWriter, Text};
use crate::limits;

/// A call as an app gets it (SPEC.md §4.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its ID, from the router.
    pub id: CallId,
    /// The first call of the chain of rounds that it belongs to; its own ID in round 0.
    pub root_id: CallId,
    /// The number of the round, from 0.
    pub round: u32,
    /// The number of the delivery, from 0.
    pub attempt: u32,
    /// The agent's method.
    pub method: String,
    /// The agent's params, verbatim.
    pub params: Json,
    /// Time that remains.
    pub deadline: Duration,
    /// W3C trace context, where the agent sent it.
    pub traceparent: Option<String>,
    /// W3C trace context, where the agent sent it.
    pub tracestate: Option<String>,
    /// The text of a [`super::CallContext`].
    pub context: Json,
}

impl Call {
    pub(super) fn of(text: &Text, view: &View<'_>) -> Result<Self, MessageError> {
        let missing = |problem| MessageError::Invalid {
            kind: "call",
            problem,
        };
        let id = view.call_id("call")?;
        let root_id = view
            .root_id
            .as_deref()
            .and_then(|id| CallId::parse(id).ok());
        let owned = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
        let deadline_ms = view.deadline_ms.unwrap_or(limits::CALL_DEADLINE_MS);
        Ok(Self {
            id,
            root_id: root_id.unwrap_or(id),
            round: view.round,
            attempt: view.attempt,
            method: owned(&view.method).ok_or(missing("method is missing"))?,
            params: view
                .params
                .map_or(Json::EMPTY_OBJECT, |params| text.part(params)),
            deadline: Duration::from_millis(deadline_ms),
            traceparent: owned(&view.traceparent),
            tracestate: owned(&view.tracestate),
            context: text.part(view.context.ok_or(missing("context is missing"))?),
        })
    }

    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        self.prepare().finish(self.deadline)
    }

    /// Its text up to the deadline, which is known when it leaves.
    #[must_use]
    pub fn prepare(&self) -> PreparedCall {
        let mut object = ObjectWriter::with_capacity(384 + self.params.len() + self.context.len());
        object
            .name("type", "call")
            .name("id", self.id)
            .name("rootId", self.root_id)
            .plain("round", self.round)
            .plain("attempt", self.attempt)
            .string("method", &self.method)
            .raw("params", &self.params)
            .string_if("traceparent", self.traceparent.as_deref())
            .string_if("tracestate", self.tracestate.as_deref())
            .raw("context", &self.context);
        PreparedCall(object)
    }
}

/// A call whose text lacks its deadline alone.
#[derive(Debug)]
pub struct PreparedCall(ObjectWriter);

impl PreparedCall {
    /// `,"deadlineMs":` and the longest number that may follow, and the closing brace.
    const TAIL_BYTES: usize = 14 + 20 + 1;

    /// The length that the text will have at most, in bytes.
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.0.len() + Self::TAIL_BYTES
    }

    /// The text, with the time that remains.
    #[must_use]
    pub fn finish(mut self, deadline: Duration) -> Json {
        let ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        self.0.plain("deadlineMs", ms);
        self.0.finish()
    }
}
