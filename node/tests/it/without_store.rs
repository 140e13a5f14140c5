//! Registering while the store is away, and what becomes of it (SPEC.md §4.10).

use clientmcp_cluster::store::Store as _;
use clientmcp_cluster::store::faulty::Fault;
use clientmcp_core::claim::Epoch;
use tokio::time::sleep;

use crate::scene::{PARAMS, connect, for_instance, link, resume, resuming};
use crate::world::{CLIENT, World, eventually, foreign_claim};

#[tokio::test]
async fn an_app_registers_without_the_store_and_is_written_when_it_is_back() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut link = link(&world, &node, "node-1").await;
    // The node knows the store's clock from its first heartbeat on.
    sleep(world.timings.heartbeat * 2).await;
    world.store.break_down(Fault::Unreachable);
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let sent = link.send(for_instance("i1"), PARAMS);
    app.echo().await;
    link.result(sent).await;
    world.store.heal();
    eventually("it is written", || async {
        let record = world.record(CLIENT).await;
        record.and_then(|record| record.holder).is_some()
    })
    .await;
}

#[tokio::test]
async fn without_the_store_the_younger_register_wins() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    sleep(world.timings.heartbeat * 2).await;
    world.store.break_down(Fault::Unreachable);
    let mut old = connect(&world, &one, "node-1").await;
    resume(&mut old, "i1", 1).await;
    let mut new = connect(&world, &two, "node-2").await;
    resume(&mut new, "i2", 1).await;
    assert_eq!(old.expect_close().await.0, 4409);
    world.store.heal();
    eventually("the younger is written", || async {
        let holder = world.record(CLIENT).await.and_then(|record| record.holder);
        holder.is_some_and(|holder| holder.node.as_str() == "node-2")
    })
    .await;
}

#[tokio::test]
async fn a_store_that_lost_everything_is_filled_again_at_once() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let before = world.record(CLIENT).await.unwrap();
    world.memory.forget();
    eventually("claims are written again", || async {
        world.record(CLIENT).await == Some(before.clone())
    })
    .await;
    // What it offers as well.
    let hash = before.hashes.tools;
    assert!(world.store.content(&hash).await.unwrap().is_some());
}

#[tokio::test]
async fn without_the_store_a_late_connection_of_an_instance_displaces_nothing() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    sleep(world.timings.heartbeat * 2).await;
    world.store.break_down(Fault::Unreachable);
    let mut newer = connect(&world, &one, "node-1").await;
    resume(&mut newer, "i1", 2).await;
    for (node, id) in [(&two, "node-2"), (&one, "node-1")] {
        let mut late = connect(&world, node, id).await;
        late.send(resuming("i1", 1)).await;
        assert_eq!(late.expect_close().await.0, 1000);
    }
    let mut link = link(&world, &one, "node-1").await;
    let sent = link.send(for_instance("i1"), PARAMS);
    newer.echo().await;
    link.result(sent).await;
}

/// The clock of the store, as a node estimates it, is no order: the younger register wins.
#[tokio::test]
async fn a_provisional_claim_goes_above_a_holder_whose_epoch_lies_ahead() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    sleep(world.timings.heartbeat * 2).await;
    let far = Epoch(u64::MAX / 2);
    let mut ahead = foreign_claim();
    ahead.seen = far;
    world.store.claim(&ahead).await.unwrap();
    let mut old = connect(&world, &one, "node-1").await;
    resume(&mut old, "i1", 1).await;
    world.store.break_down(Fault::Unreachable);
    let mut new = connect(&world, &two, "node-2").await;
    resume(&mut new, "i2", 1).await;
    assert_eq!(old.expect_close().await.0, 4409);
    world.store.heal();
    eventually("the younger is written", || async {
        let record = world.record(CLIENT).await.unwrap();
        let holder = record.holder.map(|holder| holder.node);
        record.epoch > far && holder.is_some_and(|node| node.as_str() == "node-2")
    })
    .await;
}
