//! Members: the processes of a cluster.

use std::time::Duration;

use clientmcp_core::ids::{Incarnation, MemberId};
use serde::{Deserialize, Serialize};

/// What a member does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Holds app WebSockets.
    Node,
    /// Faces the world.
    Router,
}

impl Role {
    /// The role's name, in the store, in metrics and in `status`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Node => "node",
            Role::Router => "router",
        }
    }
}

/// Whether a member takes new work. Only ready nodes are on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// Takes new work.
    Ready,
    /// Serves what it has and takes nothing new.
    Draining,
}

impl MemberState {
    /// The state's name, in the store, in metrics and in `status`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MemberState::Ready => "ready",
            MemberState::Draining => "draining",
        }
    }
}

/// One process of the cluster, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its name.
    pub id: MemberId,
    /// Its run.
    pub incarnation: Incarnation,
    /// What it does.
    pub role: Role,
    /// Whether it takes new work.
    pub state: MemberState,
    /// Where other processes reach it: `host:port`.
    pub address: String,
    /// Where its `/status` is served: `host:port`.
    pub admin_address: String,
    /// Where apps reach it directly, for direct mode: a WebSocket URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Version of the program.
    pub version: String,
}

/// How a member stands with the store, by the store's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its lease runs for so long yet.
    Alive {
        /// What is left of the lease; above zero.
        lease: Duration,
    },
    /// Its lease ran out.
    Lapsed {
        /// How long ago.
        ago: Duration,
    },
    /// It said that it stops.
    Left {
        /// How long ago.
        ago: Duration,
    },
}

/// A member as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedMember {
    /// The member.
    pub member: Member,
    /// How it stands.
    pub standing: Standing,
}

/// For how long a heartbeat holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The member is alive for so long without another heartbeat.
    pub lasts: Duration,
    /// Afterwards, or after it left, it is still listed for so long (the grace of its apps).
    pub tombstone: Duration,
}
