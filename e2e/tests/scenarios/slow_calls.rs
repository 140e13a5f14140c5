//! Calls that take longer than a moment become streams (SPEC.md §7.1), and progress and log
//! messages travel on them.

use std::time::Duration;

use clientmcp_core::mcp::version::Version;
use clientmcp_core::timings::Timings;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::events::Event;
use clientmcp_e2e::raw_app::text_result;
use clientmcp_e2e::scenario::Scenario;
use clientmcp_e2e::schema;
use serde_json::json;

#[tokio::test]
async fn a_slow_call_is_streamed_with_comments_until_it_ends() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    for request in [
        scenario.modern().call("\"a\"", "slow", "{}"),
        session.call("\"a\"", "slow", "{}"),
    ] {
        let router = scenario.router(1);
        let asked = tokio::spawn(async move { request.send(router).await });
        let call = app.expect("call").await;
        // The app keeps silent: the head comes with the first comment, and more follow.
        let response = asked.await.unwrap();
        assert_eq!(response.status, 200);
        let mut events = response.events();
        for _ in 0..3 {
            events.comment().await;
        }
        app.result(&call, &text_result("done")).await;
        let answer = events.message().await;
        assert_eq!(answer["id"], "a");
        assert_eq!(answer["result"]["content"][0]["text"], "done");
        assert_eq!(events.next().await, None, "the stream ends with the answer");
    }
}

#[tokio::test]
async fn a_quick_call_is_json_and_one_that_fails_late_fails_in_its_stream() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let router = scenario.router(2);
    let request = scenario.modern().call("1", "slow", "{}");
    let quick = request.clone();
    let asked = tokio::spawn(async move { quick.send(router).await });
    let call = app.expect("call").await;
    app.send(
        call.error(
            r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}"#,
        ),
    )
    .await;
    let answer = Answer::read(asked.await.unwrap()).await;
    assert_eq!((answer.error(), answer.streamed), ((400, -32021), false));

    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.expect("call").await;
    let mut events = asked.await.unwrap().events();
    events.comment().await;
    app.send(
        call.error(
            r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}"#,
        ),
    )
    .await;
    assert_eq!(events.message().await["error"]["code"], -32021);
    events.end().await;
}

#[tokio::test]
async fn an_agent_that_accepts_one_form_alone_gets_that_one() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["slow"]).await;
    let router = scenario.router(0);
    let request = scenario
        .modern()
        .call("1", "slow", "{}")
        .with("Accept", "application/json");
    let asked = tokio::spawn(async move { Answer::read(request.send(router).await).await });
    let call = app.expect("call").await;
    // Longer than a stream would wait to begin.
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(!asked.is_finished());
    app.result(&call, &text_result("done")).await;
    let answer = asked.await.unwrap();
    assert_eq!((answer.text(), answer.streamed), ("done", false));

    let request = scenario
        .modern()
        .call("1", "slow", "{}")
        .with("Accept", "text/event-stream");
    let asked = tokio::spawn(async move { Answer::read(request.send(router).await).await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("done")).await;
    let answer = asked.await.unwrap();
    assert_eq!((answer.text(), answer.streamed), ("done", true));
}

#[tokio::test]
async fn progress_is_forwarded_with_the_agents_own_token() {
    let scenario = Scenario::start_with(streams_begin_late).await;
    let mut app = scenario.app(&["work"]).await;
    let session = scenario.session(Version::V2025_06_18).await;
    for token in [
        "0",
        "\"0\"",
        "\"\"",
        "9007199254740993",
        "-1",
        "\"\\u0041 b\"",
    ] {
        let params = format!(r#"{{"name":"work","_meta":{{"progressToken":{token}}}}}"#);
        let modern = scenario
            .modern()
            .with_meta(&format!(r#""progressToken":{token}"#));
        let requests = [
            (
                Version::V2025_06_18,
                session.request("5", "tools/call", &params),
            ),
            (Version::MODERN, modern.call("5", "work", "{}")),
        ];
        for (version, request) in requests {
            let router = scenario.router(1);
            let asked = tokio::spawn(async move { request.send(router).await });
            let call = app.expect("call").await;
            assert_eq!(call.value()["context"]["progress"], true);
            app.send(call.progress("0.5", r#","total":2,"message":"half""#))
                .await;
            // Progress begins the stream, long before the time for that.
            let mut events = asked.await.unwrap().events();
            let raw = events.raw_message().await.unwrap();
            let expected = format!(r#""progressToken":{token}"#);
            assert!(
                std::str::from_utf8(&raw).unwrap().contains(&expected),
                "{raw:?}"
            );
            let message = serde_json::from_slice(&raw).unwrap();
            schema::check(version, "tools/call", &message);
            let params = &message["params"];
            assert_eq!(
                (&params["progress"], &params["total"]),
                (&json!(0.5), &json!(2))
            );
            assert_eq!(params["message"], "half");
            // Values that do not grow are dropped.
            app.send(call.progress("0.5", "")).await;
            app.send(call.progress("0.1", "")).await;
            app.send(call.progress("1", "")).await;
            assert_eq!(events.message().await["params"]["progress"], 1);
            app.result(&call, &text_result("done")).await;
            app.send(call.progress("2", "")).await;
            assert_eq!(
                events.message().await["result"]["content"][0]["text"],
                "done"
            );
            assert_eq!(events.next().await, None);
        }
    }
}

#[tokio::test]
async fn progress_that_nobody_asked_for_goes_nowhere() {
    let scenario = Scenario::start_with(streams_begin_late).await;
    let _app = scenario.app(&["work"]).await.serve(|call| {
        vec![
            call.progress("1", ""),
            call.progress("2", ""),
            call.result(&text_result("done")),
        ]
    });
    let session = scenario.session(Version::V2025_11_25).await;
    for request in [
        session.call("1", "work", "{}"),
        scenario.modern().call("1", "work", "{}"),
    ] {
        let answer = Answer::read(request.send(scenario.router(1)).await).await;
        assert_eq!((answer.text(), answer.streamed), ("done", false));
    }
}

#[tokio::test]
async fn two_agents_with_one_token_get_their_own_progress() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["work"]).await;
    let modern = scenario.modern().with_meta(r#""progressToken":1"#);
    let ask = |index: usize| {
        let (request, router) = (
            modern.call("1", "work", &format!(r#"{{"n":{index}}}"#)),
            scenario.router(index),
        );
        tokio::spawn(async move { Answer::read(request.send(router).await).await })
    };
    let first = ask(0);
    let first_call = app.expect("call").await;
    let second = ask(1);
    let second_call = app.expect("call").await;
    app.send(second_call.progress("20", "")).await;
    app.send(first_call.progress("10", "")).await;
    app.result(&first_call, &text_result("first")).await;
    app.result(&second_call, &text_result("second")).await;
    for (asked, text, progress) in [(first, "first", 10), (second, "second", 20)] {
        let answer = asked.await.unwrap();
        assert_eq!(answer.text(), text);
        let seen: Vec<_> = answer
            .notifications
            .iter()
            .map(|n| &n["params"]["progress"])
            .collect();
        assert_eq!(seen, [&json!(progress)]);
    }
}

#[tokio::test]
async fn log_messages_reach_agents_that_want_them() {
    let scenario = Scenario::start_with(streams_begin_late).await;
    let _app = scenario.app(&["work"]).await.serve(|call| {
        let log = |level: &str| {
            let id = call.raw("id");
            format!(
                r#"{{"type":"log","id":{id},"level":"{level}","logger":"l","data":{{"n":1.0}}}}"#
            )
        };
        vec![
            log("debug"),
            log("info"),
            log("error"),
            call.result(&text_result("done")),
        ]
    });
    let levels = |answer: &Answer| -> Vec<String> {
        answer
            .notifications
            .iter()
            .map(|n| n["params"]["level"].as_str().unwrap().to_owned())
            .collect()
    };
    let router = scenario.router(1);

    // Modern: what the request asks for, and nothing without.
    let quiet = scenario.modern().use_tool(router, "work", "{}").await;
    assert_eq!((levels(&quiet), quiet.streamed), (vec![], false));
    let modern = scenario
        .modern()
        .with_meta(r#""io.modelcontextprotocol/logLevel":"info""#);
    let answer = modern.use_tool(router, "work", "{}").await;
    assert_eq!(levels(&answer), ["info", "error"]);
    assert_eq!(answer.notifications[0]["params"]["data"], json!({"n": 1.0}));

    // Legacy: those of a session that asked for nothing else.
    let session = scenario.session(Version::V2025_11_25).await;
    assert_eq!(
        levels(&session.use_tool(router, "work", "{}").await),
        ["info", "error"]
    );
    let set = session
        .ask(
            scenario.router(2),
            "logging/setLevel",
            r#"{"level":"info"}"#,
        )
        .await;
    assert_eq!(set.result(), &json!({}));
    let refused = session
        .ask(
            scenario.router(2),
            "logging/setLevel",
            r#"{"level":"loud"}"#,
        )
        .await;
    assert_eq!(refused.error(), (200, -32602));
}

#[tokio::test]
async fn the_first_comment_comes_together_with_the_head() {
    // No comment but the first is due within the test.
    let scenario = Scenario::start_with(|options| {
        options.timings = Timings {
            stream_after: Duration::from_millis(500),
            ..options.timings
        };
    })
    .await;
    let mut app = scenario.app(&["slow"]).await;
    let (request, router) = (
        scenario.modern().call("1", "slow", "{}"),
        scenario.router(0),
    );
    let asked = tokio::spawn(async move {
        let mut events = request.send(router).await.events();
        let since_the_head = tokio::time::Instant::now();
        let first = events.next().await;
        (first, since_the_head.elapsed(), events)
    });
    let call = app.expect("call").await;
    let (first, waited, mut events) = asked.await.unwrap();
    assert_eq!(first, Some(Event::Comment));
    assert!(waited < Duration::from_millis(250), "{waited:?}");
    app.result(&call, &text_result("done")).await;
    assert_eq!(events.message().await["id"], 1);
}

/// So late that only what the app says can begin one.
fn streams_begin_late(options: &mut clientmcp_cli::cluster::Options) {
    options.timings.stream_after = Duration::from_secs(60);
}
