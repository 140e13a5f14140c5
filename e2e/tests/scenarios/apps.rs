//! One connection per client ID, wherever it arrives, and how it lives and ends (SPEC.md §4.1,
//! §4.6, §4.8).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::exchange::Request;
use clientmcp_e2e::raw_app::{Incoming, RawApp, registration, registration_of, text_result, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::tokens::Scope;
use http::Method;
use serde_json::json;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;

#[tokio::test]
async fn the_newest_instance_wins_through_whatever_router() {
    let scenario = Scenario::start().await;
    let token = scenario.tokens.app(CLIENT);
    let tools = format!("[{}]", tool("who"));
    let mut old = RawApp::connect(scenario.router(0), &token).await;
    old.register(registration("i0", &tools)).await;
    for number in 1..6 {
        let mut new = RawApp::connect(scenario.router(number), &token).await;
        new.register(registration(&format!("i{number}"), &tools))
            .await;
        let (code, reason) = old.closed().await;
        assert_eq!(code, 4409);
        assert!(!reason.is_empty());
        let router = scenario.router(number + 1);
        let modern = scenario.modern();
        let asked = tokio::spawn(async move { modern.use_tool(router, "who", "{}").await });
        let call = new.expect("call").await;
        new.result(&call, &text_result("the new one")).await;
        assert_eq!(asked.await.unwrap().text(), "the new one");
        old = new;
    }
}

#[tokio::test]
async fn within_one_instance_the_higher_connection_wins_in_any_order() {
    let scenario = Scenario::start().await;
    let token = scenario.tokens.app(CLIENT);
    let tools = format!("[{}]", tool("who"));
    let register = |connection| registration_of("i", connection, &tools, "");
    let mut first = RawApp::connect(scenario.router(0), &token).await;
    first.register(register(1)).await;
    let mut third = RawApp::connect(scenario.router(1), &token).await;
    third.register(register(3)).await;
    assert_eq!(first.closed().await.0, 1000);
    // The second comes last, and loses all the same.
    let mut second = RawApp::connect(scenario.router(2), &token).await;
    second.send(register(2)).await;
    assert!(matches!(second.next().await, Incoming::Closed(1000, _)));
    let (router, modern) = (scenario.router(0), scenario.modern());
    let asked = tokio::spawn(async move { modern.use_tool(router, "who", "{}").await });
    let call = third.expect("call").await;
    third.result(&call, &text_result("third")).await;
    assert_eq!(asked.await.unwrap().text(), "third");
}

#[tokio::test]
async fn calls_that_ran_when_another_instance_took_over_have_an_unknown_outcome() {
    let scenario = Scenario::start().await;
    let mut old = scenario.app(&["slow"]).await;
    let (router, modern) = (scenario.router(1), scenario.modern());
    let asked = tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await });
    old.expect("call").await;
    let mut new = RawApp::connect(scenario.router(2), &scenario.tokens.app(CLIENT)).await;
    new.register(registration("another", &format!("[{}]", tool("slow"))))
        .await;
    assert_eq!(old.closed().await.0, 4409);
    assert_eq!(asked.await.unwrap().outcome(), "unknown");
}

#[tokio::test]
async fn an_old_connection_that_ends_late_takes_nothing_from_the_new_one() {
    let scenario = Scenario::start().await;
    let token = scenario.tokens.app(CLIENT);
    let tools = format!("[{}]", tool("who"));
    let mut current = RawApp::connect(scenario.router(0), &token).await;
    current.register(registration_of("i", 1, &tools, "")).await;
    for number in 2..40 {
        // The old one leaves in the very moment in which the new one registers.
        let mut next = RawApp::connect(scenario.router(number), &token).await;
        let leave = async {
            tokio::task::yield_now().await;
            drop(current);
        };
        let register = next.register(registration_of("i", number as u64, &tools, ""));
        tokio::join!(register, leave);
        current = next;
        let (router, modern) = (scenario.router(number + 1), scenario.modern());
        let asked = tokio::spawn(async move { modern.use_tool(router, "who", "{}").await });
        let call = current.expect("call").await;
        current.result(&call, &text_result("me")).await;
        assert_eq!(asked.await.unwrap().text(), "me");
    }
}

#[tokio::test]
async fn subprotocols_come_in_any_order_and_one_is_echoed() {
    let scenario = Scenario::start().await;
    let router = scenario.router(0);
    let token = format!("clientmcp.token.{}", scenario.tokens.app(CLIENT));
    let upgrade = |lines: &[&str]| {
        let request = Request::new(Method::GET, "/v1/connect")
            .with("Connection", "Upgrade")
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13")
            .with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        let request = lines.iter().fold(request, |request, line| {
            request.and("Sec-WebSocket-Protocol", line)
        });
        async move { request.send(router).await }
    };
    let both = |pattern: &str| pattern.replace("TOKEN", &token);
    for accepted in [
        vec![both("clientmcp.v1, TOKEN")],
        vec![both("TOKEN, clientmcp.v1")],
        vec![both("TOKEN"), both("clientmcp.v1")],
        vec![both(",clientmcp.v1,,\tTOKEN ,")],
        vec![both("clientmcp.v1,clientmcp.v2,TOKEN")],
    ] {
        let lines: Vec<&str> = accepted.iter().map(String::as_str).collect();
        let response = upgrade(&lines).await;
        assert_eq!(response.status, 101, "{lines:?}");
        assert_eq!(
            response.header("sec-websocket-protocol"),
            Some("clientmcp.v1")
        );
        assert_eq!(
            response.header("sec-websocket-accept"),
            Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        );
    }
    for refused in [
        "TOKEN",
        "CLIENTMCP.V1, TOKEN",
        "clientmcp.v2, TOKEN",
        "clientmcp.v1x, TOKEN",
    ] {
        assert_eq!(upgrade(&[&both(refused)]).await.status, 400, "{refused}");
    }
    assert_eq!(upgrade(&[]).await.status, 400);
    let no_upgrade = Request::new(Method::GET, "/v1/connect").send(router).await;
    assert!(no_upgrade.status.is_client_error());
}

#[tokio::test]
async fn a_foreign_page_may_not_connect() {
    let scenario = Scenario::start_with(|options| {
        options.allowed_origins = vec!["https://app.example".to_owned()];
    })
    .await;
    let token = format!("clientmcp.token.{}", scenario.tokens.app(CLIENT));
    let router = scenario.router(0);
    for (origin, allowed) in [
        ("https://app.example", true),
        ("http://localhost:3000", true),
        ("https://evil.example", false),
        ("null", false),
    ] {
        let request =
            ClientRequestBuilder::new(format!("ws://{router}/v1/connect").parse().unwrap())
                .with_header("Origin", origin)
                .with_sub_protocol("clientmcp.v1")
                .with_sub_protocol(&token);
        let mut app = RawApp::upgrade(router, request)
            .await
            .expect("a browser sees no status of an upgrade");
        if allowed {
            app.register(registration("app", "[]")).await;
        } else {
            assert!(
                matches!(app.next().await, Incoming::Closed(4403, _)),
                "{origin}"
            );
        }
    }
}

#[tokio::test]
async fn an_idle_connection_ends_with_its_token() {
    let scenario = Scenario::start().await;
    // By the leeway it is valid for some two seconds more.
    let token = scenario.tokens.ending_in(CLIENT, Scope::Serve, -3);
    let mut app = RawApp::connect(scenario.router(0), &token).await;
    app.register(registration("app", &format!("[{}]", tool("t"))))
        .await;
    assert!(matches!(app.next().await, Incoming::Closed(4401, _)));
}

#[tokio::test]
async fn a_new_token_is_taken_in_place() {
    let scenario = Scenario::start().await;
    let short = scenario.tokens.ending_in(CLIENT, Scope::Serve, -2);
    let mut app = RawApp::connect(scenario.router(0), &short).await;
    let registered = app
        .register(registration("app", &format!("[{}]", tool("t"))))
        .await;
    let auth = |token: &str| json!({"type": "auth", "token": token}).to_string();
    app.send(auth(&scenario.tokens.app(CLIENT))).await;
    let authorized = app.expect("authorized").await.value();
    assert!(authorized["expiresAt"].as_u64() > registered["expiresAt"].as_u64());
    assert!(
        authorized["expiresInMs"]
            .as_u64()
            .is_some_and(|ms| ms > 3_000_000)
    );
    // It outlives the first token, which ends within three seconds and a bit.
    tokio::time::sleep(std::time::Duration::from_millis(4_200)).await;
    app.send(r#"{"type":"ping"}"#).await;
    app.expect("pong").await;
    // A token of another client ID is none for this one.
    app.send(auth(&scenario.tokens.app("other"))).await;
    assert_eq!(app.closed().await.0, 4401);
}

#[tokio::test]
async fn streams_end_with_their_token_and_calls_run_on() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let token = scenario.tokens.ending_in(CLIENT, Scope::Call, -2);
    let modern = clientmcp_e2e::modern::Modern::new(token.clone());
    let session =
        clientmcp_e2e::session::Session::begin(scenario.router(0), &token, Version::V2025_11_25)
            .await;
    let legacy = session.stream().send(scenario.router(1)).await.events();
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let mut listen = modern
        .request("1", "subscriptions/listen", filter)
        .send(scenario.router(2))
        .await
        .events();
    listen.message().await;
    let (request, router) = (modern.call("2", "slow", "{}"), scenario.router(1));
    let asked = tokio::spawn(async move {
        clientmcp_e2e::answer::Answer::read(request.send(router).await).await
    });
    let call = app.expect("call").await;

    legacy.end().await;
    assert_eq!(
        listen.message().await["id"],
        1,
        "a subscription ends with its result"
    );
    listen.end().await;
    let refused = modern
        .call("3", "slow", "{}")
        .send(scenario.router(0))
        .await;
    assert_eq!(refused.status, 401);
    app.result(&call, &text_result("ended after its token"))
        .await;
    assert_eq!(asked.await.unwrap().text(), "ended after its token");
}

#[tokio::test]
async fn locate_says_where_to_connect_directly() {
    let scenario = Scenario::start().await;
    let router = scenario.router(0);
    let ask = |token: String| {
        let request = Request::new(Method::GET, "/v1/locate")
            .with("Authorization", format!("Bearer {token}"));
        async move { request.send(router).await }
    };
    // These nodes have no public address.
    assert_eq!(
        ask(scenario.tokens.app(CLIENT)).await.json().await,
        json!({"url": null})
    );
    assert_eq!(ask(scenario.tokens.agent(CLIENT)).await.status, 403);
    assert_eq!(ask("x".to_owned()).await.status, 401);
}
