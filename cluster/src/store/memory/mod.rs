//! The store of a cluster that lives in one process: `clientmcp dev`, and tests.
//!
//! It keeps what the Redis store keeps, under the same rules, and forgets at the same times. Its
//! clock is tokio's, so that a test that pauses time decides when a lease lapses.

mod entry;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_core::limits;
use clientmcp_core::registration::{ContentHash, Hashes};
use tokio::time::Instant;

use self::entry::{ClientRecord, Entry};
use super::{
    Beat, ClaimRequest, Claimed, Departure, ENDED_SESSION_TTL_MAX, ENDED_SESSIONS, Joined, NONCES,
    Record, Restored, Store, StoreError,
};
use crate::member::{Lease, Member, ObservedMember, Standing};

const CLAIM_TTL: Duration = Duration::from_millis(limits::CLAIM_TTL_MS);

/// A store in memory. Every handle on the cluster must have the same one, in an `Arc`.
#[derive(Debug)]
pub struct MemoryStore {
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    members: BTreeMap<MemberId, Entry>,
    clients: HashMap<ClientId, ClientRecord>,
    content: HashMap<ContentHash, (Bytes, Instant)>,
    ended: HashMap<ClientId, BTreeMap<String, Instant>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self {
            started: now(),
            state: Mutex::default(),
        }
    }

    /// Loses everything, as a Redis does that is restarted without persistence.
    pub fn forget(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere cannot leave an entry half written: each is replaced as a whole.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn enter(&mut self, member: &Member, lease: Lease) {
        let entry = Entry {
            member: member.clone(),
            alive_until: now() + lease.lasts,
            tombstone: lease.tombstone,
            left: None,
        };
        self.members.insert(member.id.clone(), entry);
    }

    fn client(&mut self, client_id: &ClientId) -> Option<&mut ClientRecord> {
        let now = now();
        self.clients
            .get_mut(client_id)
            .filter(|record| record.expires > now)
    }

    fn forget_expired(&mut self) {
        let now = now();
        self.clients.retain(|_, record| record.expires > now);
        self.content.retain(|_, (_, expires)| *expires > now);
        self.ended.retain(|_, sessions| {
            sessions.retain(|_, expires| *expires > now);
            !sessions.is_empty()
        });
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn join(
        &self,
        member: &Member,
        lease: Lease,
        replacing: Option<Incarnation>,
    ) -> Result<Joined, StoreError> {
        let mut state = self.state();
        if let Some(entry) = state.members.get(&member.id)
            && entry.is_alive(now())
            && entry.member.incarnation != member.incarnation
            && Some(entry.member.incarnation) != replacing
        {
            return Ok(Joined::Taken(Box::new(entry.member.clone())));
        }
        state.enter(member, lease);
        Ok(Joined::Entered)
    }

    async fn heartbeat(&self, member: &Member, lease: Lease) -> Result<Beat, StoreError> {
        let store_micros = self.micros();
        let renewed = |was_missing| Beat::Renewed {
            store_micros,
            was_missing,
        };
        let mut state = self.state();
        state.forget_expired();
        let was_missing = !state.members.contains_key(&member.id);
        if let Some(entry) = state.members.get(&member.id) {
            let same = entry.member.incarnation == member.incarnation;
            if !same && entry.is_alive(now()) {
                return Ok(Beat::Superseded {
                    by: entry.member.incarnation,
                });
            }
            if same && entry.left.is_some() {
                // Sent before the member left, arrived after it.
                return Ok(renewed(false));
            }
        }
        state.enter(member, lease);
        Ok(renewed(was_missing))
    }

    async fn leave(&self, id: &MemberId, incarnation: Incarnation) -> Result<(), StoreError> {
        if let Some(entry) = self.state().members.get_mut(id)
            && entry.member.incarnation == incarnation
        {
            entry.left.get_or_insert(now());
        }
        Ok(())
    }

    async fn members(&self) -> Result<Vec<ObservedMember>, StoreError> {
        let now = now();
        let mut state = self.state();
        state.members.retain(|_, entry| match entry.standing(now) {
            Standing::Alive { .. } => true,
            Standing::Lapsed { ago } | Standing::Left { ago } => ago < entry.tombstone,
        });
        let observe = |entry: &Entry| ObservedMember {
            member: entry.member.clone(),
            standing: entry.standing(now),
        };
        Ok(state.members.values().map(observe).collect())
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let micros = self.micros();
        let mut state = self.state();
        let record = state.client(&request.client_id);
        if let Some(verdict) = record.as_ref().and_then(|record| record.verdict(request)) {
            return Ok(verdict);
        }
        let (stored, previous, nonces) = match record {
            Some(record) => {
                let mut nonces = std::mem::take(&mut record.nonces);
                nonces.push_back(record.holder.claim.nonce);
                nonces.drain(..nonces.len().saturating_sub(NONCES));
                let previous = record.departed.is_none().then(|| record.holder.clone());
                (record.holder.claim.epoch, previous, nonces)
            }
            None => (Epoch::default(), None, VecDeque::new()),
        };
        let claim = Claim {
            epoch: Epoch::next(stored, request.seen, micros),
            incarnation: request.incarnation,
            nonce: request.nonce,
        };
        let record = ClientRecord {
            holder: Holder {
                client_id: request.client_id.clone(),
                node: request.node.clone(),
                claim,
                instance: request.instance.clone(),
                connection: request.connection,
                resume: request.resume,
            },
            hashes: request.hashes,
            departed: None,
            previous: previous.clone(),
            nonces,
            expires: now() + CLAIM_TTL,
        };
        state.clients.insert(request.client_id.clone(), record);
        Ok(Claimed::Taken { claim, previous })
    }

    async fn update(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        hashes: &Hashes,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(record) = state.client(client_id).filter(|r| r.is_held_under(claim)) else {
            return Ok(false);
        };
        record.hashes = *hashes;
        record.expires = now() + CLAIM_TTL;
        Ok(true)
    }

    async fn restore(&self, holder: &Holder, hashes: &Hashes) -> Result<Restored, StoreError> {
        let mut state = self.state();
        if let Some(record) = state.client(&holder.client_id) {
            if record.is_held_under(&holder.claim) {
                return Ok(Restored::Held);
            }
            if record.holder.claim.epoch >= holder.claim.epoch {
                return Ok(Restored::Beaten {
                    by: record.holder.clone(),
                });
            }
        }
        let record = ClientRecord {
            holder: holder.clone(),
            hashes: *hashes,
            departed: None,
            previous: None,
            nonces: VecDeque::new(),
            expires: now() + CLAIM_TTL,
        };
        state.clients.insert(holder.client_id.clone(), record);
        Ok(Restored::Held)
    }

    async fn release(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        departure: Departure,
        retention: Duration,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(record) = state.client(client_id).filter(|r| r.holder.claim == *claim) else {
            return Ok(false);
        };
        if record.departed.is_none() {
            record.departed = Some((departure, now()));
            record.expires = now() + retention;
        }
        Ok(true)
    }

    async fn renew(&self, claims: &[(ClientId, Claim)]) -> Result<Vec<bool>, StoreError> {
        let mut state = self.state();
        let renew = |(client_id, claim): &(ClientId, Claim)| {
            let record = state.client(client_id).filter(|r| r.is_held_under(claim));
            record
                .map(|record| record.expires = now() + CLAIM_TTL)
                .is_some()
        };
        Ok(claims.iter().map(renew).collect())
    }

    async fn record(&self, client_id: &ClientId) -> Result<Option<Record>, StoreError> {
        let mut state = self.state();
        Ok(state.client(client_id).map(|record| Record {
            epoch: record.holder.claim.epoch,
            holder: record.departed.is_none().then(|| record.holder.clone()),
            instance: record.holder.instance.clone(),
            resume: record.holder.resume,
            hashes: record.hashes,
            departed: record.departed.map(|(how, at)| (how, at.elapsed())),
        }))
    }

    async fn put_content(
        &self,
        hash: &ContentHash,
        content: Bytes,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let expires = now() + ttl;
        let mut state = self.state();
        let (_, until) = state.content.entry(*hash).or_insert((content, expires));
        *until = expires.max(*until);
        Ok(())
    }

    async fn touch_content(&self, hash: &ContentHash, ttl: Duration) -> Result<bool, StoreError> {
        let now = now();
        match self.state().content.get_mut(hash) {
            Some((_, expires)) if *expires > now => {
                *expires = (now + ttl).max(*expires);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    async fn content(&self, hash: &ContentHash) -> Result<Option<Bytes>, StoreError> {
        let now = now();
        let state = self.state();
        let living = state.content.get(hash).filter(|(_, until)| *until > now);
        Ok(living.map(|(content, _)| content.clone()))
    }

    async fn end_session(
        &self,
        client_id: &ClientId,
        session: &str,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let sessions = state.ended.entry(client_id.clone()).or_default();
        let ttl = ttl.min(ENDED_SESSION_TTL_MAX);
        sessions.insert(session.to_owned(), now() + ttl);
        if sessions.len() > ENDED_SESSIONS {
            let soonest = sessions.iter().min_by_key(|(_, until)| **until);
            let soonest = soonest.map(|(name, _)| name.clone());
            soonest.and_then(|name| sessions.remove(&name));
        }
        Ok(())
    }

    async fn ended_sessions(&self, client_id: &ClientId) -> Result<Vec<String>, StoreError> {
        let now = now();
        let state = self.state();
        let sessions = state.ended.get(client_id).into_iter().flatten();
        let ended = sessions.filter(|(_, until)| **until > now);
        Ok(ended.map(|(session, _)| session.clone()).collect())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the store's own clock, as Redis has one"
)]
fn now() -> Instant {
    Instant::now()
}
