//! Tasks, and who drives them.

use bytes::Bytes;
use clientmcp_cluster::store::{Driving, StoredTask, TaskChange, TaskKey};
use clientmcp_core::ids::TaskId;

use crate::{World, client, ms};

const LEASE_MS: u64 = 300;
const HOUR_MS: u64 = 3_600_000;

fn key(bits: u128) -> TaskKey {
    TaskKey {
        client_id: client("app"),
        id: TaskId::from_random(bits),
    }
}

fn stored(stamp: u64) -> StoredTask {
    StoredTask {
        stamp,
        state: format!("state {stamp}").into(),
        request: "request".into(),
    }
}

fn change(stamp: u64, driving: Driving) -> TaskChange {
    TaskChange {
        stamp,
        state: format!("state {stamp}").into(),
        request: None,
        ttl: None,
        driving,
    }
}

async fn create_for(world: &World, bits: u128, new: &StoredTask, ttl_ms: u64, driver: u64) -> bool {
    let (ttl, lease) = (ms(ttl_ms), ms(LEASE_MS));
    let task = key(bits);
    let created = world.store.create_task(&task, new, ttl, driver, lease);
    created.await.unwrap()
}

async fn create(world: &World, bits: u128, driver: u64) {
    assert!(create_for(world, bits, &stored(1), HOUR_MS, driver).await);
}

async fn change_task(world: &World, bits: u128, before: u64, change: &TaskChange) -> bool {
    let task = key(bits);
    let changed = world.store.change_task(&task, before, change);
    changed.await.unwrap()
}

async fn drive(world: &World, bits: u128, driver: u64) -> Option<StoredTask> {
    drive_for(world, bits, driver, LEASE_MS).await
}

async fn drive_for(world: &World, bits: u128, driver: u64, ms_: u64) -> Option<StoredTask> {
    let task = key(bits);
    let driven = world.store.drive_task(&task, driver, ms(ms_));
    driven.await.unwrap()
}

async fn keep(world: &World, bits: u128, driver: u64) -> Option<u64> {
    let task = key(bits);
    let kept = world.store.keep_driving(&task, driver, ms(LEASE_MS));
    kept.await.unwrap()
}

async fn undriven(world: &World) -> Vec<TaskKey> {
    world.store.undriven_tasks(10).await.unwrap()
}

pub(crate) async fn a_task_is_created_once_and_found_again(world: &World) {
    assert_eq!(world.store.task(&key(1)).await, Ok(None));
    let state = Bytes::from_static(b"\xffany\0");
    let new = StoredTask {
        stamp: u64::MAX,
        state: state.clone(),
        request: Bytes::new(),
    };
    for _ in 0..2 {
        assert!(create_for(world, 1, &new, HOUR_MS, 7).await);
    }
    assert!(!create_for(world, 1, &stored(2), HOUR_MS, 8).await);
    assert_eq!(world.store.task(&key(1)).await, Ok(Some(new)));
    // Under its client ID alone.
    let foreign = TaskKey {
        client_id: client("other"),
        ..key(1)
    };
    assert_eq!(world.store.task(&foreign).await, Ok(None));
}

pub(crate) async fn a_change_counts_on_the_stamp_that_it_was_made_on(world: &World) {
    create(world, 1, 7).await;
    let second = TaskChange {
        request: Some("next".into()),
        ..change(2, Driving::Kept)
    };
    assert!(change_task(world, 1, 1, &second).await);
    assert!(change_task(world, 1, 1, &second).await, "sent twice");
    assert!(!change_task(world, 1, 1, &change(3, Driving::Kept)).await);
    assert!(change_task(world, 1, 2, &change(4, Driving::Kept)).await);
    let expected = StoredTask {
        request: "next".into(),
        ..stored(4)
    };
    assert_eq!(drive(world, 1, 7).await, Some(expected));
    assert!(!change_task(world, 2, 0, &change(5, Driving::Wanted)).await);
    assert_eq!(world.store.task(&key(2)).await, Ok(None));
}

pub(crate) async fn a_task_is_driven_by_one_at_a_time(world: &World) {
    create(world, 1, 7).await;
    assert_eq!(drive(world, 1, 8).await, None);
    assert_eq!(keep(world, 1, 8).await, None);
    assert_eq!(drive(world, 1, 7).await, Some(stored(1)));
    for _ in 0..3 {
        world.elapse(ms(LEASE_MS / 2)).await;
        assert_eq!(keep(world, 1, 7).await, Some(1));
    }
    assert_eq!(undriven(world).await, []);
    // A driver that stops gives it away.
    assert_eq!(drive_for(world, 1, 7, 0).await, Some(stored(1)));
    assert_eq!(undriven(world).await, [key(1)]);
    assert_eq!(drive(world, 1, 8).await, Some(stored(1)));
}

pub(crate) async fn a_task_whose_driver_is_lost_is_listed_and_taken_over(world: &World) {
    create(world, 2, 7).await;
    world.elapse(ms(5)).await;
    create(world, 1, 7).await;
    world.elapse(ms(LEASE_MS + 10)).await;
    assert_eq!(undriven(world).await, [key(2), key(1)]);
    assert_eq!(world.store.undriven_tasks(1).await.unwrap(), [key(2)]);
    assert_eq!(drive(world, 2, 8).await, Some(stored(1)));
    assert_eq!(drive(world, 2, 9).await, None, "one of two gets it");
    assert_eq!(undriven(world).await, [key(1)]);
}

pub(crate) async fn a_driver_that_has_lost_its_task_is_told(world: &World) {
    create(world, 1, 7).await;
    world.elapse(ms(LEASE_MS + 10)).await;
    // Late, but nobody has taken it.
    assert_eq!(keep(world, 1, 7).await, Some(1));
    world.elapse(ms(LEASE_MS + 10)).await;
    drive(world, 1, 8).await.unwrap();
    assert_eq!(keep(world, 1, 7).await, None);
    assert_eq!(drive(world, 1, 7).await, None);
}

pub(crate) async fn what_needs_no_driver_is_not_listed_until_it_does(world: &World) {
    create(world, 1, 7).await;
    assert!(change_task(world, 1, 1, &change(2, Driving::Over)).await);
    world.elapse(ms(LEASE_MS + 10)).await;
    assert_eq!(undriven(world).await, []);
    assert_eq!(keep(world, 1, 7).await, None);
    assert_eq!(drive(world, 1, 7).await, None);
    assert!(change_task(world, 1, 2, &change(3, Driving::Wanted)).await);
    assert_eq!(undriven(world).await, [key(1)]);
    assert_eq!(drive(world, 1, 9).await, Some(stored(3)));
}

pub(crate) async fn a_task_is_forgotten_after_its_time(world: &World) {
    for bits in [1, 2] {
        assert!(create_for(world, bits, &stored(1), 400, 7).await);
    }
    let longer = TaskChange {
        ttl: Some(ms(HOUR_MS)),
        ..change(2, Driving::Kept)
    };
    assert!(change_task(world, 1, 1, &longer).await);
    world.elapse(ms(410)).await;
    assert!(world.store.task(&key(1)).await.unwrap().is_some());
    assert_eq!(world.store.task(&key(2)).await, Ok(None));
    assert_eq!(drive(world, 2, 7).await, None);
    assert_eq!(
        undriven(world).await,
        [key(1)],
        "nothing is left of the other"
    );
}
