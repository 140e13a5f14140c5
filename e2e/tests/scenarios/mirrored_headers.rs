//! Headers that repeat what the body says, and capabilities that a tool requires
//! (SPEC.md §5.4; MCP 2026-07-28, "Streamable HTTP").

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::exchange::{Http2, Request};
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::raw_app::{RawApp, registration, registration_of, text_result, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use serde_json::json;

const REGION: &str = r#"{"name":"region","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"place":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"Level"},"open":{"type":"boolean","x-mcp-header":"Open"}}}}}}"#;

#[tokio::test]
async fn method_and_name_must_agree_with_the_body() {
    let scenario = Scenario::start().await;
    let sentinel = "=?base64?x?=";
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    app.register(registration(
        "app",
        &format!("[{},{}]", tool("echo"), tool("other")),
    ))
    .await;
    let router = scenario.router(1);
    let call = scenario.modern().call("\"id\"", "echo", "{}");
    let encoded = |text: &str| format!("=?base64?{}?=", STANDARD.encode(text));
    let refused: Vec<Request> = vec![
        call.clone().with("Mcp-Method", "tools/list"),
        call.clone().with("Mcp-Method", "TOOLS/CALL"),
        call.clone().without("Mcp-Method"),
        call.clone().and("Mcp-Method", "tools/list"),
        call.clone().with("Mcp-Name", "other"),
        call.clone().with("Mcp-Name", "ECHO"),
        call.clone().without("Mcp-Name"),
        call.clone().with("Mcp-Name", ""),
        call.clone().and("Mcp-Name", "other"),
        call.clone().with("Mcp-Name", encoded("other")),
        call.clone().with("Mcp-Name", "=?base64?ZWNoby?="),
        call.clone().with("Mcp-Name", "=?base64?!!!!?="),
        call.clone()
            .with("Mcp-Name", encoded("echo").replace("base64", "BASE64")),
        call.clone().with("Mcp-Name", sentinel),
        call.clone().with("Mcp-Name", "\u{e9}cho"),
    ];
    for request in refused {
        let answer = Answer::read(request.send(router).await).await.checked(
            Version::MODERN,
            "tools/call",
            "\"id\"",
        );
        assert_eq!(answer.error(), (400, -32020), "{request:?}");
    }
    let accepted = [
        call.clone(),
        call.clone().with("Mcp-Name", " echo\t"),
        call.clone().with("Mcp-Name", encoded("echo")),
        call.clone().and("Mcp-Name", "echo"),
    ];
    for request in accepted {
        let asked = tokio::spawn(async move { Answer::read(request.send(router).await).await });
        // The app hears of these alone.
        let delivered = app.expect("call").await;
        app.result(&delivered, &text_result("x")).await;
        assert_eq!(asked.await.unwrap().text(), "x");
    }
    // Legacy agents are not asked for any of them, and may send what they like.
    let session = scenario.session(Version::V2025_11_25).await;
    let request = session
        .call("1", "echo", "{}")
        .with("Mcp-Method", "x")
        .with("Mcp-Name", "y");
    let asked = tokio::spawn(async move { request.send(router).await });
    let delivered = app.expect("call").await;
    app.result(&delivered, &text_result("x")).await;
    assert_eq!(asked.await.unwrap().status, 200);
}

#[tokio::test]
async fn mirrored_arguments_must_agree_with_the_body() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    app.register(registration("app", &format!("[{REGION}]")))
        .await;
    let _app = app.serve(|call| vec![call.result(&text_result(&call.arguments()))]);
    let modern = scenario.modern();
    for (arguments, headers, accepted) in mirrored_cases() {
        // Every router, also one that has never seen the tool.
        for index in 0..3 {
            let mut request = modern.call("5", "region", arguments);
            for (name, value) in &headers {
                request = request.with(&format!("Mcp-Param-{name}"), value);
            }
            let answer = Answer::read(request.send(scenario.router(index)).await).await;
            if accepted {
                assert_eq!(answer.text(), arguments, "{headers:?}");
                continue;
            }
            let twice = arguments.matches("region").count() > 1;
            let code = if twice { -32600 } else { -32020 };
            assert_eq!(answer.error(), (400, code), "{arguments} {headers:?}");
            assert_eq!(answer.message["id"], 5);
        }
    }
    // Legacy agents do not know of such headers.
    let session = scenario.session(Version::V2025_11_25).await;
    let arguments = r#"{"region":"eu"}"#;
    let answer = session
        .use_tool(scenario.router(1), "region", arguments)
        .await;
    assert_eq!(answer.text(), arguments);
}

/// Arguments, the headers that come with them, and whether the two agree.
type MirroredCase = (&'static str, Vec<(&'static str, &'static str)>, bool);

fn mirrored_cases() -> Vec<MirroredCase> {
    let big = "9007199254740993";
    vec![
        (r#"{"region":"eu"}"#, vec![("Region", "eu")], true),
        (r#"{"region":"eu"}"#, vec![("Region", " eu ")], true),
        (
            r#"{"region":"eu"}"#,
            vec![("region", "eu"), ("Unknown", "ignored")],
            true,
        ),
        (r#"{"region":"eu"}"#, vec![("Region", "us")], false),
        (r#"{"region":"eu"}"#, vec![("Region", "EU")], false),
        (r#"{"region":"eu"}"#, vec![], false),
        (r#"{"region":null}"#, vec![], true),
        (r#"{"region":null}"#, vec![("Region", "eu")], false),
        ("{}", vec![], true),
        ("{}", vec![("Region", "eu")], false),
        (
            "{\"region\":\"Hell\u{f6}\"}",
            vec![("Region", "=?base64?SGVsbMO2?=")],
            true,
        ),
        (
            r#"{"region":"Hello"}"#,
            vec![("Region", "=?base64?SGVsbG8=?=")],
            true,
        ),
        (
            r#"{"region":"Hello"}"#,
            vec![("Region", "=?base64?SGVsbG8?=")],
            false,
        ),
        (
            r#"{"region":"Hello"}"#,
            vec![("Region", "=?base64?SGVs!G8=?=")],
            false,
        ),
        (
            r#"{"region":"SGVsbG8="}"#,
            vec![("Region", "SGVsbG8=")],
            true,
        ),
        (
            r#"{"region":"=?base64?SGVsbG8="}"#,
            vec![("Region", "=?base64?SGVsbG8=")],
            true,
        ),
        (r#"{"place":{"level":42}}"#, vec![("Level", "42")], true),
        (r#"{"place":{"level":42}}"#, vec![("Level", "42.0")], true),
        (
            r#"{"place":{"level":9007199254740992}}"#,
            vec![("Level", big)],
            false,
        ),
        (
            r#"{"place":{"level":9007199254740993,"open":true}}"#,
            vec![("Level", big), ("Open", "true")],
            true,
        ),
        (r#"{"place":{"open":true}}"#, vec![("Open", "false")], false),
        (
            r#"{"region":"eu","region":"us"}"#,
            vec![("Region", "eu")],
            false,
        ),
    ]
}

#[tokio::test]
async fn a_call_that_is_right_under_the_new_schema_is_never_refused_by_the_old() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let without = r#"{"name":"region","inputSchema":{"type":"object","properties":{"region":{"type":"string"}}}}"#;
    let modern = scenario.modern();
    let plain = modern.call("1", "region", r#"{"region":"eu"}"#);
    let mirrored = plain.clone().with("Mcp-Param-Region", "eu");
    for round in 0..6 {
        let (definition, right, wrong) = match round % 2 {
            0 => (REGION, &mirrored, Some(&plain)),
            _ => (without, &plain, None),
        };
        app.register(registration("app", &format!("[{definition}]")))
            .await;
        for index in 0..3 {
            let (request, router) = (right.clone(), scenario.router(index));
            let asked = tokio::spawn(async move { Answer::read(request.send(router).await).await });
            let call = app.expect("call").await;
            app.result(&call, &text_result("x")).await;
            assert_eq!(asked.await.unwrap().text(), "x");
            if let Some(wrong) = wrong {
                assert_eq!(
                    Answer::read(wrong.send(router).await).await.error(),
                    (400, -32020)
                );
            }
        }
    }
}

#[tokio::test]
async fn required_capabilities_are_asked_for_before_the_app_is() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let options = r#","toolOptions":{"ask":{"requires":{"sampling":{},"elicitation":{}}}}"#;
    app.register(registration_of(
        "app",
        1,
        &format!("[{}]", tool("ask")),
        options,
    ))
    .await;
    let router = scenario.router(2);
    for declared in ["{}", r#"{"sampling":{}}"#] {
        let agent = Modern::new(scenario.tokens.agent(CLIENT)).with_capabilities(declared);
        let answer = agent.use_tool(router, "ask", "{}").await;
        assert_eq!(answer.error(), (400, -32021));
        let required = &answer.message["error"]["data"]["requiredCapabilities"];
        assert_eq!(required["elicitation"], json!({}));
    }
    let agent = Modern::new(scenario.tokens.agent(CLIENT))
        .with_capabilities(r#"{"sampling":{},"elicitation":{}}"#);
    let asked = tokio::spawn(async move { agent.use_tool(router, "ask", "{}").await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("x")).await;
    assert_eq!(asked.await.unwrap().text(), "x");
    // A session cannot be told -32021: its model is.
    let session = scenario.session(Version::V2025_11_25).await;
    assert_eq!(
        session.use_tool(router, "ask", "{}").await.outcome(),
        "missing_capability"
    );
}

#[tokio::test]
async fn header_names_have_no_case() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    // HTTP/2 sends them in lower case, HTTP/1.1 as hyper does; both are read.
    let connection = Http2::connect(scenario.router(0)).await;
    let request = scenario.modern().call("1", "echo", "{}");
    assert_eq!(connection.send(&request).await.status, 200);
}
