//! The messages of clientmcp.v1 as an application sees them (SPEC.md §4.3): read in one pass, with
//! parameters as the raw text that came.

use std::borrow::Cow;
use std::time::Duration;

use clientmcp_core::ids::CallId;
use clientmcp_core::json::{Json, JsonError, ObjectWriter, Text};
use clientmcp_core::limits;
use clientmcp_core::registration::Kind;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::context::{CancelReason, LogLevel};
use crate::status::Rejected;

/// The exact text of a ping, either way.
pub(crate) const PING: &str = r#"{"type":"ping"}"#;
/// The exact text of a pong, either way.
pub(crate) const PONG: &str = r#"{"type":"pong"}"#;

/// What the cluster says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    Registered(Registered),
    Need,
    Call(Box<Call>),
    Cancel {
        id: CallId,
        reason: CancelReason,
    },
    Settled {
        ids: Vec<CallId>,
    },
    Move {
        within: Duration,
        url: Option<String>,
    },
    Authorized {
        expires_in: Option<Duration>,
    },
    Ping,
    Pong,
    /// A later cluster may say more than this SDK understands (`subscriptions` already does).
    Other(String),
}

/// The cluster took a registration.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Registered {
    pub(crate) client_id: String,
    pub(crate) hashes: Vec<(Kind, String)>,
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) limits: Limits,
    pub(crate) reconnect_within: Option<Duration>,
}

/// What the cluster imposes on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) message_bytes: usize,
    pub(crate) ping_interval: Duration,
    pub(crate) silence_timeout: Duration,
}

/// Those that hold until the first `registered` states them.
impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: limits::MESSAGE_BYTES,
            ping_interval: Duration::from_millis(limits::PING_INTERVAL_MS),
            silence_timeout: Duration::from_millis(limits::SILENCE_TIMEOUT_MS),
        }
    }
}

/// A call of an agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) root_id: CallId,
    pub(crate) round: u32,
    pub(crate) attempt: u64,
    pub(crate) method: String,
    pub(crate) params: Json,
    pub(crate) deadline: Duration,
    pub(crate) traceparent: Option<String>,
    pub(crate) tracestate: Option<String>,
    pub(crate) caller: Caller,
}

/// What the cluster knows of the agent that calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Caller {
    pub(crate) protocol_version: Option<String>,
    pub(crate) client_info: Option<Json>,
    pub(crate) client_capabilities: Json,
    pub(crate) subject: Option<String>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) progress: bool,
}

/// Every member that any message has. Each is read by the message that it belongs to, so that an
/// unknown message may have members of the same name and another type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    ids: Option<&'a RawValue>,
    #[serde(borrow)]
    root_id: Option<&'a RawValue>,
    #[serde(borrow)]
    round: Option<&'a RawValue>,
    #[serde(borrow)]
    attempt: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    deadline_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow)]
    tracestate: Option<&'a RawValue>,
    #[serde(borrow)]
    context: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    #[serde(borrow)]
    within_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    expires_in_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    client_id: Option<&'a RawValue>,
    #[serde(borrow)]
    hashes: Option<&'a RawValue>,
    #[serde(borrow)]
    rejected: Option<&'a RawValue>,
    #[serde(borrow)]
    limits: Option<&'a RawValue>,
    #[serde(borrow)]
    reconnect_within_ms: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CallerMembers<'a> {
    protocol_version: Option<String>,
    #[serde(borrow)]
    client_info: Option<&'a RawValue>,
    #[serde(borrow)]
    client_capabilities: Option<&'a RawValue>,
    subject: Option<String>,
    log_level: Option<String>,
    progress: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LimitMembers {
    max_message_bytes: Option<usize>,
    ping_interval_ms: Option<u64>,
    silence_timeout_ms: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HashMembers {
    tools: Option<String>,
    prompts: Option<String>,
    resources: Option<String>,
    rest: Option<String>,
}

impl Message {
    /// Reads a frame.
    ///
    /// # Errors
    /// [`JsonError`] for what is no JSON object with a `type`, and for a known message with a
    /// member that is missing or of another type.
    pub(crate) fn read(text: &Text) -> Result<Self, JsonError> {
        let members: Members = text.read()?;
        let message = match &*members.r#type {
            "registered" => Self::Registered(members.registered()?),
            "need" => Self::Need,
            "call" => Self::Call(Box::new(members.call(text)?)),
            "cancel" => Self::Cancel {
                id: call_id(members.id)?,
                reason: optional(members.reason)?.unwrap_or(CancelReason::Agent),
            },
            "settled" => Self::Settled {
                ids: members.settled()?,
            },
            "move" => Self::Move {
                within: millis(members.within_ms)?.unwrap_or_default(),
                url: optional(members.url)?,
            },
            "authorized" => Self::Authorized {
                expires_in: millis(members.expires_in_ms)?,
            },
            "ping" => Self::Ping,
            "pong" => Self::Pong,
            other => Self::Other(other.to_owned()),
        };
        Ok(message)
    }
}

impl Members<'_> {
    fn registered(&self) -> Result<Registered, JsonError> {
        let given: LimitMembers = optional(self.limits)?.unwrap_or_default();
        let default = Limits::default();
        let interval = |ms: Option<u64>, default| ms.map_or(default, Duration::from_millis);
        let hashes: HashMembers = optional(self.hashes)?.unwrap_or_default();
        let hashes = [
            (Kind::Tools, hashes.tools),
            (Kind::Prompts, hashes.prompts),
            (Kind::Resources, hashes.resources),
            (Kind::Rest, hashes.rest),
        ];
        Ok(Registered {
            client_id: optional(self.client_id)?.unwrap_or_default(),
            hashes: hashes
                .into_iter()
                .filter_map(|(kind, hash)| Some((kind, hash?)))
                .collect(),
            rejected: optional(self.rejected)?.unwrap_or_default(),
            expires_in: millis(self.expires_in_ms)?,
            limits: Limits {
                message_bytes: given.max_message_bytes.unwrap_or(default.message_bytes),
                ping_interval: interval(given.ping_interval_ms, default.ping_interval),
                silence_timeout: interval(given.silence_timeout_ms, default.silence_timeout),
            },
            reconnect_within: millis(self.reconnect_within_ms)?,
        })
    }

    fn call(&self, text: &Text) -> Result<Call, JsonError> {
        let id = call_id(self.id)?;
        let caller: CallerMembers = optional(self.context)?.unwrap_or_default();
        let part = |raw: Option<&RawValue>| raw.map(|raw| text.part(raw));
        Ok(Call {
            id,
            root_id: self.root_id.map_or(Ok(id), |raw| call_id(Some(raw)))?,
            round: optional(self.round)?.unwrap_or_default(),
            attempt: optional(self.attempt)?.unwrap_or_default(),
            method: required("method", self.method)?,
            params: part(self.params).unwrap_or(Json::EMPTY_OBJECT),
            deadline: millis(self.deadline_ms)?
                .unwrap_or(Duration::from_millis(limits::CALL_DEADLINE_MS)),
            traceparent: optional(self.traceparent)?,
            tracestate: optional(self.tracestate)?,
            caller: Caller {
                protocol_version: caller.protocol_version,
                client_info: part(caller.client_info),
                client_capabilities: part(caller.client_capabilities).unwrap_or(Json::EMPTY_OBJECT),
                subject: caller.subject,
                log_level: caller.log_level.as_deref().and_then(LogLevel::parse),
                progress: caller.progress,
            },
        })
    }

    fn settled(&self) -> Result<Vec<CallId>, JsonError> {
        let ids: Vec<Cow<str>> = required("ids", self.ids)?;
        // IDs that are none are of no call of ours.
        Ok(ids.iter().filter_map(|id| CallId::parse(id).ok()).collect())
    }
}

/// The application's new token.
pub(crate) fn auth(token: &str) -> Json {
    let mut message = ObjectWriter::new();
    message.name("type", "auth").string("token", token);
    message.finish()
}

/// The beginning of a message about a call.
pub(crate) fn about(kind: &str, id: CallId) -> ObjectWriter {
    let mut message = ObjectWriter::new();
    message.name("type", kind).name("id", id);
    message
}

fn optional<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<Option<T>, JsonError> {
    let read = raw.map(|raw| serde_json::from_str::<Option<T>>(raw.get()));
    read.transpose()
        .map(Option::flatten)
        .map_err(|error| JsonError::Shape(error.to_string()))
}

fn required<'a, T: Deserialize<'a>>(name: &str, raw: Option<&'a RawValue>) -> Result<T, JsonError> {
    optional(raw)?.ok_or_else(|| JsonError::Shape(format!("missing field `{name}`")))
}

fn millis(raw: Option<&RawValue>) -> Result<Option<Duration>, JsonError> {
    Ok(optional(raw)?.map(Duration::from_millis))
}

fn call_id(raw: Option<&RawValue>) -> Result<CallId, JsonError> {
    let id: Cow<str> = required("id", raw)?;
    CallId::parse(&id).map_err(|error| JsonError::Shape(error.to_string()))
}

#[cfg(test)]
mod tests;
