//! The store of a cluster of several processes: one Redis server.
//!
//! Everything that has to be atomic is a script (`scripts/`). Every command may run twice with
//! the result of running once, and is sent once more if its answer was lost (`connection`).

mod address;
mod connection;
mod keys;
mod reply;
mod scripts;
mod tasks;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_core::json::Json;
use clientmcp_core::limits;
use clientmcp_core::registration::{ContentHash, Hashes, Kind};
use clientmcp_core::session_note::SessionNote;
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, ScriptInvocation};

use self::connection::Connection;
use self::reply::{Fields, digits, hex};
use self::scripts::{RENEW, Scripts};
use super::{
    Beat, ClaimRequest, Claimed, Departure, Joined, NONCES, Record, Restored, SESSION_TTL_MAX,
    SESSIONS, Store, StoreError,
};
use crate::member::{Lease, Member, ObservedMember};

/// Claims that are renewed in one go: many take the server some milliseconds.
const RENEWED_AT_ONCE: usize = 500;

/// A store in Redis. Clones of an `Arc` share one connection.
pub struct RedisStore {
    connection: Connection,
    scripts: Scripts,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Connects to `redis://[user[:password]@]host[:port][/database]`.
    ///
    /// # Errors
    /// At once and in words for operators: [`StoreError::Address`] if this version cannot use
    /// what stands there, [`StoreError::Unreachable`] if nobody answers,
    /// [`StoreError::Refused`] if the server wants other credentials.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let info = address::parse(url)?;
        let server = info.addr().to_string();
        let connection = Connection::open(info)
            .await
            .map_err(|error| match classify(&error) {
                StoreError::Unreachable(why) => {
                    StoreError::Unreachable(format!("Redis at {server}: {why}"))
                }
                other => other,
            })?;
        let store = Self {
            connection,
            scripts: Scripts::new(),
        };
        store.check_mode().await?;
        store.ping().await?;
        Ok(store)
    }

    /// A server that is part of a Redis Cluster, or a sentinel, would refuse half the commands.
    async fn check_mode(&self) -> Result<(), StoreError> {
        let mut info = redis::cmd("INFO");
        info.arg("server");
        let answer: String = match self.query(&info).await {
            Ok(answer) => answer,
            // Some services keep INFO to themselves.
            Err(StoreError::Refused(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mode = answer
            .lines()
            .find_map(|line| line.strip_prefix("redis_mode:"));
        match mode {
            Some(mode @ ("cluster" | "sentinel")) => Err(StoreError::Address(format!(
                "the server runs in {mode} mode, which does not work in this version; use a \
                 standalone Redis server"
            ))),
            _ => Ok(()),
        }
    }

    async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let query = |mut connection| async move { command.query_async(&mut connection).await };
        self.connection.run(query).await
    }

    async fn invoke<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, StoreError> {
        let invoke = |mut connection| async move { script.invoke_async(&mut connection).await };
        self.connection.run(invoke).await
    }
}

#[async_trait]
impl Store for RedisStore {
    async fn join(
        &self,
        member: &Member,
        lease: Lease,
        replacing: Option<Incarnation>,
    ) -> Result<Joined, StoreError> {
        let mut script = self.scripts.join.key(keys::MEMBERS);
        add_member(&mut script, member, lease);
        script.arg(replacing.map_or_else(String::new, |run| run.to_string()));
        let taken: Option<String> = self.invoke(&script).await?;
        Ok(match taken {
            None => Joined::Entered,
            Some(json) => Joined::Taken(Box::new(reply::member(&json)?)),
        })
    }

    async fn heartbeat(&self, member: &Member, lease: Lease) -> Result<Beat, StoreError> {
        let mut script = self.scripts.heartbeat.key(keys::MEMBERS);
        add_member(&mut script, member, lease);
        let answer: Vec<String> = self.invoke(&script).await?;
        reply::beat(&answer)
    }

    async fn leave(&self, id: &MemberId, incarnation: Incarnation) -> Result<(), StoreError> {
        let mut script = self.scripts.leave.key(keys::MEMBERS);
        script.arg(id.as_str()).arg(incarnation.to_string());
        self.invoke(&script).await
    }

    async fn members(&self) -> Result<Vec<ObservedMember>, StoreError> {
        let script = self.scripts.members.key(keys::MEMBERS);
        let answer: Vec<(String, String, u64)> = self.invoke(&script).await?;
        let members: Result<Vec<_>, _> = answer.into_iter().map(reply::observed).collect();
        let mut members = members?;
        members.sort_by(|a, b| a.member.id.cmp(&b.member.id));
        Ok(members)
    }

    async fn ticket(&self, client_id: &ClientId) -> Result<Epoch, StoreError> {
        let script = self.scripts.ticket.key(keys::client(client_id));
        Ok(Epoch(self.invoke(&script).await?))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        check_epoch(request.seen)?;
        check_epoch(request.began)?;
        let mut script = self.scripts.claim.key(keys::client(&request.client_id));
        script
            .arg(request.node.as_str())
            .arg(request.incarnation.to_string())
            .arg(hex(request.nonce))
            .arg(request.seen.0)
            .arg(request.instance.as_str())
            .arg(digits(request.connection))
            .arg(u8::from(request.resume));
        add_hashes(&mut script, &request.hashes);
        script
            .arg(limits::CLAIM_TTL_MS)
            .arg(NONCES)
            .arg(request.began.0)
            .arg(u8::from(request.moving));
        let asked = Claim {
            epoch: Epoch::default(),
            incarnation: request.incarnation,
            nonce: request.nonce,
        };
        let answer = self.invoke(&script).await?;
        Fields::new(&request.client_id, answer).claimed(asked)
    }

    async fn update(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        hashes: &Hashes,
    ) -> Result<bool, StoreError> {
        let mut script = self.scripts.update.key(keys::client(client_id));
        add_claim(&mut script, claim);
        add_hashes(&mut script, hashes);
        script.arg(limits::CLAIM_TTL_MS);
        self.invoke(&script).await
    }

    async fn restore(
        &self,
        holder: &Holder,
        began: Epoch,
        hashes: &Hashes,
    ) -> Result<Restored, StoreError> {
        check_epoch(holder.claim.epoch)?;
        check_epoch(began)?;
        let mut script = self.scripts.restore.key(keys::client(&holder.client_id));
        script.arg(holder.node.as_str());
        add_claim(&mut script, &holder.claim);
        script
            .arg(holder.instance.as_str())
            .arg(digits(holder.connection))
            .arg(u8::from(holder.resume));
        add_hashes(&mut script, hashes);
        script.arg(limits::CLAIM_TTL_MS).arg(began.0);
        let answer = self.invoke(&script).await?;
        Fields::new(&holder.client_id, answer).restored()
    }

    async fn release(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        departure: Departure,
        retention: Duration,
    ) -> Result<bool, StoreError> {
        let mut script = self.scripts.release.key(keys::client(client_id));
        add_claim(&mut script, claim);
        script.arg(reply::departure(departure)).arg(ms(retention));
        self.invoke(&script).await
    }

    async fn renew(&self, claims: &[(ClientId, Claim)]) -> Result<Vec<bool>, StoreError> {
        let mut held = Vec::with_capacity(claims.len());
        for batch in claims.chunks(RENEWED_AT_ONCE) {
            // One key per script, so that this would work over several servers; loading it first
            // costs one command per batch and makes no difference after a restart.
            let mut pipeline = redis::pipe();
            pipeline.cmd("SCRIPT").arg("LOAD").arg(RENEW).ignore();
            for (client_id, claim) in batch {
                pipeline
                    .cmd("EVALSHA")
                    .arg(self.scripts.renew.get_hash())
                    .arg(1)
                    .arg(keys::client(client_id))
                    .arg(claim.epoch.0)
                    .arg(claim.incarnation.to_string())
                    .arg(hex(claim.nonce))
                    .arg(limits::CLAIM_TTL_MS);
            }
            let pipeline = &pipeline;
            let answer: Vec<bool> = self
                .connection
                .run(|mut connection| async move { pipeline.query_async(&mut connection).await })
                .await?;
            held.extend(answer);
        }
        Ok(held)
    }

    async fn record(&self, client_id: &ClientId) -> Result<Option<Record>, StoreError> {
        let script = self.scripts.record.key(keys::client(client_id));
        let answer = self.invoke(&script).await?;
        Fields::new(client_id, answer).record()
    }

    async fn put_content(
        &self,
        hash: &ContentHash,
        content: Bytes,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let mut script = self.scripts.put.key(keys::content(hash));
        script.arg(&content[..]).arg(ms(ttl));
        self.invoke(&script).await
    }

    async fn touch_content(&self, hash: &ContentHash, ttl: Duration) -> Result<bool, StoreError> {
        let mut script = self.scripts.touch.key(keys::content(hash));
        script.arg(ms(ttl));
        self.invoke(&script).await
    }

    async fn content(&self, hash: &ContentHash) -> Result<Option<Bytes>, StoreError> {
        let content: Option<Vec<u8>> = self.query(&Cmd::get(keys::content(hash))).await?;
        Ok(content.map(Bytes::from))
    }

    async fn note_session(
        &self,
        client_id: &ClientId,
        session: &str,
        note: &SessionNote,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let mut script = self.scripts.note_session.key(keys::sessions(client_id));
        script
            .arg(session)
            .arg(note.to_json().as_str())
            .arg(ms(ttl.min(SESSION_TTL_MAX)))
            .arg(SESSIONS)
            .arg(SessionNote::ended().to_json().as_str());
        self.invoke(&script).await
    }

    async fn sessions(
        &self,
        client_id: &ClientId,
    ) -> Result<Vec<(String, SessionNote)>, StoreError> {
        let script = self.scripts.sessions.key(keys::sessions(client_id));
        let notes: Vec<(String, String)> = self.invoke(&script).await?;
        let read = |(session, note): (String, String)| {
            let note = Json::parse(note).and_then(|note| SessionNote::read(&note));
            let note = note.map_err(|error| StoreError::Corrupt(error.to_string()))?;
            Ok((session, note))
        };
        notes.into_iter().map(read).collect()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.query(&redis::cmd("PING")).await
    }
}

fn add_member(script: &mut ScriptInvocation<'_>, member: &Member, lease: Lease) {
    let json = serde_json::to_string(member).expect("a member has only text and plain enums");
    script
        .arg(member.id.as_str())
        .arg(member.incarnation.to_string())
        .arg(ms(lease.lasts))
        .arg(ms(lease.tombstone))
        .arg(json);
}

fn add_claim(script: &mut ScriptInvocation<'_>, claim: &Claim) {
    script
        .arg(claim.epoch.0)
        .arg(claim.incarnation.to_string())
        .arg(hex(claim.nonce));
}

fn add_hashes(script: &mut ScriptInvocation<'_>, hashes: &Hashes) {
    for kind in Kind::ALL {
        script.arg(hashes.get(kind).to_string());
    }
}

/// Whole milliseconds, rounded up: nothing lasts less long than it should.
fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

fn check_epoch(epoch: Epoch) -> Result<(), StoreError> {
    if epoch.0 < reply::EPOCHS {
        return Ok(());
    }
    Err(StoreError::Corrupt(format!("epoch {} is no time", epoch.0)))
}

fn classify(error: &RedisError) -> StoreError {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Server(_) | ErrorKind::AuthenticationFailed | ErrorKind::Extension => {
            StoreError::Refused(text)
        }
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse => StoreError::Corrupt(text),
        ErrorKind::InvalidClientConfig => StoreError::Address(text),
        _ => StoreError::Unreachable(text),
    }
}
