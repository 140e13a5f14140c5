//! What is said of calls that the app did not answer, and of calls that have to be checked again.

use clientmcp_proto::v1::{self, outcome};
use serde_json::json;

use crate::harness::{Cluster, Request};
use crate::http_client::Answer;
use crate::node::{RESULT, TOOLS, refused};

fn outcome_of(answer: &Answer) -> String {
    let result = &answer.json()["result"];
    assert_eq!(result["isError"], true, "{answer:?}");
    result["_meta"]["dev.clientmcp/outcome"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_call_times_out_when_its_tool_says_so() {
    let cluster = Cluster::start().await;
    let answer = cluster.send(&Request::modern_call("hurried")).await;
    assert_eq!(outcome_of(&answer), "timeout");
    let arrival = cluster.node().next_call().await;
    assert!(arrival.call.deadline_ms <= 300);
    let cancel = cluster.node().next_cancel().await;
    assert_eq!(cancel.reason(), v1::cancel::Reason::Timeout);
}

#[tokio::test]
async fn outcomes_tell_what_is_known() {
    let cluster = Cluster::start().await;
    use v1::refused::Why;
    let absent = |why| {
        let mut absent = v1::Absent::default();
        absent.set_why(why);
        outcome::Outcome::Absent(absent)
    };
    for (outcome, said, retry) in [
        (absent(v1::absent::Why::Gone), "offline", false),
        (absent(v1::absent::Why::Away), "offline", true),
        (refused(Why::TooManyCalls), "not_delivered", true),
        (refused(Why::QueueFull), "not_delivered", true),
        (
            outcome::Outcome::Lost(v1::Lost {
                not_delivered: false,
                r#final: true,
            }),
            "unknown",
            false,
        ),
        (
            outcome::Outcome::Lost(v1::Lost {
                not_delivered: false,
                ..v1::Lost::default()
            }),
            "unknown",
            false,
        ),
        (
            outcome::Outcome::TimedOut(v1::TimedOut {}),
            "timeout",
            false,
        ),
    ] {
        let request = Request::modern_call("slow");
        let (answer, ()) = tokio::join!(cluster.send(&request), async {
            cluster.node().next_call().await.answer(outcome);
        });
        assert_eq!(outcome_of(&answer), said);
        let meta = &answer.json()["result"]["_meta"];
        assert_eq!(
            meta["dev.clientmcp/retryAfterMs"].is_number(),
            retry,
            "{meta}"
        );
        if said == "offline" {
            assert!(answer.body.contains("Notes"));
        }
    }
    let request = Request::modern_call("slow");
    let (answer, ()) = tokio::join!(cluster.send(&request), async {
        cluster
            .node()
            .next_call()
            .await
            .answer(refused(Why::TooLarge));
    });
    assert_eq!((answer.status, answer.code()), (413, 41_300));
}

#[tokio::test]
async fn an_app_that_never_came_is_offline() {
    let cluster = Cluster::start().await;
    {
        let mut script = cluster.node().script();
        script.connected = false;
        script.registered = false;
    }
    let answer = cluster.send(&Request::modern_call("fast")).await;
    assert_eq!(outcome_of(&answer), "offline");
    let list = cluster.send(&Request::modern("1", "tools/list", "")).await;
    assert_eq!(list.json()["result"]["tools"], json!([]));
}

#[tokio::test]
async fn a_call_is_checked_again_when_the_tools_have_changed() {
    let cluster = Cluster::start().await;
    assert_eq!(
        cluster.send(&Request::modern_call("fast")).await.status,
        200
    );
    // A tool that the router has not heard of yet.
    let more = TOOLS.replace("]", r#",{"name":"new","inputSchema":{"type":"object"}}]"#);
    cluster.node().register(&more).await;
    let request = Request::modern_call("new");
    let (answer, ()) = tokio::join!(cluster.send(&request), async {
        cluster.node().next_call().await.result(RESULT);
    });
    assert_eq!(answer.json()["result"]["content"][0]["text"], "ok");
    // One that it has heard of, and that is gone.
    cluster
        .node()
        .register(r#"[{"name":"other","inputSchema":{"type":"object"}}]"#)
        .await;
    let answer = cluster.send(&Request::modern_call("fast")).await;
    assert_eq!((answer.status, answer.code()), (200, -32_602));
    // One that wants a header by now.
    let mirrored = TOOLS.replacen(
        r#""name":"fast","description":"d","inputSchema":{"type":"object"}"#,
        r#""name":"fast","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}"#,
        1,
    );
    cluster.node().register(TOOLS).await;
    assert_eq!(cluster.send(&Request::modern_call("fast")).await.code(), 0);
    cluster.node().register(&mirrored).await;
    let request = Request::modern("1", "tools/call", r#""name":"fast","arguments":{"r":"x"}"#);
    let answer = cluster.send(&request).await;
    assert_eq!((answer.status, answer.code()), (400, -32_020));
}
