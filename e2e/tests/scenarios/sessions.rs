//! Sessions of the 2025 revisions: signed, known to every router, ended everywhere at once
//! (SPEC.md §6).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::events::Event;
use clientmcp_e2e::exchange::Request;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::session::{self, Session};
use clientmcp_e2e::tokens::{Scope, Tokens};
use http::Method;

#[tokio::test]
async fn a_session_that_was_ended_is_unknown_to_every_router() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let session = scenario.session(Version::V2025_11_25).await;
    let stream = session.stream().send(scenario.router(2)).await.events();
    let ended = session.end().send(scenario.router(1)).await;
    assert_eq!(ended.status, 204);
    assert!(ended.bytes().await.is_empty());
    stream.end().await;
    for index in 0..3 {
        let router = scenario.router(index);
        for request in [
            session.request("1", "tools/list", "{}"),
            session.request("1", "ping", "{}"),
            session.call("1", "echo", "{}"),
            session.notification("notifications/initialized", "{}"),
            session.post(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            session.stream(),
            session.end(),
        ] {
            let response = request.send(router).await;
            assert_eq!(response.status, 404, "{request:?}");
            assert_eq!(response.json().await["error"]["code"], 40_401);
        }
    }
    // Another session of the same agent is not touched.
    let other = scenario.session(Version::V2025_11_25).await;
    assert_eq!(
        other
            .use_tool(scenario.router(0), "echo", "{}")
            .await
            .text(),
        "{}"
    );
}

#[tokio::test]
async fn sessions_outlive_the_routers_that_began_them() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let session = scenario.session(Version::V2025_06_18).await;
    // A router of a cluster that shares nothing with the first but the secret.
    let restarted = Scenario::start().await;
    let _app = restarted.echo().await;
    for index in 0..3 {
        assert_eq!(
            session
                .use_tool(restarted.router(index), "echo", "{}")
                .await
                .text(),
            "{}"
        );
    }
}

#[tokio::test]
async fn what_is_no_session_of_this_agent_is_404_and_no_session_at_all_is_400() {
    let scenario = Scenario::start().await;
    let router = scenario.router(1);
    let alice = scenario.tokens.agent_named(CLIENT, "alice");
    let session = Session::begin(scenario.router(0), &alice, Version::V2025_11_25).await;
    let bearer = |token: &str| format!("Bearer {token}");
    let foreign_secret = Tokens::new("another secret that this cluster does not know");
    let elsewhere =
        Scenario::start_with(|options| options.secrets = foreign_secret.secrets()).await;
    let forged = Session::begin(
        elsewhere.router(0),
        &foreign_secret.agent_named(CLIENT, "alice"),
        Version::V2025_11_25,
    )
    .await;
    let ending = scenario.tokens.ending_in(CLIENT, Scope::Call, -4);
    let expired = Session::begin(scenario.router(0), &ending, Version::V2025_11_25).await;
    // The session goes with the token under which it began, whatever token is shown with it.
    clientmcp_e2e::waiting::until("the first token is over", async || {
        expired.request("1", "ping", "{}").send(router).await.status == 401
    })
    .await;

    let mut tampered = session.id().to_owned();
    tampered.replace_range(3..4, if &tampered[3..4] == "A" { "B" } else { "A" });
    let foreign = [
        (
            session.id().to_owned(),
            scenario.tokens.agent_named(CLIENT, "bob"),
        ),
        (session.id().to_owned(), scenario.tokens.agent(CLIENT)),
        (
            session.id().to_owned(),
            scenario.tokens.agent_named("other", "alice"),
        ),
        (forged.id().to_owned(), alice.clone()),
        (expired.id().to_owned(), scenario.tokens.agent(CLIENT)),
        (tampered, alice.clone()),
        ("x".repeat(5_000), alice.clone()),
        ("unknown".to_owned(), alice.clone()),
        (uuid_like(), alice.clone()),
    ];
    for (id, token) in &foreign {
        for request in [
            session.request("1", "tools/list", "{}"),
            session.stream(),
            session.end(),
        ] {
            let response = request
                .with("Mcp-Session-Id", id)
                .with("Authorization", bearer(token))
                .send(router)
                .await;
            assert_eq!(response.status, 404, "{id}");
        }
    }
    let without = session
        .request("7", "tools/list", "{}")
        .without("Mcp-Session-Id")
        .send(router)
        .await;
    assert_eq!(without.status, 400);
    assert_eq!(without.json().await["id"], 7);
    for request in [session.stream(), session.end()] {
        let response = request.without("Mcp-Session-Id").send(router).await;
        assert_eq!(response.status, 405);
        assert!(
            response
                .header("allow")
                .is_some_and(|allow| allow.contains("POST"))
        );
    }
    // And the session itself stands.
    session.ask(router, "ping", "{}").await;
}

#[tokio::test]
async fn a_newer_stream_ends_the_older() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["a"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let mut old = session.stream().send(scenario.router(0)).await.events();
    assert_eq!(old.next().await, Some(Event::Comment));
    for index in 1..4 {
        let mut new = session.stream().send(scenario.router(index)).await.events();
        assert_eq!(new.next().await, Some(Event::Comment));
        old.end().await;
        old = new;
    }
    // A stream of another session does not.
    let other = scenario.session(Version::V2025_11_25).await;
    let _other = other.stream().send(scenario.router(0)).await.events();
    app.register(clientmcp_e2e::raw_app::registration("app", "[]"))
        .await;
    assert_eq!(
        old.message().await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn a_session_begins_before_its_app() {
    let scenario = Scenario::start().await;
    let session = scenario.session(Version::V2025_11_25).await;
    assert_eq!(
        session
            .ask(scenario.router(1), "tools/list", "{}")
            .await
            .result()["tools"],
        serde_json::json!([])
    );
    let _app = scenario.echo().await;
    assert_eq!(
        session
            .use_tool(scenario.router(2), "echo", "{}")
            .await
            .text(),
        "{}"
    );
}

#[tokio::test]
async fn initialize_gives_what_the_app_says_of_itself() {
    let scenario = Scenario::start().await;
    let mut app =
        clientmcp_e2e::raw_app::RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT))
            .await;
    let more = r#","instructions":"Be kind.""#;
    app.register(clientmcp_e2e::raw_app::registration_of(
        "app", 1, "[]", more,
    ))
    .await;
    let response = session::initialize(&scenario.tokens.agent(CLIENT), "2025-11-25")
        .send(scenario.router(1))
        .await;
    let result = &response.json().await["result"];
    assert_eq!(
        result["serverInfo"],
        serde_json::json!({"name": "raw app", "version": "1"})
    );
    assert_eq!(result["instructions"], "Be kind.");
    assert_eq!(
        result["capabilities"]["tools"],
        serde_json::json!({"listChanged": true})
    );
}

#[tokio::test]
async fn requests_of_one_session_run_side_by_side() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let session = std::sync::Arc::new(scenario.session(Version::V2025_11_25).await);
    let requests = (0..30).map(|index| {
        let (session, router) = (session.clone(), scenario.router(index));
        async move {
            let arguments = format!(r#"{{"n":{index}}}"#);
            assert_eq!(
                session.use_tool(router, "echo", &arguments).await.text(),
                arguments
            );
        }
    });
    futures_util::future::join_all(requests).await;
}

#[tokio::test]
async fn a_modern_request_does_not_mind_a_session_header() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let request = scenario
        .modern()
        .call("1", "echo", "{}")
        .with("Mcp-Session-Id", "whatever");
    assert_eq!(request.send(scenario.router(0)).await.status, 200);
    let get = Request::new(Method::GET, "/mcp")
        .with(
            "Authorization",
            format!("Bearer {}", scenario.tokens.agent(CLIENT)),
        )
        .with("Accept", "text/event-stream")
        .with("Mcp-Session-Id", "whatever")
        .with("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(get.send(scenario.router(0)).await.status, 405);
}

fn uuid_like() -> String {
    "4bf92f35-77b3-4da6-a3ce-929d0e0e4736".to_owned()
}
