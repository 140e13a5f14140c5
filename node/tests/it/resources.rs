//! Resources that are watched, and what sessions ask for: wherever the client ID is.

use clientmcp_cluster::store::Store as _;
use clientmcp_cluster::store::faulty::{Fault, Operation};
use clientmcp_core::ids::ClientId;
use clientmcp_core::message::LogLevel;
use clientmcp_core::session_note::SessionNote;
use clientmcp_node::Node;
use clientmcp_proto::v1::change_session_request::Change;
use clientmcp_proto::v1::change_session_response::At;
use clientmcp_proto::v1::watch_event::Event;
use clientmcp_proto::v1::{
    Call, ChangeSessionRequest, EndSessionRequest, Era, WatchEvent, WatchRequest,
};
use serde_json::{Value, json};
use tokio::time::timeout;
use tonic::Streaming;

use crate::app::{App, register, tool};
use crate::router::{Heard as OfCall, Router, call};
use crate::world::{CLIENT, SOON, World, eventually, ms};

/// `register` of an app with a resource.
fn with_resource(instance: &str, connection: u64) -> Value {
    let mut register = register(instance, connection, &[tool("echo")]);
    register["resources"] = json!([{"uri": "x:1", "name": "r"}]);
    register
}

/// An app with a resource, which was told what is watched.
async fn connect(world: &World, node: &Node, id: &str, connection: u64) -> (App, Value) {
    let mut app = App::connect(node, id, &world.secrets, &world.token(CLIENT)).await;
    app.send(with_resource("i1", connection)).await;
    app.expect("registered").await;
    let watched = app.expect("subscriptions").await;
    (app, watched["uris"].clone())
}

async fn update(app: &mut App, uri: &str, more: u64) {
    let params = json!({"uri": uri, "more": more});
    let method = "notifications/resources/updated";
    app.send(json!({"type": "notify", "method": method, "params": params}))
        .await;
}

struct Watch(Streaming<WatchEvent>);

impl Watch {
    /// A subscription to resources, whose first state was told.
    async fn of(router: &Router, uris: &[&str]) -> Self {
        Self::begin(router, "", uris, false).await
    }

    async fn begin(router: &Router, session: &str, uris: &[&str], resumed: bool) -> Self {
        let request = router.signed(WatchRequest {
            target: router.target(),
            client_id: CLIENT.into(),
            session_id: session.into(),
            uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
            resumed,
            ..WatchRequest::default()
        });
        let stream = router.client.clone().watch(request).await;
        let mut watch = Self(stream.unwrap().into_inner());
        assert!(matches!(watch.next().await, Event::State(_)));
        watch
    }

    async fn next(&mut self) -> Event {
        let event = timeout(SOON, self.0.message()).await;
        let event = event.expect("nothing was heard").unwrap();
        event.expect("the watch has ended").event.unwrap()
    }

    /// The params of the next update.
    async fn update(&mut self) -> Value {
        match self.next().await {
            Event::ResourceUpdated(params) => serde_json::from_slice(&params).unwrap(),
            other => panic!("expected an update, heard {other:?}"),
        }
    }

    async fn is_silent(&mut self) -> bool {
        timeout(ms(150), self.0.message()).await.is_err()
    }
}

async fn change(router: &Router, session: &str, change: Change) -> At {
    let request = router.signed(ChangeSessionRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: session.into(),
        ttl_s: 60,
        change: Some(change),
    });
    let answer = router.client.clone().change_session(request).await;
    answer.unwrap().into_inner().at.unwrap()
}

async fn subscribe(router: &Router, session: &str, uri: &str) {
    let at = change(router, session, Change::Subscribe(uri.to_owned())).await;
    assert!(matches!(at, At::Accepted(_)), "{at:?}");
}

async fn noted(world: &World, session: &str) -> Option<SessionNote> {
    let client_id = ClientId::parse(CLIENT).unwrap();
    let notes = world.memory.sessions(&client_id).await.unwrap();
    let note = notes.into_iter().find(|(noted, _)| noted == session);
    note.map(|(_, note)| note)
}

#[tokio::test]
async fn an_update_is_told_to_whoever_watches_the_resource() {
    let world = World::new();
    let node = world.node("node-1").await;
    let (mut app, watched) = connect(&world, &node, "node-1", 1).await;
    assert_eq!(watched, json!([]));
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut both = Watch::of(&router, &["x:2", "x:1"]).await;
    let mut one = Watch::of(&router, &["x:1"]).await;
    let mut none = Watch::of(&router, &[]).await;
    let watched = app.expect("subscriptions").await;
    assert_eq!(watched["uris"], json!(["x:1", "x:2"]));

    update(&mut app, "x:1", 1).await;
    let expected = json!({"uri": "x:1", "more": 1});
    assert_eq!(both.update().await, expected);
    assert_eq!(one.update().await, expected);
    update(&mut app, "x:2", 2).await;
    assert_eq!(both.update().await, json!({"uri": "x:2", "more": 2}));
    update(&mut app, "x:3", 3).await;
    assert!(one.is_silent().await && both.is_silent().await && none.is_silent().await);

    drop(both);
    let watched = app.expect("subscriptions").await;
    assert_eq!(watched["uris"], json!(["x:1"]));
    drop(one);
    assert_eq!(app.expect("subscriptions").await["uris"], json!([]));
}

#[tokio::test]
async fn a_slow_stream_gets_the_last_update_of_each_resource() {
    let world = World::new();
    let node = world.node("node-1").await;
    let (mut app, _) = connect(&world, &node, "node-1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut slow = Watch::of(&router, &["x:1", "x:2"]).await;
    app.expect("subscriptions").await;
    // More than the transport takes while nobody reads.
    let long = "x".repeat(8_000);
    for n in 0..1_000 {
        let params = json!({"uri": format!("x:{}", 1 + n % 2), "n": n, "long": long});
        let method = "notifications/resources/updated";
        app.send(json!({"type": "notify", "method": method, "params": params}))
            .await;
    }
    // All of them were read by the node.
    app.send(json!({"type": "ping"})).await;
    app.expect("pong").await;
    let mut heard = 0;
    let mut last = json!({});
    while last["n"] != 999 {
        last = slow.update().await;
        heard += 1;
    }
    assert!(heard < 1_000, "{heard}");
}

#[tokio::test]
async fn a_sessions_stream_tells_of_what_the_session_has_subscribed_to() {
    let world = World::new();
    let node = world.node("node-1").await;
    let (mut app, _) = connect(&world, &node, "node-1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    subscribe(&router, "s1", "x:1").await;
    let mut first = Watch::begin(&router, "s1", &[], false).await;
    let mut second = Watch::begin(&router, "s2", &[], false).await;
    assert_eq!(app.expect("subscriptions").await["uris"], json!(["x:1"]));
    update(&mut app, "x:1", 1).await;
    assert_eq!(first.update().await["more"], 1);

    // While its stream stands.
    subscribe(&router, "s2", "x:2").await;
    assert_eq!(
        app.expect("subscriptions").await["uris"],
        json!(["x:1", "x:2"])
    );
    let gone = Change::Unsubscribe("x:1".to_owned());
    assert!(matches!(change(&router, "s1", gone).await, At::Accepted(_)));
    assert_eq!(app.expect("subscriptions").await["uris"], json!(["x:2"]));
    update(&mut app, "x:1", 2).await;
    update(&mut app, "x:2", 3).await;
    assert_eq!(second.update().await["more"], 3);
    assert!(first.is_silent().await);

    let end = router.signed(EndSessionRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: "s2".into(),
        ttl_s: 60,
    });
    router.client.clone().end_session(end).await.unwrap();
    assert!(matches!(second.next().await, Event::SessionEnded(_)));
    assert_eq!(app.expect("subscriptions").await["uris"], json!([]));
    let late = change(&router, "s2", Change::Subscribe("x:3".to_owned())).await;
    assert!(matches!(late, At::SessionEnded(_)));
    assert_eq!(noted(&world, "s2").await, Some(SessionNote::ended()));
}

#[tokio::test]
async fn what_a_session_asked_for_moves_with_its_client_id() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let (_app, _) = connect(&world, &one, "node-1", 1).await;
    let first = Router::connect(&one, "node-1", &world.secrets).await;
    let second = Router::connect(&two, "node-2", &world.secrets).await;
    subscribe(&first, "s1", "x:1").await;
    // Through another node it is told where to ask.
    let elsewhere = change(&second, "s1", Change::LogLevel("error".to_owned())).await;
    assert!(matches!(elsewhere, At::Elsewhere(to) if to.node_id == "node-1"));

    let (mut app, _) = connect(&world, &two, "node-2", 2).await;
    let mut watch = Watch::begin(&second, "s1", &[], true).await;
    assert_eq!(app.expect("subscriptions").await["uris"], json!(["x:1"]));
    assert_eq!(watch.update().await, json!({"uri": "x:1"}));
    subscribe(&second, "s1", "x:2").await;
    let uris = ["x:1", "x:2"].map(str::to_owned);
    assert_eq!(noted(&world, "s1").await.unwrap().uris, uris.into());
}

#[tokio::test]
async fn what_is_asked_for_while_the_app_is_away_counts_when_it_comes() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    // At the same time: none of them is lost.
    let subscribing = ["x:1", "x:2", "x:3"].map(|uri| subscribe(&router, "s1", uri));
    futures_util::future::join_all(subscribing).await;
    let mut watch = Watch::begin(&router, "s1", &[], false).await;
    let (_app, watched) = connect(&world, &node, "node-1", 1).await;
    assert_eq!(watched, json!(["x:1", "x:2", "x:3"]));
    assert!(matches!(watch.next().await, Event::State(state) if state.connected));
    // It was away: what it has may have changed since the agent looked.
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(watch.update().await["uri"].as_str().unwrap().to_owned());
    }
    told.sort_unstable();
    assert_eq!(told, ["x:1", "x:2", "x:3"]);
    assert!(watch.is_silent().await);
}

#[tokio::test]
async fn after_a_gap_everything_that_is_watched_is_told() {
    let world = World::new();
    let node = world.node("node-1").await;
    let (app, _) = connect(&world, &node, "node-1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut watch = Watch::of(&router, &["x:1"]).await;
    assert!(watch.is_silent().await);
    // Another watch that was cut: what it has missed is not known.
    let mut resumed = Watch::begin(&router, "", &["x:2"], true).await;
    assert_eq!(resumed.update().await, json!({"uri": "x:2"}));
    assert!(resumed.is_silent().await);
    // The app loses its socket, and comes back.
    drop(app);
    assert!(matches!(watch.next().await, Event::State(state) if !state.connected));
    let (_app, watched) = connect(&world, &node, "node-1", 2).await;
    assert_eq!(watched, json!(["x:1", "x:2"]));
    assert!(matches!(watch.next().await, Event::State(state) if state.connected));
    assert_eq!(watch.update().await, json!({"uri": "x:1"}));
}

#[tokio::test]
async fn without_the_store_what_a_session_asks_for_counts_and_is_written_later() {
    let world = World::new();
    let node = world.node("node-1").await;
    let (mut app, _) = connect(&world, &node, "node-1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let _watch = Watch::begin(&router, "s1", &[], false).await;
    world.store.break_down(Fault::Unreachable);
    subscribe(&router, "s1", "x:1").await;
    assert_eq!(app.expect("subscriptions").await["uris"], json!(["x:1"]));
    assert_eq!(noted(&world, "s1").await, None);
    world.store.heal();
    eventually("the note is written", || async {
        noted(&world, "s1")
            .await
            .is_some_and(|note| note.uris.contains("x:1"))
    })
    .await;
}

#[tokio::test]
async fn notes_that_a_slow_store_gives_late_count_all_the_same() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let (_app, _) = connect(&world, &one, "node-1", 1).await;
    let first = Router::connect(&one, "node-1", &world.secrets).await;
    subscribe(&first, "s1", "x:1").await;
    let second = Router::connect(&two, "node-2", &world.secrets).await;
    for _ in 0..8 {
        world.store.inject(Operation::Sessions, Fault::Unreachable);
    }
    let (mut app, watched) = connect(&world, &two, "node-2", 2).await;
    assert_eq!(watched, json!([]));
    // Its stream comes before the notes.
    let mut watch = Watch::begin(&second, "s1", &[], false).await;
    subscribe(&second, "s2", "x:2").await;
    assert_eq!(watch.update().await, json!({"uri": "x:1"}));
    assert_eq!(app.expect("subscriptions").await["uris"], json!(["x:1"]));
    update(&mut app, "x:1", 1).await;
    assert_eq!(watch.update().await["more"], 1);
}

#[tokio::test]
async fn a_session_watches_a_bounded_number_of_resources() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let long = format!("x:{}", "y".repeat(8_000));
    subscribe(&router, "s1", &long).await;
    subscribe(&router, "s1", &format!("{long}z")).await;
    for place in ["away", "here"] {
        let more = change(&router, "s1", Change::Subscribe(format!("{long}{place}"))).await;
        assert!(matches!(more, At::TooMany(_)), "{place}");
        if place == "away" {
            connect(&world, &node, "node-1", 1).await;
        }
    }
}

#[tokio::test]
async fn a_session_sets_the_level_of_its_log_messages() {
    let world = World::new();
    let node = world.node("node-1").await;
    let (mut app, _) = connect(&world, &node, "node-1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let context = |level: &str| {
        json!({"protocolVersion": "2025-06-18", "clientCapabilities": {"n": 1.50}, "subject": "a",
            "logLevel": level, "progress": false, "tasks": false})
    };
    let of_session = |session: &str| Call {
        era: Era::Legacy.into(),
        session_id: session.into(),
        request_id: "1".into(),
        context: context("info").to_string().into(),
        ..call(CLIENT)
    };
    let at = change(&router, "s1", Change::LogLevel("error".to_owned())).await;
    assert!(matches!(at, At::Accepted(_)));
    for (session, expected) in [("s1", "error"), ("s2", "info")] {
        let sent = link.send(of_session(session), "{}");
        let call = app.expect("call").await;
        assert_eq!(call["context"], context(expected), "{session}");
        for level in ["warning", "alert"] {
            app.send(json!({"type": "log", "id": call["id"], "level": level, "data": level}))
                .await;
        }
        app.send(json!({"type": "result", "id": call["id"], "result": {}}))
            .await;
        let mut heard = Vec::new();
        while let OfCall::Log(log) = link.hear(sent).await {
            heard.push(log["level"].as_str().unwrap().to_owned());
        }
        match session {
            "s1" => assert_eq!(heard, ["alert"]),
            _ => assert_eq!(heard, ["warning", "alert"]),
        }
    }
    let note = noted(&world, "s1").await.unwrap();
    assert_eq!(note.log_level, Some(LogLevel::Error));
}
