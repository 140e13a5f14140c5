//! Legacy sessions: cancelling a request, ending a session.

use clientmcp_cluster::store::faulty::Fault;
use clientmcp_proto::v1::describe_response::At as Described;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::refused::Why;
use clientmcp_proto::v1::{
    Call, CancelRequestRequest, DescribeRequest, EndSessionRequest, Era, cancel_request_response,
    end_session_response,
};

use crate::app::App;
use crate::router::{Router, call};
use crate::world::{CLIENT, World};

fn legacy(session: &str, request_id: &'static str) -> Call {
    Call {
        era: Era::Legacy.into(),
        session_id: session.into(),
        request_id: request_id.into(),
        ..call(CLIENT)
    }
}

async fn cancel(router: &Router, session: &str, request_id: &'static str) {
    let request = router.signed(CancelRequestRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: session.into(),
        request_id: request_id.into(),
        reason: "the user said so".into(),
    });
    let answer = router.client.clone().cancel_request(request).await;
    let at = answer.unwrap().into_inner().at.unwrap();
    assert!(
        matches!(at, cancel_request_response::At::Accepted(_)),
        "{at:?}"
    );
}

async fn end(router: &Router, session: &str) -> end_session_response::At {
    let request = router.signed(EndSessionRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: session.into(),
        ttl_s: 60,
    });
    let answer = router.client.clone().end_session(request).await;
    answer.unwrap().into_inner().at.unwrap()
}

async fn describe(router: &Router, session: &str) -> Described {
    let request = router.signed(DescribeRequest {
        unreachable: Vec::new(),
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: session.into(),
        known: None,
    });
    let answer = router.client.clone().describe(request).await;
    answer.unwrap().into_inner().at.unwrap()
}

#[tokio::test]
async fn a_request_is_cancelled_by_its_id_whose_type_counts() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let number = link.send(legacy("s1", "7"), "{}");
    let first = app.expect("call").await;
    let text = link.send(legacy("s1", r#""7""#), "{}");
    let second = app.expect("call").await;

    cancel(&router, "s2", "7").await;
    cancel(&router, "s1", r#""7""#).await;
    assert_eq!(app.expect("cancel").await["id"], second["id"]);
    assert!(matches!(link.outcome(text).await, Word::Cancelled(_)));
    cancel(&router, "s1", "7").await;
    assert_eq!(app.expect("cancel").await["id"], first["id"]);
    assert!(matches!(link.outcome(number).await, Word::Cancelled(_)));
}

#[tokio::test]
async fn a_cancel_that_comes_first_waits_for_its_call() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    cancel(&router, "s1", "7").await;
    let sent = link.send(legacy("s1", "7"), "{}");
    assert!(matches!(link.outcome(sent).await, Word::Cancelled(_)));
}

#[tokio::test]
async fn a_session_whose_end_cannot_be_noted_has_not_ended() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;

    world.store.break_down(Fault::Unreachable);
    for _ in 0..2 {
        let refused = end(&router, "s1").await;
        assert!(
            matches!(refused, end_session_response::At::NotHere(_)),
            "{refused:?}"
        );
        assert!(matches!(describe(&router, "s1").await, Described::Here(_)));
    }
    world.store.heal();
    assert!(matches!(
        end(&router, "s1").await,
        end_session_response::At::Accepted(_)
    ));
}

#[tokio::test]
async fn an_ended_session_is_unknown_everywhere_from_then_on() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut app = App::connect(&one, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&one, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let is_refused = |word: &Word| matches!(word, Word::Refused(r) if r.why() == Why::SessionEnded);

    let ended = end(&router, "s1").await;
    assert!(
        matches!(ended, end_session_response::At::Accepted(_)),
        "{ended:?}"
    );
    let sent = link.send(legacy("s1", "1"), "{}");
    assert!(is_refused(&link.outcome(sent).await));
    assert!(matches!(
        describe(&router, "s1").await,
        Described::SessionEnded(_)
    ));
    assert!(matches!(describe(&router, "s2").await, Described::Here(_)));
    let again = end(&router, "s1").await;
    assert!(matches!(again, end_session_response::At::SessionEnded(_)));

    // Another node that takes the client ID over knows it from the store.
    let mut moved = App::connect(&two, "node-2", &world.secrets, &world.token(CLIENT)).await;
    moved.register("i1", 2).await;
    let router = Router::connect(&two, "node-2", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.send(legacy("s1", "1"), "{}");
    assert!(is_refused(&link.outcome(sent).await));

    // And so does one that holds nothing.
    moved.close(1000).await;
    crate::world::eventually("it has left", || async {
        world.record(CLIENT).await.unwrap().holder.is_none()
    })
    .await;
    assert!(matches!(
        describe(&router, "s1").await,
        Described::SessionEnded(_)
    ));
    assert!(matches!(
        describe(&router, "s2").await,
        Described::Absent(_)
    ));
}
