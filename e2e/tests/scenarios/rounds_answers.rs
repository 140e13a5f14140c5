//! What agents answer when they are asked for input, and what they do instead (SPEC.md §7.7).

use std::time::Duration;

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::events::Events;
use clientmcp_e2e::input::{
    CAPABLE, FORM, LIST, NAME, Question, ROOTS, SAMPLE, asks, begin, question, withdrawn,
};
use clientmcp_e2e::raw_app::{RawApp, text_result};
use clientmcp_e2e::scenario::Scenario;
use clientmcp_e2e::schema;
use clientmcp_e2e::session::Session;
use futures_util::future::join_all;
use serde_json::Value;

const NEWEST: Version = Version::V2025_11_25;

/// Calls `ask` with the id 7; the app asks for a form and for roots.
async fn asked(
    scenario: &Scenario,
    app: &mut RawApp,
    session: &Session,
) -> (Events, Question, Question) {
    let under_way = begin(&session.call("7", "ask", "{}"), scenario.router(0));
    let call = app.expect("call").await;
    app.result(&call, &asks(&[("a", FORM), ("b", ROOTS)], None))
        .await;
    let mut events = under_way.await.unwrap().events();
    let form = question(&mut events, session.version()).await;
    let roots = question(&mut events, session.version()).await;
    (events, form, roots)
}

/// The last message is a tool error for want of input.
async fn expect_no_input(mut events: Events, version: Version, words: &str) {
    let answer = events.message().await;
    schema::check(version, "tools/call", &answer);
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{answer}");
    assert_eq!(result["_meta"]["dev.clientmcp/outcome"], "no_input");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(words), "{text}");
    events.end().await;
}

/// The next thing that the app hears is a call of its own: it was not called again before.
async fn expect_nothing_more(scenario: &Scenario, app: &mut RawApp, session: &Session) {
    let next = begin(&session.call("8", "other", "{}"), scenario.router(1));
    let call = app.expect("call").await;
    assert_eq!(call.value()["params"]["name"], "other");
    app.result(&call, &text_result("done")).await;
    assert_eq!(next.await.unwrap().status, 200);
}

#[tokio::test]
async fn an_error_of_the_agent_ends_the_call_and_takes_the_rest_back() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask", "other"]).await;
    for version in [Version::V2025_06_18, NEWEST] {
        let session = scenario.capable_session(version, CAPABLE).await;
        for (outcome, words) in [
            (
                r#""error":{"code":-1,"message":"User rejected it"}"#,
                "error -1: \"User rejected it\"",
            ),
            (r#""result":{"action":"maybe"}"#, "not valid"),
            (r#""result":{"roots":[]}"#, "not valid"),
            (r#""result":5"#, "not valid"),
        ] {
            let (mut events, form, roots) = asked(&scenario, &mut app, &session).await;
            session
                .respond(scenario.router(2), &form.id(), outcome)
                .await;
            withdrawn(&mut events, version, &[&roots]).await;
            expect_no_input(events, version, words).await;
            // Too late: accepted, and without effect.
            roots.answer(&session, scenario.router(1), LIST).await;
            expect_nothing_more(&scenario, &mut app, &session).await;
        }
    }
}

#[tokio::test]
async fn a_user_may_decline_or_turn_away() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let session = scenario.capable_session(NEWEST, CAPABLE).await;
    for action in ["decline", "cancel"] {
        let (mut events, form, roots) = asked(&scenario, &mut app, &session).await;
        let gives = format!(r#"{{"action":"{action}"}}"#);
        form.answer(&session, scenario.router(1), &gives).await;
        roots.answer(&session, scenario.router(2), LIST).await;
        let call = app.expect("call").await;
        assert_eq!(
            call.value()["params"]["inputResponses"]["a"]["action"],
            action
        );
        app.result(&call, &text_result("as you like")).await;
        let answer = events.message().await;
        assert_eq!(answer["result"]["content"][0]["text"], "as you like");
        events.end().await;
    }
}

#[tokio::test]
async fn only_the_session_that_was_asked_answers_and_each_request_once() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let session = scenario.capable_session(NEWEST, CAPABLE).await;
    let other = scenario.capable_session(NEWEST, CAPABLE).await;
    let (mut events, form, roots) = asked(&scenario, &mut app, &session).await;
    let foreign = r#"{"action":"accept","content":{"name":"Mallory"}}"#;
    form.answer(&other, scenario.router(0), foreign).await;
    for id in ["1", "\"1\"", "\"AAAAAAAAAAAAAAAAAAAAAA\"", "7", "\"7\""] {
        let outcome = format!(r#""result":{foreign}"#);
        session.respond(scenario.router(1), id, &outcome).await;
    }
    form.answer(&session, scenario.router(2), NAME).await;
    form.answer(&session, scenario.router(0), foreign).await;
    // An id is the same however it is written.
    let escaped = roots
        .id()
        .replacen('"', &format!("\"\\u{:04x}", roots.id().as_bytes()[1]), 1);
    let escaped = format!("{}{}", &escaped[..7], &escaped[8..]);
    let outcome = format!(r#""result":{LIST}"#);
    session
        .respond(scenario.router(1), &escaped, &outcome)
        .await;
    let call = app.expect("call").await;
    let responses = &call.value()["params"]["inputResponses"];
    assert_eq!(responses["a"]["content"]["name"], "Ada");
    assert_eq!(responses["b"], serde_json::from_str::<Value>(LIST).unwrap());
    // The round is over.
    form.answer(&session, scenario.router(1), foreign).await;
    app.result(&call, &text_result("done")).await;
    assert_eq!(
        events.message().await["result"]["content"][0]["text"],
        "done"
    );
    events.end().await;
}

#[tokio::test]
async fn a_batch_may_bring_answers() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let version = Version::V2025_03_26;
    let session = scenario.capable_session(version, CAPABLE).await;
    let under_way = begin(&session.call("7", "ask", "{}"), scenario.router(0));
    let call = app.expect("call").await;
    app.result(&call, &asks(&[("a", SAMPLE), ("b", ROOTS)], None))
        .await;
    let mut events = under_way.await.unwrap().events();
    let sample = question(&mut events, version).await;
    let roots = question(&mut events, version).await;
    let words = clientmcp_e2e::input::WORDS;
    let first = session.response(&sample.id(), &format!(r#""result":{words}"#));
    let second = session.response(&roots.id(), &format!(r#""result":{LIST}"#));
    let batch = session.post(format!("[{},{}]", first.text(), second.text()));
    let response = batch.send(scenario.router(2)).await;
    assert_eq!(response.status, 202);
    let call = app.expect("call").await;
    app.result(&call, &text_result("done")).await;
    assert_eq!(
        events.message().await["result"]["content"][0]["text"],
        "done"
    );
}

#[tokio::test]
async fn a_cancel_ends_the_wait_through_any_router() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask", "other"]).await;
    for version in [Version::V2025_06_18, NEWEST] {
        let session = scenario.capable_session(version, CAPABLE).await;
        let (mut events, form, roots) = asked(&scenario, &mut app, &session).await;
        roots.answer(&session, scenario.router(1), LIST).await;
        // 7 is not "7".
        for id in ["\"7\"", "7"] {
            let params = format!(r#"{{"requestId":{id}}}"#);
            session
                .notify(scenario.router(2), "notifications/cancelled", &params)
                .await;
        }
        withdrawn(&mut events, version, &[&form]).await;
        events.end().await;
        form.answer(&session, scenario.router(1), NAME).await;
        expect_nothing_more(&scenario, &mut app, &session).await;
    }
    assert_eq!(
        scenario
            .of_routers("clientmcp_calls_waiting_for_input")
            .await,
        0.0
    );
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_waited_for_as_long_as_it_says() {
    let scenario = Scenario::start_with(|options| {
        options.timings.input_deadline = Duration::from_millis(1_500);
    })
    .await;
    let mut app = scenario.app(&["ask", "other"]).await;
    let session = scenario.capable_session(NEWEST, CAPABLE).await;
    let (mut events, form, roots) = asked(&scenario, &mut app, &session).await;
    form.answer(&session, scenario.router(1), NAME).await;
    // The stream is kept alive meanwhile.
    for _ in 0..3 {
        events.comment().await;
    }
    withdrawn(&mut events, NEWEST, &[&roots]).await;
    expect_no_input(events, NEWEST, "no answer came").await;
    expect_nothing_more(&scenario, &mut app, &session).await;
}

#[tokio::test]
async fn a_session_that_ends_is_asked_for_nothing() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let session = scenario.capable_session(NEWEST, CAPABLE).await;
    let (mut events, form, roots) = asked(&scenario, &mut app, &session).await;
    let ended = session.end().send(scenario.router(2)).await;
    assert_eq!(ended.status, 204);
    withdrawn(&mut events, NEWEST, &[&form, &roots]).await;
    assert_eq!(events.message().await["error"]["code"], 40_401);
    events.end().await;
    let outcome = format!(r#""result":{NAME}"#);
    let late = session.response(&form.id(), &outcome);
    assert_eq!(late.send(scenario.router(1)).await.status, 404);
}

#[tokio::test]
async fn a_flood_of_answers_that_nobody_waits_for_harms_nobody() {
    let scenario = Scenario::start_with(|options| {
        options.timings.answer_kept = Duration::from_secs(30);
    })
    .await;
    let mut app = scenario.app(&["ask"]).await;
    let session = scenario.capable_session(NEWEST, CAPABLE).await;
    let (mut events, form, roots) = asked(&scenario, &mut app, &session).await;
    let padding = "x".repeat(64 * 1024);
    let flood = (0..200).map(|n| {
        let outcome = format!(r#""result":{{"action":"accept","content":{{"p":"{padding}"}}}}"#);
        let request = session.response(&format!("\"{n:022}\""), &outcome);
        let router = scenario.router(n);
        async move { request.send(router).await.status }
    });
    let flood = join_all(flood).await;
    assert!(flood.iter().all(|status| *status == 202), "{flood:?}");
    let dropped = r#"clientmcp_node_answers_total{outcome="dropped""#;
    let dropped = scenario.of_nodes(dropped).await;
    assert!(dropped >= 100.0, "{dropped}");
    // Whoever is asked answers while others are kept.
    form.answer(&session, scenario.router(1), NAME).await;
    roots.answer(&session, scenario.router(2), LIST).await;
    let call = app.expect("call").await;
    app.result(&call, &text_result("done")).await;
    assert_eq!(
        events.message().await["result"]["content"][0]["text"],
        "done"
    );
}
