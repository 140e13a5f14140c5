//! Where an application's connection stands.

use std::time::Duration;

use clientmcp_core::message::Rejection;

/// Where the connection stands.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// On the way to the cluster.
    Connecting,
    /// Agents can call.
    Online(Online),
    /// The connection was lost; the SDK connects again by itself.
    Offline {
        /// The close code, if there was one (SPEC.md §4.9).
        code: Option<u16>,
        /// What happened.
        reason: String,
        /// When the SDK tries again.
        retry_in: Duration,
    },
    /// Closed, or useless to try again. [`App::reconnect`](crate::App::reconnect) starts anew.
    Stopped(Stopped),
}

/// A registered connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Online {
    /// The identity under which agents reach this application.
    pub client_id: String,
    /// Counts this instance's connections, from 1.
    pub connection: u64,
    /// Entries of the registration that the cluster refused; the others are served.
    pub rejected: Vec<Rejected>,
}

/// An entry of the registration that the cluster refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The kind of entry: `tools`, `prompts`, `resources`, `rest`.
    pub kind: String,
    /// The entry's name, if it has one.
    pub name: Option<String>,
    /// What is wrong with it.
    pub reason: String,
}

impl From<Rejection> for Rejected {
    fn from(rejection: Rejection) -> Self {
        Self {
            kind: rejection.kind.as_str().to_owned(),
            name: rejection.name,
            reason: rejection.reason.into_owned(),
        }
    }
}

/// The SDK does not try to connect any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the connection to the cluster has ended: {reason}")]
pub struct Stopped {
    /// The close code, if there was one (SPEC.md §4.9).
    pub code: Option<u16>,
    /// What happened, and what to do about it.
    pub reason: String,
}
