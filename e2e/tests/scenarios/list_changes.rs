//! Changes of lists are told exactly once on each stream (SPEC.md §8.3), on the GET stream of a
//! session and on `subscriptions/listen`.

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::events::{Event, Events};
use clientmcp_e2e::raw_app::{RawApp, registration, registration_of, tool};
use clientmcp_e2e::scenario::Scenario;
use clientmcp_e2e::schema;
use serde_json::{Value, json};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

#[tokio::test]
async fn a_change_is_told_once_on_every_stream_of_every_router() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["a"]).await;
    let mut streams = Vec::new();
    for index in 0..3 {
        for version in [
            Version::V2025_03_26,
            Version::V2025_06_18,
            Version::V2025_11_25,
        ] {
            let session = scenario.session(version).await;
            streams.push((
                version,
                open(session.stream().send(scenario.router(index)).await).await,
            ));
        }
        streams.push((Version::MODERN, listen(&scenario, index, "\"sub\"").await));
    }

    // The same content again is no change, and neither is another instruction: the marker that
    // follows is the first that is told.
    let same = registration("app", &format!("[{}]", tool("a")));
    app.register(same).await;
    app.register(registration_of(
        "app",
        1,
        &format!("[{}]", tool("a")),
        r#","instructions":"new""#,
    ))
    .await;
    app.register(registration(
        "app",
        &format!("[{},{}]", tool("a"), tool("b")),
    ))
    .await;
    for (version, events) in &mut streams {
        expect_change(events, *version).await;
    }
    // Each change is told; and between two of them nothing else comes.
    app.register(registration("app", &format!("[{}]", tool("a"))))
        .await;
    for (version, events) in &mut streams {
        expect_change(events, *version).await;
    }
    for (_, mut events) in streams {
        for _ in 0..2 {
            events.comment().await;
        }
    }
}

#[tokio::test]
async fn an_app_that_comes_back_with_the_same_tools_changes_nothing() {
    let scenario = Scenario::start().await;
    let app = scenario.app(&["a"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let mut legacy = open(session.stream().send(scenario.router(1)).await).await;
    let mut modern = listen(&scenario, 2, "1").await;
    app.leave().await;
    let mut app = scenario.app(&["a"]).await;
    app.register(registration("app", &format!("[{}]", tool("b"))))
        .await;
    expect_change(&mut legacy, Version::V2025_11_25).await;
    expect_change(&mut modern, Version::MODERN).await;
    for events in [&mut legacy, &mut modern] {
        events.comment().await;
        events.comment().await;
    }
}

#[tokio::test]
async fn streams_may_be_opened_before_the_app_exists() {
    let scenario = Scenario::start().await;
    let session = scenario.session(Version::V2025_06_18).await;
    let mut legacy = open(session.stream().send(scenario.router(1)).await).await;
    let mut modern = listen(&scenario, 2, "1").await;
    let _app = scenario.app(&["a"]).await;
    expect_change(&mut legacy, Version::V2025_06_18).await;
    expect_change(&mut modern, Version::MODERN).await;
}

#[tokio::test]
async fn a_subscription_repeats_its_id_and_what_it_honours() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["a"]).await;
    for (id, value) in [("7", json!(7)), ("\"7\"", json!("7")), ("\"\"", json!(""))] {
        let all = r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x://y"]}}"#;
        let request = scenario.modern().request(id, "subscriptions/listen", all);
        let mut events = request.send(scenario.router(0)).await.events();
        let acknowledged = events.message().await;
        schema::check(Version::MODERN, "subscriptions/listen", &acknowledged);
        assert_eq!(
            acknowledged["method"],
            "notifications/subscriptions/acknowledged"
        );
        assert_eq!(
            acknowledged["params"]["notifications"]["toolsListChanged"],
            true
        );
        assert_ne!(
            acknowledged["params"]["notifications"]["promptsListChanged"], true,
            "there are none"
        );
        assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION], value);
        app.register(registration(
            "app",
            &format!("[{}]", tool(&format!("t{}", id.len()))),
        ))
        .await;
        let change = events.message().await;
        assert_eq!(change["params"]["_meta"][SUBSCRIPTION], value);
    }
}

#[tokio::test]
async fn nothing_outside_the_filter_is_told() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["a"]).await;
    let request = scenario.modern().request(
        "1",
        "subscriptions/listen",
        r#"{"notifications":{"promptsListChanged":true}}"#,
    );
    let mut filtered = request.send(scenario.router(1)).await.events();
    assert_eq!(
        filtered.message().await["method"],
        "notifications/subscriptions/acknowledged"
    );
    let mut other = listen(&scenario, 1, "1").await;
    app.register(registration("app", &format!("[{}]", tool("b"))))
        .await;
    expect_change(&mut other, Version::MODERN).await;
    for _ in 0..2 {
        filtered.comment().await;
    }
}

#[tokio::test]
async fn changes_of_one_client_are_not_told_to_another() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["a"]).await;
    let mut other_app = RawApp::connect(scenario.router(1), &scenario.tokens.app("other")).await;
    other_app.register(registration("other", "[]")).await;
    let mut events = listen(&scenario, 1, "1").await;
    other_app
        .register(registration("other", &format!("[{}]", tool("x"))))
        .await;
    app.register(registration("app", &format!("[{}]", tool("b"))))
        .await;
    expect_change(&mut events, Version::MODERN).await;
    events.comment().await;
}

#[tokio::test]
async fn a_subscription_needs_a_filter_and_a_stream() {
    let scenario = Scenario::start().await;
    let modern = scenario.modern();
    let router = scenario.router(0);
    let without = modern.request("1", "subscriptions/listen", "{}");
    assert_eq!(
        Answer::read(without.send(router).await).await.error(),
        (400, -32602)
    );
    let listen = modern.request(
        "1",
        "subscriptions/listen",
        r#"{"notifications":{"toolsListChanged":true}}"#,
    );
    let refused = listen.with("Accept", "application/json").send(router).await;
    assert_eq!(refused.status, 406);
    assert_eq!(refused.json().await["id"], 1);
}

#[tokio::test]
async fn a_router_that_stops_ends_its_streams_in_good_order() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let session = scenario.session(Version::V2025_11_25).await;
    let legacy = open(session.stream().send(scenario.router(1)).await).await;
    let mut modern = listen(&scenario, 1, "\"s\"").await;
    let stopping = tokio::spawn(scenario.cluster.stop());
    legacy.end().await;
    let last = modern.message().await;
    schema::check(Version::MODERN, "subscriptions/listen", &last);
    assert_eq!(last["id"], "s");
    assert_eq!(last["result"]["_meta"][SUBSCRIPTION], "s");
    modern.end().await;
    stopping.await.unwrap();
}

/// The stream of a session, which begins with a comment.
async fn open(response: clientmcp_e2e::exchange::Response) -> Events {
    let mut events = response.events();
    assert_eq!(events.next().await, Some(Event::Comment));
    events
}

/// A subscription to changes of tools, acknowledged.
async fn listen(scenario: &Scenario, router: usize, id: &str) -> Events {
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let request = scenario
        .modern()
        .request(id, "subscriptions/listen", filter);
    let mut events = request.send(scenario.router(router)).await.events();
    let acknowledged = events.message().await;
    schema::check(Version::MODERN, "subscriptions/listen", &acknowledged);
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    events
}

async fn expect_change(events: &mut Events, version: Version) {
    let change: Value = events.message().await;
    schema::check(version, "", &change);
    assert_eq!(change["method"], TOOLS_CHANGED);
    assert_eq!(change.get("id"), None);
}
