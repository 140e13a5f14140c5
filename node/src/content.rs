//! Contents of registrations, one copy of each in this process however many apps offer it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use clientmcp_cluster::store::{Store, StoreError};
use clientmcp_core::registration::{ContentHash, Hashes, Kind};
use clientmcp_core::tick::Tick;

/// One kind's content.
#[derive(Debug)]
pub(crate) struct Content {
    hash: ContentHash,
    text: Bytes,
    /// When the store was last seen to have it.
    stored_at: Mutex<Option<Tick>>,
}

impl Content {
    /// Its JSON text.
    pub(crate) fn text(&self) -> &Bytes {
        &self.text
    }
}

/// A whole registration.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    hashes: Hashes,
    contents: [Arc<Content>; Kind::ALL.len()],
}

impl Registration {
    pub(crate) fn hashes(&self) -> &Hashes {
        &self.hashes
    }

    pub(crate) fn content(&self, kind: Kind) -> &Arc<Content> {
        let at = Kind::ALL.iter().position(|k| *k == kind);
        &self.contents[at.expect("every kind is among all kinds")]
    }

    /// The store may have lost these contents: they are looked for there before long.
    pub(crate) fn distrust(&self) {
        for content in &self.contents {
            *lock(&content.stored_at) = None;
        }
    }
}

/// The contents that are in use here. An entry that nobody holds any more is swept out when the
/// table has doubled.
#[derive(Debug)]
pub(crate) struct Contents {
    table: Mutex<Table>,
    /// How long the store keeps what this node put there.
    ttl: Duration,
}

#[derive(Debug, Default)]
struct Table {
    entries: HashMap<ContentHash, Weak<Content>>,
    sweep_at: usize,
}

/// The smallest table that is swept.
const SWEEP_MIN: usize = 64;

impl Contents {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self {
            table: Mutex::default(),
            ttl,
        }
    }

    /// The content as it is in use here; `text` becomes it, if it is not yet.
    pub(crate) fn intern(&self, hash: ContentHash, text: impl FnOnce() -> Bytes) -> Arc<Content> {
        let mut table = self.lock();
        if let Some(content) = table.entries.get(&hash).and_then(Weak::upgrade) {
            return content;
        }
        let content = Arc::new(Content {
            hash,
            text: text(),
            stored_at: Mutex::new(None),
        });
        table.entries.insert(hash, Arc::downgrade(&content));
        if table.entries.len() >= table.sweep_at.max(SWEEP_MIN) {
            table
                .entries
                .retain(|_, content| content.strong_count() > 0);
            table.sweep_at = 2 * table.entries.len();
        }
        content
    }

    /// The content, from memory or from the store.
    pub(crate) async fn find(
        &self,
        store: &dyn Store,
        kind: Kind,
        hash: ContentHash,
    ) -> Result<Option<Arc<Content>>, StoreError> {
        if let Some(content) = self.known(&hash) {
            return Ok(Some(content));
        }
        if hash == kind.empty_hash() {
            return Ok(Some(self.intern(hash, || kind.empty_content())));
        }
        let text = store.content(&hash).await?;
        Ok(text.map(|text| self.intern(hash, || text)))
    }

    /// All contents of a registration; `None` if one is known to nobody any more.
    pub(crate) async fn registration(
        &self,
        store: &dyn Store,
        hashes: &Hashes,
    ) -> Result<Option<Registration>, StoreError> {
        let mut contents = Vec::with_capacity(Kind::ALL.len());
        for kind in Kind::ALL {
            match self.find(store, kind, hashes.get(kind)).await? {
                Some(content) => contents.push(content),
                None => return Ok(None),
            }
        }
        Ok(Some(Registration {
            hashes: *hashes,
            contents: contents.try_into().expect("one content of each kind"),
        }))
    }

    /// Sees to it that the store has these contents for a long time yet.
    pub(crate) async fn keep(
        &self,
        store: &dyn Store,
        registration: &Registration,
        now: Tick,
    ) -> Result<(), StoreError> {
        for content in &registration.contents {
            self.keep_one(store, content, now).await?;
        }
        Ok(())
    }

    /// Renews in the store what is in use here and was not renewed lately.
    pub(crate) async fn renew(&self, store: &dyn Store, now: Tick) -> Result<(), StoreError> {
        let mut used: Vec<Arc<Content>> = {
            let table = self.lock();
            table.entries.values().filter_map(Weak::upgrade).collect()
        };
        used.sort_unstable_by_key(|content| content.hash);
        for content in used {
            self.keep_one(store, &content, now).await?;
        }
        Ok(())
    }

    /// Contents in use.
    pub(crate) fn count(&self) -> usize {
        let table = self.lock();
        let used = table.entries.values().filter(|c| c.strong_count() > 0);
        used.count()
    }

    async fn keep_one(
        &self,
        store: &dyn Store,
        content: &Content,
        now: Tick,
    ) -> Result<(), StoreError> {
        let stored_at = *lock(&content.stored_at);
        if stored_at.is_some_and(|at| now.since(at) < self.ttl / 4) {
            return Ok(());
        }
        // Most of the time another node has it there already: ask before sending it.
        if !store.touch_content(&content.hash, self.ttl).await? {
            store
                .put_content(&content.hash, content.text.clone(), self.ttl)
                .await?;
        }
        *lock(&content.stored_at) = Some(now);
        Ok(())
    }

    fn known(&self, hash: &ContentHash) -> Option<Arc<Content>> {
        self.lock().entries.get(hash).and_then(Weak::upgrade)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
}

/// Nothing that runs under these locks panics half-way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
