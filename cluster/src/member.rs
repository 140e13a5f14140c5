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

/// Whether a member takes new work. Only ready nodes are on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// Takes new work.
    Ready,
    /// Serves what it has and takes nothing new.
    Draining,
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

/// A member as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedMember {
    /// The member.
    pub member: Member,
    /// What is left of its lease; zero when it has lapsed.
    pub lease: Duration,
    /// How long ago it lapsed; zero while it lives.
    pub lapsed_for: Duration,
}
