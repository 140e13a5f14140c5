//! The messages of clientmcp.v1, in both directions (SPEC.md §4.3).
//!
//! Each direction is one closed enum that reads and writes itself: nodes read [`AppMessage`] and
//! write [`ClusterMessage`], SDKs the other way round. Payloads pass verbatim as [`Json`] that
//! shares the frame's memory.

mod app;
mod call;
mod cluster;
mod context;
mod event;
mod misread;
mod register;
mod registered;
mod wire;

use crate::close::{CloseCode, Closing};
use crate::json::JsonError;

pub use app::AppMessage;
pub use call::{Call, PreparedCall};
pub use cluster::{CancelReason, ClusterMessage, MoveReason};
pub use context::{CallContext, LogLevel};
pub use event::{Log, Progress, Task};
pub use misread::Misread;
pub use register::{ByHash, Register, ResourceList, Resources, Rest};
pub use registered::{ChannelLimits, Registered, Rejection};

#[cfg(doc)]
use crate::json::Json;

/// The exact text of a ping.
pub const PING: &str = r#"{"type":"ping"}"#;
/// The exact text of a pong.
pub const PONG: &str = r#"{"type":"pong"}"#;

/// Why a message was not understood. The texts quote nothing of it but its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It is no JSON object with a `type`.
    #[error("the message is no JSON object with a type: {0}")]
    Unreadable(JsonError),
    /// Its `type` is none that this direction has.
    #[error("unknown message type {0:?}")]
    UnknownType(String),
    /// A member is missing or has the wrong type.
    #[error("{kind}: {problem}")]
    Invalid {
        /// The message's type.
        kind: &'static str,
        /// Which member, and what it must be.
        problem: &'static str,
    },
}

impl MessageError {
    /// The close frame for whoever sent it.
    #[must_use]
    pub fn closing(&self) -> Closing {
        Closing::new(CloseCode::NotUnderstood, self.to_string())
    }
}

#[cfg(test)]
mod tests;
