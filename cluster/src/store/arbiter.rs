//! Who holds a client ID: what a store does with the claims on it (SPEC.md §4.6).
//!
//! Pure: time is an argument. The memory store runs this; the scripts of the Redis store do the
//! same, and the contract suite holds the two together. `tests/claim_model` explores it.

use std::collections::VecDeque;

use clientmcp_core::claim::{Claim, Epoch, Holder, Precedence, precedence};
use clientmcp_core::registration::Hashes;
use clientmcp_core::tick::Tick;

use super::{ClaimRequest, Claimed, Departure, NONCES, Record, Restored};

/// What a store has of one client ID; by default nothing.
///
/// Two kinds of methods: getters, and `handle_*` for what nodes ask, each of which may be asked
/// twice with the result of asking once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Arbiter(Option<Stored>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stored {
    /// Who holds the client ID or, after a departure, held it last.
    holder: Holder,
    hashes: Hashes,
    departed: Option<(Departure, Tick)>,
    /// When its register began.
    began: Epoch,
    /// Whom the present claim displaced.
    previous: Option<Holder>,
    /// Of the claims before, the latest last.
    nonces: VecDeque<u64>,
}

impl Arbiter {
    /// Whether the client ID is held under this claim.
    #[must_use]
    pub fn holds(&self, claim: &Claim) -> bool {
        let stored = self.0.as_ref();
        stored.is_some_and(|stored| stored.is_held_under(claim))
    }

    /// What is known; `now` is the store's own clock.
    #[must_use]
    pub fn record(&self, now: Tick) -> Option<Record> {
        self.0.as_ref().map(|stored| Record {
            epoch: stored.holder.claim.epoch,
            holder: stored.departed.is_none().then(|| stored.holder.clone()),
            instance: stored.holder.instance.clone(),
            resume: stored.holder.resume,
            hashes: stored.hashes,
            departed: stored.departed.map(|(how, at)| (how, now.since(at))),
        })
    }

    /// A register begins.
    #[must_use]
    pub fn ticket(&self, store_micros: u64) -> Epoch {
        let stored = self.0.as_ref();
        let stored = stored.map_or(Epoch::default(), |stored| stored.holder.claim.epoch);
        Epoch::next(stored, Epoch::default(), store_micros)
    }

    /// A node wants to hold the client ID. `store_micros` is the time by the store's clock.
    pub fn handle_claim(&mut self, request: &ClaimRequest, store_micros: u64) -> Claimed {
        if let Some(verdict) = self.0.as_ref().and_then(|stored| stored.verdict(request)) {
            return verdict;
        }
        // A move is as old as what it takes over from.
        let moved = self.0.as_ref().filter(|_| request.moving);
        let began = moved.map_or(request.began, |stored| stored.began);
        let (stored, previous, nonces) = match self.0.take() {
            Some(mut stored) => {
                let held = stored.departed.is_none();
                stored.nonces.push_back(stored.holder.claim.nonce);
                let forgotten = stored.nonces.len().saturating_sub(NONCES);
                stored.nonces.drain(..forgotten);
                let epoch = stored.holder.claim.epoch;
                (epoch, held.then_some(stored.holder), stored.nonces)
            }
            None => (Epoch::default(), None, VecDeque::new()),
        };
        let claim = Claim {
            epoch: Epoch::next(stored, request.seen.max(request.began), store_micros),
            incarnation: request.incarnation,
            nonce: request.nonce,
        };
        self.0 = Some(Stored {
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
            began,
            previous: previous.clone(),
            nonces,
        });
        Claimed::Taken { claim, previous }
    }

    /// The holder has a new registration. `false`: it holds no more.
    pub fn handle_update(&mut self, claim: &Claim, hashes: &Hashes) -> bool {
        let stored = self.0.as_mut();
        let Some(stored) = stored.filter(|stored| stored.is_held_under(claim)) else {
            return false;
        };
        stored.hashes = *hashes;
        true
    }

    /// A node writes its claim again, which this store did not have.
    pub fn handle_restore(&mut self, holder: &Holder, began: Epoch, hashes: &Hashes) -> Restored {
        if let Some(stored) = &self.0 {
            if stored.is_held_under(&holder.claim) {
                return Restored::Held;
            }
            if stored.holder.claim.epoch >= holder.claim.epoch {
                return Restored::Beaten {
                    by: stored.holder.clone(),
                };
            }
        }
        self.0 = Some(Stored {
            holder: holder.clone(),
            hashes: *hashes,
            departed: None,
            began,
            previous: None,
            nonces: VecDeque::new(),
        });
        Restored::Held
    }

    /// A node gives the client ID up. `false`: it was not its own.
    pub fn handle_release(&mut self, claim: &Claim, departure: Departure, now: Tick) -> bool {
        let stored = self.0.as_mut();
        let Some(stored) = stored.filter(|stored| stored.holder.claim == *claim) else {
            return false;
        };
        stored.departed.get_or_insert((departure, now));
        true
    }
}

impl Stored {
    fn is_held_under(&self, claim: &Claim) -> bool {
        self.holder.claim == *claim && self.departed.is_none()
    }

    /// What the record alone says to a request; `None`: the claim is to be had.
    fn verdict(&self, request: &ClaimRequest) -> Option<Claimed> {
        let claim = &self.holder.claim;
        let repeated = (claim.incarnation, claim.nonce) == (request.incarnation, request.nonce);
        if repeated && self.departed.is_none() {
            return Some(Claimed::Taken {
                claim: *claim,
                previous: self.previous.clone(),
            });
        }
        let is_behind = |other: &Holder| {
            let arriving = (&request.instance, request.connection);
            precedence(arriving, (&other.instance, other.connection)) == Precedence::Late
        };
        let is_another = self.holder.instance != request.instance;
        let late = repeated
            || is_another && (request.moving || self.began > request.began)
            || self.nonces.contains(&request.nonce)
            || is_behind(&self.holder)
            || self.previous.as_ref().is_some_and(is_behind);
        late.then(|| Claimed::Late {
            holder: self.holder.clone(),
        })
    }
}
