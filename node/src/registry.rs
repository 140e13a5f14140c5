//! Which client IDs this node holds, and who watches them.
//!
//! One table behind one lock. Every change is a short step that awaits nothing, so that what was
//! checked still holds when it is acted on: a holding is removed only by whoever names its claim,
//! compared whole, and replaced only by a higher epoch. An entry is there while somebody needs
//! it: a holding, a register or a release under way, a watcher.
//!
//! A connection may lock the table while it is locked itself, never the other way round.

mod entry;
mod sessions;
mod watches;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clientmcp_core::claim::{Claim, Epoch, Precedence, precedence};
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::registration::Hashes;
use tokio::sync::watch;

use crate::connection::Connection;
use crate::content::Registration;
use entry::Entry;

pub(crate) use watches::{StreamEnd, Watching};

/// A client ID that is held here.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    /// Its claim in the store.
    pub(crate) claim: Claim,
    /// When its register began, by the store's clock.
    pub(crate) began: Epoch,
    /// The app's connection.
    pub(crate) connection: Arc<Connection>,
    /// The app's instance.
    pub(crate) instance: InstanceId,
    /// The number of the connection within the instance.
    pub(crate) number: u64,
    /// Whether the instance remembers call IDs.
    pub(crate) resume: bool,
    /// What the app offers.
    pub(crate) registration: Registration,
    /// The store has these hashes.
    pub(crate) written: bool,
}

/// A newer holder of a client ID, here or elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewerHolder {
    pub(crate) node: MemberId,
    pub(crate) incarnation: Incarnation,
    pub(crate) epoch: Epoch,
    pub(crate) instance: InstanceId,
    /// The number of the connection within the instance.
    pub(crate) connection: u64,
    /// HOST:PORT of its internal port; empty if that is not known.
    pub(crate) address: String,
}

/// What this node knows of where a client ID is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Nothing: the store knows.
    #[default]
    NotHere,
    /// It is held here.
    Here {
        /// Since this epoch.
        epoch: Epoch,
        /// With this registration.
        hashes: Hashes,
    },
    /// It was held here until that one came.
    MovedTo(NewerHolder),
}

/// What a request for a client ID finds.
#[derive(Debug)]
pub(crate) enum Found {
    /// It is held here.
    Here(Box<Holding>),
    /// The session in whose name it was asked was ended.
    SessionEnded,
    /// It is not held here. `changing`: what the store says
    /// of it may be out of date in a moment.
    NotHere { changing: bool },
}

/// What became of a wish to hold a client ID.
#[derive(Debug)]
pub(crate) enum Installed {
    /// It is held.
    Held,
    /// A newer claim is known, by this instance: this one is over already.
    Superseded { by: Option<InstanceId> },
}

/// What became of a displacement.
#[derive(Debug)]
pub(crate) enum Displaced {
    /// This holding was removed, and is to be told.
    Removed(Box<Holding>),
    /// Nothing older was held here.
    NothingOlder,
    /// What is held here is newer.
    HeldNewer(Claim),
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    entries: Mutex<HashMap<ClientId, Entry>>,
}

impl Registry {
    /// Looks a client ID up, for a legacy session if there is one.
    pub(crate) fn find(&self, client_id: &ClientId, session: Option<&str>) -> Found {
        let entries = self.lock();
        let Some(entry) = entries.get(client_id) else {
            return Found::NotHere { changing: false };
        };
        if Self::check_session(entry, session).is_err() {
            return Found::SessionEnded;
        }
        match &entry.holding {
            Some(holding) => Found::Here(holding.clone()),
            None => Found::NotHere {
                changing: entry.changing > 0,
            },
        }
    }

    /// The connection that serves a client ID: what a call needs, without copying more.
    pub(crate) fn connection(
        &self,
        client_id: &ClientId,
        session: Option<&str>,
    ) -> Result<Option<Arc<Connection>>, SessionWasEnded> {
        let entries = self.lock();
        let Some(entry) = entries.get(client_id) else {
            return Ok(None);
        };
        Self::check_session(entry, session)?;
        let holding = entry.holding.as_ref();
        Ok(holding.map(|holding| holding.connection.clone()))
    }

    /// Notes that a register or a release is under way, until the guard is dropped.
    pub(crate) fn begin_change(self: &Arc<Self>, client_id: &ClientId) -> Changing {
        let mut entries = self.lock();
        entries.entry(client_id.clone()).or_default().changing += 1;
        Changing {
            registry: self.clone(),
            client_id: client_id.clone(),
        }
    }

    /// The highest epoch that is known here of a client ID.
    pub(crate) fn seen(&self, client_id: &ClientId) -> Epoch {
        let entries = self.lock();
        entries.get(client_id).map_or(Epoch(0), |entry| entry.seen)
    }

    /// Holds a client ID, unless something newer is known. Who held it here before was displaced
    /// before.
    pub(crate) fn install(&self, client_id: &ClientId, holding: Holding) -> Installed {
        let mut entries = self.lock();
        let entry = entries.entry(client_id.clone()).or_default();
        if entry.seen > holding.claim.epoch || entry.holding.is_some() {
            return Installed::Superseded {
                by: entry.newest.clone(),
            };
        }
        entry.see(holding.claim.epoch, &holding.instance);
        entry.holding = Some(Box::new(holding));
        entry.announce();
        Installed::Held
    }

    /// Notes what a held app has registered anew. `false`: the claim holds no more.
    pub(crate) fn update(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        registration: Registration,
        written: bool,
    ) -> bool {
        self.change(client_id, claim, |holding| {
            holding.registration = registration;
            holding.written = written;
        })
    }

    /// Notes that the store has these hashes, if they are still those of the holding.
    pub(crate) fn mark_written(&self, client_id: &ClientId, claim: &Claim, hashes: &Hashes) {
        self.change(client_id, claim, |holding| {
            holding.written |= holding.registration.hashes() == hashes;
        });
    }

    fn change(
        &self,
        client_id: &ClientId,
        claim: &Claim,
        change: impl FnOnce(&mut Holding),
    ) -> bool {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(client_id) else {
            return false;
        };
        let Some(holding) = entry.holding.as_mut().filter(|h| h.claim == *claim) else {
            return false;
        };
        change(holding);
        entry.announce();
        true
    }

    /// Removes a holding, if the claim is still its own.
    pub(crate) fn remove(&self, client_id: &ClientId, claim: &Claim) -> Option<Box<Holding>> {
        let mut entries = self.lock();
        let entry = entries.get_mut(client_id)?;
        let removed = entry.holding.take_if(|holding| holding.claim == *claim)?;
        entry.announce();
        remove_if_unused(&mut entries, client_id);
        Some(removed)
    }

    /// Removes whatever is held under an older claim than `by`. A connection of the same instance
    /// with a higher number is newer, whatever its claim: one of both was made without the store.
    pub(crate) fn displace(&self, client_id: &ClientId, by: &NewerHolder) -> Displaced {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(client_id) else {
            return Displaced::NothingOlder;
        };
        if let Some(holding) = &entry.holding {
            let arriving = (&by.instance, by.connection);
            let order = precedence(arriving, (&holding.instance, holding.number));
            if holding.claim.epoch >= by.epoch || order == Precedence::Late {
                return Displaced::HeldNewer(holding.claim);
            }
        }
        entry.see(by.epoch, &by.instance);
        let Some(removed) = entry.holding.take() else {
            return Displaced::NothingOlder;
        };
        entry.announce_move(by.clone());
        remove_if_unused(&mut entries, client_id);
        Displaced::Removed(removed)
    }

    /// To be woken when the presence of a client ID changes here; keeps its entry.
    pub(crate) fn presence(self: &Arc<Self>, client_id: &ClientId) -> PresenceWatch {
        let mut entries = self.lock();
        let entry = entries.entry(client_id.clone()).or_default();
        entry.watching += 1;
        PresenceWatch {
            presence: entry.subscribe(),
            registry: self.clone(),
            client_id: client_id.clone(),
        }
    }

    /// All holdings, sorted by client ID.
    pub(crate) fn holdings(&self) -> Vec<(ClientId, Box<Holding>)> {
        let mut holdings: Vec<_> = {
            let entries = self.lock();
            let held = entries.iter();
            held.filter_map(|(id, entry)| Some((id.clone(), entry.holding.clone()?)))
                .collect()
        };
        holdings.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        holdings
    }

    /// How many client IDs are held.
    pub(crate) fn count(&self) -> usize {
        let entries = self.lock();
        entries.values().filter(|e| e.holding.is_some()).count()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, Entry>> {
        // Nothing that runs under the lock panics half-way.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session in whose name something was asked was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionWasEnded;

/// A register or a release is under way.
#[derive(Debug)]
pub(crate) struct Changing {
    registry: Arc<Registry>,
    client_id: ClientId,
}

impl Drop for Changing {
    fn drop(&mut self) {
        let mut entries = self.registry.lock();
        if let Some(entry) = entries.get_mut(&self.client_id) {
            entry.changing -= 1;
            // Whoever waits for it looks again.
            entry.announce();
        }
        remove_if_unused(&mut entries, &self.client_id);
    }
}

/// Sees each change of a client ID's presence.
#[derive(Debug)]
pub(crate) struct PresenceWatch {
    presence: watch::Receiver<Presence>,
    registry: Arc<Registry>,
    client_id: ClientId,
}

impl PresenceWatch {
    /// As it is.
    pub(crate) fn current(&mut self) -> Presence {
        self.presence.borrow_and_update().clone()
    }

    /// Resolves when there may be something new. Cancel safe.
    pub(crate) async fn changed(&mut self) {
        // The entry, and with it the sender, lives as long as this watch.
        if self.presence.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for PresenceWatch {
    fn drop(&mut self) {
        let mut entries = self.registry.lock();
        if let Some(entry) = entries.get_mut(&self.client_id) {
            entry.watching -= 1;
        }
        remove_if_unused(&mut entries, &self.client_id);
    }
}

fn remove_if_unused(entries: &mut HashMap<ClientId, Entry>, client_id: &ClientId) {
    if entries.get(client_id).is_some_and(Entry::is_unused) {
        entries.remove(client_id);
    }
}
