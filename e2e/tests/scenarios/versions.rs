//! Which revision a request is of, and what is negotiated (SPEC.md §5.3, §5.5; MCP "Versioning").

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::session::{self, Session};

#[tokio::test]
async fn initialize_is_negotiated_in_the_body() {
    let scenario = Scenario::start().await;
    let token = scenario.tokens.agent(CLIENT);
    let router = scenario.router(1);
    let bodies = [
        (r#""protocolVersion":"2024-11-05","#, "2025-11-25"),
        (r#""protocolVersion":"2025-03-26","#, "2025-03-26"),
        (r#""protocolVersion":"2025-06-18","#, "2025-06-18"),
        (r#""protocolVersion":"2025-11-25","#, "2025-11-25"),
        (r#""protocolVersion":"2026-07-28","#, "2025-11-25"),
        (r#""protocolVersion":"9999-99-99","#, "2025-11-25"),
        (r#""protocolVersion":"","#, "2025-11-25"),
        (r#""protocolVersion":5,"#, "2025-11-25"),
        ("", "2025-11-25"),
    ];
    let headers = [
        None,
        Some("2025-11-25"),
        Some("2026-07-28"),
        Some("2099-01-01"),
        Some("garbage"),
    ];
    for (requested, expected) in bodies {
        for header in headers {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{{requested}"capabilities":{{}},"clientInfo":{{"name":"x","version":"1"}}}}}}"#
            );
            let mut request = session::post(&token)
                .body(body)
                .with("Mcp-Method", "initialize");
            if let Some(header) = header {
                request = request.with("MCP-Protocol-Version", header);
            }
            let response = request.send(router).await;
            assert!(response.header("mcp-session-id").is_some());
            let answer = Answer::read(response).await;
            assert_eq!(
                answer.result()["protocolVersion"],
                expected,
                "{requested} {header:?}"
            );
        }
    }
}

#[tokio::test]
async fn later_requests_may_name_any_legacy_revision_or_none() {
    let scenario = Scenario::start().await;
    let router = scenario.router(2);
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let session = scenario.session(version).await;
        let list = session.request("1", "tools/list", "{}");
        let plain = list.clone().without("MCP-Protocol-Version");
        assert_eq!(plain.send(router).await.status, 200);
        for (header, status, code) in [
            ("2025-03-26", 200, 0),
            ("2025-06-18", 200, 0),
            ("2025-11-25", 200, 0),
            (" 2025-11-25 ", 200, 0),
            ("2020-01-01", 400, -32600),
            ("2024-11-05", 400, -32600),
            // These are modern by SPEC.md §5.3, and a modern request has `_meta`.
            ("2099-01-01", 400, -32602),
            ("garbage", 400, -32602),
            ("2026-07-28", 400, -32602),
        ] {
            let response = list
                .clone()
                .with("MCP-Protocol-Version", header)
                .send(router)
                .await;
            assert_eq!(response.status, status, "{header}");
            if status != 200 {
                let error = response.json().await;
                assert_eq!(error["error"]["code"], code, "{header}");
                assert_eq!(error["id"], 1);
            }
        }
    }
}

#[tokio::test]
async fn a_stream_may_be_opened_under_the_agents_newest_revision() {
    let scenario = Scenario::start().await;
    let session = scenario.session(Version::V2025_03_26).await;
    let stream = session
        .stream()
        .with("MCP-Protocol-Version", "2025-11-25")
        .send(scenario.router(0))
        .await;
    stream.events().comment().await;
}

#[tokio::test]
async fn modern_versions_are_checked_in_their_order() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let modern = scenario.modern();
    let router = scenario.router(0);
    let meta = |members: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"server/discover","params":{{"_meta":{{{members}}}}}}}"#
        )
    };
    let version = |value: &str| format!(r#""io.modelcontextprotocol/protocolVersion":{value}"#);
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let whole = |value: &str| meta(&format!("{},{capabilities}", version(value)));
    let cases = [
        // No `_meta`, no version in it, a version of another type.
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"server/discover"}"#.to_owned(),
            Some("2026-07-28"),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"server/discover","params":{}}"#.to_owned(),
            Some("2026-07-28"),
            -32602,
        ),
        (meta(capabilities), Some("2026-07-28"), -32602),
        (whole("20260728"), Some("2026-07-28"), -32602),
        // The header is missing, or another.
        (whole(r#""2026-07-28""#), None, -32020),
        (whole(r#""2026-07-28""#), Some("2025-11-25"), -32020),
        (whole(r#""v999.0.0""#), Some("2026-07-28"), -32020),
        // Both agree on what is not served.
        (whole(r#""v999.0.0""#), Some("v999.0.0"), -32022),
        (whole(r#""2025-11-25""#), Some("2025-11-25"), -32022),
        // No capabilities.
        (
            meta(&version(r#""2026-07-28""#)),
            Some("2026-07-28"),
            -32602,
        ),
    ];
    for (body, header, code) in cases {
        let mut request = modern
            .post(body.clone())
            .with("Mcp-Method", "server/discover")
            .without("MCP-Protocol-Version");
        if let Some(header) = header {
            request = request.with("MCP-Protocol-Version", header);
        }
        let answer = Answer::read(request.send(router).await).await.checked(
            Version::MODERN,
            "server/discover",
            "\"x\"",
        );
        assert_eq!(answer.error(), (400, code), "{header:?} {body}");
        if code == -32022 {
            let data = &answer.message["error"]["data"];
            assert_eq!(data["supported"], serde_json::json!(["2026-07-28"]));
            assert_eq!(data["requested"], header.unwrap());
        }
    }
    // clientInfo may be left out.
    let answer = Answer::read(
        modern
            .request("1", "server/discover", "{}")
            .send(router)
            .await,
    )
    .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn methods_of_the_other_era_are_unknown() {
    let scenario = Scenario::start().await;
    let router = scenario.router(1);
    let modern = scenario.modern();
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
    ] {
        let answer = modern.request("\"id\"", method, "{}").send(router).await;
        let answer = Answer::read(answer)
            .await
            .checked(Version::MODERN, method, "\"id\"");
        assert_eq!(answer.error(), (404, -32601), "{method}");
    }
    let session: Session = scenario.session(Version::V2025_11_25).await;
    for method in ["server/discover", "subscriptions/listen", "unknown/method"] {
        let answer = Answer::read(session.request("\"id\"", method, "{}").send(router).await).await;
        assert_eq!(answer.error(), (200, -32601), "{method}");
        assert_eq!(answer.message["id"], "id");
    }
}
