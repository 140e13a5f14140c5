//! register → registered, and what is known of it then.

use clientmcp_core::registration::{Hashes, Kind};
use clientmcp_proto::v1::absent::Why;
use clientmcp_proto::v1::describe_response::At;
use clientmcp_proto::v1::{self, DescribeRequest, DescribeResponse};
use serde_json::{Value, json};

use crate::app::{App, register, tool};
use crate::router::Router;
use crate::world::{CLIENT, World, eventually, ms};

async fn describe(router: &Router, known: Option<v1::Hashes>) -> DescribeResponse {
    let request = router.signed(DescribeRequest {
        unreachable: Vec::new(),
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: String::new(),
        known,
    });
    let answer = router.client.clone().describe(request).await;
    answer.unwrap().into_inner()
}

#[tokio::test]
async fn a_registration_is_answered_stored_and_described() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let registered = app.register("i1", 1).await;
    assert_eq!(registered["clientId"], CLIENT);
    assert_eq!(registered["rejected"], json!([]));
    assert_eq!(registered["limits"]["maxMessageBytes"], 4_194_304);

    let record = world.record(CLIENT).await.unwrap();
    let holder = record.holder.unwrap();
    assert_eq!(holder.node.as_str(), "node-1");
    assert_eq!(holder.claim.incarnation, node.incarnation());
    assert_eq!(
        registered["hashes"]["tools"],
        record.hashes.tools.to_string()
    );

    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let described = describe(&router, None).await;
    assert!(matches!(described.at, Some(At::Here(here)) if here.epoch == holder.claim.epoch.0));
    let registration = described.registration.unwrap();
    let tools: Value = serde_json::from_slice(&registration.tools).unwrap();
    assert_eq!(tools, json!([tool("echo")]));

    // What the router has is not sent again.
    let hashes = registration.hashes.unwrap();
    let known = v1::Hashes {
        tools: hashes.tools.clone(),
        ..v1::Hashes::default()
    };
    let described = describe(&router, Some(known)).await;
    let registration = described.registration.unwrap();
    assert!(registration.tools.is_empty());
    assert!(!registration.rest.is_empty());
}

#[tokio::test]
async fn a_bad_tool_hides_no_good_one() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let bad = [
        json!({"name": "no-schema"}),
        json!({"name": "has a blank", "inputSchema": {"type": "object"}}),
        json!(7),
    ];
    let mut tools = vec![tool("good")];
    tools.extend(bad);
    tools.push(tool("good"));
    app.send(register("i1", 1, &tools)).await;
    let registered = app.expect("registered").await;
    let rejected = registered["rejected"].as_array().unwrap();
    assert_eq!(rejected.len(), 4, "{rejected:?}");

    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let registration = describe(&router, None).await.registration.unwrap();
    let tools: Value = serde_json::from_slice(&registration.tools).unwrap();
    assert_eq!(tools, json!([tool("good")]));
}

#[tokio::test]
async fn content_may_be_named_by_hash_and_is_asked_for_if_nobody_knows_it() {
    let world = World::new();
    let node = world.node("node-1").await;
    let other = world.node("node-2").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let hashes = app.register("i1", 1).await["hashes"].clone();

    // Another node has the content from the store.
    let by_hash = |connection: u64, tools: &Value| {
        json!({
            "type": "register", "instance": "i1", "connection": connection,
            "tools": {"hash": tools}, "rest": {"hash": hashes["rest"]},
        })
    };
    let mut next = App::connect(&other, "node-2", &world.secrets, &world.token(CLIENT)).await;
    next.send(by_hash(2, &hashes["tools"])).await;
    assert_eq!(next.expect("registered").await["hashes"], hashes);

    // Of what nobody has, the app is asked.
    let unknown =
        json!(clientmcp_core::registration::ContentHash::of(Kind::Tools, b"x").to_string());
    next.send(by_hash(2, &unknown)).await;
    assert_eq!(next.expect("need").await["kinds"], json!(["tools"]));
    next.send(register("i1", 2, &[tool("echo")])).await;
    assert_eq!(next.expect("registered").await["hashes"], hashes);
}

#[tokio::test]
async fn a_further_register_replaces_the_whole_registration() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    let first = app.register("i1", 1).await;
    app.send(register("i1", 1, &[tool("other")])).await;
    let second = app.expect("registered").await;
    assert_ne!(first["hashes"]["tools"], second["hashes"]["tools"]);
    let record = world.record(CLIENT).await.unwrap();
    assert_eq!(second["hashes"]["tools"], record.hashes.tools.to_string());
}

#[tokio::test]
async fn a_client_id_that_was_never_seen_and_one_that_left_are_told_apart() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let why = |described: &DescribeResponse| match &described.at {
        Some(At::Absent(absent)) => absent.why(),
        other => panic!("{other:?}"),
    };
    let described = describe(&router, None).await;
    assert_eq!(why(&described), Why::NeverSeen);
    assert!(described.registration.is_none());

    for (connection, code, expected) in [(1, 1000, Why::Gone), (2, 1001, Why::Away)] {
        let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
        app.register("i1", connection).await;
        app.close(code).await;
        eventually("the app is gone", || async {
            world.record(CLIENT).await.unwrap().holder.is_none()
        })
        .await;
        let described = describe(&router, None).await;
        assert_eq!(why(&described), expected);
        // Lists are answered from the last registration.
        let registration = described.registration.unwrap();
        let tools: Value = serde_json::from_slice(&registration.tools).unwrap();
        assert_eq!(tools, json!([tool("echo")]));
    }
}

#[tokio::test]
async fn an_app_that_vanishes_is_away_for_the_grace() {
    let world = World::with(|timings| timings.grace = ms(300));
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    drop(app);
    let is = |expected| {
        let router = &router;
        async move {
            let described = describe(router, None).await;
            matches!(described.at, Some(At::Absent(absent)) if absent.why() == expected)
        }
    };
    eventually("it is away", || is(Why::Away)).await;
    eventually("it is gone", || is(Why::Gone)).await;
}

#[tokio::test]
async fn an_empty_registration_has_the_hashes_of_nothing() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.send(json!({"type": "register", "instance": "i1", "connection": 1}))
        .await;
    let hashes = app.expect("registered").await["hashes"].clone();
    let empty = Hashes::empty();
    assert_eq!(hashes["tools"], empty.tools.to_string());
    assert_eq!(hashes["prompts"], empty.prompts.to_string());
}
