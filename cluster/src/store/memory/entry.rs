//! What the memory store has of a member and of a client ID, and what follows from it.

use std::collections::VecDeque;
use std::time::Duration;

use clientmcp_core::claim::{Claim, Holder, Precedence, precedence};
use clientmcp_core::registration::Hashes;
use tokio::time::Instant;

use crate::member::{Member, Standing};
use crate::store::{ClaimRequest, Claimed, Departure};

/// A member.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) member: Member,
    pub(super) alive_until: Instant,
    pub(super) tombstone: Duration,
    pub(super) left: Option<Instant>,
}

impl Entry {
    pub(super) fn standing(&self, now: Instant) -> Standing {
        if let Some(left) = self.left {
            return Standing::Left { ago: now - left };
        }
        match self.alive_until.saturating_duration_since(now) {
            Duration::ZERO => Standing::Lapsed {
                ago: now - self.alive_until,
            },
            lease => Standing::Alive { lease },
        }
    }

    pub(super) fn is_alive(&self, now: Instant) -> bool {
        matches!(self.standing(now), Standing::Alive { .. })
    }
}

/// What is known of a client ID.
#[derive(Debug)]
pub(super) struct ClientRecord {
    /// Who holds the client ID or, after a departure, held it last.
    pub(super) holder: Holder,
    pub(super) hashes: Hashes,
    pub(super) departed: Option<(Departure, Instant)>,
    /// Whom the present claim displaced.
    pub(super) previous: Option<Holder>,
    /// Of the claims before, the latest last.
    pub(super) nonces: VecDeque<u64>,
    pub(super) expires: Instant,
}

impl ClientRecord {
    pub(super) fn is_held_under(&self, claim: &Claim) -> bool {
        self.holder.claim == *claim && self.departed.is_none()
    }

    /// What the record alone says to a request; `None`: the claim is to be had.
    pub(super) fn verdict(&self, request: &ClaimRequest) -> Option<Claimed> {
        let claim = &self.holder.claim;
        let repeated = (claim.incarnation, claim.nonce) == (request.incarnation, request.nonce);
        if repeated && self.departed.is_none() {
            return Some(Claimed::Taken {
                claim: *claim,
                previous: self.previous.clone(),
            });
        }
        let arriving = (&request.instance, request.connection);
        let present = (&self.holder.instance, self.holder.connection);
        let late = repeated
            || self.nonces.contains(&request.nonce)
            || precedence(arriving, present) == Precedence::Late;
        late.then(|| Claimed::Late {
            holder: self.holder.clone(),
        })
    }
}
