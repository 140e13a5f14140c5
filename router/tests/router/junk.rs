//! Bodies that are no request, and messages that get no answer.

use crate::harness::{Cluster, Request};

#[tokio::test]
async fn junk_is_refused_and_reaches_nobody() {
    let cluster = Cluster::start().await;
    let before = cluster.node().asked();
    let long = format!("[{}]", vec!["{}"; 10_000].join(","));
    for (body, code) in [
        (&b""[..], -32_700),
        (b"  \n ", -32_700),
        (b"\xef\xbb\xbf{}", -32_700),
        (b"nonsense", -32_700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\"", -32_700),
        (b"{} {}", -32_700),
        (b"\xff\xfe{\0}\0", -32_700),
        (b"{\"a\":\"\xff\"}", -32_700),
        (b"null", -32_600),
        (b"\"x\"", -32_600),
        (b"{}", -32_600),
        (b"[]", -32_600),
        (b"[{}]", -32_600),
        (long.as_bytes(), -32_600),
        (br#"{"id":1,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32_600),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
            -32_600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
            -32_600,
        ),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32_600),
    ] {
        for request in [
            Request::post(body),
            Request::post(body).header("MCP-Protocol-Version", "2026-07-28"),
        ] {
            let answer = cluster.send(&request).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]);
            assert_eq!(answer.status, 400, "{shown} {answer:?}");
            // A batch of a missing session is told so.
            if !(body.starts_with(b"[{\"jsonrpc") && answer.body.contains("Mcp-Session-Id")) {
                assert_eq!(answer.code(), code, "{shown} {answer:?}");
            }
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
    }
    assert_eq!(cluster.node().asked(), before);
}

#[tokio::test]
async fn what_needs_no_answer_gets_202_without_a_body() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/made_up","params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m"}}"#,
    ] {
        let answer = cluster.send(&Request::legacy(&session, body)).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{body}");
        assert_eq!(answer.header("content-type"), None, "{body}");
        let unknown = cluster.send(&Request::legacy("x", body)).await;
        assert_eq!(unknown.status, 404, "{body}");
        let mut refused = Request::legacy(&session, body);
        refused = refused.set("Authorization", "Bearer x");
        assert_eq!(cluster.send(&refused).await.status, 401, "{body}");
    }
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/made_up"}"#,
    ] {
        let request = Request::post(body).header("MCP-Protocol-Version", "2026-07-28");
        let answer = cluster.send(&request).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{body}");
    }
    let response = Request::post(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#)
        .header("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(cluster.send(&response).await.status, 400);
}

#[tokio::test]
async fn errors_of_the_modern_envelope_have_their_statuses() {
    let cluster = Cluster::start().await;
    let call = || Request::modern_call("fast");
    let no_meta = Request::post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/list");
    for (request, status, code) in [
        (call(), 200, 0),
        (call().set("Mcp-Method", "tools/list"), 400, -32_020),
        (call().set("Mcp-Method", "TOOLS/CALL"), 400, -32_020),
        (call().without("Mcp-Method"), 400, -32_020),
        (call().set("Mcp-Name", "slow"), 400, -32_020),
        (call().without("Mcp-Name"), 400, -32_020),
        (call().header("Mcp-Name", "slow"), 400, -32_020),
        (call().set("Mcp-Name", "  fast "), 200, 0),
        (call().set("Mcp-Name", "=?base64?ZmFzdA==?="), 200, 0),
        (call().set("Mcp-Name", "=?base64?ZmFzdA?="), 400, -32_020),
        (call().without("MCP-Protocol-Version"), 400, -32_020),
        (call().set("MCP-Protocol-Version", "v999"), 400, -32_020),
        (no_meta, 400, -32_602),
        (Request::modern("1", "no/such", ""), 404, -32_601),
        (Request::modern("1", "ping", ""), 404, -32_601),
        (Request::modern("1", "initialize", ""), 404, -32_601),
        (Request::modern("1", "prompts/list", ""), 404, -32_601),
        (Request::modern_call("no-such-tool"), 200, -32_602),
        (call().header("Mcp-Session-Id", "ignored"), 200, 0),
    ] {
        let answer = cluster.send(&request).await;
        let shown = format!("{:?}", request.headers);
        assert_eq!(
            (answer.status, answer.code()),
            (status, code),
            "{shown} {answer:?}"
        );
        assert_eq!(answer.json()["id"], 1, "{shown}");
    }
}

#[tokio::test]
async fn headers_that_repeat_arguments_are_compared() {
    let cluster = Cluster::start().await;
    let call = |arguments: &str| {
        Request::modern(
            "1",
            "tools/call",
            &format!(r#""name":"mirrored","arguments":{arguments}"#),
        )
    };
    for (request, code) in [
        (call(r#"{"region":"eu"}"#), -32_020),
        (
            call(r#"{"region":"eu"}"#).header("Mcp-Param-Region", "us"),
            -32_020,
        ),
        (call("{}").header("Mcp-Param-Region", "eu"), -32_020),
        (
            call(r#"{"region":"eu"}"#).header("MCP-PARAM-REGION", "=?base64?ZXU=?="),
            0,
        ),
        (call(r#"{"region":null}"#), 0),
        (call("{}"), 0),
    ] {
        let shown = format!("{:?}", request.headers);
        let answer = if code == 0 {
            let (answer, ()) = tokio::join!(cluster.send(&request), async {
                cluster.node().next_call().await.result(r#"{"content":[]}"#);
            });
            answer
        } else {
            cluster.send(&request).await
        };
        assert_eq!(answer.code(), code, "{shown} {answer:?}");
        assert_eq!(answer.status, if code == 0 { 200 } else { 400 });
    }
}
