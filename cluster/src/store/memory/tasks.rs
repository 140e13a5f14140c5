//! Tasks in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::{MemoryStore, now};
use crate::store::StoreError;
use crate::store::tasks::{Driving, StoredTask, TaskChange, TaskKey, Tasks};

#[derive(Debug)]
pub(super) struct Entry {
    stored: StoredTask,
    driver: u64,
    /// Until when the driver's lease runs; `None`: nobody has to drive it.
    driven_until: Option<Instant>,
    expires: Instant,
}

pub(super) fn forget_expired(tasks: &mut BTreeMap<TaskKey, Entry>) {
    let now = now();
    tasks.retain(|_, entry| entry.expires > now);
}

impl MemoryStore {
    /// `None` if there is no such task.
    fn with_task<T>(&self, task: &TaskKey, act: impl FnOnce(&mut Entry) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        let entry = state.tasks.get_mut(task)?;
        (entry.expires > now()).then(|| act(entry)).flatten()
    }
}

#[async_trait]
impl Tasks for MemoryStore {
    async fn create_task(
        &self,
        task: &TaskKey,
        new: &StoredTask,
        ttl: Duration,
        driver: u64,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let stamp = self.with_task(task, |entry| Some(entry.stored.stamp));
        if let Some(stamp) = stamp {
            return Ok(stamp == new.stamp);
        }
        let entry = Entry {
            stored: new.clone(),
            driver,
            driven_until: Some(now() + lease),
            expires: now() + ttl,
        };
        self.state().tasks.insert(task.clone(), entry);
        Ok(true)
    }

    async fn task(&self, task: &TaskKey) -> Result<Option<StoredTask>, StoreError> {
        Ok(self.with_task(task, |entry| Some(entry.stored.clone())))
    }

    async fn change_task(
        &self,
        task: &TaskKey,
        before: u64,
        change: &TaskChange,
    ) -> Result<bool, StoreError> {
        let changed = self.with_task(task, |entry| {
            if entry.stored.stamp != before {
                return Some(entry.stored.stamp == change.stamp);
            }
            entry.stored.stamp = change.stamp;
            entry.stored.state = change.state.clone();
            if let Some(request) = &change.request {
                entry.stored.request = request.clone();
            }
            if let Some(ttl) = change.ttl {
                entry.expires = now() + ttl;
            }
            match change.driving {
                Driving::Kept => {}
                Driving::Wanted => entry.driven_until = Some(now()),
                Driving::Over => entry.driven_until = None,
            }
            Some(true)
        });
        Ok(changed.unwrap_or(false))
    }

    async fn drive_task(
        &self,
        task: &TaskKey,
        driver: u64,
        lease: Duration,
    ) -> Result<Option<StoredTask>, StoreError> {
        Ok(self.with_task(task, |entry| {
            let until = entry.driven_until?;
            if until > now() && entry.driver != driver {
                return None;
            }
            entry.driver = driver;
            entry.driven_until = Some(now() + lease);
            Some(entry.stored.clone())
        }))
    }

    async fn keep_driving(
        &self,
        task: &TaskKey,
        driver: u64,
        lease: Duration,
    ) -> Result<Option<u64>, StoreError> {
        Ok(self.with_task(task, |entry| {
            entry.driven_until?;
            if entry.driver != driver {
                return None;
            }
            entry.driven_until = Some(now() + lease);
            Some(entry.stored.stamp)
        }))
    }

    async fn undriven_tasks(&self, limit: usize) -> Result<Vec<TaskKey>, StoreError> {
        let now = now();
        let state = self.state();
        let entries = state.tasks.iter().filter(|(_, entry)| entry.expires > now);
        let mut lapsed: Vec<_> = entries
            .filter_map(|(key, entry)| Some((entry.driven_until?, key.clone())))
            .filter(|(until, _)| *until <= now)
            .collect();
        lapsed.sort_unstable();
        lapsed.truncate(limit);
        Ok(lapsed.into_iter().map(|(_, key)| key).collect())
    }
}
