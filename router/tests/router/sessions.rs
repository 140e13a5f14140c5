//! Sessions of the 2025 revisions.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Cluster, Request, agent_token};

fn get(session: &str) -> Request {
    Request::new("GET", "/mcp")
        .header("Authorization", &format!("Bearer {}", agent_token()))
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", session)
}

fn delete(session: &str) -> Request {
    Request {
        method: "DELETE",
        ..get(session)
    }
}

#[tokio::test]
async fn initialize_negotiates_and_declares() {
    let cluster = Cluster::start().await;
    for (asked, answered) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let request = Request::initialize(asked).header("Mcp-Method", "initialize");
        let answer = cluster.send(&request).await;
        let result = &answer.json()["result"];
        assert_eq!(result["protocolVersion"], answered);
        assert_eq!(
            result["serverInfo"],
            json!({"name": "Notes", "version": "1"})
        );
        assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
        assert_eq!(answer.json()["id"], 0);
        let session = answer.header("mcp-session-id").unwrap();
        assert!(session.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    }
}

#[tokio::test]
async fn a_session_answers_what_it_declared() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    for (method, params, result) in [
        ("ping", "{}", json!({})),
        ("logging/setLevel", r#"{"level":"debug"}"#, json!({})),
        ("prompts/list", "{}", json!({"prompts": []})),
        ("resources/list", "{}", json!({"resources": []})),
        (
            "resources/templates/list",
            "{}",
            json!({"resourceTemplates": []}),
        ),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#);
        let answer = cluster.send(&Request::legacy(&session, &body)).await;
        let expected = json!({"jsonrpc": "2.0", "id": "x", "result": result});
        assert_eq!((answer.status, answer.json()), (200, expected), "{method}");
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let answer = cluster.send(&Request::legacy(&session, list)).await;
    let names: Vec<_> = answer.json()["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["fast", "slow", "mirrored", "hurried"]);
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#;
    let answer = cluster.send(&Request::legacy(&session, unknown)).await;
    assert_eq!((answer.status, answer.code()), (200, -32_601));
}

#[tokio::test]
async fn what_a_session_asks_for_is_noted_at_its_node() {
    use clientmcp_proto::v1::change_session_request::Change;

    let cluster = Cluster::start().await;
    let session = cluster.session("2025-06-18").await;
    let ask = async |method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        cluster.send(&Request::legacy(&session, &body)).await
    };
    for (method, params) in [
        ("logging/setLevel", r#"{"level":"error"}"#),
        ("resources/subscribe", r#"{"uri":"x:\u0031"}"#),
        ("resources/unsubscribe", r#"{"uri":"x:1"}"#),
    ] {
        let answer = ask(method, params).await;
        assert_eq!(
            (answer.status, &answer.json()["result"]),
            (200, &json!({})),
            "{method}"
        );
    }
    let changes: Vec<_> = cluster
        .node()
        .script()
        .changes
        .drain(..)
        .map(|it| it.1)
        .collect();
    assert_eq!(
        changes,
        [
            Change::LogLevel("error".to_owned()),
            Change::Subscribe("x:1".to_owned()),
            Change::Unsubscribe("x:1".to_owned()),
        ]
    );
    for (method, params) in [
        ("logging/setLevel", r#"{"level":"loud"}"#),
        ("resources/subscribe", "{}"),
        ("resources/unsubscribe", r#"{"uri":1}"#),
    ] {
        let answer = ask(method, params).await;
        assert_eq!((answer.status, answer.code()), (200, -32_602), "{method}");
    }
    cluster.node().script().room_for_changes = 0;
    let answer = ask("resources/subscribe", r#"{"uri":"x:1"}"#).await;
    assert_eq!((answer.status, answer.code()), (200, -32_602));
    // Modern agents subscribe otherwise.
    for method in [
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    ] {
        let answer = cluster.send(&Request::modern("1", method, "")).await;
        assert_eq!((answer.status, answer.code()), (404, -32_601), "{method}");
    }
}

#[tokio::test]
async fn an_ended_session_is_unknown_to_everything() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    let mut stream = cluster.connect().await;
    stream.write(&get(&session).to_bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    cluster.node().watched_by(1).await;
    let answer = cluster.send(&delete(&session)).await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    assert_eq!(stream.event().await, None, "its stream ends");
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fast"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        let answer = cluster.send(&Request::legacy(&session, body)).await;
        assert_eq!((answer.status, answer.code()), (404, 40_401), "{body}");
    }
    assert_eq!(cluster.send(&get(&session)).await.status, 404);
    assert_eq!(cluster.send(&delete(&session)).await.status, 404);
}

#[tokio::test]
async fn a_newer_stream_of_a_session_ends_the_older() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    let mut older = cluster.connect().await;
    older.write(&get(&session).to_bytes()).await;
    older.head().await;
    cluster.node().watched_by(1).await;
    let mut newer = cluster.connect().await;
    newer.write(&get(&session).to_bytes()).await;
    newer.head().await;
    assert_eq!(older.event().await, None);
    cluster.node().watched_by(1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    cluster.node().register("[]").await;
    let event = newer.event().await.unwrap();
    assert_eq!(
        event,
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    );
}
