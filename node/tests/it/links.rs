//! Links and their loss.

use clientmcp_proto::link::outbox;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{Call, Era, IdentifyRequest, RouterFrame, node_frame, router_frame};
use serde_json::json;
use tonic::Code;

use crate::app::App;
use crate::router::{LIMITS, Router, call};
use crate::world::{CLIENT, World, ms};

#[tokio::test]
async fn the_clusters_key_opens_the_bridge_and_nothing_else_does() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut client = router.client.clone();
    let refused = client
        .identify(tonic::Request::new(IdentifyRequest::default()))
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
    let answer = client
        .identify(router.signed(IdentifyRequest::default()))
        .await;
    let answer = answer.unwrap().into_inner();
    assert_eq!(answer.node_id, "node-1");
    assert_eq!(answer.incarnation, node.incarnation().0);
    assert!(answer.ready);
}

#[tokio::test]
async fn a_link_for_another_run_says_who_is_here_and_ends() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut target = router.target.clone();
    target.incarnation += 1;
    let (outbox, drain) = outbox::<RouterFrame>(LIMITS);
    let mut link = router.open(outbox, drain, target).await;
    match link.frame().await {
        Some(node_frame::Frame::Welcome(welcome)) => {
            assert_eq!(welcome.incarnation, node.incarnation().0);
        }
        other => panic!("{other:?}"),
    }
    assert!(link.frame().await.is_none());
}

#[tokio::test]
async fn a_router_that_breaks_the_rules_loses_its_link() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let nameless = Call {
        call_id: "short".into(),
        ..call(CLIENT)
    };
    link.outbox
        .send(router_frame::Frame::Call(nameless))
        .unwrap();
    assert!(link.frame().await.is_none());
}

#[tokio::test]
async fn calls_of_a_lost_link_can_be_attached_to() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let first = router.link().await;
    let (running, answered) = (call(CLIENT), call(CLIENT));
    first.send(running.clone(), "{}");
    first.send(answered.clone(), "{}");
    let heard = [app.expect("call").await, app.expect("call").await];
    drop(first);
    tokio::time::sleep(ms(50)).await;

    // One is answered while there is no link, the other afterwards.
    let result = |call: &serde_json::Value, n: u32| json!({"type": "result", "id": call["id"], "result": {"n": n}});
    app.send(result(&heard[1], 2)).await;
    tokio::time::sleep(ms(50)).await;
    let attach = |call: Call| Call {
        attach_only: true,
        attempt: 1,
        ..call
    };
    let mut second = router.link().await;
    let running = second.send(attach(running), "");
    let answered = second.send(attach(answered), "");
    assert_eq!(second.result(answered).await["n"], 2);
    app.send(result(&heard[0], 1)).await;
    assert_eq!(second.result(running).await["n"], 1);

    let unknown = second.send(attach(call(CLIENT)), "");
    assert!(matches!(second.outcome(unknown).await, Word::Lost(_)));
}

#[tokio::test]
async fn without_a_link_modern_calls_are_cancelled_and_legacy_ones_run_out() {
    let world = World::with(|timings| timings.orphan = ms(100));
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let link = router.link().await;
    link.send(call(CLIENT), "{}");
    let modern = app.expect("call").await;
    let legacy = Call {
        era: Era::Legacy.into(),
        ..call(CLIENT)
    };
    link.send(legacy, "{}");
    let legacy = app.expect("call").await;
    drop(link);
    let cancel = app.expect("cancel").await;
    assert_eq!(cancel["id"], modern["id"]);
    assert_eq!(cancel["reason"], "disconnect");
    // The other one runs on; its answer is for nobody.
    assert_eq!(app.hear_within(ms(200)).await, None);
    app.send(json!({"type": "result", "id": legacy["id"], "result": {}}))
        .await;

    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    app.echo().await;
    link.result(sent).await;
}

/// An app that talks without end costs its own events, not the link.
#[tokio::test]
async fn a_flood_of_logs_takes_no_link_down() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    let heard = app.expect("call").await;
    // The router reads nothing meanwhile.
    let log = json!({
        "type": "log", "id": heard["id"], "level": "info", "data": "x".repeat(60 * 1024),
    });
    let log = log.to_string();
    for _ in 0..2_000 {
        app.send_text(log.clone()).await;
    }
    let result = json!({"type": "result", "id": heard["id"], "result": {"n": 1}});
    app.send(result).await;
    assert_eq!(link.result(sent).await["n"], 1);
}
