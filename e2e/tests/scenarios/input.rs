//! `input_required` in the modern era: as the app says it, if the agent can give it (SPEC.md
//! §7.7).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::input::{CAPABLE, FORM, LINK, LIST, NAME, ROOTS, SAMPLE, WORDS, asks, begin};
use clientmcp_e2e::raw_app::{RawApp, registration_of, text_result, tool};
use clientmcp_e2e::raw_json::member;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::schema;
use serde_json::json;

/// What JSON can put into a string: 64 KiB of it.
fn odd_state() -> String {
    let odd = r#"\"quoted\" \\ \n \ud83d\ude00 😀 \u0041 \/ "#;
    format!("\"{}\"", odd.repeat(64 * 1024 / odd.len()))
}

#[tokio::test]
async fn the_apps_request_passes_verbatim_and_the_retry_reaches_it_anywhere() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let modern = scenario.modern().with_capabilities(CAPABLE);
    let state = odd_state();
    let result = asks(
        &[("name", FORM), ("words", SAMPLE), ("x", ROOTS)],
        Some(&state),
    );
    let asked = begin(&modern.call("1", "ask", r#"{"n":1}"#), scenario.router(0));
    let call = app.expect("call").await;
    app.result(&call, &result).await;
    let answer = Answer::read(asked.await.unwrap()).await;
    schema::check(
        Version::V2026_07_28,
        "tools/call",
        &json!({
            "jsonrpc": "2.0", "id": 1, "result": answer.result(),
        }),
    );
    assert_eq!(answer.raw_member("id").as_deref(), Some("1"));
    let raw = answer.raw_member("result").unwrap();
    assert!(
        raw.ends_with(&result[1..]),
        "verbatim but for what is added in front"
    );
    assert!(!raw.contains("ttlMs"), "it is cached nowhere");
    assert_eq!(member(&raw, "requestState").unwrap(), state);

    // The app moves to another node, and the retry comes through another router.
    drop(app);
    let mut app = scenario.app(&["ask"]).await;
    let responses = format!(r#"{{"name":{NAME},"words":{WORDS},"x":{LIST}}}"#);
    let params = format!(
        r#"{{"name":"ask","arguments":{{"n":1}},"inputResponses":{responses},"requestState":{state}}}"#
    );
    let retry = modern
        .request("2", "tools/call", &params)
        .with("Mcp-Name", "ask");
    let asked = begin(&retry, scenario.router(2));
    let call = app.expect("call").await;
    let params = call.raw("params");
    assert_eq!(member(&params, "requestState").unwrap(), state);
    assert_eq!(member(&params, "inputResponses").unwrap(), responses);
    assert_eq!(call.value()["round"], 0, "a call by itself");
    app.result(&call, &text_result("done")).await;
    assert_eq!(Answer::read(asked.await.unwrap()).await.text(), "done");
}

#[tokio::test]
async fn what_was_not_declared_is_refused_as_a_whole() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask"]).await;
    let with_tools = SAMPLE.replace("\"maxTokens\"", r#""tools":[],"maxTokens""#);
    for (declared, requests, required) in [
        ("{}", vec![FORM], json!({"elicitation": {"form": {}}})),
        (
            r#"{"elicitation":{}}"#,
            vec![FORM, LINK],
            json!({"elicitation": {"url": {}}}),
        ),
        (
            r#"{"elicitation":{"url":{}}}"#,
            vec![LINK, FORM],
            json!({"elicitation": {"form": {}}}),
        ),
        (
            r#"{"sampling":{}}"#,
            vec![SAMPLE, &with_tools],
            json!({"sampling": {"tools": {}}}),
        ),
        (
            r#"{"sampling":{}}"#,
            vec![SAMPLE, ROOTS],
            json!({"roots": {}}),
        ),
        (
            "{}",
            vec![SAMPLE, ROOTS],
            json!({"sampling": {}, "roots": {}}),
        ),
    ] {
        let keys = ["a", "b"];
        let requests: Vec<_> = keys.into_iter().zip(requests).collect();
        let result = asks(&requests, Some("\"s\""));
        let modern = scenario.modern().with_capabilities(declared);
        let call = modern.call("\"i\"", "ask", "{}");
        let asked = begin(&call, scenario.router(1));
        let at_app = app.expect("call").await;
        app.result(&at_app, &result).await;
        let answer = Answer::read(asked.await.unwrap()).await;
        let answer = answer.checked(Version::V2026_07_28, "tools/call", "\"i\"");
        assert_eq!((answer.error(), answer.streamed), ((400, -32021), false));
        assert_eq!(
            answer.message["error"]["data"]["requiredCapabilities"],
            required
        );

        // The same in a stream that has begun.
        let asked = begin(&call, scenario.router(2));
        let at_app = app.expect("call").await;
        let mut events = asked.await.unwrap().events();
        events.comment().await;
        app.result(&at_app, &result).await;
        let error = events.message().await;
        assert_eq!(error["error"]["code"], -32021);
        assert_eq!(error["error"]["data"]["requiredCapabilities"], required);
        events.end().await;
    }
}

#[tokio::test]
async fn prompts_and_resources_may_ask_and_nothing_else() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let more = r#","prompts":[{"name":"p"}],"resources":[{"uri":"test://r","name":"r"}],"completions":true"#;
    let tools = format!("[{}]", tool("t"));
    app.register(registration_of("app", 1, &tools, more)).await;
    app.expect("subscriptions").await;
    let modern = scenario.modern().with_capabilities(CAPABLE);
    for (method, name, params, allowed) in [
        ("prompts/get", Some("p"), r#"{"name":"p"}"#, true),
        (
            "resources/read",
            Some("test://r"),
            r#"{"uri":"test://r"}"#,
            true,
        ),
        (
            "completion/complete",
            None,
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}"#,
            false,
        ),
    ] {
        let mut request = modern.request("1", method, params);
        if let Some(name) = name {
            request = request.with("Mcp-Name", name);
        }
        let asked = begin(&request, scenario.router(1));
        let call = app.expect("call").await;
        app.result(&call, &asks(&[("a", FORM)], None)).await;
        let answer = Answer::read(asked.await.unwrap()).await;
        if allowed {
            let result = answer.result();
            assert_eq!(result["resultType"], "input_required", "{method}");
            assert_eq!(
                result.get("ttlMs"),
                None,
                "{method}: what asks is not cached"
            );
        } else {
            assert_eq!(answer.error(), (200, -32603), "{method}");
        }
    }
}
