//! By what a node notices that the store has lost what it knew: a mark that it has put there.
//!
//! A store that was emptied, or that fell back to an older copy of itself, says of an app that is
//! connected that it was never seen, until its node has written it again. So what is missing there
//! counts as never seen only where the mark is not missing as well, and not while claims are being
//! written again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clientmcp_cluster::store::{Store, StoreError};
use clientmcp_core::ids::Incarnation;
use clientmcp_core::limits::CLAIM_TTL_MS;
use clientmcp_core::registration::{ContentHash, Kind};
use tokio::time::Instant;

use crate::asking::{FRESH, Question};

/// Outlives the time between two rounds in which it is kept.
const TTL: Duration = Duration::from_millis(CLAIM_TTL_MS);

/// The mark of a run of a node.
#[derive(Debug)]
pub(crate) struct Mark {
    hash: ContentHash,
    text: Bytes,
    is_there: Question<Result<bool, StoreError>>,
    /// Until when claims may be missing that the store has lost.
    missing_until: Mutex<Option<Instant>>,
    /// All nodes have written their claims again by then.
    written_within: Duration,
}

impl Mark {
    pub(crate) fn new(run: Incarnation, written_within: Duration) -> Self {
        let text = Bytes::from(format!("{{\"run\":\"{run}\"}}"));
        Self {
            hash: ContentHash::of(Kind::Rest, &text),
            text,
            is_there: Question::default(),
            missing_until: Mutex::default(),
            written_within,
        }
    }

    /// Puts it there for the first time.
    pub(crate) async fn set(&self, store: &dyn Store) -> Result<(), StoreError> {
        let text = self.text.clone();
        store.put_content(&self.hash, text, TTL).await
    }

    /// Puts it there again if it is missing, which is noted first.
    pub(crate) async fn keep(&self, store: &dyn Store) -> Result<(), StoreError> {
        if !store.touch_content(&self.hash, TTL).await? {
            self.note_loss();
            self.set(store).await?;
        }
        Ok(())
    }

    /// The store may have lost claims.
    pub(crate) fn note_loss(&self) {
        let until = Instant::now() + self.written_within;
        *self.missing_until() = Some(until);
    }

    /// Whether the store has all that was written to it, as of a moment after this call.
    pub(crate) async fn store_is_whole(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let asking = store.touch_content(&self.hash, TTL);
        if !self.is_there.ask(FRESH, asking).await? {
            self.note_loss();
        }
        // Last: the mark may have been put there again a moment ago.
        let missing_until = *self.missing_until();
        Ok(missing_until.is_none_or(|until| until <= Instant::now()))
    }

    fn missing_until(&self) -> MutexGuard<'_, Option<Instant>> {
        // Nothing that runs under the lock panics half-way.
        let until = self.missing_until.lock();
        until.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_cluster::store::MemoryStore;

    #[tokio::test(start_paused = true)]
    async fn a_store_that_has_lost_data_is_not_whole_until_all_have_written_again() {
        let store = MemoryStore::new();
        let within = Duration::from_secs(3);
        let mark = Mark::new(Incarnation(1), within);
        mark.set(&store).await.unwrap();
        assert!(mark.store_is_whole(&store).await.unwrap());

        store.forget();
        assert!(!mark.store_is_whole(&store).await.unwrap());
        mark.keep(&store).await.unwrap();
        assert!(!mark.store_is_whole(&store).await.unwrap());
        tokio::time::advance(within).await;
        assert!(mark.store_is_whole(&store).await.unwrap());
    }
}
