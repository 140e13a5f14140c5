//! A store that loses this member, that comes back, and whose clock is wrong; a process that did
//! not run.

use std::sync::Arc;

use clientmcp_cluster::membership::Membership;
use clientmcp_cluster::store::faulty::Fault;
use clientmcp_cluster::store::{FaultyStore, MemoryStore, Store};
use tokio::time::{advance, sleep};

use crate::{SECOND, join, member, ring};

fn losses(membership: &Membership) -> u64 {
    *membership.losses().borrow()
}

#[tokio::test(start_paused = true)]
async fn a_member_learns_that_the_store_has_lost_it() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    sleep(SECOND * 5).await;
    assert_eq!(losses(&n1), 0);
    store.forget();
    sleep(SECOND * 5).await;
    assert_eq!(losses(&n1), 1);
    assert_eq!(ring(&n1), ["n1"]);
    assert_eq!(
        store.members().await.unwrap().len(),
        1,
        "it is entered again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_answers_again_may_have_lost_something() {
    for fault in [Fault::Unreachable, Fault::Hang, Fault::LostAnswer] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let n1 = join(&store, member("n1", 1)).await;
        sleep(SECOND * 5).await;
        store.break_down(fault);
        sleep(SECOND * 30).await;
        assert_eq!(losses(&n1), 0, "{fault:?}");
        store.heal();
        sleep(SECOND * 5).await;
        assert_eq!(losses(&n1), 1, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_who_was_cut_off_reads_again() {
    let inner = Arc::new(MemoryStore::new());
    let cut_off = Arc::new(FaultyStore::new(inner.clone()));
    let n1 = join(&cut_off, member("n1", 1)).await;
    let n2 = join(&inner, member("n2", 2)).await;
    sleep(SECOND * 5).await;
    cut_off.break_down(Fault::Unreachable);
    sleep(SECOND * 30).await;
    assert!(!n1.store_answers() && n2.store_answers());
    assert_eq!((ring(&n1).len(), ring(&n2).len()), (2, 1));
    cut_off.heal();
    sleep(SECOND * 5).await;
    assert_eq!((losses(&n1), losses(&n2)), (1, 0));
    assert_eq!((ring(&n1).len(), ring(&n2).len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn the_stores_clock_is_known_while_the_store_is_away() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let n1 = join(&store, member("n1", 1)).await;
    sleep(SECOND * 5).await;
    store.break_down(Fault::Unreachable);
    sleep(SECOND * 60).await;
    let away = n1.store_micros().unwrap();
    store.heal();
    sleep(SECOND * 5).await;
    let back = n1.store_micros().unwrap();
    assert!((64_000_000..66_000_000).contains(&away), "{away}");
    assert_eq!(back - away, 5_000_000, "the estimate was right");
}

/// The store's clock says what it likes: a member goes by the time that it has waited itself.
#[tokio::test(start_paused = true)]
async fn a_store_with_another_clock_changes_no_view_and_lowers_no_estimate() {
    let first = Arc::new(MemoryStore::new());
    let store = Arc::new(FaultyStore::new(first.clone()));
    let n1 = join(&store, member("n1", 1)).await;
    let n2 = join(&store, member("n2", 2)).await;
    sleep(SECOND * 100).await;
    let before = n1.store_micros().unwrap();
    // Its clock begins at zero, and it is empty.
    store.replace(Arc::new(MemoryStore::new()));
    sleep(SECOND * 20).await;
    assert_eq!((ring(&n1).len(), ring(&n2).len()), (2, 2));
    assert!(n1.store_micros().unwrap() >= before + 20_000_000);
    assert_eq!((losses(&n1), losses(&n2)), (1, 1));
    assert!(n1.view().lost().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_did_not_run_is_late_until_its_task_has_run() {
    let store = Arc::new(MemoryStore::new());
    let n1 = join(&store, member("n1", 1)).await;
    sleep(SECOND * 10).await;
    assert!(!n1.is_late());
    // Nothing else runs before the next await.
    advance(SECOND * 4).await;
    let late_or_noticed = n1.is_late() || n1.pause_count() == 1;
    assert!(late_or_noticed);
    sleep(SECOND * 3).await;
    assert!(!n1.is_late());
    assert_eq!(n1.pause_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_makes_nobody_late() {
    for fault in [Fault::Unreachable, Fault::Hang, Fault::Delay(SECOND * 5)] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let n1 = join(&store, member("n1", 1)).await;
        store.break_down(fault);
        for _ in 0..100 {
            sleep(SECOND / 5).await;
            assert!(!n1.is_late(), "{fault:?}");
        }
        assert_eq!(n1.pause_count(), 0, "{fault:?}");
    }
}
