//! Tasks in Redis: a hash each, and a sorted set of those that have to be driven, by the time at
//! which their drivers' leases lapse.

use std::time::Duration;

use async_trait::async_trait;
use clientmcp_core::ids::{ClientId, TaskId};
use redis::ScriptInvocation;

use super::reply::{corrupt, hex};
use super::{RedisStore, keys, ms};
use crate::store::StoreError;
use crate::store::tasks::{Driving, StoredTask, TaskChange, TaskKey, Tasks};

#[async_trait]
impl Tasks for RedisStore {
    async fn create_task(
        &self,
        task: &TaskKey,
        new: &StoredTask,
        ttl: Duration,
        driver: u64,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let mut script = self.scripts.create_task.prepare_invoke();
        add_task(&mut script, task);
        script
            .arg(hex(new.stamp))
            .arg(&new.state[..])
            .arg(&new.request[..])
            .arg(hex(driver))
            .arg(ms(lease))
            .arg(ms(ttl));
        self.invoke(&script).await
    }

    async fn task(&self, task: &TaskKey) -> Result<Option<StoredTask>, StoreError> {
        let mut command = redis::cmd("HMGET");
        let fields = ["stamp", "state", "request"];
        command.arg(keys::task(task)).arg(&fields[..]);
        let found: (Option<String>, Option<Vec<u8>>, Option<Vec<u8>>) =
            self.query(&command).await?;
        match found {
            (Some(stamp), Some(state), Some(request)) => stored(&stamp, state, request).map(Some),
            _ => Ok(None),
        }
    }

    async fn change_task(
        &self,
        task: &TaskKey,
        before: u64,
        change: &TaskChange,
    ) -> Result<bool, StoreError> {
        let mut script = self.scripts.change_task.prepare_invoke();
        add_task(&mut script, task);
        script
            .arg(hex(before))
            .arg(hex(change.stamp))
            .arg(&change.state[..])
            .arg(change.request.as_deref().unwrap_or_default())
            .arg(change.ttl.map_or(0, ms))
            .arg(match change.driving {
                Driving::Kept => "kept",
                Driving::Wanted => "wanted",
                Driving::Over => "over",
            });
        self.invoke(&script).await
    }

    async fn drive_task(
        &self,
        task: &TaskKey,
        driver: u64,
        lease: Duration,
    ) -> Result<Option<StoredTask>, StoreError> {
        let mut script = self.scripts.drive_task.prepare_invoke();
        add_task(&mut script, task);
        script.arg(hex(driver)).arg(ms(lease));
        let found: Option<(String, Vec<u8>, Vec<u8>)> = self.invoke(&script).await?;
        found
            .map(|(stamp, state, request)| stored(&stamp, state, request))
            .transpose()
    }

    async fn keep_driving(
        &self,
        task: &TaskKey,
        driver: u64,
        lease: Duration,
    ) -> Result<Option<u64>, StoreError> {
        let mut script = self.scripts.keep_driving.prepare_invoke();
        add_task(&mut script, task);
        script.arg(hex(driver)).arg(ms(lease));
        let stamp: Option<String> = self.invoke(&script).await?;
        stamp.map(|stamp| stamp_of(&stamp)).transpose()
    }

    async fn undriven_tasks(&self, limit: usize) -> Result<Vec<TaskKey>, StoreError> {
        let mut script = self.scripts.undriven_tasks.key(keys::DRIVEN);
        script.arg(limit);
        let names: Vec<String> = self.invoke(&script).await?;
        names.iter().map(|name| key_of(name)).collect()
    }
}

/// The keys of all scripts on one task, and how the sorted set names it.
fn add_task(script: &mut ScriptInvocation<'_>, task: &TaskKey) {
    let TaskKey { client_id, id } = task;
    script
        .key(keys::task(task))
        .key(keys::DRIVEN)
        .arg(format!("{client_id} {id}"));
}

fn key_of(name: &str) -> Result<TaskKey, StoreError> {
    let parts = name.split_once(' ').and_then(|(client_id, id)| {
        Some(TaskKey {
            client_id: ClientId::parse(client_id).ok()?,
            id: TaskId::parse(id).ok()?,
        })
    });
    parts.ok_or_else(|| corrupt("the name of a task", name))
}

fn stored(stamp: &str, state: Vec<u8>, request: Vec<u8>) -> Result<StoredTask, StoreError> {
    Ok(StoredTask {
        stamp: stamp_of(stamp)?,
        state: state.into(),
        request: request.into(),
    })
}

fn stamp_of(text: &str) -> Result<u64, StoreError> {
    u64::from_str_radix(text, 16).map_err(|_| corrupt("a stamp", text))
}
