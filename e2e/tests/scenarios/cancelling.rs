//! How calls are cancelled: by closing in the modern era, by saying so in the legacy one
//! (SPEC.md §7.2).

use std::time::Duration;

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::exchange::Http2;
use clientmcp_e2e::raw_app::{Message, RawApp, text_result};
use clientmcp_e2e::scenario::Scenario;
use clientmcp_e2e::session::Session;
use serde_json::json;

#[tokio::test]
async fn closing_a_modern_call_cancels_it_before_and_after_its_first_byte() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let router = scenario.router(1);
    let request = scenario.modern().call("1", "slow", "{}");

    // Nothing has come back yet.
    let early = request.clone();
    let asked = tokio::spawn(async move { early.send(router).await });
    let call = app.expect("call").await;
    asked.abort();
    expect_cancel(&mut app, &call, "disconnect").await;

    // The stream has begun.
    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.expect("call").await;
    let mut events = asked.await.unwrap().events();
    events.comment().await;
    drop(events);
    expect_cancel(&mut app, &call, "disconnect").await;
}

#[tokio::test]
async fn resetting_an_http2_stream_cancels_its_call_alone() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let connection = std::sync::Arc::new(Http2::connect(scenario.router(2)).await);
    let ask = |id: &str| {
        let (connection, request) = (connection.clone(), scenario.modern().call(id, "slow", "{}"));
        tokio::spawn(async move { connection.send(&request).await })
    };
    let kept = ask("1");
    let kept_call = app.expect("call").await;
    let early = ask("2");
    let early_call = app.expect("call").await;
    early.abort();
    expect_cancel(&mut app, &early_call, "disconnect").await;
    let late = ask("3");
    let late_call = app.expect("call").await;
    drop(late.await.unwrap());
    expect_cancel(&mut app, &late_call, "disconnect").await;

    app.result(&kept_call, &text_result("kept")).await;
    let answer = kept.await.unwrap();
    assert!(String::from_utf8_lossy(&answer.bytes().await).contains("kept"));
}

#[tokio::test]
async fn nothing_is_left_of_a_call_that_was_cancelled() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let request = scenario.modern().call("1", "slow", "{}");
    let mut asked = Vec::new();
    for index in 0..20 {
        let (request, router) = (request.clone(), scenario.router(index));
        asked.push(tokio::spawn(async move { request.send(router).await }));
    }
    for _ in 0..20 {
        app.expect("call").await;
    }
    for task in asked {
        task.abort();
    }
    for _ in 0..20 {
        app.expect("cancel").await;
    }
    clientmcp_e2e::waiting::until("no call is in flight", async || {
        scenario.of_routers("clientmcp_calls_in_flight").await == 0.0
            && scenario.of_nodes("clientmcp_node_calls_in_flight").await == 0.0
    })
    .await;
}

#[tokio::test]
async fn a_legacy_call_goes_on_when_its_connection_is_closed() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow", "other"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let router = scenario.router(0);
    let early = session.call("1", "slow", "{}");
    let asked = tokio::spawn(async move { early.send(router).await });
    let early_call = app.expect("call").await;
    asked.abort();
    let late = session.call("2", "slow", "{}");
    let asked = tokio::spawn(async move { late.send(router).await });
    let late_call = app.expect("call").await;
    let mut events = asked.await.unwrap().events();
    events.comment().await;
    drop(events);

    // Longer than a cancellation takes; and the first thing that the app hears is another call.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let next = session.call("3", "other", "{}");
    let asked = tokio::spawn(async move { next.send(router).await });
    let call = app.expect("call").await;
    for call in [&early_call, &late_call, &call] {
        app.result(call, &text_result("done")).await;
    }
    assert_eq!(asked.await.unwrap().status, 200);
}

#[tokio::test]
async fn a_legacy_call_is_cancelled_through_another_router() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let session = scenario.session(version).await;
        let (request, router) = (session.call("\"1\"", "slow", "{}"), scenario.router(1));
        let asked = tokio::spawn(async move { request.send(router).await });
        let call = app.expect("call").await;
        let mut events = asked.await.unwrap().events();
        events.comment().await;
        // 1 is not "1": a cancel of another type does nothing.
        cancel(&scenario, 2, &session, "1").await;
        cancel(&scenario, 2, &session, "\"2\"").await;
        cancel(&scenario, 2, &session, "\"1\"").await;
        expect_cancel(&mut app, &call, "agent").await;
        events.end().await;
        // An answer that crosses it is dropped.
        app.result(&call, &text_result("late")).await;
    }
}

#[tokio::test]
async fn a_session_cannot_cancel_the_calls_of_another() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let other = scenario.session(Version::V2025_11_25).await;
    let (request, router) = (session.call("1", "slow", "{}"), scenario.router(1));
    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.expect("call").await;
    cancel(&scenario, 1, &other, "1").await;
    cancel(&scenario, 2, &other, "1").await;
    cancel(&scenario, 0, &session, "1").await;
    // One cancel arrives, though three were sent.
    expect_cancel(&mut app, &call, "agent").await;
    asked.await.unwrap().events().end().await;
    let (request, router) = (session.call("2", "slow", "{}"), scenario.router(1));
    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("done")).await;
    assert_eq!(asked.await.unwrap().status, 200);
}

#[tokio::test]
async fn a_cancel_that_comes_first_is_kept_for_its_call() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow", "other"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    cancel(&scenario, 2, &session, "1").await;
    let response = session
        .call("1", "slow", "{}")
        .send(scenario.router(1))
        .await;
    // The agent gave it up: there is no answer, and the app never saw it.
    assert!(response.bytes().await.is_empty());
    let (request, router) = (session.call("2", "other", "{}"), scenario.router(1));
    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.expect("call").await;
    assert_eq!(call.value()["params"]["name"], json!("other"));
    app.result(&call, &text_result("done")).await;
    assert_eq!(asked.await.unwrap().status, 200);
}

async fn cancel(scenario: &Scenario, router: usize, session: &Session, id: &str) {
    let params = format!(r#"{{"requestId":{id},"reason":"test"}}"#);
    session
        .notify(scenario.router(router), "notifications/cancelled", &params)
        .await;
}

async fn expect_cancel(app: &mut RawApp, call: &Message, reason: &str) {
    let cancel = app.expect("cancel").await.value();
    assert_eq!(
        (&cancel["id"], &cancel["reason"]),
        (&call.value()["id"], &json!(reason))
    );
}
