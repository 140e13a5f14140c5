//! Views: which members a process goes by.
//!
//! Pure: observations of the store and a clock go in, immutable snapshots come out. Leases decide
//! placement, and nothing else does: a member leaves the view when it says so, or when its lease
//! has lapsed in a store that has answered throughout one lease time. A store that fails, that was
//! just restarted, that lost its data or whose clock jumped empties no ring, for the members that
//! live write themselves in again within one heartbeat.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::tick::Tick;

use crate::member::{Lease, Member, MemberState, ObservedMember, Role, Standing};
use crate::ring::Ring;

/// What a process knows of the cluster at one moment. Never changes; a newer one replaces it.
#[derive(Debug, Clone, Default)]
pub struct View {
    version: u64,
    members: Vec<Member>,
    lost: Vec<Lost>,
    ring: Arc<Ring>,
}

impl View {
    /// Counts up with each change that this process has seen; means nothing to another one.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The members that are there, ready or draining, sorted by ID.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The nodes that are there, ready or draining, sorted by ID.
    pub fn nodes(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|m| m.role == Role::Node)
    }

    /// The member of this name that is there.
    #[must_use]
    pub fn member(&self, id: &MemberId) -> Option<&Member> {
        let at = self.members.binary_search_by(|m| m.id.cmp(id)).ok()?;
        Some(&self.members[at])
    }

    /// The ready nodes, on the ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Incarnations that went, for as long as their tombstones, the latest last.
    #[must_use]
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// What became of one run of a member.
    #[must_use]
    pub fn whereabouts(&self, id: &MemberId, incarnation: Incarnation) -> Whereabouts<'_> {
        if let Some(member) = self.member(id).filter(|m| m.incarnation == incarnation) {
            return Whereabouts::Present(member);
        }
        let is_it = |l: &&Lost| l.member.id == *id && l.member.incarnation == incarnation;
        match self.lost.iter().find(is_it) {
            Some(lost) => Whereabouts::Lost(lost),
            None => Whereabouts::Unknown,
        }
    }
}

/// What became of one run of a member, in a [`View`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts<'a> {
    /// It is there.
    Present(&'a Member),
    /// It is gone, not longer ago than its tombstone. It may still answer at its address.
    Lost(&'a Lost),
    /// It is gone longer than that, or was never seen.
    Unknown,
}

/// One run of a member that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The member as it was last seen.
    pub member: Member,
    /// When, on the clock of this process; its start, if it was before that.
    pub since: Tick,
    /// How.
    pub how: Loss,
}

/// How a run of a member went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It said so.
    Left,
    /// Its lease lapsed.
    Lapsed,
    /// A new run took its name over.
    Replaced,
}

/// Turns what the store says into [`View`]s.
///
/// Two kinds of methods: getters, and `handle_*` for what the store did. `now` is the
/// process's monotonic clock.
#[derive(Debug)]
pub struct MembershipView {
    lease: Lease,
    known: BTreeMap<MemberId, Known>,
    lost: Vec<Lost>,
    /// Since when the store has answered without a failure or a gap.
    answering_since: Option<Tick>,
    last_answer: Tick,
    view: Arc<View>,
}

/// A member that is in the view.
#[derive(Debug)]
struct Known {
    member: Member,
    /// When its lease ends, as of its last sign of life. A store that says that it ended earlier
    /// has lost data, or its clock was set.
    alive_until: Tick,
    /// Since when a store that has answered ever since has not called it alive.
    absent_since: Option<Tick>,
}

impl MembershipView {
    /// Knows nobody yet. `lease` is what members of this cluster go by.
    #[must_use]
    pub fn new(lease: Lease) -> Self {
        Self {
            lease,
            known: BTreeMap::new(),
            lost: Vec::new(),
            answering_since: None,
            last_answer: Tick::START,
            view: Arc::default(),
        }
    }

    /// The present view.
    #[must_use]
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// The store gave no answer, or took no heartbeat: what was known stays, and lapses count
    /// afresh once it answers.
    pub fn handle_failure(&mut self) {
        self.answering_since = None;
        for known in self.known.values_mut() {
            known.absent_since = None;
        }
    }

    /// The store answered. Tells whether the view is a new one.
    pub fn handle_members(&mut self, now: Tick, observed: Vec<ObservedMember>) -> bool {
        if now.since(self.last_answer) > self.lease.lasts {
            // Nobody asked for so long (this process was paused), so nobody knows.
            self.handle_failure();
        }
        self.last_answer = now;
        let answering_since = *self.answering_since.get_or_insert(now);
        let steady = now.since(answering_since) >= self.lease.lasts;

        let mut alive = BTreeSet::new();
        let mut lapsed = BTreeMap::new();
        for ObservedMember { member, standing } in observed {
            match standing {
                Standing::Alive { lease } => {
                    alive.insert(member.id.clone());
                    self.enter(now, member, lease);
                }
                Standing::Left { ago } => self.part(now, member, ago, Loss::Left),
                Standing::Lapsed { ago } if self.knows(&member) => {
                    lapsed.insert(member.id, ago);
                }
                Standing::Lapsed { ago } => self.part(now, member, ago, Loss::Lapsed),
            }
        }
        for (id, since) in self.out_of_time(now, steady, &alive, &lapsed) {
            if let Some(known) = self.known.remove(&id) {
                self.bury(known.member, since, Loss::Lapsed);
            }
        }
        self.lost
            .retain(|l| now.since(l.since) < self.lease.tombstone);
        self.publish()
    }

    fn knows(&self, member: &Member) -> bool {
        self.known
            .get(&member.id)
            .is_some_and(|known| known.member.incarnation == member.incarnation)
    }

    fn enter(&mut self, now: Tick, member: Member, lease: Duration) {
        let incarnation = member.incarnation;
        let id = member.id.clone();
        self.lost
            .retain(|l| l.member.id != id || l.member.incarnation != incarnation);
        let known = Known {
            member,
            alive_until: now + lease,
            absent_since: None,
        };
        if let Some(before) = self.known.insert(id, known)
            && before.member.incarnation != incarnation
        {
            self.bury(before.member, now, Loss::Replaced);
        }
    }

    /// A run that left, or that had lapsed before this process ever saw it alive.
    fn part(&mut self, now: Tick, member: Member, ago: Duration, how: Loss) {
        if self.knows(&member) {
            self.known.remove(&member.id);
        }
        self.bury(member, earlier(now, ago), how);
    }

    fn bury(&mut self, member: Member, since: Tick, how: Loss) {
        let buried =
            |l: &Lost| l.member.id == member.id && l.member.incarnation == member.incarnation;
        if !self.lost.iter().any(buried) {
            self.lost.push(Lost { member, since, how });
        }
    }

    /// Who has to go, and since when they are gone: those whose lease has `lapsed` in good time,
    /// and those whom the store has not called alive for a lease time, be it that it forgot them
    /// or that they lapsed before they could.
    fn out_of_time(
        &mut self,
        now: Tick,
        steady: bool,
        alive: &BTreeSet<MemberId>,
        lapsed: &BTreeMap<MemberId, Duration>,
    ) -> BTreeMap<MemberId, Tick> {
        let mut gone = BTreeMap::new();
        for (id, known) in &mut self.known {
            if alive.contains(id) {
                continue;
            }
            let absent_since = *known.absent_since.get_or_insert(now);
            if let Some(ago) = lapsed.get(id)
                && steady
                && now >= known.alive_until
            {
                gone.insert(id.clone(), earlier(now, *ago));
            } else if now.since(absent_since) >= self.lease.lasts {
                gone.insert(id.clone(), absent_since);
            }
        }
        let on_ring = |known: &Known| is_on_ring(&known.member);
        let staying = |(id, known): (&MemberId, &Known)| on_ring(known) && !gone.contains_key(id);
        if !self.known.iter().any(staying) {
            // Nobody would be left to place a client ID on. Either all are dead, then it makes no
            // difference, or the store is the one that is wrong.
            gone.retain(|id, _| !self.known.get(id).is_some_and(on_ring));
        }
        gone
    }

    /// Makes a new snapshot if anything is different.
    fn publish(&mut self) -> bool {
        let members = || self.known.values().map(|known| &known.member);
        if members().eq(&self.view.members) && self.lost == self.view.lost {
            return false;
        }
        let ready = || members().filter(|m| is_on_ring(m)).map(|m| &m.id);
        let ring = if ready().eq(self.view.ring.members()) {
            self.view.ring.clone()
        } else {
            Arc::new(Ring::new(ready()))
        };
        self.view = Arc::new(View {
            version: self.view.version + 1,
            members: members().cloned().collect(),
            lost: self.lost.clone(),
            ring,
        });
        true
    }
}

fn is_on_ring(member: &Member) -> bool {
    member.role == Role::Node && member.state == MemberState::Ready
}

/// The moment `ago` before `now`, or the start of the process if it was before that.
fn earlier(now: Tick, ago: Duration) -> Tick {
    Tick(now.0.saturating_sub(ago))
}

#[cfg(test)]
mod tests;
