//! What the cluster says.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{MessageError, PING, PONG};
use crate::ids::{CallId, ClientId};
use crate::json::{ArrayWriter, Json, ObjectWriter, Text};
use crate::limits;
use crate::registration::{ContentHash, Hashes, Kind};
use crate::timings::Timings;

/// A message of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterMessage {
    /// The registration stands.
    Registered(Box<Registered>),
    /// Kinds that were named by a hash that the cluster does not know.
    Need {
        /// The kinds.
        kinds: Vec<Kind>,
    },
    /// A call.
    Call(Box<Call>),
    /// Nobody waits for a call any more.
    Cancel {
        /// The call.
        id: CallId,
        /// Why.
        reason: CancelReason,
    },
    /// The results of these calls arrived.
    Settled {
        /// The calls.
        ids: Vec<CallId>,
    },
    /// The app must open its next socket (SPEC.md §12).
    Move {
        /// Why.
        reason: MoveReason,
        /// Within which time.
        within: Duration,
        /// Where, in direct mode.
        url: Option<String>,
    },
    /// What somebody watches, all of it (SPEC.md §12).
    Subscriptions {
        /// The URIs.
        uris: Vec<String>,
    },
    /// A new token was accepted.
    Authorized {
        /// When it ends, in seconds since 1970.
        expires_at: u64,
        /// How long it lasts.
        expires_in: Duration,
    },
    /// Are you there?
    Ping,
    /// I am.
    Pong,
}

/// A registration that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Under which the app is reached.
    pub client_id: ClientId,
    /// What it offers; the app may name the same content by these hashes later on.
    pub hashes: Hashes,
    /// What was refused of it.
    pub rejected: Vec<Rejection>,
    /// When the token ends, in seconds since 1970.
    pub expires_at: u64,
    /// How long the token lasts.
    pub expires_in: Duration,
    /// What the connection is held to.
    pub limits: ChannelLimits,
    /// The first reconnect is uniform within this time.
    pub reconnect_within: Duration,
}

/// An entry of a registration that was refused; it hides no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The kind it belongs to.
    pub kind: Kind,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// What is wrong with it.
    pub reason: Cow<'static, str>,
}

/// What a connection is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelLimits {
    /// The largest message, in bytes.
    pub max_message_bytes: usize,
    /// Calls in flight at a time.
    pub max_calls_in_flight: usize,
    /// Between WebSocket pings to an app from which nothing came.
    pub ping_interval: Duration,
    /// After which silence a connection is closed.
    pub silence_timeout: Duration,
}

impl From<&Timings> for ChannelLimits {
    fn from(timings: &Timings) -> Self {
        Self {
            max_message_bytes: limits::MESSAGE_BYTES,
            max_calls_in_flight: limits::CALLS_IN_FLIGHT_PER_APP,
            ping_interval: timings.ping_interval,
            silence_timeout: timings.silence_timeout,
        }
    }
}

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

/// Why nobody waits for a call any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CancelReason {
    /// The agent said so.
    Agent,
    /// The agent's response, or its router, is gone.
    Disconnect,
    /// The deadline passed.
    Timeout,
    /// The process that holds the app stops.
    Shutdown,
}

impl CancelReason {
    /// Its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CancelReason::Agent => "agent",
            CancelReason::Disconnect => "disconnect",
            CancelReason::Timeout => "timeout",
            CancelReason::Shutdown => "shutdown",
        }
    }
}

/// Why an app must open its next socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveReason {
    /// The node stops.
    Drain,
    /// The ring has given the client ID to another node.
    Rebalance,
}

impl MoveReason {
    /// Its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MoveReason::Drain => "drain",
            MoveReason::Rebalance => "rebalance",
        }
    }
}

impl Call {
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
    const TAIL_BYTES: usize = 15 + 20 + 1;

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

impl ClusterMessage {
    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::new();
        match self {
            Self::Call(call) => return call.to_json(),
            Self::Ping => return Json::constant(PING),
            Self::Pong => return Json::constant(PONG),
            Self::Registered(registered) => registered.write(&mut object),
            Self::Need { kinds } => {
                let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
                object.name("type", "need").raw("kinds", &Json::of(&kinds));
            }
            Self::Cancel { id, reason } => {
                object.name("type", "cancel").name("id", id);
                object.name("reason", reason.as_str());
            }
            Self::Settled { ids } => {
                let mut array = ArrayWriter::with_capacity(40 * ids.len() + 2);
                for id in ids {
                    array.string(&id.to_string());
                }
                object.name("type", "settled").raw("ids", &array.finish());
            }
            Self::Move {
                reason,
                within,
                url,
            } => {
                object
                    .name("type", "move")
                    .name("reason", reason.as_str())
                    .plain("withinMs", within.as_millis())
                    .string_if("url", url.as_deref());
            }
            Self::Subscriptions { uris } => {
                object.name("type", "subscriptions");
                object.raw("uris", &Json::of(uris));
            }
            Self::Authorized {
                expires_at,
                expires_in,
            } => {
                object.name("type", "authorized");
                write_expiry(&mut object, *expires_at, *expires_in);
            }
        }
        object.finish()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn read(text: &Text) -> Result<Self, MessageError> {
        match text.as_str() {
            PING => return Ok(Self::Ping),
            PONG => return Ok(Self::Pong),
            _ => {}
        }
        let Type { kind } = text.read().map_err(MessageError::Unreadable)?;
        match &*kind {
            "call" => CallView::read(text),
            "registered" => RegisteredView::read(text),
            "ping" => Ok(Self::Ping),
            "pong" => Ok(Self::Pong),
            "need" | "cancel" | "settled" | "move" | "subscriptions" | "authorized" => {
                let short: Short<'_> = text.read().map_err(MessageError::Unreadable)?;
                Ok(short.into())
            }
            other => Err(MessageError::UnknownType(other.chars().take(32).collect())),
        }
    }
}

impl Registered {
    fn write(&self, object: &mut ObjectWriter) {
        object
            .name("type", "registered")
            .name("clientId", &self.client_id);
        let mut hashes = ObjectWriter::with_capacity(256);
        for kind in Kind::ALL {
            hashes.name(kind.as_str(), self.hashes.get(kind));
        }
        let mut rejected = ArrayWriter::new();
        for rejection in &self.rejected {
            let mut entry = ObjectWriter::new();
            entry.name("kind", rejection.kind);
            match &rejection.name {
                Some(name) => entry.string("name", name),
                None => entry.raw("name", &Json::NULL),
            };
            entry.string("reason", &rejection.reason);
            rejected.raw(&entry.finish());
        }
        object
            .raw("hashes", &hashes.finish())
            .raw("rejected", &rejected.finish());
        write_expiry(object, self.expires_at, self.expires_in);
        let mut limits = ObjectWriter::new();
        limits
            .plain("maxMessageBytes", self.limits.max_message_bytes)
            .plain("maxCallsInFlight", self.limits.max_calls_in_flight)
            .plain("pingIntervalMs", self.limits.ping_interval.as_millis())
            .plain("silenceTimeoutMs", self.limits.silence_timeout.as_millis());
        object.raw("limits", &limits.finish());
        object.plain("reconnectWithinMs", self.reconnect_within.as_millis());
    }
}

fn write_expiry(object: &mut ObjectWriter, expires_at: u64, expires_in: Duration) {
    object
        .plain("expiresAt", expires_at)
        .plain("expiresInMs", expires_in.as_millis());
}

#[derive(Deserialize)]
struct Type<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

/// The messages that carry nothing verbatim.
#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Short<'a> {
    Need {
        kinds: Vec<KindName>,
    },
    Cancel {
        id: WireId,
        reason: CancelReason,
    },
    Settled {
        ids: Vec<WireId>,
    },
    Move {
        reason: MoveReason,
        within_ms: u64,
        #[serde(borrow)]
        url: Option<Cow<'a, str>>,
    },
    Subscriptions {
        uris: Vec<String>,
    },
    Authorized {
        expires_at: u64,
        expires_in_ms: u64,
    },
}

impl From<Short<'_>> for ClusterMessage {
    fn from(short: Short<'_>) -> Self {
        let ids = |ids: Vec<WireId>| ids.into_iter().map(|id| id.0).collect();
        match short {
            Short::Need { kinds } => Self::Need {
                kinds: kinds.into_iter().map(|kind| kind.0).collect(),
            },
            Short::Cancel { id, reason } => Self::Cancel { id: id.0, reason },
            Short::Settled { ids: settled } => Self::Settled { ids: ids(settled) },
            Short::Move {
                reason,
                within_ms,
                url,
            } => Self::Move {
                reason,
                within: Duration::from_millis(within_ms),
                url: url.map(Cow::into_owned),
            },
            Short::Subscriptions { uris } => Self::Subscriptions { uris },
            Short::Authorized {
                expires_at,
                expires_in_ms,
            } => Self::Authorized {
                expires_at,
                expires_in: Duration::from_millis(expires_in_ms),
            },
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallView<'a> {
    id: WireId,
    root_id: Option<WireId>,
    #[serde(default)]
    round: u32,
    #[serde(default)]
    attempt: u32,
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    deadline_ms: Option<u64>,
    traceparent: Option<String>,
    tracestate: Option<String>,
    #[serde(borrow)]
    context: &'a RawValue,
}

impl CallView<'_> {
    fn read(text: &Text) -> Result<ClusterMessage, MessageError> {
        let view: CallView<'_> = text.read().map_err(MessageError::Unreadable)?;
        let deadline_ms = view.deadline_ms.unwrap_or(limits::CALL_DEADLINE_MS);
        Ok(ClusterMessage::Call(Box::new(Call {
            id: view.id.0,
            root_id: view.root_id.unwrap_or(view.id).0,
            round: view.round,
            attempt: view.attempt,
            method: view.method,
            params: view
                .params
                .map_or(Json::EMPTY_OBJECT, |params| text.part(params)),
            deadline: Duration::from_millis(deadline_ms),
            traceparent: view.traceparent,
            tracestate: view.tracestate,
            context: text.part(view.context),
        })))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegisteredView {
    client_id: ClientId,
    hashes: HashesView,
    #[serde(default)]
    rejected: Vec<RejectionView>,
    expires_at: u64,
    expires_in_ms: u64,
    limits: LimitsView,
    reconnect_within_ms: u64,
}

#[derive(Deserialize)]
struct HashesView {
    tools: WireHash,
    prompts: WireHash,
    resources: WireHash,
    rest: WireHash,
}

#[derive(Deserialize)]
struct RejectionView {
    kind: KindName,
    name: Option<String>,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LimitsView {
    max_message_bytes: usize,
    max_calls_in_flight: usize,
    ping_interval_ms: u64,
    silence_timeout_ms: u64,
}

impl RegisteredView {
    fn read(text: &Text) -> Result<ClusterMessage, MessageError> {
        let view: Self = text.read().map_err(MessageError::Unreadable)?;
        let rejection = |rejected: RejectionView| Rejection {
            kind: rejected.kind.0,
            name: rejected.name,
            reason: rejected.reason.into(),
        };
        Ok(ClusterMessage::Registered(Box::new(Registered {
            client_id: view.client_id,
            hashes: Hashes {
                tools: view.hashes.tools.0,
                prompts: view.hashes.prompts.0,
                resources: view.hashes.resources.0,
                rest: view.hashes.rest.0,
            },
            rejected: view.rejected.into_iter().map(rejection).collect(),
            expires_at: view.expires_at,
            expires_in: Duration::from_millis(view.expires_in_ms),
            limits: ChannelLimits {
                max_message_bytes: view.limits.max_message_bytes,
                max_calls_in_flight: view.limits.max_calls_in_flight,
                ping_interval: Duration::from_millis(view.limits.ping_interval_ms),
                silence_timeout: Duration::from_millis(view.limits.silence_timeout_ms),
            },
            reconnect_within: Duration::from_millis(view.reconnect_within_ms),
        })))
    }
}

/// Names on the wire, as types that check themselves.
macro_rules! wire_name {
    ($name:ident, $inner:ty, $parse:expr, $expected:literal) => {
        #[derive(Clone, Copy)]
        struct $name($inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                let parse: fn(&str) -> Option<$inner> = $parse;
                parse(&text)
                    .map(Self)
                    .ok_or_else(|| serde::de::Error::custom($expected))
            }
        }
    };
}

wire_name!(
    WireId,
    CallId,
    |text| CallId::parse(text).ok(),
    "a call ID must be a UUID"
);
wire_name!(WireHash, ContentHash, ContentHash::parse, "a hash is none");
wire_name!(KindName, Kind, Kind::parse, "a kind is none of the four");
