//! Calls that are given up although their app, which may be away, may run them (SPEC.md §7.2).

use clientmcp_proto::link::CallKey;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{Call, CancelRequestRequest, Era, GiveUp, cancel};
use uuid::Uuid;

use crate::router::Router;
use crate::scene::{PARAMS, again, connect, for_instance, link, resume, waits};
use crate::world::{CLIENT, World, ms};

/// What a router sends when nobody waits for `call` any more.
fn give_up(call: &Call) -> Call {
    Call {
        call_id: CallKey(Uuid::now_v7().into_bytes()).to_bytes(),
        attach_only: true,
        give_up: Some(GiveUp {
            call_id: call.call_id.clone(),
            reason: cancel::Reason::Agent.into(),
        }),
        ..again(call)
    }
}

#[tokio::test]
async fn an_app_that_comes_back_is_told_of_a_call_that_was_cancelled_meanwhile() {
    let world = World::with(|timings| timings.grace = ms(60_000));
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let mut link = link(&world, &node, "node-1").await;
    let first = for_instance("i1");
    let sent = link.send(first.clone(), PARAMS);
    let call = app.expect("call").await;
    drop(app);
    assert!(matches!(link.outcome(sent).await, Word::Lost(_)));
    let sent = link.send(again(&first), PARAMS);
    waits(&mut link, sent).await;
    link.cancel(sent);
    assert!(matches!(link.outcome(sent).await, Word::Cancelled(_)));
    let told = link.send(give_up(&first), "");
    waits(&mut link, told).await;

    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 2).await;
    let cancel = app.expect("cancel").await;
    assert_eq!(
        (&cancel["id"], &cancel["reason"]),
        (&call["id"], &"agent".into())
    );
    assert!(matches!(link.outcome(told).await, Word::Cancelled(_)));
    // Nothing else: it is not delivered again, not even if it comes late.
    let late = link.send(again(&first), PARAMS);
    assert!(matches!(link.outcome(late).await, Word::Cancelled(_)));
    link.call(CLIENT);
    let next = app.expect("call").await;
    assert_ne!(next["id"], call["id"]);
}

#[tokio::test]
async fn another_instance_is_told_of_no_call_that_it_does_not_run() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i2", 1).await;
    let mut link = link(&world, &node, "node-1").await;
    let told = link.send(give_up(&for_instance("i1")), "");
    assert!(matches!(link.outcome(told).await, Word::Cancelled(_)));
    link.call(CLIENT);
    app.expect("call").await;
}

#[tokio::test]
async fn what_is_given_up_is_looked_for_where_its_app_is() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut app = connect(&world, &one, "node-1").await;
    resume(&mut app, "i1", 1).await;
    drop(app);
    let mut link = link(&world, &one, "node-1").await;
    let told = link.send(give_up(&for_instance("i1")), "");
    waits(&mut link, told).await;
    let mut app = connect(&world, &two, "node-2").await;
    resume(&mut app, "i1", 2).await;
    let word = link.outcome(told).await;
    assert!(
        matches!(&word, Word::Elsewhere(to) if to.node_id == "node-2"),
        "{word:?}"
    );
}

/// The app came back between the cancel and the redelivery.
#[tokio::test]
async fn a_legacy_cancel_is_kept_for_a_redelivery_that_finds_its_app_back() {
    let world = World::with(|timings| timings.grace = ms(60_000));
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let first = Call {
        era: Era::Legacy.into(),
        session_id: "s1".into(),
        request_id: "1".into(),
        ..for_instance("i1")
    };
    let sent = link.send(first.clone(), PARAMS);
    app.expect("call").await;
    drop(app);
    assert!(matches!(link.outcome(sent).await, Word::Lost(_)));
    let cancel = router.signed(CancelRequestRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: "s1".into(),
        request_id: "1".into(),
        reason: String::new(),
    });
    router.client.clone().cancel_request(cancel).await.unwrap();
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 2).await;
    let sent = link.send(again(&first), PARAMS);
    assert!(matches!(link.outcome(sent).await, Word::Cancelled(_)));
    link.send(give_up(&first), "");
    app.expect("cancel").await;
}
