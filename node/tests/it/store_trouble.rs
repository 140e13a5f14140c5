//! What a node does while the store fails, and afterwards.

use clientmcp_cluster::store::faulty::{Fault, Operation};
use clientmcp_cluster::store::{ClaimRequest, Claimed, Store as _};
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{ClientId, MemberId};
use clientmcp_proto::v1::absent::Why;
use clientmcp_proto::v1::not_here;
use clientmcp_proto::v1::outcome::Outcome as Word;
use tokio::time::sleep;

use crate::app::{App, register, tool};
use crate::router::Router;
use crate::world::{CLIENT, World, eventually, foreign_claim};

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_read_back() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    world.store.inject(Operation::Claim, Fault::LostAnswer);
    app.register("i1", 1).await;
    assert_eq!(world.store.calls(Operation::Claim), 2);
    assert!(world.record(CLIENT).await.unwrap().holder.is_some());
}

#[tokio::test]
async fn without_a_store_a_register_is_to_be_tried_later() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    world.store.break_down(Fault::Unreachable);
    app.send(register("i1", 1, &[tool("echo")])).await;
    assert_eq!(app.expect_close().await.0, 1013);
}

#[tokio::test]
async fn a_claim_that_was_made_unheard_gives_way_to_a_provisional_one() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    for _ in 0..3 {
        world.store.inject(Operation::Claim, Fault::LostAnswer);
    }
    app.send(register("i1", 1, &[tool("echo")])).await;
    app.expect("registered").await;
    let unheard = world.record(CLIENT).await.unwrap().epoch;
    eventually("the provisional claim is written", || async {
        let record = world.record(CLIENT).await.unwrap();
        record.holder.is_some() && record.epoch > unheard
    })
    .await;
}

#[tokio::test]
async fn a_further_register_stands_without_the_store_and_is_written_later() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let first = app.register("i1", 1).await;
    world.store.break_down(Fault::Unreachable);
    app.send(register("i1", 1, &[tool("other")])).await;
    let second = app.expect("registered").await;
    assert_ne!(first["hashes"], second["hashes"]);
    world.store.heal();
    // The next one is written at once.
    app.send(register("i1", 1, &[tool("third")])).await;
    let third = app.expect("registered").await;
    let record = world.record(CLIENT).await.unwrap();
    assert_eq!(third["hashes"]["tools"], record.hashes.tools.to_string());
}

#[tokio::test]
async fn a_release_is_tried_until_the_store_has_it() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    world.store.inject(Operation::Release, Fault::Unreachable);
    app.close(1000).await;
    eventually("it is released", || async {
        world.record(CLIENT).await.unwrap().holder.is_none()
    })
    .await;
}

#[tokio::test]
async fn a_lookup_without_a_store_says_so() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    world.store.break_down(Fault::Unreachable);
    let sent = link.call(CLIENT);
    match link.outcome(sent).await {
        Word::NotHere(why) => assert_eq!(why.why(), not_here::Why::StoreUnreachable),
        other => panic!("{other:?}"),
    }
}

/// The node that is asked does not hold the client ID, and the store is away for everybody: the
/// nodes know it among themselves.
#[tokio::test]
async fn without_a_store_the_holder_is_found_among_the_nodes() {
    for fault in [Fault::Unreachable, Fault::Hang] {
        let world = World::new();
        let holder = world.node("node-1").await;
        let asked = world.node("node-2").await;
        let mut app = App::connect(&holder, "node-1", &world.secrets, &world.token(CLIENT)).await;
        app.register("i1", 1).await;
        let router = Router::connect(&asked, "node-2", &world.secrets).await;
        let mut link = router.link().await;
        // As soon as the nodes know each other.
        loop {
            let sent = link.call(CLIENT);
            if matches!(link.outcome(sent).await, Word::Elsewhere(_)) {
                break;
            }
            sleep(world.timings.heartbeat).await;
        }
        world.store.break_down(fault);
        let epoch = world.memory.record(&ClientId::parse(CLIENT).unwrap()).await;
        let epoch = epoch.unwrap().unwrap().epoch.0;
        let sent = link.call(CLIENT);
        match link.outcome(sent).await {
            Word::Elsewhere(to) => {
                assert_eq!((to.node_id.as_str(), to.epoch), ("node-1", epoch));
            }
            other => panic!("{other:?}"),
        }
        world.store.heal();
    }
}

/// As after SIGSTOP and SIGCONT: everything in this process stands still for longer than the
/// lease, and somebody else takes the client ID over meanwhile.
#[tokio::test]
async fn a_node_that_was_paused_reads_its_claims_before_it_dispatches_anything() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    std::thread::sleep(world.timings.lease * 2);
    let newer = ClaimRequest {
        began: Epoch(1 << 52),
        ..foreign_claim()
    };
    let claimed = world.memory.claim(&newer).await.unwrap();
    assert!(matches!(claimed, Claimed::Taken { .. }));
    // The app is let go, whatever anybody tells this node.
    assert_eq!(app.expect_close().await.0, 4409);
    let sent = link.call(CLIENT);
    assert!(matches!(
        link.outcome(sent).await,
        Word::Absent(_) | Word::Elsewhere(_)
    ));
}

/// The same, and the store has lost everything: the claim is written again.
#[tokio::test]
async fn a_store_that_lost_a_claim_gets_it_back() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let hashes = app.register("i1", 1).await["hashes"].clone();
    world.memory.forget();
    assert!(world.record(CLIENT).await.is_none());
    // A pause makes the node read its claims at once.
    std::thread::sleep(world.timings.lease * 2);
    eventually("the claim is back", || async {
        world
            .record(CLIENT)
            .await
            .is_some_and(|record| record.holder.is_some())
    })
    .await;
    let record = world.record(CLIENT).await.unwrap();
    assert_eq!(hashes["tools"], record.hashes.tools.to_string());
    let content = world.memory.content(&record.hashes.tools).await.unwrap();
    assert!(content.is_some(), "contents too");
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    app.echo().await;
    link.result(sent).await;
}

/// A claim in this node's name that nobody here knows of is given back by whoever asks.
#[tokio::test]
async fn a_record_that_names_this_node_for_nothing_is_put_right() {
    let world = World::new();
    let node = world.node("node-1").await;
    let request = ClaimRequest {
        node: MemberId::parse("node-1").unwrap(),
        incarnation: node.incarnation(),
        ..foreign_claim()
    };
    let claimed = world.store.claim(&request).await.unwrap();
    assert!(matches!(claimed, Claimed::Taken { .. }));
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    match link.outcome(sent).await {
        Word::Absent(absent) => assert_eq!(absent.why(), Why::Gone, "it has waited"),
        other => panic!("{other:?}"),
    }
    eventually("the claim is given back", || async {
        world.record(CLIENT).await.unwrap().holder.is_none()
    })
    .await;
}
