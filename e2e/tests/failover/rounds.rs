//! Handlers that wait for an answer, on the Rust SDK, while their app moves from node to node.

use clientmcp_e2e::fixture;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::waiting::poll;
use clientmcp_sdk::{App, Status};
use serde_json::{Value, json};

use crate::scene::{holder, patient};

const TOOL: &str = "test_input_required_result_multi_round";

/// The next round of a call, through a router.
async fn round(
    (scenario, agent): (&Scenario, &Modern),
    router: usize,
    asked: &Value,
    (key, content): (&str, Value),
) -> Value {
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(asked["inputRequests"][key].is_object(), "{asked}");
    let params = json!({
        "name": TOOL,
        "requestState": asked["requestState"],
        "arguments": {},
        "inputResponses": {key: {"action": "accept", "content": content}},
    });
    let router = scenario.router(router);
    let answer = agent.ask(router, "tools/call", &params.to_string()).await;
    answer.result().clone()
}

/// Waits until the app stands on its next connection.
async fn moved(app: &App, former: u64) {
    poll("the app has moved", async || {
        match &*app.status().borrow() {
            Status::Online(online) if online.connection > former => Some(()),
            _ => None,
        }
    })
    .await;
}

/// A node stops after each round: the handler is the app's, not a node's, and the agent's answers
/// find it wherever the app stands.
#[tokio::test]
async fn a_handler_that_waits_goes_on_wherever_its_app_moves() {
    let mut scenario = patient().await;
    let url = format!("ws://{}/v1/connect", scenario.router(1));
    let app = fixture::app(&url, &scenario.tokens.app(CLIENT));
    let mut connection = app.online().await.unwrap().connection;
    let agent = scenario
        .modern()
        .with_capabilities(r#"{"elicitation":{"form":{}}}"#);
    let mut asked = agent
        .use_tool(scenario.router(0), TOOL, "{}")
        .await
        .result()
        .clone();
    let answers = [
        (1, ("step1", json!({"name": "Ada"}))),
        (2, ("step2", json!({"color": "blue"}))),
    ];
    for (router, answer) in answers {
        let node = holder(&scenario).await;
        scenario.cluster.take_node(node).stop().await;
        moved(&app, connection).await;
        connection = app.online().await.unwrap().connection;
        asked = round((&scenario, &agent), router, &asked, answer).await;
    }
    assert_eq!(
        asked["content"][0]["text"],
        "Multi-round complete for Ada who likes blue"
    );
    app.close().await;
}

/// A second run of the app knows nothing of what the first one waits for, and says so.
#[tokio::test]
async fn another_instance_refuses_the_state_of_the_former() {
    let scenario = patient().await;
    let url = format!("ws://{}/v1/connect", scenario.router(1));
    let token = scenario.tokens.app(CLIENT);
    let first = fixture::app(&url, &token);
    first.online().await.unwrap();
    let agent = scenario
        .modern()
        .with_capabilities(r#"{"elicitation":{"form":{}}}"#);
    let mut states = Vec::new();
    for tool in [TOOL, "test_input_required_result_request_state"] {
        let asked = agent.use_tool(scenario.router(0), tool, "{}").await;
        states.push((tool, asked.result()["requestState"].clone()));
    }
    let second = fixture::app(&url, &token);
    second.online().await.unwrap();
    for (tool, state) in states {
        let params =
            json!({"name": tool, "arguments": {}, "requestState": state, "inputResponses": {}});
        let answer = agent
            .ask(scenario.router(2), "tools/call", &params.to_string())
            .await;
        assert_eq!(answer.error(), (200, -32602), "{tool}");
    }
    second.close().await;
}
