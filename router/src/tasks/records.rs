//! Tasks as they are stored.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clientmcp_cluster::store::{Driving, Store, StoreError, StoredTask, TaskChange, TaskKey};
use clientmcp_core::ids::{ClientId, Incarnation, TaskId};
use clientmcp_core::json::{Json, JsonError};
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::task::{StoredTaskError, Task, TaskCall};

use crate::gateway::unix_ms;

/// When to ask again for what the store did not say, in seconds.
const RETRY_S: u64 = 2;
/// A task that changes under a change is read again, not more often than this.
const TRIES: usize = 16;

/// A task, and the call that is, or was, made for it last.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) stamp: u64,
    pub(super) task: Task,
    pub(super) call: TaskCall,
}

/// Why a task cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unreadable(#[from] StoredTaskError),
    #[error("a stored task cannot be read: {0}")]
    NoJson(#[from] JsonError),
    #[error("a task changes faster than it can be changed")]
    Contended,
}

impl TaskError {
    /// What an agent is told.
    pub(super) fn refusal(&self) -> RpcError {
        tracing::warn!(error = %self, "a task could not be reached");
        RpcError::unavailable("Tasks cannot be reached at present; try again", RETRY_S)
    }
}

/// What is to be written of a changed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    /// Nothing: it did not change.
    Nothing,
    /// How the task stands.
    Task(Driving),
    /// The same, and its call.
    Call(Driving),
}

/// The tasks of the cluster, as one router sees them.
pub(crate) struct Tasks {
    store: Arc<dyn Store>,
    /// This run of the router, which drives tasks.
    driver: u64,
    lease: Duration,
    /// What this router drives: it takes over what others let go, and never what is its own.
    driven: Mutex<HashSet<TaskKey>>,
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("driven", &self.driven().len())
            .finish_non_exhaustive()
    }
}

/// A task is driven by this router as long as this lives.
#[derive(Debug)]
pub(super) struct Held {
    tasks: Arc<Tasks>,
    key: TaskKey,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.tasks.driven().remove(&self.key);
    }
}

impl Tasks {
    /// Those in this store; `run` is this run of the router.
    pub(crate) fn new(store: Arc<dyn Store>, run: Incarnation, lease: Duration) -> Arc<Self> {
        Arc::new(Self {
            store,
            driver: run.0,
            lease,
            driven: Mutex::default(),
        })
    }

    /// Whether this router drives a task.
    pub(super) fn is_held(&self, key: &TaskKey) -> bool {
        self.driven().contains(key)
    }

    /// Marks a task as driven by this router. `None`: it is already.
    pub(super) fn hold(self: &Arc<Self>, key: &TaskKey) -> Option<Held> {
        let is_new = self.driven().insert(key.clone());
        is_new.then(|| Held {
            tasks: self.clone(),
            key: key.clone(),
        })
    }

    /// Writes a new task, which this router drives.
    pub(super) async fn create(
        &self,
        client_id: &ClientId,
        task: &Task,
        call: &TaskCall,
    ) -> Result<(TaskKey, u64), StoreError> {
        loop {
            let key = TaskKey {
                client_id: client_id.clone(),
                id: TaskId::from_random(rand::random()),
            };
            let new = StoredTask {
                stamp: rand::random(),
                state: task.to_json().into_bytes(),
                request: call.to_json().into_bytes(),
            };
            let ttl = task.remaining(unix_ms());
            let created = self
                .store
                .create_task(&key, &new, ttl, self.driver, self.lease);
            if created.await? {
                return Ok((key, new.stamp));
            }
        }
    }

    /// How a task stands; `None`: it is unknown, or forgotten.
    pub(super) async fn read(&self, key: &TaskKey) -> Result<Option<Record>, TaskError> {
        let stored = self.store.task(key).await?;
        stored.map(Record::read).transpose()
    }

    /// Changes a task, beginning anew when others have changed it in between. Gives what it is then
    /// and what `change` said; `None`: it is unknown, or forgotten.
    pub(super) async fn change<T>(
        &self,
        key: &TaskKey,
        mut change: impl FnMut(&mut Record) -> (T, Write),
    ) -> Result<Option<(Record, T)>, TaskError> {
        for _ in 0..TRIES {
            let Some(mut record) = self.read(key).await? else {
                return Ok(None);
            };
            let (said, write) = change(&mut record);
            if self.write(key, &mut record, write).await? {
                return Ok(Some((record, said)));
            }
        }
        Err(TaskError::Contended)
    }

    /// Writes what was changed. `false`: another has changed it in between.
    pub(super) async fn write(
        &self,
        key: &TaskKey,
        record: &mut Record,
        write: Write,
    ) -> Result<bool, StoreError> {
        let (driving, request) = match write {
            Write::Nothing => return Ok(true),
            Write::Task(driving) => (driving, None),
            Write::Call(driving) => (driving, Some(record.call.to_json().into_bytes())),
        };
        let change = TaskChange {
            stamp: rand::random(),
            state: record.task.to_json().into_bytes(),
            request,
            ttl: Some(record.task.remaining(unix_ms())),
            driving,
        };
        let changed = self.store.change_task(key, record.stamp, &change).await?;
        if changed {
            record.stamp = change.stamp;
        }
        Ok(changed)
    }

    /// Takes a task over that nobody drives; `None`: somebody does, or need not any more.
    pub(super) async fn drive(&self, key: &TaskKey) -> Result<Option<Record>, TaskError> {
        let stored = self.store.drive_task(key, self.driver, self.lease).await?;
        stored.map(Record::read).transpose()
    }

    /// Renews the lease; gives the task's stamp. `None`: this router is to drive it no more.
    pub(super) async fn keep(&self, key: &TaskKey) -> Result<Option<u64>, StoreError> {
        self.store.keep_driving(key, self.driver, self.lease).await
    }

    /// Tasks that nobody drives, at most so many.
    pub(super) async fn undriven(&self, limit: usize) -> Result<Vec<TaskKey>, StoreError> {
        self.store.undriven_tasks(limit).await
    }

    /// How often leases are renewed, and looked for.
    pub(super) fn beat(&self) -> Duration {
        self.lease / 3
    }

    fn driven(&self) -> MutexGuard<'_, HashSet<TaskKey>> {
        // Nothing that runs under the lock panics half-way.
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn read(stored: StoredTask) -> Result<Self, TaskError> {
        Ok(Self {
            stamp: stored.stamp,
            task: Task::read(&Json::parse(stored.state)?)?,
            call: TaskCall::read(&Json::parse(stored.request)?)?,
        })
    }
}
