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
