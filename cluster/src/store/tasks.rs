//! Tasks: calls that outlive the request that began them, and the router that drives them
//! (SPEC.md §13).
//!
//! What is stored of a task is bytes here; [`clientmcp_core::mcp::task`] knows what they mean. A
//! change names the stamp that it was made on, so that of two changes at once one is refused. A
//! driver holds a task under a lease; when that lapses, whoever looks first takes the task over.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clientmcp_core::ids::{ClientId, TaskId};

use super::StoreError;

/// Names a task: it is known under its client ID alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey {
    /// The client ID whose call it is.
    pub client_id: ClientId,
    /// The task.
    pub id: TaskId,
}

/// What is stored of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTask {
    /// Another one after each change.
    pub stamp: u64,
    /// How it stands.
    pub state: Bytes,
    /// The call that is, or was, made for it last.
    pub request: Bytes,
}

/// Whether a task has to be driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driving {
    /// As before the change.
    Kept,
    /// By whoever takes it first.
    Wanted,
    /// It has nothing to be driven to, at present.
    Over,
}

/// A change of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    /// Random; names what is stored from here on.
    pub stamp: u64,
    /// How it stands.
    pub state: Bytes,
    /// Its next call; `None`: as before.
    pub request: Option<Bytes>,
    /// How long it is kept from here on; `None`: as before.
    pub ttl: Option<Duration>,
    /// Whether it has to be driven.
    pub driving: Driving,
}

/// The tasks of a cluster. As for all of a [`Store`](super::Store), each command may be sent twice
/// with the result of sending it once.
#[async_trait]
pub trait Tasks {
    /// Writes a new task, which `driver` drives under a lease, and which is kept for `ttl`.
    /// `false`: there is one of this name.
    async fn create_task(
        &self,
        task: &TaskKey,
        new: &StoredTask,
        ttl: Duration,
        driver: u64,
        lease: Duration,
    ) -> Result<bool, StoreError>;

    /// What is stored of a task; `None`: it is not known, or forgotten.
    async fn task(&self, task: &TaskKey) -> Result<Option<StoredTask>, StoreError>;

    /// Changes a task if it still has the stamp `before`. `false`: it has not, or is forgotten.
    async fn change_task(
        &self,
        task: &TaskKey,
        before: u64,
        change: &TaskChange,
    ) -> Result<bool, StoreError>;

    /// Takes a task over whose driver's lease has lapsed, or is this driver's own. `None`: it is
    /// driven by another, has nothing to be driven to, or is forgotten.
    async fn drive_task(
        &self,
        task: &TaskKey,
        driver: u64,
        lease: Duration,
    ) -> Result<Option<StoredTask>, StoreError>;

    /// Renews a driver's lease; gives the task's stamp. `None`: it has to drive no more.
    async fn keep_driving(
        &self,
        task: &TaskKey,
        driver: u64,
        lease: Duration,
    ) -> Result<Option<u64>, StoreError>;

    /// Tasks that have to be driven and whose drivers' leases have lapsed, the oldest first, at
    /// most so many. Some may be driven again or forgotten by now.
    async fn undriven_tasks(&self, limit: usize) -> Result<Vec<TaskKey>, StoreError>;
}
