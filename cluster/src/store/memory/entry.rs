//! What the memory store has of a member, and what follows from it.

use std::time::Duration;

use tokio::time::Instant;

use crate::member::{Member, Standing};

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
