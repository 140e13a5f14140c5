//! Calls over a socket: arguments, results, failures, progress and logs.

use clientmcp_sdk::{CallError, CancelReason, Context, LogLevel, RpcError, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{CALL, OTHER_CALL, Server};
use crate::{builder, done, gated, json as text};

/// The payload of an answer, as it stands in its frame.
fn payload<'a>(frame: &'a str, kind: &str) -> &'a str {
    let head = format!(r#"{{"type":"{kind}","id":"{CALL}","{kind}":"#);
    let rest = frame
        .strip_prefix(&head)
        .unwrap_or_else(|| panic!("{frame}"));
    rest.strip_suffix('}').unwrap()
}

#[tokio::test]
async fn parameters_and_results_pass_to_the_byte() {
    let server = Server::start().await;
    let odd = r#"{ "name" : "raw", "arguments":{"n":18446744073709551616,"z":1.0,"e":1e400,"s":"\u0000\ud800","a":1,"a":2} , "_meta":{}}"#;
    let result = r#"{ "content":[], "n":1e2,"x":"\ud800"}"#;
    let _app = builder(&server)
        .raw_tool(Tool::new("raw", ""), move |params, _| async move {
            assert_eq!(params.as_str(), odd);
            Ok(text(result))
        })
        .connect();
    let mut peer = server.accept_registered().await;
    peer.call(CALL, 0, odd).await;
    assert_eq!(payload(&peer.text().await, "result"), result);
}

#[derive(Deserialize)]
struct Point {
    x: i32,
    y: Option<i32>,
}

async fn sum(point: Point, _: Context) -> Result<String, CallError> {
    Ok((point.x + point.y.unwrap_or(0)).to_string())
}

#[tokio::test]
async fn arguments_are_read_into_types() {
    let server = Server::start().await;
    let _app = builder(&server).tool(Tool::new("sum", ""), sum).connect();
    let mut peer = server.accept_registered().await;
    let table = [
        (r#"{"x":1,"y":2}"#, "3", false),
        (r#"{"x":1}"#, "1", false),
        ("{}", "the arguments do not fit: missing field `x`", true),
    ];
    for (n, (arguments, answer, is_error)) in table.into_iter().enumerate() {
        let id = CALL.replace("8057", &format!("905{n}"));
        let params = format!(r#"{{"name":"sum","arguments":{arguments}}}"#);
        peer.call(&id, 0, &params).await;
        let frame = peer.json().await;
        let content = frame["result"]["content"][0]["text"].as_str().unwrap();
        assert!(content.starts_with(answer), "{frame}");
        assert_eq!(frame["result"]["isError"] == json!(true), is_error);
    }
}

#[tokio::test]
async fn failures_have_their_forms_and_end_their_call_alone() {
    let server = Server::start().await;
    let (tool, handler) = done("done");
    let _app = builder(&server)
        .tool(tool, handler)
        .tool(Tool::new("tool_error", ""), |_: Value, _| async {
            Err::<(), _>(ToolError::new("no pen").into())
        })
        .tool(Tool::new("io_error", ""), |_: Value, _| async {
            Err(std::io::Error::other("disk full"))?;
            Ok(())
        })
        .tool(Tool::new("rpc_error", ""), |_: Value, _| async {
            let data = Some(text(r#"{"n":1.0}"#));
            Err(RpcError {
                data,
                ..RpcError::new(-32099, "no")
            })?;
            Ok(())
        })
        .tool(Tool::new("panics", ""), |_: Value, _| async {
            if true {
                panic!("on purpose");
            }
            Ok(())
        })
        .tool(Tool::new("panics_early", ""), |_: Value, _| {
            assert!(std::hint::black_box(false), "on purpose");
            std::future::ready(Ok(()))
        })
        .connect();
    let mut peer = server.accept_registered().await;
    let is_error =
        |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":true}}"#);
    let panicked = is_error("the tool failed: its handler panicked");
    let table = [
        ("tool_error", "result", is_error("no pen")),
        ("io_error", "result", is_error("disk full")),
        (
            "rpc_error",
            "error",
            r#"{"code":-32099,"message":"no","data":{"n":1.0}}"#.to_owned(),
        ),
        ("panics", "result", panicked.clone()),
        ("panics_early", "result", panicked),
        (
            "absent",
            "error",
            r#"{"code":-32602,"message":"Unknown tool: absent"}"#.to_owned(),
        ),
        (
            "done",
            "result",
            r#"{"content":[{"type":"text","text":"done"}]}"#.to_owned(),
        ),
    ];
    for (n, (name, kind, answer)) in table.into_iter().enumerate() {
        let id = CALL.replace("8057", &format!("905{n}"));
        peer.call(&id, 0, &format!(r#"{{"name":"{name}"}}"#)).await;
        let frame = peer.text().await.replace(&id, CALL);
        assert_eq!(payload(&frame, kind), answer, "{name}");
    }
}

#[tokio::test]
async fn a_method_that_is_not_offered_is_an_error() {
    let server = Server::start().await;
    let _app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    peer.send(&format!(
        r#"{{"type":"call","id":"{CALL}","method":"tasks/get","params":{{"name":"x"}},"deadlineMs":1000,"context":{{"protocolVersion":"2026-07-28","clientCapabilities":{{}},"subject":"s","progress":false,"tasks":false}}}}"#
    ))
    .await;
    assert_eq!(
        payload(&peer.text().await, "error"),
        r#"{"code":-32601,"message":"the application does not offer tasks/get"}"#
    );
}

#[tokio::test]
async fn a_result_that_is_too_large_names_the_limit_and_the_connection_stands() {
    let server = Server::start().await;
    let _app = builder(&server)
        .tool(Tool::new("large", ""), |_: Value, _| async {
            Ok("x".repeat(4 * 1024 * 1024))
        })
        .connect();
    let mut peer = server.accept_registered().await;
    for id in [CALL, OTHER_CALL] {
        peer.call(id, 0, r#"{"name":"large"}"#).await;
        let frame = peer.json().await;
        assert_eq!(frame["result"]["isError"], true);
        let said = frame["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            said.contains("at most 4194304 bytes (maxMessageBytes)"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn progress_and_logs_come_before_the_result_and_in_order() {
    let server = Server::start().await;
    let _app = builder(&server)
        .tool(
            Tool::new("talks", ""),
            |_: Value, call: Context| async move {
                call.progress(0.0, Some(2.5), Some("a \"b\""));
                call.progress(f64::NAN, None, None);
                call.log(LogLevel::Debug, None, "below the level");
                call.log(LogLevel::Info, Some("me"), &json!({"n": 1}));
                call.log(LogLevel::Error, None, "text");
                call.progress(1.0, None, None);
                Ok(())
            },
        )
        .connect();
    let mut peer = server.accept_registered().await;
    peer.call(CALL, 0, r#"{"name":"talks"}"#).await;
    for rest in [
        r#""progress":0,"total":2.5,"message":"a \"b\""}"#,
        r#""level":"info","logger":"me","data":{"n":1}}"#,
        r#""level":"error","data":"text"}"#,
        r#""progress":1}"#,
        r#""result":{"content":[]}}"#,
    ] {
        let frame = peer.text().await;
        assert!(
            frame.ends_with(&format!(r#""id":"{CALL}",{rest}"#)),
            "{frame}"
        );
    }
}

#[tokio::test]
async fn nothing_is_said_that_the_agent_does_not_want() {
    let server = Server::start().await;
    let _app = builder(&server)
        .tool(
            Tool::new("talks", ""),
            |_: Value, call: Context| async move {
                assert!(!call.wants_progress() && call.log_level().is_none());
                call.progress(1.0, None, None);
                call.log(LogLevel::Emergency, None, "x");
                Ok(())
            },
        )
        .connect();
    let mut peer = server.accept_registered().await;
    peer.send(&format!(
        r#"{{"type":"call","id":"{CALL}","method":"tools/call","params":{{"name":"talks"}},"deadlineMs":1000,"context":{{"protocolVersion":"2026-07-28","clientCapabilities":{{}},"subject":"s","progress":false,"tasks":false}}}}"#
    ))
    .await;
    assert_eq!(payload(&peer.text().await, "result"), r#"{"content":[]}"#);
}

#[tokio::test]
async fn a_handler_knows_its_call_and_when_it_is_cancelled() {
    let server = Server::start().await;
    let (builder, mut gate) = gated(builder(&server));
    let _app = builder.connect();
    let mut peer = server.accept_registered().await;
    peer.call(CALL, 0, r#"{"name":"wait","_meta":{"a":1.0}}"#)
        .await;
    let call = gate.began().await;
    assert_eq!((call.call_id(), call.root_id()), (CALL.into(), CALL.into()));
    assert_eq!(call.protocol_version(), "2025-11-25");
    assert_eq!(call.subject(), "somebody");
    assert_eq!(call.client_info().unwrap().as_str(), r#"{"name":"agent"}"#);
    assert_eq!(call.client_capabilities().as_str(), r#"{"sampling":{}}"#);
    assert_eq!(
        call.params().as_str(),
        r#"{"name":"wait","_meta":{"a":1.0}}"#
    );
    assert_eq!(call.arguments().as_str(), "{}");
    assert_eq!(call.cancel_reason(), None);
    peer.send(&format!(
        r#"{{"type":"cancel","id":"{CALL}","reason":"disconnect"}}"#
    ))
    .await;
    assert_eq!(call.cancelled().await, CancelReason::Disconnect);
    assert!(call.cancellation_token().is_cancelled());
    // It is not answered: the next frame is of the next call.
    peer.call(OTHER_CALL, 0, r#"{"name":"wait"}"#).await;
    gate.began().await;
    gate.end.notify_one();
    assert_eq!(peer.json().await["id"], OTHER_CALL);
}
