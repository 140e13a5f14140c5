//! What the model is told when the app does not answer (SPEC.md §7.3).

use std::time::Duration;

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::raw_app::{RawApp, registration, registration_of, text_result, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use futures_util::future::join_all;

const RETRY_AFTER: &str = "dev.clientmcp/retryAfterMs";

#[tokio::test]
async fn an_app_that_never_came_is_offline() {
    let scenario = Scenario::start().await;
    let router = scenario.router(1);
    let answer = scenario.modern().use_tool(router, "echo", "{}").await;
    assert_eq!(answer.outcome(), "offline");
    assert!(answer.text().contains("not connected"), "{}", answer.text());
    let session = scenario.session(Version::V2025_11_25).await;
    assert_eq!(
        session.use_tool(router, "echo", "{}").await.outcome(),
        "offline"
    );
}

#[tokio::test]
async fn an_app_that_left_is_offline_at_once_and_called_by_its_name() {
    let scenario = Scenario::start().await;
    let app = scenario.app(&["echo"]).await;
    let session = scenario.session(Version::V2025_06_18).await;
    app.leave().await;
    for answer in [
        scenario
            .modern()
            .use_tool(scenario.router(1), "echo", "{}")
            .await,
        session.use_tool(scenario.router(2), "echo", "{}").await,
    ] {
        assert_eq!(answer.outcome(), "offline");
        assert!(answer.text().contains("\"raw app\""), "{}", answer.text());
        assert_eq!(
            answer.result()["_meta"].get(RETRY_AFTER),
            None,
            "waiting does not help"
        );
    }
    // An unknown tool stays a protocol mistake: the list is known still.
    let answer = scenario
        .modern()
        .use_tool(scenario.router(0), "unknown", "{}")
        .await;
    assert_eq!(answer.error(), (200, -32602));
}

#[tokio::test]
async fn a_call_waits_for_an_app_that_lost_its_connection() {
    let scenario =
        Scenario::start_with(|options| options.timings.grace = Duration::from_secs(60)).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let app = scenario.app(&["echo"]).await;
    drop(app);
    let (modern, router) = (scenario.modern(), scenario.router(1));
    let legacy = tokio::spawn(async move { session.use_tool(router, "echo", "{}").await });
    let modern = tokio::spawn(async move { modern.use_tool(router, "echo", "{}").await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    // A reloaded page has another instance, and gets the calls that never reached the old one.
    let _app = scenario.echo().await;
    for answer in [legacy.await.unwrap(), modern.await.unwrap()] {
        assert_ne!(answer.result()["isError"], true, "{}", answer.message);
        assert_eq!(answer.text(), "{}");
    }
}

#[tokio::test]
async fn a_call_whose_app_is_lost_may_have_run() {
    let scenario = Scenario::start().await;
    let router = scenario.router(1);
    let modern = scenario.modern();
    let mut app = scenario.app(&["slow"]).await;
    let asked = tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await });
    app.expect("call").await;
    drop(app);
    let answer = asked.await.unwrap();
    assert_eq!(answer.outcome(), "unknown");
    assert!(answer.text().contains("check before"), "{}", answer.text());

    let session = scenario.session(Version::V2025_03_26).await;
    let mut app = scenario.app(&["slow"]).await;
    let asked = tokio::spawn(async move { session.use_tool(router, "slow", "{}").await });
    app.expect("call").await;
    app.leave().await;
    assert_eq!(asked.await.unwrap().outcome(), "unknown");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_costs_its_call_alone() {
    let scenario = Scenario::start().await;
    let router = scenario.router(1);
    let mut app = scenario.app(&["other", "broken"]).await;
    let modern = scenario.modern();
    let other = tokio::spawn(async move { modern.use_tool(router, "other", "{}").await });
    let other_call = app.expect("call").await;

    let deep = format!(r#"{{"d":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for bad in [deep.as_str(), r#"{"content":[}"#, r#"{},"result":{}"#] {
        let (modern, session) = (
            scenario.modern(),
            scenario.session(Version::V2025_11_25).await,
        );
        let asked = tokio::spawn(async move {
            let modern = modern.use_tool(router, "broken", "{}").await;
            [modern, session.use_tool(router, "broken", "{}").await]
        });
        for _ in 0..2 {
            let call = app.expect("call").await;
            app.send(call.progress(r#""x""#, "")).await;
            app.send(call.result(bad)).await;
        }
        for answer in asked.await.unwrap() {
            assert_eq!(answer.error(), (200, -32603), "{bad}");
        }
    }
    app.result(&other_call, &text_result("well")).await;
    assert_eq!(other.await.unwrap().text(), "well");
}

#[tokio::test]
async fn a_call_that_is_not_answered_in_time_is_told_to_stop() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let options = r#","toolOptions":{"slow":{"timeoutMs":700}}"#;
    app.register(registration_of(
        "app",
        1,
        &format!("[{}]", tool("slow")),
        options,
    ))
    .await;
    let modern = scenario.modern();
    let router = scenario.router(1);
    let asked = tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await });
    let call = app.expect("call").await;
    assert!(
        call.value()["deadlineMs"]
            .as_u64()
            .is_some_and(|ms| ms <= 700),
        "{}",
        call.text()
    );
    let cancel = app.expect("cancel").await;
    assert_eq!(cancel.value()["reason"], "timeout");
    assert_eq!(cancel.value()["id"], call.value()["id"]);
    let answer = asked.await.unwrap();
    assert_eq!(answer.outcome(), "timeout");
    assert!(answer.streamed, "it took longer than a quick answer");

    // An answer that comes too late goes nowhere and harms nothing.
    app.result(&call, &text_result("late")).await;
    let modern = scenario.modern();
    let asked = tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("in time")).await;
    assert_eq!(asked.await.unwrap().text(), "in time");
}

#[tokio::test]
async fn at_most_256_calls_are_in_flight() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let modern = std::sync::Arc::new(scenario.modern());
    let ask = |index: usize| {
        let (modern, router) = (modern.clone(), scenario.router(index));
        tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await })
    };
    let running: Vec<_> = (0..256).map(ask).collect();
    let mut calls = Vec::new();
    for _ in 0..256 {
        calls.push(app.expect("call").await);
    }
    let over = ask(1).await.unwrap();
    assert_eq!(over.outcome(), "not_delivered");
    assert!(over.result()["_meta"][RETRY_AFTER].as_u64().is_some());

    // One that ends makes room for one.
    app.result(&calls.remove(0), &text_result("ended")).await;
    let (ended, _, running) = futures_util::future::select_all(running).await;
    assert_eq!(ended.unwrap().text(), "ended");
    let next = ask(2);
    calls.push(app.expect("call").await);
    for call in &calls {
        app.result(call, &text_result("ended")).await;
    }
    for answer in join_all(running).await {
        assert_eq!(answer.unwrap().text(), "ended");
    }
    assert_eq!(next.await.unwrap().text(), "ended");
}

#[tokio::test]
async fn an_app_that_answers_one_call_twice_is_heard_once() {
    let scenario = Scenario::start().await;
    let _app = scenario.app(&["twice"]).await.serve(|call| {
        vec![
            call.result(&text_result("first")),
            call.result(&text_result("second")),
            call.error(r#"{"code":1,"message":"third"}"#),
            call.progress("1", ""),
            r#"{"type":"result","id":"019f0000-0000-7000-8000-000000000000","result":{}}"#
                .to_owned(),
        ]
    });
    let modern = scenario.modern().with_meta(r#""progressToken":1"#);
    for index in 0..5 {
        let response = modern
            .call("1", "twice", "{}")
            .send(scenario.router(index))
            .await;
        let answer = Answer::read(response).await;
        assert_eq!(answer.text(), "first");
        assert!(answer.notifications.is_empty());
    }
}

#[tokio::test]
async fn the_cluster_without_nodes_says_when_to_come_back() {
    let mut scenario = Scenario::start_with(|options| options.nodes = 1).await;
    let token = scenario.tokens.app(CLIENT);
    let mut app = RawApp::connect(scenario.router(0), &token).await;
    app.register(registration("app", &format!("[{}]", tool("echo"))))
        .await;
    scenario.cluster.take_node(0).stop().await;
    let modern = scenario.modern();
    let answer = clientmcp_e2e::waiting::poll("no node is left", async || {
        let response = modern
            .call("1", "echo", "{}")
            .send(scenario.router(1))
            .await;
        (response.status == 503).then_some(response)
    })
    .await;
    assert!(answer.header("retry-after").is_some());
    assert_eq!(answer.json().await["id"], 1);
    // An app is told by a close code: a browser sees no status of an upgrade.
    let mut app = RawApp::connect(scenario.router(1), &token).await;
    assert_eq!(app.closed().await.0, 1013);
}
