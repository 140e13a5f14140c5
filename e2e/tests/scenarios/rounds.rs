//! `input_required` for legacy agents: they are asked on the call's stream, and the app is called
//! again with what they answer (SPEC.md §7.7).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::events::Events;
use clientmcp_e2e::input::{
    CAPABLE, FORM, LINK, LIST, NAME, ROOTS, SAMPLE, WORDS, asks, begin, question,
};
use clientmcp_e2e::raw_app::{Message, RawApp, registration_of, text_result, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::schema;
use clientmcp_e2e::session::Session;
use serde_json::{Value, json};

const LEGACY: [Version; 3] = [
    Version::V2025_03_26,
    Version::V2025_06_18,
    Version::V2025_11_25,
];

/// Calls `ask`; the app asks for these. Gives the app's call and the stream.
async fn asked(
    scenario: &Scenario,
    app: &mut RawApp,
    session: &Session,
    result: &str,
) -> (Message, Events) {
    let under_way = begin(&session.call("7", "ask", r#"{"n":1}"#), scenario.router(0));
    let call = app.expect("call").await;
    app.result(&call, result).await;
    (call, under_way.await.unwrap().events())
}

/// The last message of a stream, which is the answer.
async fn end(mut events: Events, version: Version) -> Value {
    let answer = events.message().await;
    schema::check(version, "tools/call", &answer);
    assert_eq!(answer["id"], 7);
    events.end().await;
    answer["result"].clone()
}

#[tokio::test]
async fn each_kind_of_input_is_asked_for_in_each_revision_that_has_it() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    for version in LEGACY {
        let session = scenario.capable_session(version, CAPABLE).await;
        for (asks_for, method, gives, since) in [
            (FORM, "elicitation/create", NAME, Version::V2025_06_18),
            (
                LINK,
                "elicitation/create",
                r#"{"action":"accept"}"#,
                Version::V2025_11_25,
            ),
            (
                SAMPLE,
                "sampling/createMessage",
                WORDS,
                Version::V2025_03_26,
            ),
            (ROOTS, "roots/list", LIST, Version::V2025_03_26),
        ] {
            let asking = asks(&[("the key", asks_for)], Some(r#""s\u0041""#));
            if version < since {
                expect_no_way(&scenario, &mut app, &session, &asking).await;
                continue;
            }
            let (first, mut events) = asked(&scenario, &mut app, &session, &asking).await;
            let question = question(&mut events, version).await;
            assert_eq!(question.method(), method);
            question.answer(&session, scenario.router(2), gives).await;
            let second = app.expect("call").await;
            let (first, value) = (first.value(), second.value());
            assert_ne!(value["id"], first["id"]);
            assert_eq!(value["rootId"], first["rootId"]);
            assert_eq!((&first["round"], &value["round"]), (&json!(0), &json!(1)));
            assert_eq!(value["method"], "tools/call");
            assert_eq!(
                second.raw("params"),
                format!(
                    r#"{{"inputResponses":{{"the key":{gives}}},"requestState":"s\u0041","name":"ask","arguments":{{"n":1}}}}"#
                )
            );
            app.result(&second, &text_result("done")).await;
            if asks_for == LINK {
                let complete = events.message().await;
                schema::check(version, "tools/call", &complete);
                assert_eq!(complete["method"], "notifications/elicitation/complete");
                let id = &question.0["params"]["elicitationId"];
                assert_eq!(&complete["params"]["elicitationId"], id);
            }
            assert_eq!(end(events, version).await["content"][0]["text"], "done");
        }
    }
    assert_eq!(
        scenario.of_routers("clientmcp_input_requests_total").await,
        9.0
    );
    assert_eq!(
        scenario
            .of_routers("clientmcp_calls_waiting_for_input")
            .await,
        0.0
    );
    assert_eq!(scenario.of_routers("clientmcp_calls_in_flight").await, 0.0);
}

/// The agent is told that its revision has no way to ask for this.
async fn expect_no_way(scenario: &Scenario, app: &mut RawApp, session: &Session, asking: &str) {
    let under_way = begin(&session.call("7", "ask", "{}"), scenario.router(0));
    let call = app.expect("call").await;
    app.result(&call, asking).await;
    let answer = Answer::read(under_way.await.unwrap()).await;
    let answer = answer.checked(session.version(), "tools/call", "7");
    assert_eq!(answer.outcome(), "missing_capability");
    assert!(answer.text().contains("elicitation"), "{}", answer.text());
}

#[tokio::test]
async fn several_are_asked_at_once_and_answered_through_any_router() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let version = Version::V2025_11_25;
    let session = scenario.capable_session(version, CAPABLE).await;
    let asking = asks(&[("c", SAMPLE), ("a", FORM), ("b", ROOTS)], None);
    let (_, mut events) = asked(&scenario, &mut app, &session, &asking).await;
    let mut questions = Vec::new();
    for method in ["sampling/createMessage", "elicitation/create", "roots/list"] {
        let question = question(&mut events, version).await;
        assert_eq!(question.method(), method, "in the app's order");
        questions.push(question);
    }
    assert_eq!(
        scenario
            .of_routers("clientmcp_calls_waiting_for_input")
            .await,
        1.0
    );
    assert_eq!(scenario.of_routers("clientmcp_calls_in_flight").await, 0.0);
    let declined = r#"{"action":"decline"}"#;
    for (question, gives) in [(2, LIST), (1, declined), (0, WORDS)] {
        let router = scenario.router(question);
        questions[question].answer(&session, router, gives).await;
    }
    let second = app.expect("call").await;
    assert_eq!(
        second.value()["params"],
        json!({"name": "ask", "arguments": {"n": 1}, "inputResponses": {
            "c": serde_json::from_str::<Value>(WORDS).unwrap(),
            "a": {"action": "decline"},
            "b": serde_json::from_str::<Value>(LIST).unwrap(),
        }})
    );
    app.result(&second, &text_result("done")).await;
    assert_eq!(end(events, version).await["content"][0]["text"], "done");
}

#[tokio::test]
async fn an_app_asks_three_times_and_keeps_its_state() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let version = Version::V2025_06_18;
    let session = scenario.capable_session(version, CAPABLE).await;
    let (mut call, mut events) = asked(
        &scenario,
        &mut app,
        &session,
        &asks(&[("k0", FORM)], Some("\"0\"")),
    )
    .await;
    let root = call.value()["rootId"].clone();
    for round in 1..=3 {
        let question = question(&mut events, version).await;
        let gives = format!(r#"{{"action":"accept","content":{{"name":"{round}"}}}}"#);
        question
            .answer(&session, scenario.router(round), &gives)
            .await;
        call = app.expect("call").await;
        let value = call.value();
        assert_eq!((&value["rootId"], &value["round"]), (&root, &json!(round)));
        let params = &value["params"];
        assert_eq!(params["requestState"], (round - 1).to_string());
        let key = format!("k{}", round - 1);
        let responses = params["inputResponses"].as_object().unwrap();
        assert_eq!(responses.len(), 1, "of this round alone");
        assert_eq!(responses[&key]["content"]["name"], round.to_string());
        if round < 3 {
            let (key, state) = (format!("k{round}"), format!("\"{round}\""));
            app.result(&call, &asks(&[(&key, FORM)], Some(&state)))
                .await;
        }
    }
    app.result(&call, &text_result("done")).await;
    assert_eq!(end(events, version).await["content"][0]["text"], "done");
}

#[tokio::test]
async fn an_app_that_goes_on_asking_is_stopped() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let version = Version::V2025_11_25;
    let session = scenario.capable_session(version, CAPABLE).await;
    let again = r#"{"resultType":"input_required","requestState":"again"}"#;
    let (_, mut events) = asked_slowly(&scenario, &mut app, &session, again).await;
    for round in 1..=8 {
        let call = app.expect("call").await;
        assert_eq!(call.value()["round"], round);
        app.result(&call, again).await;
    }
    let answer = events.message().await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        answer["result"]["_meta"]["dev.clientmcp/outcome"],
        "no_input"
    );
    events.end().await;
}

/// The same as [`asked`] for an app that asks the agent nothing: its stream begins with a comment.
async fn asked_slowly(
    scenario: &Scenario,
    app: &mut RawApp,
    session: &Session,
    result: &str,
) -> (Message, Events) {
    let under_way = begin(&session.call("7", "ask", "{}"), scenario.router(0));
    let call = app.expect("call").await;
    app.result(&call, result).await;
    let mut events = under_way.await.unwrap().events();
    events.comment().await;
    (call, events)
}

#[tokio::test]
async fn an_agent_that_cannot_be_asked_is_told_so() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let more = r#","prompts":[{"name":"p"}],"resources":[{"uri":"test://r","name":"r"}]"#;
    let tools = format!("[{}]", tool("ask"));
    app.register(registration_of("app", 1, &tools, more)).await;
    app.expect("subscriptions").await;
    let version = Version::V2025_03_26;
    let session = scenario.capable_session(version, CAPABLE).await;
    let unable = scenario.session(version).await;
    let as_json = session
        .call("7", "ask", "{}")
        .with("Accept", "application/json");
    let batch = session.post(format!("[{}]", session.call("7", "ask", "{}").text()));
    for (request, words) in [
        (as_json, "text/event-stream"),
        (batch, "not in a batch"),
        (unable.call("7", "ask", "{}"), "cannot give (roots)"),
    ] {
        let under_way = begin(&request, scenario.router(1));
        let call = app.expect("call").await;
        app.result(&call, &asks(&[("a", ROOTS)], None)).await;
        let response = under_way.await.unwrap();
        assert_eq!(response.status, 200);
        let message = response.json().await;
        let message = message.get(0).unwrap_or(&message);
        let result = &message["result"];
        assert_eq!(result["isError"], true, "{message}");
        assert_eq!(
            result["_meta"]["dev.clientmcp/outcome"],
            "missing_capability"
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
    }
    // Methods whose results have no isError have a code.
    for (method, params) in [
        ("prompts/get", r#"{"name":"p"}"#),
        ("resources/read", r#"{"uri":"test://r"}"#),
    ] {
        let under_way = begin(&unable.request("7", method, params), scenario.router(2));
        let call = app.expect("call").await;
        app.result(&call, &asks(&[("a", ROOTS)], None)).await;
        let answer = Answer::read(under_way.await.unwrap()).await;
        assert_eq!(answer.error(), (200, 42_200), "{method}");
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_as_well() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let more = r#","prompts":[{"name":"p"}],"resources":[{"uri":"test://r","name":"r"}]"#;
    app.register(registration_of("app", 1, "[]", more)).await;
    app.expect("subscriptions").await;
    let version = Version::V2025_11_25;
    let session = scenario.capable_session(version, CAPABLE).await;
    for (method, params, result) in [
        ("prompts/get", r#"{"name":"p"}"#, r#"{"messages":[]}"#),
        (
            "resources/read",
            r#"{"uri":"test://r"}"#,
            r#"{"contents":[]}"#,
        ),
    ] {
        let under_way = begin(&session.request("7", method, params), scenario.router(1));
        let call = app.expect("call").await;
        app.result(&call, &asks(&[("k", FORM)], None)).await;
        let mut events = under_way.await.unwrap().events();
        let question = question(&mut events, version).await;
        question.answer(&session, scenario.router(2), NAME).await;
        let second = app.expect("call").await;
        assert_eq!(second.value()["method"], method);
        assert_eq!(
            second.value()["params"]["inputResponses"]["k"]["content"]["name"],
            "Ada"
        );
        app.result(&second, result).await;
        let answer = events.message().await;
        schema::check(version, method, &answer);
        assert_eq!(
            answer["result"],
            serde_json::from_str::<Value>(result).unwrap()
        );
        events.end().await;
    }
}
