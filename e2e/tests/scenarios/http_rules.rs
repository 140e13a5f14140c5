//! What HTTP asks for before MCP begins: methods, paths, media types, hosts, origins
//! (SPEC.md §5.1, §5.2, §9).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::exchange::{Http2, Request, Response};
use clientmcp_e2e::raw_app::text_result;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use http::Method;

#[tokio::test]
async fn get_and_delete_are_for_sessions() {
    let scenario = Scenario::start().await;
    let router = scenario.router(0);
    let session = scenario.session(Version::V2025_11_25).await;
    let bare = |method: Method| {
        Request::new(method, "/mcp").with(
            "Authorization",
            format!("Bearer {}", scenario.tokens.agent(CLIENT)),
        )
    };
    for (request, status) in [
        (session.stream(), 200),
        (session.stream().with("Accept", "*/*"), 200),
        (session.stream().without("Accept"), 200),
        (session.stream().with("Accept", "application/json"), 406),
        (
            session.stream().with("MCP-Protocol-Version", "2026-07-28"),
            405,
        ),
        (bare(Method::GET).with("Accept", "text/event-stream"), 405),
        (bare(Method::GET), 405),
        (
            bare(Method::GET).with("MCP-Protocol-Version", "2026-07-28"),
            405,
        ),
        (bare(Method::DELETE), 405),
        (
            bare(Method::DELETE).with("MCP-Protocol-Version", "2026-07-28"),
            405,
        ),
        (bare(Method::PUT), 405),
        (bare(Method::PATCH), 405),
        (bare(Method::HEAD), 405),
        // A method that is none here is 405 whoever asks.
        (bare(Method::PUT).without("Authorization"), 405),
        (bare(Method::GET).without("Authorization"), 401),
        (bare(Method::DELETE).without("Authorization"), 401),
    ] {
        let response = request.send(router).await;
        assert_eq!(response.status, status, "{request:?}");
        match status {
            200 => response.events().comment().await,
            405 => assert!(
                response
                    .header("allow")
                    .is_some_and(|allow| allow.contains("POST"))
            ),
            401 => expect_challenge(&response),
            _ => {}
        }
    }
}

#[tokio::test]
async fn both_spellings_are_served_and_other_paths_are_404_in_json() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let router = scenario.router(1);
    let call = scenario.modern().call("1", "echo", "{}");
    for path in ["/mcp", "/mcp/", "/mcp?x=1", "/mcp/?token=ignored"] {
        assert_eq!(
            call.clone().at(path).send(router).await.status,
            200,
            "{path}"
        );
        let refused = call
            .clone()
            .at(path)
            .without("Authorization")
            .send(router)
            .await;
        expect_challenge(&refused);
    }
    for path in [
        "//mcp",
        "/mcp//",
        "/MCP",
        "/mcp/demo",
        "/mcp/..",
        "/mcp%2F",
        "/%6dcp",
        "/nothing",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/favicon.ico",
    ] {
        let response = call.clone().at(path).send(router).await;
        assert_eq!(response.status, 404, "{path}");
        assert!(response.json().await["error"]["code"].is_i64());
    }
    let connect = Request::new(Method::GET, "/v1/connect/").send(router).await;
    assert!(connect.status.is_client_error() && connect.status != 404);
}

#[tokio::test]
async fn accept_is_read_generously() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let router = scenario.router(2);
    let session = scenario.session(Version::V2025_11_25).await;
    for call in [
        session.call("1", "echo", "{}"),
        scenario.modern().call("1", "echo", "{}"),
    ] {
        for accept in [
            "application/json, text/event-stream",
            "text/event-stream, application/json",
            "application/json;q=0.5, text/event-stream;q=0.9",
            "APPLICATION/JSON, Text/Event-Stream",
            "*/*",
            "application/*",
            "application/json",
            "",
        ] {
            let answer = Answer::read(call.clone().with("Accept", accept).send(router).await).await;
            assert_eq!((answer.text(), answer.streamed), ("{}", false), "{accept}");
        }
        let split = call
            .clone()
            .with("Accept", "application/json")
            .and("Accept", "text/event-stream");
        assert!(!Answer::read(split.send(router).await).await.streamed);
        assert!(
            !Answer::read(call.clone().without("Accept").send(router).await)
                .await
                .streamed
        );
        for accept in ["text/event-stream", "text/*, application/json;q=0"] {
            let answer = Answer::read(call.clone().with("Accept", accept).send(router).await).await;
            assert_eq!((answer.text(), answer.streamed), ("{}", true), "{accept}");
        }
        for accept in ["text/html", "image/*", "*/*;q=0"] {
            let response = call.clone().with("Accept", accept).send(router).await;
            assert_eq!(response.status, 406, "{accept}");
            assert!(response.json().await["error"]["code"].is_i64());
        }
        for (media, status) in [
            ("application/json; charset=utf-8", 200),
            ("Application/JSON", 200),
            ("text/plain", 415),
            ("application/x-www-form-urlencoded", 415),
        ] {
            assert_eq!(
                call.clone()
                    .with("Content-Type", media)
                    .send(router)
                    .await
                    .status,
                status,
                "{media}"
            );
        }
        assert_eq!(call.without("Content-Type").send(router).await.status, 415);
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_may_read_every_answer() {
    let scenario = Scenario::start_with(|options| {
        options.allowed_origins = vec!["https://app.example".to_owned()];
    })
    .await;
    let _app = scenario.echo().await;
    let router = scenario.router(0);
    let page = "https://app.example";
    let wanted = "content-type, authorization, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id, mcp-param-region";
    for path in ["/mcp", "/mcp/"] {
        let preflight = Request::new(Method::OPTIONS, path)
            .with("Origin", page)
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", wanted)
            .send(router)
            .await;
        assert_eq!(preflight.status, 204);
        assert_eq!(preflight.header("access-control-allow-origin"), Some(page));
        assert_eq!(
            preflight.header("access-control-allow-headers"),
            Some(wanted)
        );
        let methods = preflight.header("access-control-allow-methods").unwrap();
        assert!(
            ["GET", "POST", "DELETE"]
                .iter()
                .all(|method| methods.contains(method))
        );
        assert_eq!(preflight.header("access-control-allow-credentials"), None);
        assert!(vary(&preflight).contains("Origin"));
    }

    let session = scenario.session(Version::V2025_11_25).await;
    let call = scenario.modern().call("1", "echo", "{}");
    let large = call.clone().body(vec![b' '; 5_000_000]);
    for (request, status) in [
        (call.clone(), 200),
        (call.clone().without("Authorization"), 401),
        (call.clone().at("/nothing"), 404),
        (call.clone().by(Method::PUT), 405),
        (call.clone().with("Accept", "text/html"), 406),
        (large, 413),
        (call.clone().without("Content-Type"), 415),
        (call.clone().body("x"), 400),
        (session.stream(), 200),
        (session.end(), 204),
        (session.end(), 404),
    ] {
        let response = request.with("Origin", page).send(router).await;
        assert_eq!(response.status, status);
        assert_eq!(
            response.header("access-control-allow-origin"),
            Some(page),
            "{status}"
        );
        let exposed = response.header("access-control-expose-headers").unwrap();
        for header in ["Mcp-Session-Id", "WWW-Authenticate", "Retry-After"] {
            assert!(exposed.contains(header), "{exposed}");
        }
        assert!(vary(&response).contains("Origin"));
    }
}

#[tokio::test]
async fn foreign_origins_and_hosts_are_refused() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["echo"]).await;
    let router = scenario.router(1);
    let call = scenario.modern().call("1", "echo", "{}");
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost.evil.example"),
        ("Origin", "garbage"),
        ("Origin", ""),
        ("Host", "evil.example"),
        ("Host", "localhost.evil.example:80"),
        ("Host", "127.0.0.1.evil.example"),
    ] {
        let response = call.clone().with(name, value).send(router).await;
        assert_eq!(response.status, 403, "{name}: {value}");
        assert_eq!(response.header("access-control-allow-origin"), None);
        assert!(response.json().await["error"]["code"].is_i64());
    }
    let twice = call
        .clone()
        .with("Origin", "http://localhost")
        .and("Origin", "https://evil.example");
    assert_eq!(twice.send(router).await.status, 403);
    let preflight = Request::new(Method::OPTIONS, "/mcp")
        .with("Origin", "https://evil.example")
        .with("Access-Control-Request-Method", "POST");
    assert_eq!(preflight.send(router).await.status, 403);

    for (name, value) in [
        ("Origin", "http://localhost:5173"),
        ("Origin", "https://127.0.0.1"),
        ("Origin", "http://[::1]:80"),
        ("Host", "localhost"),
        ("Host", "LOCALHOST:9"),
        ("Host", "[::1]:8080"),
    ] {
        let request = call.clone().with(name, value);
        let asked = tokio::spawn(async move { request.send(router).await });
        // None of the refused ones came this far.
        let delivered = app.expect("call").await;
        app.result(&delivered, &text_result("x")).await;
        assert_eq!(asked.await.unwrap().status, 200, "{name}: {value}");
    }
}

#[tokio::test]
async fn http2_is_served_alike() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let connection = Http2::connect(scenario.router(0)).await;
    let call = scenario.modern().call("1", "echo", "{}");
    let answers = (0..20).map(|_| connection.send(&call));
    for response in futures_util::future::join_all(answers).await {
        assert_eq!(Answer::read(response).await.text(), "{}");
    }
    let refused = connection
        .send(&call.clone().without("Authorization"))
        .await;
    assert_eq!(refused.status, 401);
    expect_challenge(&refused);
    assert_eq!(connection.send(&call.at("/nothing")).await.status, 404);
}

#[tokio::test]
async fn answers_are_not_to_be_stored() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let call = scenario.modern().call("1", "echo", "{}");
    for request in [
        call.clone(),
        call.clone().without("Authorization"),
        call.clone().body("x"),
        call.at("/nothing"),
    ] {
        let response = request.send(scenario.router(0)).await;
        assert_eq!(
            response.header("cache-control"),
            Some("no-store"),
            "{}",
            response.status
        );
    }
}

fn expect_challenge(response: &Response) {
    assert_eq!(response.status, 401);
    assert!(
        response
            .header("www-authenticate")
            .is_some_and(|challenge| challenge.starts_with("Bearer"))
    );
}

fn vary(response: &Response) -> String {
    let values = response.headers.get_all("vary").iter();
    values
        .map(|value| value.to_str().unwrap())
        .collect::<Vec<_>>()
        .join(",")
}
