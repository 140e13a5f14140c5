//! The membership task, on paused time: what it writes, what it sees, and what it does when the
//! store fails or another run has its name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod losses;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clientmcp_cluster::member::{Member, MemberState, Role, Standing};
use clientmcp_cluster::membership::{Failure, JoinError, Membership};
use clientmcp_cluster::store::faulty::{Fault, Operation};
use clientmcp_cluster::store::{FaultyStore, MemoryStore, Store, StoreError};
use clientmcp_cluster::view::Loss;
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::timings::Timings;
use prometheus::Registry;
use tokio::time::{advance, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn member(name: &str, incarnation: u64) -> Member {
    Member {
        id: MemberId::parse(name).unwrap(),
        incarnation: Incarnation(incarnation),
        role: Role::Node,
        state: MemberState::Ready,
        address: format!("{name}-{incarnation}:7000"),
        admin_address: format!("{name}-{incarnation}:9090"),
        public_url: None,
        version: "0.1.0".into(),
    }
}

async fn join(store: &Arc<impl Store>, member: Member) -> Membership {
    try_join(store, member, |_| panic!("nobody has this name"))
        .await
        .unwrap()
}

/// Starts with a probe that finds `answer` at a member's address.
async fn try_join(
    store: &Arc<impl Store>,
    member: Member,
    answer: impl Fn(Member) -> Option<Incarnation>,
) -> Result<Membership, JoinError> {
    let timings = Timings::default();
    let probe = |member| std::future::ready(answer(member));
    Membership::start(store.clone(), member, &timings, &Registry::new(), probe).await
}

fn ring(membership: &Membership) -> Vec<String> {
    let view = membership.view();
    view.ring()
        .members()
        .iter()
        .map(ToString::to_string)
        .collect()
}

async fn standing(store: &impl Store, name: &str) -> Standing {
    let members = store.members().await.unwrap();
    let named = members.iter().find(|seen| seen.member.id.as_str() == name);
    named.expect("the member is listed").standing
}

#[tokio::test(start_paused = true)]
async fn members_find_each_other() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    assert_eq!(ring(&n1), ["n1"]);
    let mut changed = n1.changed();
    changed.mark_unchanged();
    let n2 = join(&store, member("n2", 2)).await;
    assert_eq!(ring(&n2), ["n1", "n2"]);
    timeout(SECOND * 2, changed.changed())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ring(&n1), ["n1", "n2"]);
    let version = n1.view().version();
    sleep(SECOND * 60).await;
    assert_eq!(n1.view().version(), version, "heartbeats alone are no news");
}

#[tokio::test(start_paused = true)]
async fn who_leaves_is_gone_with_the_next_look() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    let n2 = join(&store, member("n2", 2)).await;
    sleep(SECOND * 2).await;
    n2.leave().await;
    n2.leave().await;
    sleep(SECOND + SECOND / 10).await;
    assert_eq!(ring(&n1), ["n1"]);
    assert_eq!(n1.view().lost()[0].how, Loss::Left);
    sleep(SECOND * 5).await;
    assert!(matches!(
        standing(&*store, "n2").await,
        Standing::Left { .. }
    ));
    assert!(
        timeout(SECOND, n2.failed()).await.is_err(),
        "it left as it was told to"
    );
}

#[tokio::test(start_paused = true)]
async fn who_crashes_is_gone_with_its_lease() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    let n2 = join(&store, member("n2", 2)).await;
    // Between two heartbeats.
    sleep(SECOND * 11 / 2).await;
    drop(n2);
    sleep(SECOND * 3 / 2).await;
    assert_eq!(ring(&n1), ["n1", "n2"]);
    sleep(SECOND * 3).await;
    assert_eq!(ring(&n1), ["n1"]);
    assert_eq!(n1.view().lost()[0].how, Loss::Lapsed);
    let gone_for = n1.now().since(n1.view().lost()[0].since);
    assert!(gone_for < SECOND * 5 / 2, "{gone_for:?}");
}

#[tokio::test(start_paused = true)]
async fn a_state_is_written_at_once_and_again() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    let n2 = join(&store, member("n2", 2)).await;
    sleep(SECOND / 2).await;
    n2.set_state(MemberState::Draining).await.unwrap();
    let written = store.members().await.unwrap()[1].member.state;
    assert_eq!(written, MemberState::Draining);
    assert_eq!(ring(&n2), ["n1"]);
    sleep(SECOND * 10).await;
    assert_eq!(ring(&n1), ["n1"]);
    let view = n1.view();
    assert_eq!(
        view.member(&MemberId::parse("n2").unwrap()).unwrap().state,
        MemberState::Draining
    );
}

#[tokio::test(start_paused = true)]
async fn a_state_that_the_store_did_not_take_is_written_later() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let n1 = join(&store, member("n1", 1)).await;
    store.inject(Operation::Heartbeat, Fault::Unreachable);
    let refused = n1.set_state(MemberState::Draining).await;
    assert!(matches!(refused, Err(StoreError::Unreachable(_))));
    sleep(SECOND * 2).await;
    assert_eq!(
        store.members().await.unwrap()[0].member.state,
        MemberState::Draining
    );
}

#[tokio::test(start_paused = true)]
async fn a_name_whose_run_answers_is_refused() {
    let store = Arc::new(MemoryStore::new());
    let old = join(&store, member("n1", 1)).await;
    let refused = try_join(&store, member("n1", 2), |taken| {
        assert_eq!(taken, member("n1", 1));
        Some(Incarnation(1))
    })
    .await
    .unwrap_err();
    assert!(refused.to_string().contains("n1-1:7000"), "{refused}");
    assert!(matches!(refused, JoinError::Taken { .. }));
    sleep(SECOND * 5).await;
    assert_eq!(old.view().members()[0].incarnation, Incarnation(1));
}

#[tokio::test(start_paused = true)]
async fn a_name_whose_run_does_not_answer_is_taken_over_and_the_run_is_told() {
    for answer in [None, Some(Incarnation(9))] {
        let store = Arc::new(MemoryStore::new());
        let old = join(&store, member("n1", 1)).await;
        let new = try_join(&store, member("n1", 2), |_| answer).await.unwrap();
        assert_eq!(new.view().members()[0].incarnation, Incarnation(2));
        let failed = timeout(SECOND * 2, old.failed()).await.unwrap();
        assert_eq!(failed, Failure::Superseded { by: Incarnation(2) });
        sleep(SECOND * 10).await;
        assert_eq!(ring(&new), ["n1"]);
        assert_eq!(new.view().members()[0].incarnation, Incarnation(2));
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_where_the_answer_is_known() {
    let unasked = |_| panic!("this needs no probe");
    let store = Arc::new(MemoryStore::new());
    // The address is our own: whoever had it is gone.
    drop(join(&store, member("n1", 1)).await);
    let restarted = Member {
        incarnation: Incarnation(2),
        ..member("n1", 1)
    };
    let second = try_join(&store, restarted, unasked).await.unwrap();
    // The lease has lapsed.
    drop(second);
    sleep(SECOND * 4).await;
    try_join(&store, member("n1", 3), unasked).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_a_store_nobody_starts() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    store.break_down(Fault::Unreachable);
    let refused = try_join(&store, member("n1", 1), |_| None)
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        JoinError::Store(StoreError::Unreachable(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_changes_nothing() {
    for fault in [Fault::Unreachable, Fault::Hang, Fault::Delay(SECOND * 5)] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let n1 = join(&store, member("n1", 1)).await;
        let n2 = join(&store, member("n2", 2)).await;
        sleep(SECOND * 5).await;
        let version = n1.view().version();
        store.break_down(fault);
        sleep(SECOND * 60).await;
        assert_eq!(ring(&n1), ["n1", "n2"], "{fault:?}");
        assert!(!n1.store_answers() && !n2.store_answers());
        store.heal();
        sleep(SECOND * 20).await;
        assert_eq!(ring(&n1), ["n1", "n2"], "{fault:?}");
        assert!(n1.store_answers() && n2.store_answers());
        assert_eq!(n1.view().version(), version, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whose_heartbeats_are_not_taken_knows_nothing_of_other_leases() {
    let inner = Arc::new(MemoryStore::new());
    let cut_off = Arc::new(FaultyStore::new(inner.clone()));
    let n1 = join(&cut_off, member("n1", 1)).await;
    let n2 = join(&inner, member("n2", 2)).await;
    sleep(SECOND * 5).await;
    for _ in 0..20 {
        cut_off.inject(Operation::Heartbeat, Fault::Unreachable);
    }
    sleep(SECOND * 5).await;
    assert_eq!(ring(&n2), ["n2"]);
    drop(n2);
    sleep(SECOND * 5).await;
    assert!(matches!(
        standing(&*inner, "n2").await,
        Standing::Lapsed { .. }
    ));
    assert_eq!(ring(&n1), ["n1", "n2"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_lost_everything_empties_no_ring() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    let _n2 = join(&store, member("n2", 2)).await;
    sleep(SECOND * 5).await;
    let mut changed = n1.changed();
    changed.mark_unchanged();
    store.forget();
    assert!(timeout(SECOND * 20, changed.changed()).await.is_err());
    assert_eq!(ring(&n1), ["n1", "n2"]);
    assert_eq!(store.members().await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn heartbeats_do_not_stop_when_answers_get_lost() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let n1 = join(&store, member("n1", 1)).await;
    sleep(SECOND / 2).await;
    let before = store.calls(Operation::Heartbeat);
    store.break_down(Fault::LostAnswer);
    sleep(SECOND * 10).await;
    assert_eq!(store.calls(Operation::Heartbeat) - before, 10);
    store.heal();
    assert!(matches!(
        standing(&*store, "n1").await,
        Standing::Alive { .. }
    ));
    assert!(timeout(SECOND, n1.failed()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_process_is_noticed() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    sleep(SECOND * 10).await;
    let mut pauses = n1.pauses();
    assert_eq!(*pauses.borrow_and_update(), 0);
    advance(SECOND * 4).await;
    timeout(SECOND, pauses.changed()).await.unwrap().unwrap();
    assert_eq!(*pauses.borrow_and_update(), 1);
    sleep(SECOND * 10).await;
    assert_eq!(*pauses.borrow_and_update(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_absence_of_the_store_is_one_warning() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let registry = Registry::new();
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let timings = Timings::default();
    let probes = AtomicUsize::new(0);
    let probe = |_| {
        probes.fetch_add(1, Ordering::Relaxed);
        std::future::ready(None)
    };
    let _n1 = Membership::start(store.clone(), member("n1", 1), &timings, &registry, probe)
        .await
        .unwrap();
    for episode in 1..=3 {
        store.break_down(Fault::Unreachable);
        sleep(SECOND * 30).await;
        store.heal();
        sleep(SECOND * 30).await;
        assert_eq!(log.lines(), episode, "{log:?}");
    }
    let metrics = registry.gather();
    let value = |name: &str| {
        let family = metrics.iter().find(|family| family.name() == name).unwrap();
        family.get_metric()[0].clone()
    };
    let failures = value("clientmcp_membership_store_failures_total")
        .get_counter()
        .get_value();
    assert!((87.0..=93.0).contains(&failures), "{failures}");
    assert_eq!(probes.load(Ordering::Relaxed), 0);
}

/// What was logged.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn lines(&self) -> usize {
        self.0
            .lock()
            .unwrap()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
