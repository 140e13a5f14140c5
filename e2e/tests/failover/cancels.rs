//! Calls that are cancelled while the app that runs them is away (SPEC.md §7.2).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::raw_app::{Message, RawApp, text_result};
use clientmcp_e2e::scenario::Scenario;
use clientmcp_e2e::waiting::until;
use serde_json::json;

use crate::scene::{calls_waiting, connect, patient};

/// The app lost its socket, and the call that it runs waits for it at a node.
async fn waits(scenario: &Scenario, app: RawApp) {
    drop(app);
    until("the call waits for its app", async || {
        calls_waiting(scenario).await == 1
    })
    .await;
}

/// The app is back: it hears that the call is cancelled, and then of the next call alone.
async fn expect_cancel_alone(scenario: &Scenario, call: &Message, reason: &str) -> RawApp {
    let mut app = connect(scenario, 2, &["slow"]).await;
    let cancel = app.expect("cancel").await.value();
    let call = call.value();
    assert_eq!(
        (&cancel["id"], &cancel["reason"]),
        (&call["id"], &json!(reason))
    );
    let (modern, router) = (scenario.modern(), scenario.router(2));
    let asked = tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await });
    let next = app.expect("call").await;
    assert_ne!(next.value()["id"], call["id"]);
    app.result(&next, &text_result("next")).await;
    assert_eq!(asked.await.unwrap().text(), "next");
    app
}

/// Against tools that run to their end because the agent closed while the app was away.
#[tokio::test]
async fn an_app_hears_after_its_return_that_a_modern_agent_has_left() {
    let scenario = patient().await;
    let mut app = connect(&scenario, 1, &["slow"]).await;
    let (request, router) = (
        scenario.modern().call("1", "slow", "{}"),
        scenario.router(1),
    );
    let asked = tokio::spawn(async move { request.send(router).await.bytes().await });
    let call = app.expect("call").await;
    waits(&scenario, app).await;
    asked.abort();
    until("the call is given up", async || {
        scenario.of_routers("clientmcp_calls_in_flight").await == 0.0
    })
    .await;
    expect_cancel_alone(&scenario, &call, "disconnect").await;
}

/// The same of a cancel that comes through another router than the call.
#[tokio::test]
async fn an_app_hears_after_its_return_what_a_session_cancelled() {
    let scenario = patient().await;
    let mut app = connect(&scenario, 1, &["slow"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let (request, router) = (session.call("1", "slow", "{}"), scenario.router(1));
    let asked = tokio::spawn(async move { request.send(router).await.bytes().await });
    let call = app.expect("call").await;
    waits(&scenario, app).await;
    let params = r#"{"requestId":1,"reason":"test"}"#;
    session
        .notify(scenario.router(2), "notifications/cancelled", params)
        .await;
    asked.await.unwrap();
    expect_cancel_alone(&scenario, &call, "agent").await;
}
