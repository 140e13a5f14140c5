//! The store of a cluster that lives in one process: `clientmcp dev`, and tests.
//!
//! It keeps what the Redis store keeps, under the same rules, and forgets at the same times. Its
//! clock is tokio's, so that a test that pauses time decides when a lease lapses.

mod entry;
mod tasks;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_core::limits;
use clientmcp_core::registration::{ContentHash, Hashes};
use clientmcp_core::session_note::SessionNote;
use clientmcp_core::tick::Tick;
use tokio::time::Instant;

use self::entry::Entry;
use super::arbiter::Arbiter;
use super::{
    Beat, ClaimRequest, Claimed, Departure, Joined, Record, Restored, SESSION_TTL_MAX, SESSIONS,
    Store, StoreError, TaskKey,
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
    clients: HashMap<ClientId, Client>,
    content: HashMap<ContentHash, (Bytes, Instant)>,
    sessions: HashMap<ClientId, BTreeMap<String, (SessionNote, Instant)>>,
    tasks: BTreeMap<TaskKey, tasks::Entry>,
}

#[derive(Debug)]
struct Client {
    arbiter: Arbiter,
    expires: Instant,
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

    fn tick(&self) -> Tick {
        Tick(self.started.elapsed())
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.tick().0.as_micros()).unwrap_or(u64::MAX)
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

    fn client(&mut self, client_id: &ClientId) -> Option<&mut Client> {
        let now = now();
        self.clients
            .get_mut(client_id)
            .filter(|client| client.expires > now)
    }

    /// Like [`client`](Self::client), with an empty entry where there is none.
    fn client_or_new(&mut self, client_id: &ClientId) -> &mut Client {
        let now = now();
        let expired = |client: &&Client| client.expires <= now;
        if self.clients.get(client_id).filter(expired).is_some() {
            self.clients.remove(client_id);
        }
        let new = || Client {
            arbiter: Arbiter::default(),
            expires: now + CLAIM_TTL,
        };
        self.clients.entry(client_id.clone()).or_insert_with(new)
    }

    fn forget_expired(&mut self) {
        let now = now();
        self.clients.retain(|_, record| record.expires > now);
        self.content.retain(|_, (_, expires)| *expires > now);
        tasks::forget_expired(&mut self.tasks);
        self.sessions.retain(|_, sessions| {
            sessions.retain(|_, (_, expires)| *expires > now);
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

    async fn ticket(&self, client_id: &ClientId) -> Result<Epoch, StoreError> {
        let micros = self.micros();
        let mut state = self.state();
        let client = state.client(client_id);
        let unknown = Arbiter::default();
        let arbiter = client.map_or(&unknown, |client| &client.arbiter);
        Ok(arbiter.ticket(micros))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let micros = self.micros();
        let mut state = self.state();
        let client = state.client_or_new(&request.client_id);
        let answer = client.arbiter.handle_claim(request, micros);
        if let Claimed::Taken { .. } = answer {
            client.expires = now() + CLAIM_TTL;
        }
        Ok(answer)
    }

    async fn update(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        hashes: &Hashes,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let client = state.client(client_id);
        let holds = client.filter(|client| client.arbiter.holds(claim));
        Ok(holds.is_some_and(|client| {
            client.expires = now() + CLAIM_TTL;
            client.arbiter.handle_update(claim, hashes)
        }))
    }

    async fn restore(
        &self,
        holder: &Holder,
        began: Epoch,
        hashes: &Hashes,
    ) -> Result<Restored, StoreError> {
        let mut state = self.state();
        let client = state.client_or_new(&holder.client_id);
        let answer = client.arbiter.handle_restore(holder, began, hashes);
        if answer == Restored::Held {
            client.expires = now() + CLAIM_TTL;
        }
        Ok(answer)
    }

    async fn release(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        departure: Departure,
        retention: Duration,
    ) -> Result<bool, StoreError> {
        let tick = self.tick();
        let mut state = self.state();
        let Some(client) = state.client(client_id) else {
            return Ok(false);
        };
        if client.arbiter.holds(claim) {
            client.expires = now() + retention;
        }
        Ok(client.arbiter.handle_release(claim, departure, tick))
    }

    async fn renew(&self, claims: &[(ClientId, Claim)]) -> Result<Vec<bool>, StoreError> {
        let mut state = self.state();
        let renew = |(client_id, claim): &(ClientId, Claim)| {
            let client = state.client(client_id);
            let holds = client.filter(|client| client.arbiter.holds(claim));
            holds
                .map(|client| client.expires = now() + CLAIM_TTL)
                .is_some()
        };
        Ok(claims.iter().map(renew).collect())
    }

    async fn record(&self, client_id: &ClientId) -> Result<Option<Record>, StoreError> {
        let tick = self.tick();
        let mut state = self.state();
        let client = state.client(client_id);
        Ok(client.and_then(|client| client.arbiter.record(tick)))
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

    async fn note_session(
        &self,
        client_id: &ClientId,
        session: &str,
        note: &SessionNote,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let sessions = state.sessions.entry(client_id.clone()).or_default();
        let now = now();
        let before = sessions.get(session).filter(|(_, until)| *until > now);
        if before.is_some_and(|(before, _)| before.ended) && !note.ended {
            return Ok(());
        }
        let until = now + ttl.min(SESSION_TTL_MAX);
        sessions.insert(session.to_owned(), (note.clone(), until));
        if sessions.len() > SESSIONS {
            let soonest = sessions.iter().min_by_key(|(_, (_, until))| *until);
            let soonest = soonest.map(|(name, _)| name.clone());
            soonest.and_then(|name| sessions.remove(&name));
        }
        Ok(())
    }

    async fn sessions(
        &self,
        client_id: &ClientId,
    ) -> Result<Vec<(String, SessionNote)>, StoreError> {
        let now = now();
        let state = self.state();
        let sessions = state.sessions.get(client_id).into_iter().flatten();
        let noted = sessions.filter(|(_, (_, until))| *until > now);
        Ok(noted
            .map(|(session, (note, _))| (session.clone(), note.clone()))
            .collect())
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
