//! Calls, from a router to an app and back.

use bytes::Bytes;
use clientmcp_proto::v1::absent::Why as Absence;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::refused::Why;
use clientmcp_proto::v1::{Call, Refused};
use serde_json::json;

use crate::app::{App, Heard as AppHeard, register, tool};
use crate::router::{Heard, Link, Router, call};
use crate::world::{CLIENT, World, ms};

async fn app_and_link(world: &World) -> (clientmcp_node::Node, App, Link) {
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let link = router.link().await;
    (node, app, link)
}

fn refused(word: &Word) -> Option<Why> {
    match word {
        Word::Refused(refused) => Some(refused.why()),
        _ => None,
    }
}

#[tokio::test]
async fn a_call_reaches_the_app_and_its_answer_the_router() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let params = r#"{"name":"echo","arguments":{"big":18446744073709551616,"f":1.0}}"#;
    let sent = link.send(call(CLIENT), params);
    let heard = app.expect("call").await;
    assert_eq!(heard["method"], "tools/call");
    assert_eq!(heard["context"]["subject"], CLIENT);
    assert!(heard["deadlineMs"].as_u64().unwrap() <= 10_000);

    let id = &heard["id"];
    app.send(json!({"type": "progress", "id": id, "progress": 1, "total": 2}))
        .await;
    app.send(json!({"type": "log", "id": id, "level": "info", "data": "hm"}))
        .await;
    app.send_text(format!(
        r#"{{"type":"result","id":{id},"result":{params}}}"#
    ))
    .await;

    let progress = json!({"progress": 1, "total": 2});
    assert_eq!(link.hear(sent).await, Heard::Progress(progress));
    let log = json!({"level": "info", "data": "hm"});
    assert_eq!(link.hear(sent).await, Heard::Log(log));
    // Verbatim: no number has changed.
    let result = Word::Result(Bytes::from_static(params.as_bytes()));
    assert_eq!(link.outcome(sent).await, result);
}

#[tokio::test]
async fn an_error_of_the_app_passes_verbatim() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let sent = link.call(CLIENT);
    let heard = app.expect("call").await;
    let error = json!({"code": -32000, "message": "no", "data": [1, 2]});
    app.send(json!({"type": "error", "id": heard["id"], "error": error}))
        .await;
    let text = Bytes::from(error.to_string());
    assert_eq!(link.outcome(sent).await, Word::Error(text));
}

#[tokio::test]
async fn large_payloads_pass_in_both_directions_and_hold_nobody_up() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let text = "ä".repeat(1024 * 1024);
    let params = json!({"name": "echo", "arguments": {"text": text}}).to_string();
    let large = link.send(call(CLIENT), params.clone());
    let small = link.call(CLIENT);
    // The router hands out credit while it listens.
    let echoed = async {
        for _ in 0..2 {
            app.echo().await;
        }
    };
    let heard = async {
        assert_eq!(link.result(small).await["arguments"]["n"], 1);
        assert_eq!(link.outcome(large).await, Word::Result(Bytes::from(params)));
    };
    tokio::join!(echoed, heard);
}

#[tokio::test]
async fn a_call_that_exceeds_the_message_limit_is_refused() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let params = format!(
        r#"{{"name":"echo","x":"{}"}}"#,
        "x".repeat(4 * 1024 * 1024 - 64)
    );
    let sent = link.send(call(CLIENT), params);
    assert_eq!(refused(&link.outcome(sent).await), Some(Why::TooLarge));
    // Nobody was harmed.
    let next = link.call(CLIENT);
    app.echo().await;
    link.result(next).await;
}

#[tokio::test]
async fn a_call_that_was_checked_against_other_tools_is_stale() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    app.send(register("i1", 1, &[tool("echo"), tool("new")]))
        .await;
    let hashes = app.expect("registered").await["hashes"].clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();

    let good = Call {
        tools_hash: text(&hashes["tools"]),
        rest_hash: text(&hashes["rest"]),
        ..call(CLIENT)
    };
    let sent = link.send(good, "{}");
    app.echo().await;
    link.result(sent).await;

    let stale = Call {
        tools_hash: text(&hashes["rest"]),
        ..call(CLIENT)
    };
    let sent = link.send(stale, "{}");
    let expected = Refused {
        why: Why::Stale.into(),
        tools_hash: text(&hashes["tools"]),
    };
    assert_eq!(link.outcome(sent).await, Word::Refused(expected));
}

#[tokio::test]
async fn a_call_id_is_taken_once() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let first = call(CLIENT);
    let sent = link.send(first.clone(), "{}");
    let heard = app.expect("call").await;
    link.send(first, "{}");
    let duplicate = link.outcome(sent).await;
    assert_eq!(refused(&duplicate), Some(Why::Duplicate));
    // The call that runs is not disturbed.
    let result = json!({"type": "result", "id": heard["id"], "result": {}});
    app.send(result).await;
    assert_eq!(link.result(sent).await, json!({}));
}

#[tokio::test]
async fn a_cancelled_call_is_told_to_the_app_and_answered() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let sent = link.call(CLIENT);
    let heard = app.expect("call").await;
    link.cancel(sent);
    let cancel = app.expect("cancel").await;
    assert_eq!(cancel["id"], heard["id"]);
    assert_eq!(cancel["reason"], "agent");
    assert!(matches!(link.outcome(sent).await, Word::Cancelled(_)));
}

#[tokio::test]
async fn a_call_whose_deadline_passes_times_out() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let hurried = Call {
        deadline_ms: 50,
        ..call(CLIENT)
    };
    let sent = link.send(hurried, "{}");
    app.expect("call").await;
    assert_eq!(app.expect("cancel").await["reason"], "timeout");
    assert!(matches!(link.outcome(sent).await, Word::TimedOut(_)));
}

#[tokio::test]
async fn calls_in_flight_are_lost_with_their_app() {
    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    let sent = link.call(CLIENT);
    app.expect("call").await;
    drop(app);
    match link.outcome(sent).await {
        Word::Lost(lost) => assert!(!lost.not_delivered),
        other => panic!("{other:?}"),
    }
    // It waits for the app as long as apps are expected back.
    let sent = link.call(CLIENT);
    match link.outcome(sent).await {
        Word::Absent(absent) => assert_eq!(absent.why(), Absence::Gone),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_for_an_app_elsewhere_is_sent_there() {
    let world = World::new();
    let (node, _app, _) = app_and_link(&world).await;
    let other = world.node("node-2").await;
    let router = Router::connect(&other, "node-2", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    match link.outcome(sent).await {
        Word::Elsewhere(elsewhere) => {
            assert_eq!(elsewhere.node_id, "node-1");
            assert_eq!(elsewhere.incarnation, node.incarnation().0);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_waits_for_a_register_that_is_under_way() {
    use clientmcp_cluster::store::faulty::{Fault, Operation};

    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    world.store.inject(Operation::Claim, Fault::Delay(ms(300)));
    app.send(register("i1", 1, &[tool("echo")])).await;
    crate::world::eventually("the claim is under way", || async {
        world.store.calls(Operation::Claim) > 0
    })
    .await;
    let sent = link.call(CLIENT);
    app.expect("registered").await;
    app.echo().await;
    link.result(sent).await;
}

#[tokio::test]
async fn answers_settle() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let mut message = register("i1", 1, &[tool("echo")]);
    message["features"] = json!(["resume"]);
    app.send(message).await;
    app.expect("registered").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    let heard = app.echo().await;
    link.result(sent).await;
    link.settle(sent);
    assert_eq!(app.expect("settled").await["ids"], json!([heard["id"]]));
}

#[tokio::test]
async fn a_call_to_a_connected_app_touches_no_store() {
    use clientmcp_cluster::store::faulty::Fault;

    let world = World::new();
    let (_node, mut app, mut link) = app_and_link(&world).await;
    world.store.break_down(Fault::Unreachable);
    for _ in 0..3 {
        let sent = link.call(CLIENT);
        app.echo().await;
        link.result(sent).await;
    }
    let silent = app.hear_within(ms(50)).await;
    assert!(!matches!(silent, Some(AppHeard::Closed(..))), "{silent:?}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_its_app_is_looked_for_reaches_no_app() {
    use clientmcp_cluster::store::faulty::{Fault, Operation};

    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    world.store.inject(Operation::Record, Fault::Delay(ms(200)));
    let sent = link.call(CLIENT);
    crate::world::eventually("the app is looked for", || async {
        world.store.calls(Operation::Record) > 0
    })
    .await;
    link.cancel(sent);
    assert!(matches!(link.outcome(sent).await, Word::Cancelled(_)));
    // It comes while the store is asked.
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    assert_eq!(app.hear_within(ms(400)).await, None);
}
