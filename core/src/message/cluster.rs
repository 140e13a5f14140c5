//! What the cluster says.

use std::borrow::Cow;
use std::time::Duration;

use super::call::Call;
use super::registered::Registered;
use super::wire::View;
use super::{MessageError, PING, PONG};
use crate::ids::CallId;
use crate::json::{ArrayWriter, Json, ObjectWriter, Text};
use crate::registration::Kind;

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

/// Why nobody waits for a call any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

    /// A reason that is not known is one more way to lose the agent.
    fn parse(name: Option<&str>) -> Self {
        match name {
            Some("agent") => CancelReason::Agent,
            Some("timeout") => CancelReason::Timeout,
            Some("shutdown") => CancelReason::Shutdown,
            _ => CancelReason::Disconnect,
        }
    }
}

/// Why an app must open its next socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

    fn parse(name: Option<&str>) -> Self {
        match name {
            Some("drain") => MoveReason::Drain,
            _ => MoveReason::Rebalance,
        }
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
        let view: View<'_> = text.read().map_err(MessageError::Unreadable)?;
        let reason = view.reason.as_deref();
        Ok(match &*view.kind {
            "call" => Self::Call(Box::new(Call::of(text, &view)?)),
            "registered" => Self::Registered(Box::new(Registered::of(&view)?)),
            "need" => Self::Need {
                kinds: view
                    .kinds
                    .iter()
                    .filter_map(|kind| Kind::parse(kind))
                    .collect(),
            },
            "cancel" => Self::Cancel {
                id: view.call_id("cancel")?,
                reason: CancelReason::parse(reason),
            },
            "settled" => Self::Settled {
                ids: view
                    .ids
                    .iter()
                    .filter_map(|id| CallId::parse(id).ok())
                    .collect(),
            },
            "move" => Self::Move {
                reason: MoveReason::parse(reason),
                within: Duration::from_millis(view.within_ms),
                url: view.url.map(Cow::into_owned),
            },
            "subscriptions" => Self::Subscriptions { uris: view.uris },
            "authorized" => Self::Authorized {
                expires_at: view.expires_at,
                expires_in: Duration::from_millis(view.expires_in_ms.unwrap_or(u64::MAX)),
            },
            "ping" => Self::Ping,
            "pong" => Self::Pong,
            other => {
                let other = other.chars().take(32).collect();
                return Err(MessageError::UnknownType(other));
            }
        })
    }
}

pub(super) fn write_expiry(object: &mut ObjectWriter, expires_at: u64, expires_in: Duration) {
    object
        .plain("expiresAt", expires_at)
        .plain("expiresInMs", expires_in.as_millis());
}
