//! Resources that are watched, and changes of prompts and resources, in both eras and over moves
//! (SPEC.md §4.11, §8.3, §8.5).

use clientmcp_cluster::store::Store as _;
use clientmcp_core::ids::ClientId;
use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::events::{Event, Events};
use clientmcp_e2e::raw_app::{Incoming, Message, RawApp, registration_of};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::schema;
use clientmcp_e2e::session::Session;
use serde_json::{Value, json};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const UPDATED: &str = "notifications/resources/updated";

/// A registration with prompts of these names, and a template.
fn offering(connection: u64, prompts: &[&str], resource: &str) -> String {
    let prompts: Vec<Value> = prompts.iter().map(|name| json!({"name": name})).collect();
    let more = format!(
        r#","prompts":{},"resources":[{{"uri":"{resource}","name":"r"}}],"resourceTemplates":[{{"uriTemplate":"x:{{y}}","name":"t"}}]"#,
        Value::Array(prompts)
    );
    registration_of("app", connection, "[]", &more)
}

/// The app, registered; what is watched already is not looked at.
async fn connect(scenario: &Scenario, router: usize, registration: String) -> RawApp {
    let mut app = RawApp::connect(scenario.router(router), &scenario.tokens.app(CLIENT)).await;
    let registered = app.register(registration).await;
    assert_eq!(registered["rejected"], json!([]));
    app
}

/// Waits until the app was told that exactly these are watched.
async fn watched(app: &mut RawApp, uris: &[&str]) {
    loop {
        let told = app.expect("subscriptions").await.value();
        if told["uris"] == json!(uris) {
            return;
        }
    }
}

fn update(uri: &str, n: u64) -> String {
    json!({"type": "notify", "method": UPDATED, "params": {"uri": uri, "n": n}}).to_string()
}

/// A subscription, acknowledged as it was asked for.
async fn listen(scenario: &Scenario, router: usize, id: &str, filter: &Value) -> Events {
    let params = json!({ "notifications": filter }).to_string();
    let request = scenario
        .modern()
        .request(id, "subscriptions/listen", &params);
    let mut events = request.send(scenario.router(router)).await.events();
    let acknowledged = events.message().await;
    schema::check(Version::MODERN, "subscriptions/listen", &acknowledged);
    assert_eq!(acknowledged["params"]["notifications"], *filter);
    events
}

/// The GET stream of a session.
async fn stream(scenario: &Scenario, router: usize, session: &Session) -> Events {
    let response = session.stream().send(scenario.router(router)).await;
    let mut events = response.events();
    assert_eq!(events.next().await, Some(Event::Comment));
    events
}

/// The next message of a stream: its method, its params without what only subscriptions have.
async fn told(events: &mut Events, version: Version) -> (String, Value) {
    let mut message = events.message().await;
    schema::check(version, "", &message);
    let params = message["params"].take();
    if version == Version::MODERN {
        assert!(!params["_meta"][SUBSCRIPTION].is_null(), "{params}");
    } else {
        assert!(params.get("_meta").is_none(), "{params}");
    }
    (message["method"].as_str().unwrap().to_owned(), params)
}

#[tokio::test]
async fn an_update_is_told_to_whoever_watches_the_resource() {
    let scenario = Scenario::start().await;
    let mut app = connect(&scenario, 0, offering(1, &["p"], "x:1")).await;
    watched(&mut app, &[]).await;
    let filter = json!({"resourceSubscriptions": ["x:1", "x:2"]});
    let mut modern = listen(&scenario, 1, "\"s\"", &filter).await;
    let mut lists = listen(&scenario, 2, "1", &json!({"resourcesListChanged": true})).await;
    let session = scenario.session(Version::V2025_06_18).await;
    let other = scenario.session(Version::V2025_11_25).await;
    let mut legacy = stream(&scenario, 1, &session).await;
    let mut nothing = stream(&scenario, 2, &other).await;
    // Through another router than that of its stream.
    let uri = r#"{"uri":"x:3"}"#;
    let subscribed = session.ask(scenario.router(2), "resources/subscribe", uri);
    assert_eq!(subscribed.await.result(), &json!({}));
    watched(&mut app, &["x:1", "x:2", "x:3"]).await;

    for (uri, n) in [("x:1", 1), ("x:9", 2), ("x:3", 3), ("x:2", 4)] {
        app.send(update(uri, n)).await;
    }
    for (uri, n) in [("x:1", 1), ("x:2", 4)] {
        let (method, params) = told(&mut modern, Version::MODERN).await;
        assert_eq!(method, UPDATED);
        let meta = json!({ SUBSCRIPTION: "s" });
        assert_eq!(params, json!({"_meta": meta, "uri": uri, "n": n}));
    }
    let (method, params) = told(&mut legacy, session.version()).await;
    assert_eq!(
        (method.as_str(), params),
        (UPDATED, json!({"uri": "x:3", "n": 3}))
    );

    let unsubscribed = session.ask(scenario.router(0), "resources/unsubscribe", uri);
    assert_eq!(unsubscribed.await.result(), &json!({}));
    watched(&mut app, &["x:1", "x:2"]).await;
    app.send(update("x:3", 5)).await;
    drop(modern);
    watched(&mut app, &[]).await;
    // Who has not asked hears nothing; two comments are longer than any of this takes.
    for events in [&mut legacy, &mut nothing, &mut lists] {
        events.comment().await;
        events.comment().await;
    }
}

#[tokio::test]
async fn each_kind_has_changes_of_its_own() {
    let scenario = Scenario::start().await;
    let mut app = connect(&scenario, 0, offering(1, &["p"], "x:1")).await;
    let mut prompts = listen(&scenario, 1, "1", &json!({"promptsListChanged": true})).await;
    let mut resources = listen(&scenario, 2, "2", &json!({"resourcesListChanged": true})).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let mut legacy = stream(&scenario, 1, &session).await;
    app.send(offering(1, &["p", "q"], "x:1")).await;
    let changed = "notifications/prompts/list_changed";
    assert_eq!(told(&mut prompts, Version::MODERN).await.0, changed);
    assert_eq!(told(&mut legacy, session.version()).await.0, changed);
    app.send(offering(1, &["p", "q"], "x:2")).await;
    let changed = "notifications/resources/list_changed";
    assert_eq!(told(&mut resources, Version::MODERN).await.0, changed);
    assert_eq!(told(&mut legacy, session.version()).await.0, changed);
    for events in [&mut prompts, &mut resources, &mut legacy] {
        events.comment().await;
        events.comment().await;
    }
}

/// What one stream was told, until it was told of a change of prompts and an update.
async fn told_over_a_move(events: &mut Events, version: Version) -> (usize, usize) {
    let (mut changes, mut updates) = (0, 0);
    while changes == 0 || updates == 0 {
        match told(events, version).await.0.as_str() {
            UPDATED => updates += 1,
            "notifications/prompts/list_changed" => changes += 1,
            other => panic!("{other}"),
        }
    }
    (changes, updates)
}

/// How a node goes.
#[derive(Clone, Copy)]
enum Goes {
    Lost,
    Drained,
}

/// Streams of both eras stand while the client ID goes from one node to another.
async fn streams_outlive_a_node_that_is(goes: Goes) {
    let mut scenario = Scenario::start().await;
    let mut app = connect(&scenario, 0, offering(1, &["p"], "x:1")).await;
    let filter = json!({"promptsListChanged": true, "resourceSubscriptions": ["x:1"]});
    let mut modern = listen(&scenario, 1, "1", &filter).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let uri = r#"{"uri":"x:1"}"#;
    session
        .ask(scenario.router(1), "resources/subscribe", uri)
        .await;
    session
        .ask(
            scenario.router(2),
            "logging/setLevel",
            r#"{"level":"error"}"#,
        )
        .await;
    let mut legacy = stream(&scenario, 2, &session).await;
    watched(&mut app, &["x:1"]).await;

    let client_id = ClientId::parse(CLIENT).unwrap();
    let record = scenario.store.record(&client_id).await.unwrap().unwrap();
    let holder = record.holder.unwrap().node.to_string();
    let number: usize = holder.strip_prefix("node-").unwrap().parse().unwrap();
    let node = scenario.cluster.take_node(number - 1);
    let going = tokio::spawn(async move {
        match goes {
            Goes::Lost => drop(node),
            Goes::Drained => node.stop().await,
        }
    });
    while let Incoming::Message(_) = app.next().await {}
    // It comes back with other prompts.
    let mut app = connect(&scenario, 1, offering(2, &["p", "q"], "x:1")).await;
    for (events, version) in [
        (&mut modern, Version::MODERN),
        (&mut legacy, session.version()),
    ] {
        let (changes, updates) = told_over_a_move(events, version).await;
        assert_eq!(changes, 1, "{version:?}");
        assert!(updates >= 1);
    }
    watched(&mut app, &["x:1"]).await;
    going.await.unwrap();

    // From here on everything is as it was: each change once, updates to whoever watches.
    app.register(offering(2, &["p"], "x:1")).await;
    app.send(update("x:1", 7)).await;
    for (events, version) in [
        (&mut modern, Version::MODERN),
        (&mut legacy, session.version()),
    ] {
        let (mut changes, mut last) = (0, json!({}));
        while changes == 0 || last["n"] != 7 {
            let (method, params) = told(events, version).await;
            changes += usize::from(method != UPDATED);
            last = if method == UPDATED { params } else { last };
        }
        assert_eq!(changes, 1, "{version:?}");
        events.comment().await;
        events.comment().await;
    }
    the_level_is_kept(&scenario, &session, app).await;
}

/// The session has asked for errors alone, at a node that is gone.
async fn the_level_is_kept(scenario: &Scenario, session: &Session, mut app: RawApp) {
    let request = session.request("9", "resources/read", r#"{"uri":"x:1"}"#);
    let router = scenario.router(0);
    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.call().await;
    assert_eq!(call.value()["context"]["logLevel"], "error");
    app.send(log(&call, "warning")).await;
    app.send(log(&call, "critical")).await;
    app.result(&call, r#"{"contents":[]}"#).await;
    let answer = clientmcp_e2e::answer::Answer::read(asked.await.unwrap()).await;
    let levels: Vec<_> = answer
        .notifications
        .iter()
        .map(|it| &it["params"]["level"])
        .collect();
    assert_eq!(levels, [&json!("critical")]);
}

fn log(call: &Message, level: &str) -> String {
    let id = call.raw("id");
    format!(r#"{{"type":"log","id":{id},"level":"{level}","data":1}}"#)
}

#[tokio::test]
async fn streams_outlive_a_node_that_is_lost() {
    streams_outlive_a_node_that_is(Goes::Lost).await;
}

#[tokio::test]
async fn streams_outlive_a_node_that_drains() {
    streams_outlive_a_node_that_is(Goes::Drained).await;
}
