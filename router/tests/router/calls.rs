//! Calls: how their answers travel, and what ends them.

use std::time::{Duration, Instant};

use clientmcp_proto::v1::{self, outcome};
use serde_json::json;

use crate::harness::{Cluster, Request};
use crate::http_client::Connection;
use crate::node::RESULT;

/// Sends a request without waiting for the answer.
async fn begin(cluster: &Cluster, request: &Request) -> Connection {
    let mut connection = cluster.connect().await;
    connection.write(&request.to_bytes()).await;
    connection
}

#[tokio::test]
async fn a_quick_answer_is_json_and_verbatim() {
    let cluster = Cluster::start().await;
    let answer = cluster.send(&Request::modern_call("fast")).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let result = &answer.json()["result"];
    assert_eq!(result["content"][0]["text"], "ok");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "Notes"
    );

    let session = cluster.session("2025-11-25").await;
    let answer = cluster.send(&Request::legacy_call(&session, "fast")).await;
    assert_eq!(
        answer.body,
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{RESULT}}}"#)
    );
}

#[tokio::test]
async fn the_node_gets_what_the_app_must_know() {
    let cluster = Cluster::start().await;
    let params = r#""name":"slow","arguments":{"n":1e400,"s":"\ud800"}"#;
    let request = Request::modern("\"abc\"", "tools/call", params).header(
        "traceparent",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    );
    let mut connection = begin(&cluster, &request).await;
    let arrival = cluster.node().next_call().await;
    let call = &arrival.call;
    assert_eq!(call.call_id.len(), 16);
    assert_eq!(call.call_id[6] >> 4, 7, "a UUIDv7");
    assert_eq!(call.root_id, call.call_id);
    assert_eq!((call.round, call.attempt), (0, 0));
    assert_eq!(call.client_id, "app-1");
    assert_eq!(call.method, "tools/call");
    assert!(String::from_utf8_lossy(&call.params).contains(params));
    assert!(
        (9_000..=10_000).contains(&call.deadline_ms),
        "{}",
        call.deadline_ms
    );
    assert_eq!(call.era(), v1::Era::Modern);
    assert_eq!(&call.request_id[..], b"\"abc\"");
    assert!(call.traceparent.starts_with("00-0af7"));
    let context: serde_json::Value = serde_json::from_slice(&call.context).unwrap();
    assert_eq!(context["protocolVersion"], "2026-07-28");
    assert_eq!(context["subject"], "app-1");
    assert_eq!(context["progress"], false);
    arrival.result("{}");
    assert_eq!(connection.head().await.status, 200);
}

#[tokio::test]
async fn a_slow_answer_becomes_a_stream_with_comments() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    for request in [
        Request::modern_call("slow"),
        Request::legacy_call(&session, "slow"),
    ] {
        let begun = Instant::now();
        let mut connection = begin(&cluster, &request).await;
        let arrival = cluster.node().next_call().await;
        let head = connection.head().await;
        assert!(
            begun.elapsed() >= Duration::from_millis(390),
            "the head came too early"
        );
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("x-accel-buffering"), Some("no"));
        for _ in 0..3 {
            assert_eq!(connection.chunk().await.unwrap(), ":\n\n");
        }
        arrival.result(RESULT);
        let last = loop {
            match connection.chunk().await.unwrap() {
                comment if comment == ":\n\n" => {}
                event => break event,
            }
        };
        assert!(last.starts_with("event: message\ndata: {"), "{last}");
        assert!(last.ends_with("}\n\n"), "{last}");
        assert_eq!(connection.chunk().await, None, "nothing follows the answer");
    }
}

#[tokio::test]
async fn whoever_accepts_json_alone_gets_json_when_the_call_ends() {
    let cluster = Cluster::start().await;
    let request = Request::modern_call("slow").set("Accept", "application/json");
    let (answer, ()) = tokio::join!(cluster.send(&request), async {
        let arrival = cluster.node().next_call().await;
        arrival.log(r#"{"level":"error","data":"x"}"#);
        tokio::time::sleep(Duration::from_millis(900)).await;
        arrival.result(RESULT);
    });
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["result"]["content"][0]["text"], "ok");
}

#[tokio::test]
async fn progress_starts_the_stream_and_only_grows() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    for token in ["0", "\"0\"", "\"\""] {
        let mut request = Request::legacy_call(&session, "slow");
        let body = String::from_utf8(request.body).unwrap();
        request.body = body
            .replace(
                r#""progressToken":0"#,
                &format!(r#""progressToken":{token}"#),
            )
            .into();
        let (answer, ()) = tokio::join!(cluster.send(&request), async {
            let arrival = cluster.node().next_call().await;
            for progress in ["1", "2", "2", "1.5", "3.25"] {
                arrival.progress(&format!(r#"{{"progress":{progress},"total":10}}"#));
            }
            arrival.log(r#"{"level":"info","logger":"l","data":{"a":1}}"#);
            arrival.result(RESULT);
            arrival.progress(r#"{"progress":9}"#);
        });
        let events = answer.events();
        let token: serde_json::Value = serde_json::from_str(token).unwrap();
        let progress: Vec<_> = events
            .iter()
            .filter(|event| event["method"] == "notifications/progress")
            .map(|event| {
                assert_eq!(event["params"]["progressToken"], token);
                event["params"]["progress"].clone()
            })
            .collect();
        assert_eq!(progress, [json!(1), json!(2), json!(3.25)]);
        let logs: Vec<_> = events
            .iter()
            .filter(|event| event["method"] == "notifications/message")
            .collect();
        assert_eq!(logs.len(), 1);
        assert_eq!(logs[0]["params"]["data"]["a"], 1);
        assert_eq!(events.last().unwrap()["id"], 7);
        assert_eq!(events.len(), 5);
    }
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_told_and_starts_no_stream() {
    let cluster = Cluster::start().await;
    let request = Request::modern_call("slow");
    let (answer, ()) = tokio::join!(cluster.send(&request), async {
        let arrival = cluster.node().next_call().await;
        arrival.progress(r#"{"progress":1}"#);
        arrival.log(r#"{"level":"emergency","data":1}"#);
        arrival.result(RESULT);
    });
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn errors_of_the_app_pass_with_their_status() {
    let cluster = Cluster::start().await;
    let capability =
        r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}"#;
    let other = r#"{"code":-32602,"message":"m","data":{"uri":"x"}}"#;
    for (error, status) in [(capability, 400), (other, 200)] {
        let request = Request::modern_call("slow");
        let (answer, ()) = tokio::join!(cluster.send(&request), async {
            cluster.node().next_call().await.error(error);
        });
        assert_eq!(answer.status, status);
        assert_eq!(
            answer.body,
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#)
        );
    }
    // Once the stream has begun, it is an event.
    let mut connection = begin(&cluster, &Request::modern_call("slow")).await;
    let arrival = cluster.node().next_call().await;
    assert_eq!(connection.head().await.status, 200);
    arrival.error(capability);
    assert_eq!(connection.event().await.unwrap()["error"]["code"], -32_021);
    assert_eq!(connection.event().await, None);
}

#[tokio::test]
async fn a_modern_call_is_cancelled_by_closing_its_response() {
    let cluster = Cluster::start().await;
    // Before the first byte.
    let connection = begin(&cluster, &Request::modern_call("slow")).await;
    let arrival = cluster.node().next_call().await;
    drop(connection);
    let cancel = cluster.node().next_cancel().await;
    assert_eq!(cancel.call_id, arrival.call.call_id);
    assert_eq!(cancel.reason(), v1::cancel::Reason::Disconnect);
    // In the middle of the stream.
    let mut connection = begin(&cluster, &Request::modern_call("slow")).await;
    let arrival = cluster.node().next_call().await;
    connection.head().await;
    drop(connection);
    assert_eq!(
        cluster.node().next_cancel().await.call_id,
        arrival.call.call_id
    );
    gauges_are_zero(&cluster).await;
}

async fn gauges_are_zero(cluster: &Cluster) {
    let zero = async {
        loop {
            let metrics = metrics(cluster).await;
            if metrics.contains("clientmcp_calls_in_flight 0\n")
                && !metrics.contains("clientmcp_streams{kind=\"call\"} 1")
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), zero)
        .await
        .unwrap();
}

async fn metrics(cluster: &Cluster) -> String {
    let mut admin = Connection::open(cluster.router.admin_addr()).await;
    admin
        .exchange(&Request::new("GET", "/metrics").to_bytes())
        .await
        .body
}

#[tokio::test]
async fn a_legacy_call_outlives_its_connection() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    let connection = begin(&cluster, &Request::legacy_call(&session, "slow")).await;
    let arrival = cluster.node().next_call().await;
    drop(connection);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!cluster.node().was_cancelled().await);
    assert!(
        metrics(&cluster)
            .await
            .contains("clientmcp_calls_in_flight 1\n")
    );
    arrival.result(RESULT);
    gauges_are_zero(&cluster).await;
}

#[tokio::test]
async fn a_legacy_call_is_cancelled_by_its_notification_and_not_answered() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    let mut connection = begin(&cluster, &Request::legacy_call(&session, "slow")).await;
    let arrival = cluster.node().next_call().await;
    connection.head().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"r"}}"#;
    let answer = cluster.send(&Request::legacy(&session, cancel)).await;
    assert_eq!(answer.status, 202);
    let request = cluster.node().next_cancel_request().await;
    assert_eq!(&request.request_id[..], b"7");
    assert_eq!(request.session_id, arrival.call.session_id);
    assert_eq!(request.reason, "r");
    arrival.answer(outcome::Outcome::Cancelled(v1::Cancelled {}));
    assert_eq!(connection.event().await, None);
}

#[tokio::test]
async fn a_batch_is_answered_as_a_whole() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-03-26").await;
    let batch = r#"[
        {"jsonrpc":"2.0","id":1,"method":"ping"},
        {"jsonrpc":"2.0","method":"notifications/made_up"},
        {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"fast"}},
        {"jsonrpc":"2.0","id":3,"method":"no/such"}]"#;
    let request = Request::post(batch).header("Mcp-Session-Id", &session);
    let answer = cluster.send(&request).await;
    assert_eq!(answer.status, 200);
    let answers = answer.json();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(answers[1]["id"], "b");
    assert_eq!(answers[1]["result"]["content"][0]["text"], "ok");
    assert_eq!(answers[2]["error"]["code"], -32_601);
    assert_eq!(answers.as_array().unwrap().len(), 3);
    let notices = r#"[{"jsonrpc":"2.0","method":"notifications/made_up"}]"#;
    let request = Request::post(notices).header("Mcp-Session-Id", &session);
    assert_eq!(cluster.send(&request).await.status, 202);
}
