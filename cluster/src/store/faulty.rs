//! A store that fails on command, for tests of everything that must survive it.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_core::registration::{ContentHash, Hashes};
use clientmcp_core::session_note::SessionNote;
use tokio::sync::watch;

use super::{
    Beat, ClaimRequest, Claimed, Departure, Joined, Record, Restored, Store, StoreError,
    StoredTask, TaskChange, TaskKey, Tasks,
};
use crate::member::{Lease, Member, ObservedMember};

/// What goes wrong with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not reach the store.
    Unreachable,
    /// It runs, and its answer does not come back.
    LostAnswer,
    /// It runs so much later.
    Delay(Duration),
    /// It does not reach the store, and nobody says so until [`FaultyStore::heal`].
    Hang,
}

/// The methods of [`Store`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum Operation {
    Join,
    Heartbeat,
    Leave,
    Members,
    Ticket,
    Claim,
    Update,
    Restore,
    Release,
    Renew,
    Record,
    PutContent,
    TouchContent,
    Content,
    NoteSession,
    Sessions,
    Ping,
    CreateTask,
    Task,
    ChangeTask,
    DriveTask,
    KeepDriving,
    UndrivenTasks,
}

/// Wraps a store and injects the [`Fault`]s that a test asks for.
///
/// A cluster has one behind all its nodes, or one for each of them around the same store: then
/// each can be cut off by itself.
pub struct FaultyStore {
    inner: Mutex<Arc<dyn Store>>,
    plan: Mutex<Plan>,
    outage: watch::Sender<Option<Fault>>,
}

#[derive(Debug, Default)]
struct Plan {
    next: BTreeMap<Operation, VecDeque<Fault>>,
    calls: BTreeMap<Operation, usize>,
}

impl FaultyStore {
    /// Works like `inner` until told otherwise.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner: Mutex::new(inner),
            plan: Mutex::default(),
            outage: watch::Sender::new(None),
        }
    }

    /// The next call of `operation` suffers `fault`; several queue up.
    pub fn inject(&self, operation: Operation, fault: Fault) {
        let mut plan = self.plan();
        plan.next.entry(operation).or_default().push_back(fault);
    }

    /// Every call suffers `fault` until [`heal`](Self::heal).
    pub fn break_down(&self, fault: Fault) {
        self.outage.send_replace(Some(fault));
    }

    /// Ends what [`break_down`](Self::break_down) began. Calls that hang fail.
    pub fn heal(&self) {
        self.outage.send_replace(None);
    }

    /// From here on another store answers, as after a failover: an empty one, for example.
    pub fn replace(&self, inner: Arc<dyn Store>) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = inner;
    }

    /// How often `operation` was called, failures included.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> usize {
        self.plan().calls.get(&operation).copied().unwrap_or(0)
    }

    fn inner(&self) -> Arc<dyn Store> {
        let inner = self.inner.lock();
        inner.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_fault(&self, operation: Operation) -> Option<Fault> {
        let mut plan = self.plan();
        *plan.calls.entry(operation).or_default() += 1;
        let planned = plan.next.get_mut(&operation).and_then(VecDeque::pop_front);
        planned.or(*self.outage.borrow())
    }

    async fn run<T>(
        &self,
        operation: Operation,
        command: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut healed = self.outage.subscribe();
        let injected = || Err(StoreError::Unreachable("injected fault".into()));
        match self.next_fault(operation) {
            None => command.await,
            Some(Fault::Unreachable) => injected(),
            Some(Fault::LostAnswer) => {
                command.await?;
                injected()
            }
            Some(Fault::Delay(time)) => {
                tokio::time::sleep(time).await;
                command.await
            }
            Some(Fault::Hang) => {
                // The sender lives as long as this borrow of it.
                let _ = healed.changed().await;
                injected()
            }
        }
    }
}

impl std::fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyStore")
            .field("plan", &self.plan)
            .field("outage", &*self.outage.borrow())
            .finish_non_exhaustive()
    }
}

macro_rules! forward {
    ($trait:ident: $(fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty = $operation:ident;)*) => {
        #[async_trait]
        impl $trait for FaultyStore {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                let inner = self.inner();
                self.run(Operation::$operation, inner.$name($($argument),*)).await
            })*
        }
    };
}

forward! { Store:
    fn join(member: &Member, lease: Lease, replacing: Option<Incarnation>) -> Joined = Join;
    fn heartbeat(member: &Member, lease: Lease) -> Beat = Heartbeat;
    fn leave(id: &MemberId, incarnation: Incarnation) -> () = Leave;
    fn members() -> Vec<ObservedMember> = Members;
    fn ticket(client_id: &ClientId) -> Epoch = Ticket;
    fn claim(request: &ClaimRequest) -> Claimed = Claim;
    fn update(client_id: &ClientId, claim: &Claim, hashes: &Hashes) -> bool = Update;
    fn restore(holder: &Holder, began: Epoch, hashes: &Hashes) -> Restored = Restore;
    fn release(
        client_id: &ClientId, claim: &Claim, departure: Departure, retention: Duration
    ) -> bool = Release;
    fn renew(claims: &[(ClientId, Claim)]) -> Vec<bool> = Renew;
    fn record(client_id: &ClientId) -> Option<Record> = Record;
    fn put_content(hash: &ContentHash, content: Bytes, ttl: Duration) -> () = PutContent;
    fn touch_content(hash: &ContentHash, ttl: Duration) -> bool = TouchContent;
    fn content(hash: &ContentHash) -> Option<Bytes> = Content;
    fn note_session(
        client_id: &ClientId, session: &str, note: &SessionNote, ttl: Duration
    ) -> () = NoteSession;
    fn sessions(client_id: &ClientId) -> Vec<(String, SessionNote)> = Sessions;
    fn ping() -> () = Ping;
}

forward! { Tasks:
    fn create_task(
        task: &TaskKey, new: &StoredTask, ttl: Duration, driver: u64, lease: Duration
    ) -> bool = CreateTask;
    fn task(task: &TaskKey) -> Option<StoredTask> = Task;
    fn change_task(task: &TaskKey, before: u64, change: &TaskChange) -> bool = ChangeTask;
    fn drive_task(task: &TaskKey, driver: u64, lease: Duration) -> Option<StoredTask> = DriveTask;
    fn keep_driving(task: &TaskKey, driver: u64, lease: Duration) -> Option<u64> = KeepDriving;
    fn undriven_tasks(limit: usize) -> Vec<TaskKey> = UndrivenTasks;
}
