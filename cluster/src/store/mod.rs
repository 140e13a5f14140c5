//! What must outlive a process: members, holders, registrations, notes on sessions.
//!
//! One trait, a memory and a Redis implementation, one contract suite for both. The store is off
//! the path of a call to a connected app.

pub mod arbiter;
pub mod faulty;
pub mod memory;
pub mod redis;
pub mod tasks;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::limits;
use clientmcp_core::registration::{ContentHash, Hashes};
use clientmcp_core::session_note::SessionNote;

use crate::member::{Lease, Member, ObservedMember};

pub use clientmcp_core::close::Departure;
pub use faulty::FaultyStore;
pub use memory::MemoryStore;
pub use redis::RedisStore;
pub use tasks::{Driving, StoredTask, TaskChange, TaskKey, Tasks};

/// Sessions of one client ID of which something is noted.
pub const SESSIONS: usize = limits::SESSIONS_NOTED_PER_CLIENT;

/// A note on a session is kept no longer than this: a token may say that it never ends.
const SESSION_TTL_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Earlier claims of one client ID whose nonces are remembered, so that one of them that arrives
/// twice, late, takes nothing back. Redis keeps a record in its compact form as long as no field
/// is longer than 64 bytes: four times 16 digits.
const NONCES: usize = 4;

/// Why the store gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Its address cannot be used by this version; found out at start, before any connection.
    #[error("the store's address cannot be used: {0}")]
    Address(String),
    /// It could not be reached, or did not answer in time: the command may or may not have run.
    #[error("the store did not answer: {0}")]
    Unreachable(String),
    /// It answered that it does not do this, at present or at all: it is read-only, loading, out
    /// of memory, or wants other credentials.
    #[error("the store refused: {0}")]
    Refused(String),
    /// It answered with something that this version cannot read.
    #[error("the store answered with something unreadable: {0}")]
    Corrupt(String),
}

/// What became of an entry into the list of members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// The member is entered.
    Entered,
    /// The name is taken: another incarnation's lease runs. Boxed, as it is the rare case.
    Taken(Box<Member>),
}

/// What became of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// The lease is renewed.
    Renewed {
        /// The store's clock in microseconds, which epochs are not below.
        store_micros: u64,
        /// The store had no entry of this member: it has lost data, and claims with it.
        was_missing: bool,
    },
    /// Another incarnation has taken the name over: this process must stop.
    Superseded {
        /// The incarnation that has the name.
        by: Incarnation,
    },
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
    /// When the register reached its node, by [`Store::ticket`]: registers of different instances
    /// are newer or older by this, however long each takes to get here.
    pub began: Epoch,
    /// The app's instance.
    pub instance: InstanceId,
    /// Its connection number.
    pub connection: u64,
    /// Whether an earlier connection of the instance still stood when this one registered: then it
    /// displaces no other instance, for that one has displaced the earlier connection.
    pub moving: bool,
    /// Whether it remembers call IDs.
    pub resume: bool,
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
    /// This register is late and gets nothing: its instance holds, or was displaced by the
    /// present holder, with a higher connection number; or another instance holds or held it last, and
    /// this one is [moving](ClaimRequest::moving) or began earlier; or this very request (by its nonce) was granted before
    /// and has been displaced or released since.
    Late {
        /// Who holds the client ID, or held it last.
        holder: Holder,
    },
}

/// What became of a claim that its node wrote again, into a store that had lost it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It is in the store: written, or there already.
    Held,
    /// The store has a claim with the same or a higher epoch: that one counts.
    Beaten {
        /// Who holds the client ID, or held it last.
        by: Holder,
    },
}

/// What the store knows of a client ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The highest epoch that was handed out.
    pub epoch: Epoch,
    /// Who holds it; `None` after the app left.
    pub holder: Option<Holder>,
    /// The instance that registered last.
    pub instance: InstanceId,
    /// Whether that instance remembers call IDs.
    pub resume: bool,
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
pub trait Store: Tasks + Send + Sync + 'static {
    /// Enters a member. A name whose lease runs for another incarnation is [`Joined::Taken`],
    /// unless that incarnation is `replacing` (a probe has found it dead).
    async fn join(
        &self,
        member: &Member,
        lease: Lease,
        replacing: Option<Incarnation>,
    ) -> Result<Joined, StoreError>;

    /// Renews a member's lease and writes its state. An entry that is missing or lapsed is
    /// entered again; one that belongs to another living incarnation is left alone.
    async fn heartbeat(&self, member: &Member, lease: Lease) -> Result<Beat, StoreError>;

    /// Notes that a member has stopped, if the entry is still that incarnation's. It is listed as
    /// [`Standing::Left`](crate::member::Standing::Left) for as long as its tombstone.
    async fn leave(&self, id: &MemberId, incarnation: Incarnation) -> Result<(), StoreError>;

    /// All members that are known and how they stand, sorted by ID. Those that lapsed or left are
    /// listed for as long as their tombstone.
    async fn members(&self) -> Result<Vec<ObservedMember>, StoreError>;

    /// The moment at which a register begins, as an epoch: above all that were granted until now,
    /// and never behind an earlier one.
    async fn ticket(&self, client_id: &ClientId) -> Result<Epoch, StoreError>;

    /// Takes a client ID for a node, atomically. The epoch is above every one handed out before.
    /// Repeating a request with the same nonce gives the same answer as long as that claim holds,
    /// and [`Claimed::Late`] when somebody else has claimed since.
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError>;

    /// Writes the hashes of a re-registration, if `claim` still holds. `false`: it does not.
    async fn update(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        hashes: &Hashes,
    ) -> Result<bool, StoreError>;

    /// Writes a claim again that [`renew`](Store::renew) did not find, as after a store failover.
    /// It goes only over a missing record or a lower epoch. `began`: as in the request that made it.
    async fn restore(
        &self,
        holder: &Holder,
        began: Epoch,
        hashes: &Hashes,
    ) -> Result<Restored, StoreError>;

    /// Gives a client ID up, if `claim` still holds. `false`: it did not. Repeating it gives the
    /// same answer. The registration stays for `retention`.
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

    /// Stores one kind's content under its hash, or renews it, for at least `ttl`.
    async fn put_content(
        &self,
        hash: &ContentHash,
        content: Bytes,
        ttl: Duration,
    ) -> Result<(), StoreError>;

    /// Renews content by hash for at least `ttl`. `false`: unknown.
    async fn touch_content(&self, hash: &ContentHash, ttl: Duration) -> Result<bool, StoreError>;

    /// The content of a hash.
    async fn content(&self, hash: &ContentHash) -> Result<Option<Bytes>, StoreError>;

    /// Notes something of a legacy session of a client ID, in place of what was noted before,
    /// for `ttl`. A session that was ended stays so. At most [`SESSIONS`] notes are kept of one
    /// client ID, those that end last, and none for longer than ten years.
    async fn note_session(
        &self,
        client_id: &ClientId,
        session: &str,
        note: &SessionNote,
        ttl: Duration,
    ) -> Result<(), StoreError>;

    /// What is noted of the sessions of a client ID, in no particular order.
    async fn sessions(
        &self,
        client_id: &ClientId,
    ) -> Result<Vec<(String, SessionNote)>, StoreError>;

    /// Whether the store answers.
    async fn ping(&self) -> Result<(), StoreError>;
}
