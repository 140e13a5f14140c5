//! The task behind [`Membership`](super::Membership).

use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::timings::Timings;
use prometheus::{IntCounter, IntGaugeVec, Registry};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::pulse::Pulse;
use super::{Command, End, Membership, clock, lease};
use crate::member::{Lease, Member, MemberState, ObservedMember, Role};
use crate::metrics;
use crate::store::{Beat, Store, StoreError};
use crate::view::{MembershipView, View};

/// Commands that may wait for the task.
const COMMANDS: usize = 8;

/// What the task owns.
pub(super) struct Task {
    store: Arc<dyn Store>,
    member: Member,
    lease: Lease,
    interval: Duration,
    known: MembershipView,
    pulse: Arc<Pulse>,
    failing_since: Option<Instant>,
    metrics: Metrics,
    view: watch::Sender<Arc<View>>,
    pauses: watch::Sender<u64>,
    losses: watch::Sender<u64>,
    end: watch::Sender<End>,
}

impl Task {
    pub(super) fn spawn(
        store: Arc<dyn Store>,
        member: Member,
        known: MembershipView,
        timings: &Timings,
        registry: &Registry,
        started: Instant,
    ) -> Membership {
        let (view_tx, view) = watch::channel(known.view().clone());
        let (pauses_tx, pauses) = watch::channel(0);
        let (losses_tx, losses) = watch::channel(0);
        let (end_tx, end) = watch::channel(End::Running);
        let (commands, commands_rx) = mpsc::channel(COMMANDS);
        let pulse = Arc::new(Pulse::new(started));
        let task = Self {
            store,
            member,
            lease: lease(timings),
            interval: timings.heartbeat,
            known,
            pulse: pulse.clone(),
            failing_since: None,
            metrics: Metrics::new(registry),
            view: view_tx,
            pauses: pauses_tx,
            losses: losses_tx,
            end: end_tx,
        };
        task.metrics.show(&task.known);
        tokio::spawn(task.run(commands_rx));
        Membership {
            view,
            pauses,
            end,
            commands,
            losses,
            pulse,
            late_after: timings.heartbeat * 2,
        }
    }

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
            Ok(Beat::Renewed {
                store_micros,
                was_missing,
            }) => {
                self.pulse.note_store_time(store_micros);
                // While it was away it may have taken this member for dead, as it should.
                if was_missing && self.failing_since.is_none() {
                    tracing::warn!("the store had forgotten this member: it has lost data");
                    self.losses.send_modify(|losses| *losses += 1);
                }
                self.take(in_time(members));
            }
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
        self.note_pause();
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
        let now = self.pulse.now();
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
        self.pulse.note_store(false);
        if self.failing_since.is_none() {
            self.failing_since = Some(clock());
            tracing::warn!(%error, "the store fails; members and ring stay as they were");
        } else {
            tracing::debug!(%error, "the store still fails");
        }
    }

    fn note_answer(&mut self) {
        if let Some(since) = self.failing_since.take() {
            self.pulse.note_store(true);
            self.losses.send_modify(|losses| *losses += 1);
            tracing::info!(
                after_ms = since.elapsed().as_millis(),
                "the store answers again"
            );
        }
    }

    /// Between two looks there is at most one interval: one to wait, or one for the store to
    /// answer in. More than two means that this process did not run.
    fn note_pause(&mut self) {
        let gap = self.pulse.look();
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
