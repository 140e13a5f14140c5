//! Calls that come again: their node, link or socket was lost, or their app moved (SPEC.md §7.4).

use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{Call, refused};
use serde_json::json;
use tokio::time::sleep;

use crate::router::Heard;
use crate::scene::{PARAMS, again, connect, for_instance, link, resume, run_of, waits};
use crate::world::{World, ms};

#[tokio::test]
async fn calls_move_with_their_app_to_another_node() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut old = connect(&world, &one, "node-1").await;
    resume(&mut old, "i1", 1).await;
    let mut link_one = link(&world, &one, "node-1").await;
    let first = for_instance("i1");
    let sent = link_one.send(first.clone(), PARAMS);
    let delivered = old.expect("call").await;
    let mut new = connect(&world, &two, "node-2").await;
    resume(&mut new, "i1", 2).await;
    assert_eq!(old.expect_close().await.0, 1000);
    let Heard::Moved(to) = link_one.hear(sent).await else {
        panic!("the call moves");
    };
    assert_eq!(
        (to.node_id.as_str(), to.address),
        ("node-2", two.addr().to_string())
    );
    // The router follows, and the app is asked again under the same ID.
    let mut link_two = link(&world, &two, "node-2").await;
    let sent = link_two.send(again(&first), PARAMS);
    let redelivered = new.echo().await;
    assert_eq!(redelivered["id"], delivered["id"]);
    assert_eq!(
        (&delivered["attempt"], &redelivered["attempt"]),
        (&json!(0), &json!(1))
    );
    link_two.result(sent).await;
}

#[tokio::test]
async fn a_call_of_a_lost_link_is_attached_to_and_runs_once() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let lost = link(&world, &node, "node-1").await;
    let first = for_instance("i1");
    lost.send(first.clone(), PARAMS);
    let call = app.expect("call").await;
    drop(lost);
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(again(&first), PARAMS);
    assert_eq!(app.hear_within(ms(200)).await, None, "it has it already");
    app.send(json!({"type": "result", "id": call["id"], "result": {"n": 1}}))
        .await;
    assert_eq!(link.result(sent).await, json!({"n": 1}));
}

#[tokio::test]
async fn another_instance_is_told_apart() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i2", 1).await;
    let mut link = link(&world, &node, "node-1").await;
    let first = for_instance("i1");
    let sent = link.send(first.clone(), PARAMS);
    match link.outcome(sent).await {
        Word::Refused(refused) => assert_eq!(refused.why(), refused::Why::OtherInstance),
        other => panic!("{other:?}"),
    }
    let sent = link.send(again(&first), PARAMS);
    match link.outcome(sent).await {
        Word::Lost(lost) => assert!(lost.r#final && !lost.not_delivered),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_app_that_remembers_nothing_gets_no_call_twice() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    app.register("i1", 1).await;
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(again(&for_instance("i1")), PARAMS);
    match link.outcome(sent).await {
        Word::Lost(lost) => assert!(lost.r#final),
        other => panic!("{other:?}"),
    }
}

/// A holder that was killed a moment ago is still among the members.
#[tokio::test]
async fn a_holder_that_neither_router_nor_node_can_reach_holds_nothing() {
    let world = World::with(|timings| timings.lease = ms(30_000));
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut app = connect(&world, &one, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let mut link = link(&world, &two, "node-2").await;
    let unreachable = vec![run_of(&one, "node-1")];
    // It answers this node: the router has to find a way to it.
    let reached = Call {
        unreachable: unreachable.clone(),
        ..for_instance("i1")
    };
    let sent = link.send(reached.clone(), PARAMS);
    assert!(matches!(link.outcome(sent).await, Word::Elsewhere(_)));
    drop(one);
    drop(app);
    // What it answered a moment ago does not hold any more.
    sleep(world.timings.heartbeat * 2).await;
    let sent = link.send(again(&reached), PARAMS);
    waits(&mut link, sent).await;
    let mut app = connect(&world, &two, "node-2").await;
    resume(&mut app, "i1", 2).await;
    app.echo().await;
    link.result(sent).await;
}
