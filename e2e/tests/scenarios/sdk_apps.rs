//! Apps on the Rust SDK, beside the raw ones of the other files.

use clientmcp_core::limits::MESSAGE_BYTES;
use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::fixture;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_sdk::{App, Tool, ToolResult};
use serde_json::{Value, json};

#[tokio::test]
async fn a_result_that_no_message_can_carry_is_an_error_that_names_the_limit() {
    let scenario = Scenario::start().await;
    let url = format!("ws://{}/v1/connect", scenario.router(0));
    let app = App::builder(&url)
        .token(scenario.tokens.app(CLIENT))
        .server_info("large", "1")
        .tool(
            Tool::new("fill", "Fills"),
            |arguments: Value, _| async move {
                let bytes = usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap();
                Ok(ToolResult::text("x".repeat(bytes)))
            },
        )
        .connect();
    app.online().await.unwrap();
    let session = scenario.session(Version::V2025_11_25).await;
    let modern = scenario.modern();
    for (bytes, fits) in [
        (MESSAGE_BYTES - 4_096, true),
        (MESSAGE_BYTES + 1, false),
        (100, true),
    ] {
        let arguments = json!({ "bytes": bytes }).to_string();
        for answer in [
            session
                .use_tool(scenario.router(1), "fill", &arguments)
                .await,
            modern
                .use_tool(scenario.router(2), "fill", &arguments)
                .await,
        ] {
            // The connection stands all the while.
            assert_eq!(answer.result()["isError"] == true, !fits);
            if fits {
                assert_eq!(answer.text().len(), bytes);
            } else {
                assert!(
                    answer.text().contains(&MESSAGE_BYTES.to_string()),
                    "{}",
                    answer.text()
                );
            }
        }
    }
    app.close().await;
}

/// The fixture, online.
async fn fixture(scenario: &Scenario) -> App {
    let url = format!("ws://{}/v1/connect", scenario.router(1));
    let app = fixture::app(&url, &scenario.tokens.app(CLIENT));
    let online = app.online().await.unwrap();
    assert_eq!(online.rejected, []);
    app
}

#[tokio::test]
async fn prompts_resources_and_completions_are_the_same_in_both_eras() {
    let scenario = Scenario::start().await;
    let app = fixture(&scenario).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let modern = scenario.modern();
    let table = [
        (
            "prompts/get",
            json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
            (
                "messages",
                json!([{"role": "user", "content": {
                    "type": "text", "text": "Prompt with arguments: arg1='a', arg2='b'",
                }}]),
            ),
        ),
        (
            "resources/read",
            json!({"uri": "test://template/1%202/data"}),
            (
                "contents",
                json!([{
                    "uri": "test://template/1%202/data",
                    "mimeType": "application/json",
                    "text": r#"{"id":"1 2","templateTest":true,"data":"Data for ID: 1 2"}"#,
                }]),
            ),
        ),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                "argument": {"name": "arg1", "value": "PAR"},
            }),
            (
                "completion",
                json!({
                    "values": ["paris", "park", "party"], "total": 3, "hasMore": false,
                }),
            ),
        ),
    ];
    for (method, params, (member, expected)) in table {
        let params = params.to_string();
        let legacy = session.ask(scenario.router(2), method, &params).await;
        let modern = modern.ask(scenario.router(0), method, &params).await;
        assert_eq!(legacy.result()[member], expected, "{method}");
        assert_eq!(modern.result()[member], expected, "{method}");
    }
    let unknown = json!({"uri": "test://absent"}).to_string();
    let legacy = session.ask(scenario.router(2), "resources/read", &unknown);
    assert_eq!(legacy.await.error(), (200, -32002));
    let modern = modern.ask(scenario.router(0), "resources/read", &unknown);
    assert_eq!(modern.await.error(), (200, -32602));
    app.close().await;
}

/// What the SDK asks passes the schema of the revision, with each kind of request in it.
#[tokio::test]
async fn a_modern_agent_is_asked_for_everything_at_once() {
    let scenario = Scenario::start().await;
    let app = fixture(&scenario).await;
    let able = r#"{"elicitation":{"form":{}},"sampling":{},"roots":{}}"#;
    let agent = scenario.modern().with_capabilities(able);
    let tool = "test_input_required_result_multiple_inputs";
    let asked = agent.use_tool(scenario.router(0), tool, "{}").await;
    let asked = asked.result();
    let methods = ["user_name", "greeting", "client_roots"]
        .map(|key| asked["inputRequests"][key]["method"].clone());
    assert_eq!(
        methods,
        ["elicitation/create", "sampling/createMessage", "roots/list"]
    );
    let params = json!({
        "name": tool,
        "arguments": {},
        "requestState": asked["requestState"],
        "inputResponses": {
            "user_name": {"action": "accept", "content": {"name": "Ada"}},
            "greeting": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}},
            "client_roots": {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]},
        },
    });
    let answer = agent
        .ask(scenario.router(1), "tools/call", &params.to_string())
        .await;
    assert_eq!(answer.text(), "Name: Ada; Greeting: Hi; Roots: 2");

    let unable = scenario.modern();
    let unable = unable.use_tool(scenario.router(2), tool, "{}").await;
    assert_eq!(unable.result()["isError"], true);
    assert!(unable.text().contains("elicitation"), "{}", unable.text());
    app.close().await;
}

#[tokio::test]
async fn a_watched_resource_is_told_of_and_read_again() {
    let scenario = Scenario::start().await;
    let app = fixture(&scenario).await;
    let uri = "test://watched-resource";
    let filter = json!({"notifications": {"resourceSubscriptions": [uri]}}).to_string();
    let modern = scenario.modern();
    let listen = modern.request("1", "subscriptions/listen", &filter);
    let mut events = listen.send(scenario.router(0)).await.events();
    events.message().await;
    let mut watched = app.watched_resources();
    watched.wait_for(|uris| *uris == [uri]).await.unwrap();
    for n in 1..=2 {
        let tool = "test_update_watched_resource";
        let answer = modern.use_tool(scenario.router(1), tool, "{}").await;
        assert_eq!(answer.text(), format!("watched {n}"));
        let told = events.message().await;
        assert_eq!(told["method"], "notifications/resources/updated");
        assert_eq!(told["params"]["uri"], uri);
        let params = json!({ "uri": uri }).to_string();
        let read = modern.ask(scenario.router(2), "resources/read", &params);
        let read = read.await.result()["contents"][0]["text"].clone();
        assert_eq!(read, format!("watched {n}"));
    }
    drop(events);
    watched.wait_for(Vec::is_empty).await.unwrap();
    app.close().await;
}

#[tokio::test]
async fn the_fixture_is_called_in_both_eras() {
    let scenario = Scenario::start().await;
    let url = format!("ws://{}/v1/connect", scenario.router(1));
    let app = fixture::app(&url, &scenario.tokens.app(CLIENT));
    app.online().await.unwrap();
    let session = scenario.session(Version::V2025_06_18).await;
    let modern = scenario.modern();
    for (tool, arguments) in [
        ("test_simple_text", "{}"),
        ("test_image_content", "{}"),
        ("test_error_handling", "{}"),
        ("test_slow", r#"{"ms":400}"#),
    ] {
        let legacy = session.use_tool(scenario.router(0), tool, arguments).await;
        let modern = modern.use_tool(scenario.router(2), tool, arguments).await;
        assert_eq!(
            legacy.result()["content"],
            modern.result()["content"],
            "{tool}"
        );
        assert_eq!(
            (legacy.streamed, modern.streamed),
            (tool == "test_slow", tool == "test_slow")
        );
    }
    app.close().await;
    let gone = modern
        .use_tool(scenario.router(0), "test_simple_text", "{}")
        .await;
    assert_eq!(gone.outcome(), "offline");
}
