//! Bodies of every shape: ids, junk, notifications, batches (SPEC.md §5.5 to §5.8).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::exchange::Request;
use clientmcp_e2e::raw_app::{RawApp, text_result};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::session;
use serde_json::{Value, json};

#[tokio::test]
async fn ids_are_strings_or_integers_and_come_back_as_they_were() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["echo"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let modern = scenario.modern();
    let router = scenario.router(1);
    for id in ["null", "1.5", "1.0", "1e3", "true", "{}", "[1]"] {
        for request in [
            session.call(id, "echo", "{}"),
            modern.call(id, "echo", "{}"),
        ] {
            let response = request.send(router).await;
            assert_eq!(response.status, 400, "{id}");
            let error = response.json().await;
            assert_eq!(error["error"]["code"], -32600, "{id}");
            assert!(error.get("id").is_none(), "{error}");
        }
    }
    // A missing id makes a notification: accepted, not answered, and not passed on.
    let body = r#"{"name":"echo","arguments":{"never":true}}"#;
    for request in [
        session.notification("tools/call", body),
        modern.notification("tools/call", body),
    ] {
        let response = request.send(router).await;
        assert_eq!(
            (response.status.as_u16(), response.bytes().await.len()),
            (202, 0)
        );
    }
    for id in [
        "0",
        "\"\"",
        "-1",
        "1",
        "\"1\"",
        "9007199254740993",
        "123456789012345678901234567890",
        "\"\\u0041\\n\"",
    ] {
        for request in [
            session.call(id, "echo", "{}"),
            modern.call(id, "echo", "{}"),
        ] {
            let asked = tokio::spawn(async move { Answer::read(request.send(router).await).await });
            // The app never saw the calls before: the first is this.
            let call = app.expect("call").await;
            assert_eq!(call.arguments(), "{}");
            app.result(&call, &text_result("x")).await;
            assert_eq!(asked.await.unwrap().raw_member("id").as_deref(), Some(id));
        }
    }
}

#[tokio::test]
async fn junk_is_answered_and_goes_nowhere() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["echo"]).await;
    let modern = scenario.modern();
    let session = scenario.session(Version::V2025_11_25).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;
    let utf16: Vec<u8> = call.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{}{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let junk: [(&[u8], i64); 27] = [
        (b"", -32700),
        (b" \r\n\t", -32700),
        (b"\xef\xbb\xbf{}", -32700),
        (&utf16, -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700),
        (br#"{'jsonrpc':'2.0'}"#, -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, -32700),
        (b"null", -32600),
        (b"5", -32600),
        (br#""x""#, -32600),
        (b"true", -32600),
        (b"{}", -32600),
        (br#"{"id":1,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":null}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"other"}}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{},"_meta":{}}}"#, -32600),
        (deep.as_bytes(), -32600),
    ];
    for (body, code) in junk {
        for request in [
            modern
                .post(body.to_vec())
                .with("Mcp-Method", "tools/call")
                .with("Mcp-Name", "echo"),
            session.post(body.to_vec()),
        ] {
            let response = request.send(scenario.router(1)).await;
            let shown = String::from_utf8_lossy(body).into_owned();
            assert_eq!(response.status, 400, "{shown}");
            let error = response.json().await;
            assert_eq!(error["error"]["code"], code, "{shown}");
            assert_ne!(error.get("id"), Some(&Value::Null));
        }
    }
    expect_nothing_so_far(&scenario, &mut app).await;
}

#[tokio::test]
async fn arrays_are_refused_whole_outside_2025_03_26() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["echo"]).await;
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;
    let large = format!("[{}]", vec![one; 10_000].join(","));
    let bodies = [
        "[]".to_owned(),
        "[{}]".to_owned(),
        format!("[{one}]"),
        format!("[{one},5]"),
        large,
    ];
    let mut requests: Vec<Request> = Vec::new();
    for body in &bodies {
        requests.push(
            scenario
                .modern()
                .post(body.clone())
                .with("Mcp-Method", "tools/call"),
        );
        for version in [Version::V2025_06_18, Version::V2025_11_25] {
            requests.push(scenario.session(version).await.post(body.clone()));
        }
        // Without a session there is no revision that would allow it.
        requests.push(session::post(&scenario.tokens.agent(CLIENT)).body(body.clone()));
    }
    for request in requests {
        let response = request.send(scenario.router(0)).await;
        assert_eq!(response.status, 400);
        assert_eq!(response.json().await["error"]["code"], -32600);
    }
    expect_nothing_so_far(&scenario, &mut app).await;
}

#[tokio::test]
async fn batches_of_2025_03_26_are_answered_as_json() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let session = scenario.session(Version::V2025_03_26).await;
    let router = scenario.router(2);
    let batch = r#"[
        {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"n":1}}},
        {"jsonrpc":"2.0","method":"notifications/initialized"},
        {"jsonrpc":"2.0","id":2,"method":"ping"},
        {"jsonrpc":"2.0","id":3,"method":"unknown"},
        {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"unknown"}},
        {"jsonrpc":"2.0","id":9,"result":{}}
    ]"#;
    let response = session.post(batch).send(router).await;
    assert_eq!(response.status, 200);
    let answers = response.json().await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 4);
    let of = |id: Value| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(of(json!("a"))["result"]["content"][0]["text"], r#"{"n":1}"#);
    assert_eq!(of(json!(2))["result"], json!({}));
    assert_eq!(of(json!(3))["error"]["code"], -32601);
    assert_eq!(of(json!(4))["error"]["code"], -32602);

    let notices = r#"[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":9,"result":{}}]"#;
    let response = session.post(notices).send(router).await;
    assert_eq!(
        (response.status.as_u16(), response.bytes().await.len()),
        (202, 0)
    );

    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    for (body, status) in [
        (format!("[{}]", vec![ping; 50].join(",")), 200),
        (format!("[{}]", vec![ping; 51].join(",")), 400),
        (format!("[{ping},{initialize}]"), 400),
        ("[]".to_owned(), 400),
        (format!("[{ping},{{}}]"), 400),
    ] {
        assert_eq!(
            session.post(body.clone()).send(router).await.status,
            status,
            "{}",
            body.len()
        );
    }
}

#[tokio::test]
async fn notifications_and_responses_are_accepted_without_a_word() {
    let scenario = Scenario::start().await;
    let router = scenario.router(1);
    let modern = scenario.modern();
    let legacy = scenario.session(Version::V2025_11_25).await;
    for method in [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/roots/list_changed",
        "notifications/made_up",
    ] {
        for request in [
            legacy.notification(method, "{}"),
            modern.notification(method, "{}"),
        ] {
            let response = request.send(router).await;
            assert_eq!(response.status, 202, "{method}");
            assert_eq!(response.header("content-type"), None);
            assert!(response.bytes().await.is_empty());
        }
    }
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(legacy.post(response).send(router).await.status, 202);
    let refused = modern.post(response).send(router).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json().await["error"]["code"], -32600);

    // What is refused is refused all the same.
    let notice = legacy.notification("notifications/initialized", "{}");
    assert_eq!(
        notice
            .clone()
            .with("Authorization", "Bearer x")
            .send(router)
            .await
            .status,
        401
    );
    assert_eq!(
        notice
            .clone()
            .with("Mcp-Session-Id", "x")
            .send(router)
            .await
            .status,
        404
    );
    assert_eq!(
        notice.without("Mcp-Session-Id").send(router).await.status,
        400
    );
}

#[tokio::test]
async fn line_ends_between_tokens_become_blanks_and_nothing_else_changes() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["echo"]).await;
    let arguments = "{\r\n\t\"a\" :\n[ 1.0,\r2 ] ,\"text\":\"kept \\r\\n\"\n}";
    let expected = "{  \t\"a\" : [ 1.0, 2 ] ,\"text\":\"kept \\r\\n\" }";
    let session = scenario.session(Version::V2025_11_25).await;
    for (request, accept) in [
        (session.call("1", "echo", arguments), "application/json"),
        (
            scenario.modern().call("1", "echo", arguments),
            "text/event-stream",
        ),
    ] {
        let (request, router) = (request.with("Accept", accept), scenario.router(0));
        let asked = tokio::spawn(async move { Answer::read(request.send(router).await).await });
        let call = app.expect("call").await;
        assert_eq!(call.arguments(), expected);
        app.result(
            &call,
            &format!("{{\"content\":[],\r\n\"_meta\":{arguments}}}"),
        )
        .await;
        let raw = String::from_utf8(asked.await.unwrap().raw.to_vec()).unwrap();
        assert!(
            raw.contains(&format!("\"_meta\":{expected}")) || raw.contains(&expected[1..]),
            "{raw}"
        );
        assert!(!raw.contains(['\r', '\n']), "{raw}");
    }
}

/// What came before reached the app in no way: the first that it hears is this call.
async fn expect_nothing_so_far(scenario: &Scenario, app: &mut RawApp) {
    let (modern, router) = (scenario.modern(), scenario.router(1));
    let asked =
        tokio::spawn(async move { modern.use_tool(router, "echo", r#"{"marker":1}"#).await });
    let call = app.expect("call").await;
    assert_eq!(call.arguments(), r#"{"marker":1}"#);
    app.result(&call, &text_result("x")).await;
    assert_eq!(asked.await.unwrap().text(), "x");
}
