//! What the table has of one client ID.

use std::collections::BTreeMap;

use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::InstanceId;
use tokio::sync::watch;

use super::sessions::Sessions;
use super::watches::Watch;
use super::{Holding, NewerHolder, Presence};

/// One client ID.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) holding: Option<Box<Holding>>,
    /// The highest epoch that is known.
    pub(super) seen: Epoch,
    /// The instance that has it.
    pub(super) newest: Option<InstanceId>,
    /// Registers and releases under way.
    pub(super) changing: usize,
    /// Watches of the presence.
    pub(super) watching: usize,
    /// What is noted of legacy sessions.
    pub(super) sessions: Sessions,
    /// Streams that watch it, in the order in which they came; a session has one.
    pub(super) watches: BTreeMap<u64, Watch>,
    /// Numbers the streams.
    pub(super) numbers: u64,
    /// There once somebody watches.
    presence: Option<watch::Sender<Presence>>,
}

impl Entry {
    pub(super) fn is_unused(&self) -> bool {
        self.holding.is_none() && self.changing == 0 && self.watching == 0
    }

    /// Notes the epoch of a claim.
    pub(super) fn see(&mut self, epoch: Epoch, instance: &InstanceId) {
        if epoch >= self.seen {
            self.seen = epoch;
            self.newest = Some(instance.clone());
        }
    }

    pub(super) fn subscribe(&mut self) -> watch::Receiver<Presence> {
        let now = self.present();
        self.presence
            .get_or_insert_with(|| watch::channel(now).0)
            .subscribe()
    }

    /// Wakes who watches, with what there is.
    pub(super) fn announce(&self) {
        if let Some(presence) = &self.presence {
            presence.send_replace(self.present());
        }
    }

    /// Wakes who watches: the client ID has a newer holder.
    pub(super) fn announce_move(&self, to: NewerHolder) {
        if let Some(presence) = &self.presence {
            presence.send_replace(Presence::MovedTo(to));
        }
    }

    fn present(&self) -> Presence {
        match &self.holding {
            Some(holding) => Presence::Here {
                epoch: holding.claim.epoch,
                hashes: *holding.registration.hashes(),
            },
            None => Presence::NotHere,
        }
    }
}
