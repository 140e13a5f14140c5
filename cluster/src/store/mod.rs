//! What must outlive a process: members, holders, registrations, notes on sessions.
//!
//! One trait, a memory and a Redis implementation, one contract suite for both. The store is off
//! the path of a call to a connected app.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::registration::{ContentHash, Hashes};

use crate::member::{Member, ObservedMember};

/// Why the store gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// It could not be reached, or did not answer in time: the command may or may not have run.
    #[error("the store did not answer: {0}")]
    Unreachable(String),
    /// It answered with something that this version cannot read.
    #[error("the store answered with something unreadable: {0}")]
    Corrupt(String),
}

/// A node's wish to hold a client ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The client ID.
    pub client_id: ClientId,
    /// The claiming node.
    pub node: MemberId,
    /// Its run.
    pub incarnation: Incarnation,
    /// Random; names this attempt, so that a lost answer can be read back.
    pub nonce: u64,
    /// The highest epoch that the node has seen for this client ID.
    pub seen: Epoch,
    /// The app's instance.
    pub instance: InstanceId,
    /// Its connection number.
    pub connection: u64,
    /// What the app registered; the content is in the store already.
    pub hashes: Hashes,
}

/// What became of a [`ClaimRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The client ID is held under this claim. `previous` is who held it until then, if anybody.
    Taken {
        /// The new claim.
        claim: Claim,
        /// Who must be told to let go.
        previous: Option<Holder>,
    },
    /// The same instance has claimed with a higher connection number: this socket is late.
    Late {
        /// Who holds it.
        holder: Holder,
    },
}

/// How an app went away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// It closed its socket itself (1000), or was told not to come back.
    Clean,
    /// Its page was left or reloaded (1001).
    Left,
    /// The connection was lost.
    Lost,
}

/// What the store knows of a client ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The highest epoch that was handed out.
    pub epoch: Epoch,
    /// Who holds it; `None` after the app left.
    pub holder: Option<Holder>,
    /// The last registration.
    pub hashes: Hashes,
    /// How and how long ago the app left, by the store's own clock; `None` while held.
    pub departed: Option<(Departure, Duration)>,
}

/// The store of a cluster.
///
/// Every key that an implementation writes has a time to live. No method compares clocks of two
/// machines. Commands have a deadline of their own and give [`StoreError::Unreachable`] then.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Enters or renews a member for `lease`. A member with the same ID and another incarnation
    /// is replaced (whether that is allowed was found out by a probe before).
    async fn heartbeat(&self, member: &Member, lease: Duration) -> Result<(), StoreError>;

    /// Removes a member at once, if the entry is still that incarnation's.
    async fn leave(&self, id: &MemberId, incarnation: Incarnation) -> Result<(), StoreError>;

    /// All members that are known, with what is left of their leases, sorted by ID.
    /// Lapsed ones are listed for as long as the grace.
    async fn members(&self) -> Result<Vec<ObservedMember>, StoreError>;

    /// Takes a client ID for a node, atomically. The epoch is above every one handed out before.
    /// Repeating a request with the same nonce gives the same claim.
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError>;

    /// Writes the hashes of a re-registration, if `claim` still holds. `false`: it does not.
    async fn update(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        hashes: &Hashes,
    ) -> Result<bool, StoreError>;

    /// Gives a client ID up, if `claim` still holds. `false`: it did not. The registration stays
    /// for `retention`.
    async fn release(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        departure: Departure,
        retention: Duration,
    ) -> Result<bool, StoreError>;

    /// Renews the records of claims that still hold, in one batch; tells for each whether it does.
    async fn renew(&self, claims: &[(ClientId, Claim)]) -> Result<Vec<bool>, StoreError>;

    /// What is known of a client ID.
    async fn record(&self, client_id: &ClientId) -> Result<Option<Record>, StoreError>;

    /// Stores one kind's content under its hash, or renews it, for `ttl`.
    async fn put_content(
        &self,
        hash: &ContentHash,
        content: Bytes,
        ttl: Duration,
    ) -> Result<(), StoreError>;

    /// Renews content by hash. `false`: unknown.
    async fn touch_content(&self, hash: &ContentHash, ttl: Duration) -> Result<bool, StoreError>;

    /// The content of a hash.
    async fn content(&self, hash: &ContentHash) -> Result<Option<Bytes>, StoreError>;

    /// Notes that a legacy session of a client ID was ended, for `ttl`.
    async fn end_session(
        &self,
        client_id: &ClientId,
        session: &str,
        ttl: Duration,
    ) -> Result<(), StoreError>;

    /// The sessions of a client ID that were ended.
    async fn ended_sessions(&self, client_id: &ClientId) -> Result<Vec<String>, StoreError>;

    /// Whether the store answers.
    async fn ping(&self) -> Result<(), StoreError>;
}
