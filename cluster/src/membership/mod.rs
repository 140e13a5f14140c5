//! The task that keeps this process among the members and knows the others.
//!
//! It writes a heartbeat and reads the members once per interval, each under a deadline, and
//! turns what it reads into [`View`]s ([`crate::view`] has the rules). It ends when it is told to
//! leave, when the [`Membership`] is dropped (the others then see a lease lapse, as after a
//! crash), or when another run has taken this member's name over; [`Membership::failed`] tells.

mod pulse;
mod task;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::tick::Tick;
use clientmcp_core::timings::Timings;
use prometheus::Registry;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use self::pulse::Pulse;
use self::task::Task;
use crate::member::{Lease, Member, MemberState};
use crate::store::{Joined, Store, StoreError};
use crate::view::{MembershipView, View};

/// Why a process could not become a member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Another process of this name lives.
    #[error(
        "the member ID {id} is taken by a running process at {address}; \
         stop that one or start this one with another ID"
    )]
    Taken {
        /// The name.
        id: MemberId,
        /// Where the other process answered.
        address: String,
    },
    /// The store cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the task ended although nobody had told it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Another run has the name: this process must not serve any longer.
    #[error("another run of this member (incarnation {by}) has taken its name over")]
    Superseded {
        /// The run that has it.
        by: Incarnation,
    },
    /// It panicked.
    #[error("the membership task has crashed")]
    Crashed,
}

/// This process among the members.
#[derive(Debug)]
pub struct Membership {
    view: watch::Receiver<Arc<View>>,
    pauses: watch::Receiver<u64>,
    end: watch::Receiver<End>,
    commands: mpsc::Sender<Command>,
    losses: watch::Receiver<u64>,
    pulse: Arc<Pulse>,
    late_after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Running,
    Left,
    Superseded { by: Incarnation },
}

#[derive(Debug)]
enum Command {
    SetState(MemberState, oneshot::Sender<Result<(), StoreError>>),
    Leave(oneshot::Sender<()>),
}

impl Membership {
    /// Enters `member` and starts the task.
    ///
    /// `probe` asks the process at a member's address which incarnation it is (within a deadline
    /// of its own; no answer is `None`). It is called when the name is taken: a run that answers
    /// keeps it, one that does not, or whose lease has lapsed, is replaced.
    ///
    /// # Errors
    /// [`JoinError::Taken`], or [`JoinError::Store`] if the store cannot be asked.
    pub async fn start<P, F>(
        store: Arc<dyn Store>,
        member: Member,
        timings: &Timings,
        registry: &Registry,
        probe: P,
    ) -> Result<Self, JoinError>
    where
        P: Fn(Member) -> F,
        F: Future<Output = Option<Incarnation>>,
    {
        let started = clock();
        let lease = lease(timings);
        join(&*store, &member, lease, probe).await?;
        let mut known = MembershipView::new(lease);
        known.handle_members(Tick(started.elapsed()), store.members().await?);

        Ok(Task::spawn(
            store, member, known, timings, registry, started,
        ))
    }

    /// The present view.
    #[must_use]
    pub fn view(&self) -> Arc<View> {
        self.view.borrow().clone()
    }

    /// The view, to be woken when there is a new one.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// How often this process was paused (stopped, swapped out, starved) for so long that others
    /// may have taken it for dead, to be woken when it was. What it holds must be read again then.
    #[must_use]
    pub fn pauses(&self) -> watch::Receiver<u64> {
        self.pauses.clone()
    }

    /// Whether the store took the last heartbeat and named the members.
    #[must_use]
    pub fn store_answers(&self) -> bool {
        self.pulse.store_answers()
    }

    /// The clock by which [`Lost::since`](crate::view::Lost::since) counts.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.pulse.now()
    }

    /// How often this process was paused so far.
    #[must_use]
    pub fn pause_count(&self) -> u64 {
        *self.pauses.borrow()
    }

    /// Whether the task that writes heartbeats is overdue: this process was paused, or starves,
    /// and the task has not seen it yet. Cheap.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.pulse.since_look() > self.late_after
    }

    /// How often the store may have lost what was written: it had forgotten this member, or it
    /// answers again after failures. To be woken when it did: what is held must be read, and
    /// written where it is missing.
    #[must_use]
    pub fn losses(&self) -> watch::Receiver<u64> {
        self.losses.clone()
    }

    /// The store's clock in microseconds, as estimated from its last answer and the monotonic
    /// clock of this process; `None` before the first answer.
    #[must_use]
    pub fn store_micros(&self) -> Option<u64> {
        self.pulse.store_micros()
    }

    /// Changes this member's state and writes it at once. It is written again with each
    /// heartbeat, so that an error means only that the others learn of it later.
    ///
    /// # Errors
    /// [`StoreError`] if the store did not take it now.
    pub async fn set_state(&self, state: MemberState) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.ask(Command::SetState(state, done), answer)
            .await
            .unwrap_or(Ok(()))
    }

    /// Leaves: the others take this member off the ring as soon as they read. A store that does
    /// not answer is logged, and lets the lease lapse instead. Repeating it does nothing.
    pub async fn leave(&self) {
        let (done, answer) = oneshot::channel();
        self.ask(Command::Leave(done), answer).await;
    }

    /// Resolves if the task ends although nobody told it to: the process has to stop then. After
    /// [`leave`](Self::leave) it never does.
    pub async fn failed(&self) -> Failure {
        let mut end = self.end.clone();
        let ended = match end.wait_for(|end| *end != End::Running).await {
            Ok(end) => *end,
            Err(_) => return Failure::Crashed,
        };
        match ended {
            End::Superseded { by } => Failure::Superseded { by },
            End::Left | End::Running => std::future::pending().await,
        }
    }

    /// `None`: the task has ended.
    async fn ask<T>(&self, command: Command, answer: oneshot::Receiver<T>) -> Option<T> {
        self.commands.send(command).await.ok()?;
        answer.await.ok()
    }
}

/// What members of this cluster grant each other.
fn lease(timings: &Timings) -> Lease {
    Lease {
        lasts: timings.lease,
        tombstone: timings.grace,
    }
}

async fn join<P, F>(
    store: &dyn Store,
    member: &Member,
    lease: Lease,
    probe: P,
) -> Result<(), JoinError>
where
    P: Fn(Member) -> F,
    F: Future<Output = Option<Incarnation>>,
{
    let mut replacing = None;
    // Goes round again only if yet another run of this name came in between.
    while let Joined::Taken(other) = store.join(member, lease, replacing).await? {
        // The address is ours since we bound it: whoever had it before is gone.
        let ours = other.address == member.address;
        if !ours && probe((*other).clone()).await == Some(other.incarnation) {
            return Err(JoinError::Taken {
                id: other.id,
                address: other.address,
            });
        }
        tracing::info!(member = %other.id, incarnation = %other.incarnation, "replacing a dead run");
        replacing = Some(other.incarnation);
    }
    Ok(())
}

#[allow(
    clippy::disallowed_methods,
    reason = "this task is where the views get their time from"
)]
fn clock() -> Instant {
    Instant::now()
}
