//! What an app may register, and what it is told about it (SPEC.md §4.3 to §4.5).

use clientmcp_e2e::raw_app::{Incoming, RawApp, registration, registration_of, text_result, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message as Frame;

#[tokio::test]
async fn a_bad_tool_is_named_and_hides_no_other() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let bad = [
        ("no_schema", r#"{"name":"no_schema"}"#.to_owned()),
        ("null_schema", r#"{"name":"null_schema","inputSchema":null}"#.to_owned()),
        ("true_schema", r#"{"name":"true_schema","inputSchema":true}"#.to_owned()),
        ("untyped", r#"{"name":"untyped","inputSchema":{}}"#.to_owned()),
        ("string_typed", r#"{"name":"string_typed","inputSchema":{"type":"string"}}"#.to_owned()),
        ("only_ref", r##"{"name":"only_ref","inputSchema":{"$ref":"#/$defs/x"}}"##.to_owned()),
        ("bad_output", r#"{"name":"bad_output","inputSchema":{"type":"object"},"outputSchema":[]}"#.to_owned()),
        ("", tool("")),
        ("has space", tool("has space")),
        ("has/slash", tool("has/slash")),
        ("emoji\u{1f600}", tool("emoji\u{1f600}")),
        // Names are told up to the length that they may have.
        (&"n".repeat(128), tool(&"n".repeat(129))),
        ("null_annotations", r#"{"name":"null_annotations","inputSchema":{"type":"object"},"annotations":null}"#.to_owned()),
        ("numbered", r#"{"name":"numbered","inputSchema":{"type":"object"},"description":1}"#.to_owned()),
        ("empty_header", mirrored("empty_header", r#"{"type":"string","x-mcp-header":""}"#)),
        ("spaced_header", mirrored("spaced_header", r#"{"type":"string","x-mcp-header":"a b"}"#)),
        ("crlf_header", mirrored("crlf_header", r#"{"type":"string","x-mcp-header":"a\r\nb"}"#)),
        ("number_header", mirrored("number_header", r#"{"type":"number","x-mcp-header":"A"}"#)),
        ("object_header", mirrored("object_header", r#"{"type":"object","x-mcp-header":"A"}"#)),
        (
            "twice_header",
            r#"{"name":"twice_header","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}}}}"#.to_owned(),
        ),
        ("items_header", mirrored("items_header", r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#)),
    ];
    let mut tools = vec![tool("good")];
    tools.extend(bad.iter().map(|(_, tool)| tool.clone()));
    tools.extend([tool("good"), tool("also_good"), "5".to_owned()]);
    let registered = app
        .register(registration("app", &format!("[{}]", tools.join(","))))
        .await;

    let rejected = registered["rejected"].as_array().unwrap();
    let names: Vec<&Value> = rejected.iter().map(|entry| &entry["name"]).collect();
    let mut expected: Vec<Value> = bad.iter().map(|(name, _)| json!(name)).collect();
    expected.extend([json!("good"), Value::Null]);
    assert_eq!(names, expected.iter().collect::<Vec<_>>());
    for entry in rejected {
        assert_eq!(entry["kind"], "tools");
        assert!(
            entry["reason"]
                .as_str()
                .is_some_and(|reason| reason.len() > 10),
            "{entry}"
        );
    }
    let listed = scenario
        .modern()
        .ask(scenario.router(1), "tools/list", "{}")
        .await;
    let listed: Vec<_> = listed.result()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(listed, ["good", "also_good"]);
}

#[tokio::test]
async fn every_kind_is_checked_entry_by_entry() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let more = r#","prompts":[{"name":"a b"},{"name":"p"}],"resources":[{"uri":"nowhere","name":"r"},{"uri":"x:1","name":"r"}],"resourceTemplates":[{"uriTemplate":"x:{y}"},{"uriTemplate":"x:{y}","name":"t"}],"completions":true"#;
    let registered = app
        .register(registration_of("app", 1, &format!("[{}]", tool("t")), more))
        .await;
    let rejected = registered["rejected"].as_array().unwrap().iter();
    let rejected: Vec<_> = rejected.map(|it| (&it["kind"], &it["name"])).collect();
    assert_eq!(
        rejected,
        [
            (&json!("prompts"), &json!("a b")),
            (&json!("resources"), &json!("r")),
            (&json!("resources"), &json!("x:{y}")),
        ]
    );
    let modern = scenario.modern();
    for (method, member, expected) in [
        ("prompts/list", "prompts", json!([{"name": "p"}])),
        (
            "resources/list",
            "resources",
            json!([{"uri": "x:1", "name": "r"}]),
        ),
        (
            "resources/templates/list",
            "resourceTemplates",
            json!([{"uriTemplate": "x:{y}", "name": "t"}]),
        ),
    ] {
        let listed = modern.ask(scenario.router(1), method, "{}").await;
        assert_eq!(listed.result()[member], expected);
    }
}

#[tokio::test]
async fn registered_says_what_an_app_must_know() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(2), &scenario.tokens.app(CLIENT)).await;
    let registered = app.register(registration("app", "[]")).await;
    assert_eq!(registered["clientId"], CLIENT);
    let hashes = registered["hashes"].as_object().unwrap();
    assert_eq!(
        hashes.keys().collect::<Vec<_>>(),
        ["prompts", "resources", "rest", "tools"]
    );
    assert_eq!(registered["rejected"], json!([]));
    assert!(
        registered["expiresInMs"]
            .as_u64()
            .is_some_and(|ms| (3_500_000..=3_600_000).contains(&ms))
    );
    assert!(
        registered["expiresAt"]
            .as_u64()
            .is_some_and(|at| at > clientmcp_e2e::tokens::now_s())
    );
    let limits = &registered["limits"];
    assert_eq!(limits["maxMessageBytes"], 4_194_304);
    assert_eq!(limits["maxCallsInFlight"], 256);
    assert_eq!(limits["pingIntervalMs"], 20_000);
    assert_eq!(limits["silenceTimeoutMs"], 45_000);
    assert_eq!(registered["reconnectWithinMs"], 200);
}

#[tokio::test]
async fn a_kind_may_be_named_by_its_hash() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let first = app
        .register(registration("app", &format!("[{}]", tool("t"))))
        .await;
    app.leave().await;

    // Another connection, through another router: the cluster knows the content.
    let mut app = RawApp::connect(scenario.router(1), &scenario.tokens.app(CLIENT)).await;
    let by_hash = |tools: &Value| {
        let hashes = &first["hashes"];
        json!({"type": "register", "instance": "app", "connection": 2, "tools": {"hash": tools},
               "prompts": {"hash": hashes["prompts"]}, "resources": {"hash": hashes["resources"]},
               "rest": {"hash": hashes["rest"]}})
        .to_string()
    };
    let again = app.register(by_hash(&first["hashes"]["tools"])).await;
    assert_eq!(again["hashes"], first["hashes"]);
    let listed = scenario
        .modern()
        .ask(scenario.router(2), "tools/list", "{}")
        .await;
    assert_eq!(listed.result()["tools"][0]["name"], "t");
    let discovered = scenario
        .modern()
        .ask(scenario.router(2), "server/discover", "{}")
        .await;
    assert_eq!(
        discovered.result()["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "raw app"
    );

    // What it does not know it asks for.
    app.send(by_hash(&json!(
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    )))
    .await;
    assert_eq!(app.expect("need").await.value()["kinds"], json!(["tools"]));
    app.register(registration_of("app", 2, &format!("[{}]", tool("u")), ""))
        .await;
    let listed = scenario
        .modern()
        .ask(scenario.router(2), "tools/list", "{}")
        .await;
    assert_eq!(listed.result()["tools"][0]["name"], "u");
}

#[tokio::test]
async fn frames_that_are_none_close_with_their_code() {
    let scenario = Scenario::start().await;
    let tools = format!("[{}]", tool("t"));
    let over = format!(
        r#"{{"type":"ping","padding":"{}"}}"#,
        "x".repeat(4 * 1024 * 1024)
    );
    let cases = [
        (Frame::binary(b"{}".to_vec()), 1003),
        (Frame::text("not json"), 4400),
        (Frame::text("[]"), 4400),
        (Frame::text("{}"), 4400),
        (Frame::text(r#"{"type":"conjure"}"#), 4400),
        (Frame::text(r#"{"type":"register"}"#), 4400),
        (Frame::text(r#"{"type":"result","id":7,"result":{}}"#), 4400),
        (Frame::text(over), 1009),
    ];
    for (index, (frame, code)) in cases.into_iter().enumerate() {
        let mut app = RawApp::connect(scenario.router(index), &scenario.tokens.app(CLIENT)).await;
        app.register(registration_of("app", index as u64 + 1, &tools, ""))
            .await;
        app.frame(frame.clone()).await;
        let (closed, reason) = app.closed().await;
        assert_eq!(
            closed,
            code,
            "{reason} {:?}",
            frame.to_text().unwrap_or_default().get(..40)
        );
        assert!(!reason.is_empty() && reason.len() <= 123, "{reason}");
    }
}

#[tokio::test]
async fn pings_of_the_app_are_answered_and_unknown_members_ignored() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["t"]).await;
    app.send(r#"{"type":"ping"}"#).await;
    assert_eq!(app.expect("pong").await.text(), r#"{"type":"pong"}"#);
    app.send(r#"{"type":"pong","unknown":[1]}"#).await;
    app.send(r#"{"unknown":{},"type":"ping"}"#).await;
    app.expect("pong").await;
}

#[tokio::test]
async fn an_app_that_does_not_register_is_sent_away() {
    let scenario = Scenario::start_with(|options| {
        options.timings.register_deadline = std::time::Duration::from_millis(300);
    })
    .await;
    let standing = scenario.app(&["echo"]).await;
    let _standing = standing.serve(|call| vec![call.result(&text_result("here"))]);
    let mut silent = RawApp::connect(scenario.router(1), &scenario.tokens.app(CLIENT)).await;
    assert!(matches!(silent.next().await, Incoming::Closed(4408, _)));
    // It displaced nobody.
    let answer = scenario
        .modern()
        .use_tool(scenario.router(2), "echo", "{}")
        .await;
    assert_eq!(answer.text(), "here");
}

#[tokio::test]
async fn an_app_that_falls_silent_is_gone() {
    let scenario = Scenario::start_with(|options| {
        options.timings.ping_interval = std::time::Duration::from_millis(200);
        options.timings.silence_timeout = std::time::Duration::from_millis(900);
    })
    .await;
    let app = scenario.app(&["echo"]).await;
    // It reads nothing, so it answers no ping; the cluster hangs up.
    clientmcp_e2e::waiting::until("the app counts as lost", async || {
        let answer = scenario
            .modern()
            .use_tool(scenario.router(1), "unknown", "{}")
            .await;
        assert_eq!(answer.error(), (200, -32602));
        scenario.of_nodes("clientmcp_node_sockets").await == 0.0
    })
    .await;
    let mut app = app;
    assert_eq!(app.closed().await.0, 4408);
}

fn mirrored(name: &str, property: &str) -> String {
    format!(
        r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"a":{property}}}}}}}"#
    )
}
