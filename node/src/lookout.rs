//! What the store, or else other nodes, know of client IDs that are not held here.
//!
//! All who look for one client ID share what is read of it: calls that wait for its app, watchers,
//! and whoever asks once. It is remembered as long as one of them is interested.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use clientmcp_cluster::store::{Record, StoreError};
use clientmcp_core::ids::ClientId;
use clientmcp_core::session_note::SessionNote;
use clientmcp_proto::v1::{Elsewhere, HoldsRequest, Target};
use futures_util::future::join_all;
use tokio::sync::watch;

use crate::asking::Question;
use crate::limits;
use crate::state::NodeState;

/// What is noted of sessions, by their names.
pub(crate) type Notes = Arc<[(String, SessionNote)]>;

/// All client IDs that somebody looks for.
#[derive(Debug, Default)]
pub(crate) struct Lookouts(Mutex<HashMap<ClientId, Weak<Lookout>>>);

/// One client ID that somebody looks for.
#[derive(Debug)]
pub(crate) struct Lookout {
    pub(crate) client_id: ClientId,
    all: Arc<Lookouts>,
    record: Question<Result<Option<Record>, StoreError>>,
    sessions: Question<Result<Notes, StoreError>>,
    /// Held while something is noted of one of its sessions: the notes are written one by one.
    pub(crate) changes: tokio::sync::Mutex<()>,
    holder: Question<Option<Elsewhere>>,
    /// Changes when the record was read.
    looks: watch::Sender<u64>,
}

impl Lookouts {
    /// The lookout for a client ID.
    pub(crate) fn of(self: &Arc<Self>, client_id: &ClientId) -> Arc<Lookout> {
        let mut all = self.lock();
        if let Some(lookout) = all.get(client_id).and_then(Weak::upgrade) {
            return lookout;
        }
        let lookout = Arc::new(Lookout {
            client_id: client_id.clone(),
            all: self.clone(),
            record: Question::default(),
            sessions: Question::default(),
            changes: tokio::sync::Mutex::default(),
            holder: Question::default(),
            looks: watch::Sender::new(0),
        });
        all.insert(client_id.clone(), Arc::downgrade(&lookout));
        lookout
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, Weak<Lookout>>> {
        // Nothing that runs under the lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        // A new one may have taken its place already.
        if all
            .get(&self.client_id)
            .is_some_and(|it| it.strong_count() == 0)
        {
            all.remove(&self.client_id);
        }
    }
}

impl Lookout {
    /// The store's record, as of at most `age` ago.
    pub(crate) async fn record(
        &self,
        node: &NodeState,
        age: Duration,
    ) -> Result<Option<Record>, StoreError> {
        let reading = async {
            let _turn = turn(node).await;
            let read = node.store.record(&self.client_id).await;
            self.looks.send_modify(|looks| *looks += 1);
            read
        };
        self.record.ask(age, reading).await
    }

    /// What is noted of its legacy sessions, as of at most `age` ago.
    pub(crate) async fn sessions(
        &self,
        node: &NodeState,
        age: Duration,
    ) -> Result<Notes, StoreError> {
        let reading = async {
            let _turn = turn(node).await;
            let notes = node.store.sessions(&self.client_id).await?;
            Ok(notes.into())
        };
        self.sessions.ask(age, reading).await
    }

    /// Which other node holds it, as they say themselves a moment ago: asked while the store does
    /// not answer.
    pub(crate) async fn holder(&self, node: &NodeState) -> Option<Elsewhere> {
        let asking = async {
            let _turn = turn(node).await;
            let asked = node.other_nodes().into_iter().map(|peer| async move {
                let request = HoldsRequest {
                    target: Some(Target {
                        node_id: peer.id.to_string(),
                        incarnation: peer.incarnation.0,
                    }),
                    client_id: self.client_id.to_string(),
                };
                let epoch = node.peers.holds(&peer.address, request).await?;
                Some(Elsewhere {
                    node_id: peer.id.to_string(),
                    incarnation: peer.incarnation.0,
                    epoch: epoch.0,
                    address: peer.address,
                })
            });
            let holders = join_all(asked).await.into_iter().flatten();
            holders.max_by_key(|holder| holder.epoch)
        };
        self.holder.ask(limits::PEERS_AGAIN, asking).await
    }

    /// To be woken when somebody has read the record.
    pub(crate) fn looks(&self) -> watch::Receiver<u64> {
        self.looks.subscribe()
    }
}

/// So many lookups ask the store at the same time. Around the store alone: a holder that does not
/// answer a probe holds up no other lookup.
async fn turn(node: &NodeState) -> tokio::sync::SemaphorePermit<'_> {
    let turn = node.lookups.acquire().await;
    turn.expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_id_has_one_lookout_as_long_as_somebody_looks() {
        let all = Arc::new(Lookouts::default());
        let (a, b) = (ClientId::parse("a").unwrap(), ClientId::parse("b").unwrap());
        let first = all.of(&a);
        let second = all.of(&a);
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(&first, &all.of(&b)));
        drop((first, second));
        assert!(all.lock().is_empty());
    }
}
