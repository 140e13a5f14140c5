//! The task that keeps this process among the members and knows the others.
//!
//! It writes a heartbeat and reads the members once per interval, each under a deadline, and
//! turns what it reads into [`View`]s ([`crate::view`] has the rules). It ends when it is told to
//! leave, when the [`Membership`] is dropped (the others then see a lease lapse, as after a
//! crash), or when another run has taken this member's name over; [`Membership::failed`] tells.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::tick::Tick;
use clientmcp_core::timings::Timings;
use prometheus::{IntCounter, IntGaugeVec, Registry};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::member::{Lease, Member, MemberState, ObservedMember, Role};
use crate::metrics;
use crate::store::{Beat, Joined, Store, StoreError};
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
    store_answers: Arc<AtomicBool>,
    started: Instant,
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
        let lease = Lease {
            lasts: timings.lease,
            tombstone: timings.grace,
        };
        join(&*store, &member, lease, probe).await?;
        let mut known = MembershipView::new(lease);
        known.handle_members(Tick(started.elapsed()), store.members().await?);

        let (view_tx, view) = watch::channel(known.view().clone());
        let (pauses_tx, pauses) = watch::channel(0);
        let (end_tx, end) = watch::channel(End::Running);
        let (commands, commands_rx) = mpsc::channel(8);
        let store_answers = Arc::new(AtomicBool::new(true));
        let task = Task {
            store,
            member,
            lease,
            interval: timings.heartbeat,
            known,
            started,
            checked: started,
            failing_since: None,
            store_answers: store_answers.clone(),
            metrics: Metrics::new(registry),
            view: view_tx,
            pauses: pauses_tx,
            end: end_tx,
        };
        task.metrics.show(&task.known);
        tokio::spawn(task.run(commands_rx));
        Ok(Self {
            view,
            pauses,
            end,
            commands,
            store_answers,
            started,
        })
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
        self.store_answers.load(Ordering::Relaxed)
    }

    /// The clock by which [`Lost::since`](crate::view::Lost::since) counts.
    #[must_use]
    pub fn now(&self) -> Tick {
        Tick(self.started.elapsed())
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

/// What the task owns.
struct Task {
    store: Arc<dyn Store>,
    member: Member,
    lease: Lease,
    interval: Duration,
    known: MembershipView,
    started: Instant,
    /// When the task was last seen to run.
    checked: Instant,
    failing_since: Option<Instant>,
    store_answers: Arc<AtomicBool>,
    metrics: Metrics,
    view: watch::Sender<Arc<View>>,
    pauses: watch::Sender<u64>,
    end: watch::Sender<End>,
}

impl Task {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            let end = tokio::select! {
                _ = ticks.tick() => self.round().await,
                command = commands.recv() => match command {
                    Some(Command::SetState(state, done)) => self.set_state(state, done).await,
                    Some(Command::Leave(done)) => return self.leave(done).await,
                    None => return,
                },
            };
            if end != End::Running {
                self.end.send_replace(end);
                return;
            }
        }
    }

    /// One heartbeat and one look at the members, at the same time: neither waits for the other.
    async fn round(&mut self) -> End {
        self.note_pause();
        let (beat, members) = tokio::join!(
            timeout(
                self.interval,
                self.store.heartbeat(&self.member, self.lease)
            ),
            timeout(self.interval, self.store.members()),
        );
        self.note_pause();
        match in_time(beat) {
            Ok(Beat::Renewed) => self.take(in_time(members)),
            Ok(Beat::Superseded { by }) => {
                tracing::error!(%by, "another run has taken this member's name over");
                return End::Superseded { by };
            }
            // A store that takes no heartbeats knows nothing of leases either.
            Err(error) => self.take(Err(error)),
        }
        End::Running
    }

    async fn set_state(
        &mut self,
        state: MemberState,
        done: oneshot::Sender<Result<(), StoreError>>,
    ) -> End {
        tracing::info!(?state, "changing state");
        self.member.state = state;
        let beat = timeout(
            self.interval,
            self.store.heartbeat(&self.member, self.lease),
        )
        .await;
        // Whoever asked may have given up; the state is set all the same.
        let _ = done.send(in_time(beat).map(|_| ()));
        self.round().await
    }

    async fn leave(self, done: oneshot::Sender<()>) {
        let leave = self.store.leave(&self.member.id, self.member.incarnation);
        match in_time(timeout(self.interval, leave).await) {
            Ok(()) => tracing::info!("left the cluster"),
            Err(error) => tracing::warn!(%error, "could not say that this member leaves"),
        }
        self.end.send_replace(End::Left);
        let _ = done.send(());
    }

    fn take(&mut self, members: Result<Vec<ObservedMember>, StoreError>) {
        let now = Tick(self.started.elapsed());
        match members {
            Ok(members) => {
                self.note_answer();
                let before = self.known.view().clone();
                if self.known.handle_members(now, members) {
                    log_changes(&before, self.known.view());
                    self.metrics.show(&self.known);
                    self.view.send_replace(self.known.view().clone());
                }
            }
            Err(error) => {
                self.note_failure(&error);
                self.known.handle_failure();
            }
        }
    }

    /// One warning for each time that the store is away, however long that is.
    fn note_failure(&mut self, error: &StoreError) {
        self.metrics.failures.inc();
        self.store_answers.store(false, Ordering::Relaxed);
        if self.failing_since.is_none() {
            self.failing_since = Some(clock());
            tracing::warn!(%error, "the store fails; members and ring stay as they were");
        } else {
            tracing::debug!(%error, "the store still fails");
        }
    }

    fn note_answer(&mut self) {
        if let Some(since) = self.failing_since.take() {
            self.store_answers.store(true, Ordering::Relaxed);
            tracing::info!(
                after_ms = since.elapsed().as_millis(),
                "the store answers again"
            );
        }
    }

    /// Between two looks there is at most one interval: one to wait, or one for the store to
    /// answer in. More than two means that this process did not run.
    fn note_pause(&mut self) {
        let now = clock();
        let gap = now - std::mem::replace(&mut self.checked, now);
        if gap > self.interval * 2 {
            tracing::warn!(gap_ms = gap.as_millis(), "this process was paused");
            self.metrics.pauses.inc();
            self.pauses.send_modify(|pauses| *pauses += 1);
        }
    }
}

fn in_time<T>(
    answer: Result<Result<T, StoreError>, tokio::time::error::Elapsed>,
) -> Result<T, StoreError> {
    answer.unwrap_or_else(|_| Err(StoreError::Unreachable("no answer in time".into())))
}

fn log_changes(before: &View, after: &View) {
    for member in after.members() {
        let known = before.member(&member.id);
        if known.is_none_or(|known| known.incarnation != member.incarnation) {
            tracing::info!(
                member = %member.id, incarnation = %member.incarnation, address = member.address,
                "member joined"
            );
        } else if known.is_some_and(|known| known.state != member.state) {
            tracing::info!(member = %member.id, state = ?member.state, "member changed its state");
        }
    }
    for lost in after.lost() {
        if !before.lost().contains(lost) {
            let member = &lost.member;
            tracing::info!(
                member = %member.id, incarnation = %member.incarnation, how = ?lost.how,
                "member gone"
            );
        }
    }
}

struct Metrics {
    members: IntGaugeVec,
    failures: IntCounter,
    pauses: IntCounter,
}

impl Metrics {
    fn new(registry: &Registry) -> Self {
        Self {
            members: metrics::gauges(
                registry,
                "clientmcp_members",
                "Members of the cluster, as this process sees them.",
                &["role", "state"],
            ),
            failures: metrics::counter(
                registry,
                "clientmcp_membership_store_failures_total",
                "Heartbeats or looks at the members that the store did not answer.",
            ),
            pauses: metrics::counter(
                registry,
                "clientmcp_process_pauses_total",
                "Times that this process did not run for more than a heartbeat.",
            ),
        }
    }

    fn show(&self, known: &MembershipView) {
        for role in [Role::Node, Role::Router] {
            for state in [MemberState::Ready, MemberState::Draining] {
                let alike = |m: &&Member| m.role == role && m.state == state;
                let count = known.view().members().iter().filter(alike).count();
                self.members
                    .with_label_values(&[role.as_str(), state.as_str()])
                    .set(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "this task is where the views get their time from"
)]
fn clock() -> Instant {
    Instant::now()
}
