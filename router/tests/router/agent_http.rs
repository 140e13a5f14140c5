//! Statuses and headers of the agent endpoint (SPEC.md §5.1, §5.2, §9).

use crate::harness::{Cluster, Request, agent_token, token};
use crate::http_client::Answer;

const UNKNOWN_SESSION: &str = "bm8.c2Vzc2lvbg";

#[tokio::test]
async fn methods_other_than_post_say_what_is_allowed() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    let bearer = format!("Bearer {}", agent_token());
    for (method, with_token, with_session, version, accept, status) in [
        // GET without a token is a 401 before anything else is said.
        ("GET", false, false, None, None, 401),
        ("DELETE", false, false, None, None, 401),
        ("GET", true, false, None, None, 405),
        (
            "GET",
            true,
            false,
            Some("2026-07-28"),
            Some("text/event-stream"),
            405,
        ),
        (
            "GET",
            true,
            true,
            Some("2026-07-28"),
            Some("text/event-stream"),
            405,
        ),
        (
            "GET",
            true,
            true,
            Some("2025-11-25"),
            Some("application/json"),
            406,
        ),
        ("DELETE", true, false, None, None, 405),
        ("DELETE", true, true, Some("2026-07-28"), None, 405),
        ("PUT", true, true, None, None, 405),
        ("PUT", false, false, None, None, 405),
        ("PATCH", true, false, None, None, 405),
        ("HEAD", true, true, None, None, 405),
    ] {
        let mut request = Request::new(method, "/mcp");
        if with_token {
            request = request.header("Authorization", &bearer);
        }
        if with_session {
            request = request.header("Mcp-Session-Id", &session);
        }
        if let Some(version) = version {
            request = request.header("MCP-Protocol-Version", version);
        }
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        let shown = format!("{method} {with_token} {with_session} {version:?} {accept:?}");
        let mut connection = cluster.connect().await;
        connection.write(&request.to_bytes()).await;
        let answer = connection.head().await;
        assert_eq!(answer.status, status, "{shown}");
        let allow = answer.header("allow");
        assert_eq!(allow.is_some(), status == 405, "{shown}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/json"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn a_get_stream_stays_open_whatever_else_is_accepted() {
    let cluster = Cluster::start().await;
    for accept in [
        None,
        Some("*/*"),
        Some("text/event-stream"),
        Some("application/json, text/event-stream"),
    ] {
        let session = cluster.session("2025-11-25").await;
        let mut request = Request::new("GET", "/mcp")
            .header("Authorization", &format!("Bearer {}", agent_token()))
            .header("Mcp-Session-Id", &session);
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        let mut connection = cluster.connect().await;
        connection.write(&request.to_bytes()).await;
        let head = connection.head().await;
        assert_eq!(head.status, 200, "{accept:?}");
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("cache-control"), Some("no-cache"));
        assert_eq!(head.header("x-accel-buffering"), Some("no"));
        for _ in 0..3 {
            assert_eq!(connection.chunk().await.unwrap(), ":\n\n");
        }
    }
}

#[tokio::test]
async fn both_spellings_of_a_path_are_served_and_nothing_redirects() {
    let cluster = Cluster::start().await;
    let ping = Request::modern("1", "tools/list", "");
    for (path, status) in [
        ("/mcp", 200),
        ("/mcp/", 200),
        ("/mcp?token=x", 200),
        ("//mcp", 404),
        ("/mcp//", 404),
        ("/mcp/app-1", 404),
        ("/MCP", 404),
        ("/", 404),
        ("/sse", 404),
        ("/%6Dcp", 404),
        ("/.well-known/oauth-protected-resource", 404),
        ("/.well-known/oauth-authorization-server/mcp", 404),
        ("/metrics", 404),
        ("/status", 404),
    ] {
        let answer = cluster.send(&ping.clone().at(path)).await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/json"),
            "{path}"
        );
        if status == 404 {
            assert!(answer.code() != 0, "{path}: {answer:?}");
        }
    }
    let challenge = |answer: &Answer| answer.header("www-authenticate").unwrap().to_owned();
    let bare = cluster.send(&ping.clone().without("authorization")).await;
    let slash = cluster
        .send(&ping.without("authorization").at("/mcp/"))
        .await;
    assert_eq!((bare.status, slash.status), (401, 401));
    assert_eq!(challenge(&bare), challenge(&slash));
}

#[tokio::test]
async fn a_wrong_token_reaches_nobody() {
    let cluster = Cluster::start().await;
    let good = agent_token();
    let forged = format!("{}x", &good[..good.len() - 1]);
    for (authorization, status) in [
        (None, 401),
        (Some(String::new()), 401),
        (Some("Bearer".to_owned()), 401),
        (Some("Bearer x.y.z".to_owned()), 401),
        (Some(format!("Bearer {forged}")), 401),
        (Some(format!("Basic {good}")), 401),
        (Some(format!("Bearer {}", token(false, true, -60))), 401),
        (Some(format!("Bearer {}", token(true, false, 60))), 403),
    ] {
        let before = cluster.node().asked();
        let mut request = Request::modern("1", "tools/list", "").without("authorization");
        if let Some(authorization) = &authorization {
            request = request.header("Authorization", authorization);
        }
        let answer = cluster.send(&request).await;
        assert_eq!(answer.status, status, "{authorization:?}");
        assert!(
            answer
                .header("www-authenticate")
                .unwrap()
                .starts_with("Bearer")
        );
        assert!(
            !answer.body.contains(&good[..20]),
            "a body quotes the token"
        );
        assert_eq!(
            cluster.node().asked(),
            before,
            "{authorization:?} reached the node"
        );
    }
    let leeway = format!("Bearer {}", token(false, true, -2));
    let request = Request::modern("1", "tools/list", "").set("Authorization", &leeway);
    assert_eq!(cluster.send(&request).await.status, 200);
    let query = format!("/mcp?access_token={}", agent_token());
    let request = Request::modern("1", "tools/list", "").without("authorization");
    assert_eq!(cluster.send(&request.at(&query)).await.status, 401);
}

#[tokio::test]
async fn accept_and_content_type_are_read_leniently_and_kept() {
    let cluster = Cluster::start().await;
    let json = Some("application/json");
    let events = Some("text/event-stream");
    for (accept, kind) in [
        (&["application/json, text/event-stream"][..], json),
        (&["text/event-stream, application/json"], json),
        (&["text/event-stream;q=1.0, application/json;q=0.1"], json),
        (&["APPLICATION/JSON, TEXT/EVENT-STREAM"], json),
        (&["application/json", "text/event-stream"], json),
        (&["*/*"], json),
        (&["application/*"], json),
        (&["application/json"], json),
        (&[""], json),
        (&[], json),
        (&["text/event-stream"], events),
        (&["text/html"], None),
    ] {
        let mut request = Request::modern_call("fast").without("accept");
        for value in accept {
            request = request.header("Accept", value);
        }
        let answer = cluster.send(&request).await;
        match kind {
            None => assert_eq!((answer.status, answer.code()), (406, 40_600), "{accept:?}"),
            kind => {
                assert_eq!(answer.status, 200, "{accept:?} {answer:?}");
                assert_eq!(answer.header("content-type"), kind, "{accept:?}");
            }
        }
        if kind == events {
            assert_eq!(answer.events().len(), 1);
        }
    }
    for (content_type, status) in [
        (Some("application/json; charset=utf-8"), 200),
        (Some("Application/JSON"), 200),
        (Some("text/plain"), 415),
        (Some("application/json-rpc"), 415),
        (None, 415),
    ] {
        let mut request = Request::modern_call("fast").without("content-type");
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        assert_eq!(
            cluster.send(&request).await.status,
            status,
            "{content_type:?}"
        );
    }
}

#[tokio::test]
async fn only_an_event_stream_accepted_gets_lists_as_events_too() {
    let cluster = Cluster::start().await;
    let request = Request::modern("1", "tools/list", "").set("Accept", "text/event-stream");
    let answer = cluster.send(&request).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.events()[0]["result"]["tools"][0]["name"], "fast");
    // An error keeps its status, which no stream could have.
    let request = Request::modern("1", "no/such", "").set("Accept", "text/event-stream");
    let answer = cluster.send(&request).await;
    assert_eq!((answer.status, answer.code()), (404, -32_601));
}

#[tokio::test]
async fn hosts_and_origins_are_checked() {
    let loopback = Cluster::start().await;
    let list = Request::modern("1", "tools/list", "");
    for (host, origins, status) in [
        ("localhost", &[][..], 200),
        ("LOCALHOST:9", &[], 200),
        ("127.0.0.1:8080", &[], 200),
        ("[::1]:8080", &[], 200),
        ("evil.example.com", &[], 403),
        ("10.0.0.7:8080", &[], 403),
        ("localhost", &["http://localhost:5173"], 200),
        ("localhost", &["https://evil.example.com"], 403),
        ("localhost", &["null"], 403),
        ("localhost", &["http://localhost", "http://localhost"], 403),
        ("localhost", &["nonsense"], 403),
    ] {
        let mut request = list.clone().set("Host", host);
        for origin in origins {
            request = request.header("Origin", origin);
        }
        let answer = loopback.send(&request).await;
        assert_eq!(answer.status, status, "{host} {origins:?}");
        if status == 403 {
            assert_eq!(answer.code(), 40_300);
        }
    }
    let public = Cluster::with(1, |config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.allowed_origins = vec!["https://app.example.com".to_owned()];
    })
    .await;
    let port = public.addr().port();
    for (host, origin, status) in [
        ("10.0.0.7:8080", None, 200),
        ("mcp.example.com", None, 200),
        ("mcp.example.com", Some("https://mcp.example.com"), 200),
        ("mcp.example.com", Some("https://app.example.com"), 200),
        ("mcp.example.com", Some("https://app.example.com:8443"), 403),
        ("mcp.example.com", Some("null"), 403),
    ] {
        let mut request = list.clone().set("Host", host);
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        let addr = ([127, 0, 0, 1], port).into();
        let mut connection = crate::http_client::Connection::open(addr).await;
        let answer = connection.exchange(&request.to_bytes()).await;
        assert_eq!(answer.status, status, "{host} {origin:?}");
    }
}

#[tokio::test]
async fn without_a_ready_node_agents_are_told_when_to_try_again() {
    let cluster = Cluster::with(0, |_| {}).await;
    for request in [
        Request::modern("1", "tools/list", ""),
        Request::modern_call("fast"),
        Request::initialize("2025-11-25"),
    ] {
        let answer = cluster.send(&request).await;
        assert_eq!((answer.status, answer.code()), (503, 50_300), "{answer:?}");
        assert!(answer.header("retry-after").is_some());
        assert!(answer.json()["id"].is_number());
    }
}

#[tokio::test]
async fn unknown_sessions_are_404_and_missing_ones_400() {
    let cluster = Cluster::start().await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (session, status) in [(Some(UNKNOWN_SESSION), 404), (Some("x"), 404), (None, 400)] {
        let mut request = Request::post(list);
        if let Some(session) = session {
            request = request.header("Mcp-Session-Id", session);
        }
        let answer = cluster.send(&request).await;
        assert_eq!(answer.status, status, "{session:?}");
        assert_eq!(answer.json()["id"], 1);
    }
    for method in ["GET", "DELETE"] {
        let request = Request::new(method, "/mcp")
            .header("Authorization", &format!("Bearer {}", agent_token()))
            .header("Mcp-Session-Id", UNKNOWN_SESSION);
        assert_eq!(cluster.send(&request).await.status, 404, "{method}");
    }
}

#[tokio::test]
async fn locate_tells_apps_and_nobody_else() {
    let cluster = Cluster::start().await;
    let locate = |token: &str| {
        Request::new("GET", "/v1/locate").header("Authorization", &format!("Bearer {token}"))
    };
    let app = token(true, false, 60);
    let answer = cluster.send(&locate(&app)).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, r#"{"url":null}"#)
    );
    assert_eq!(cluster.send(&locate(&agent_token())).await.status, 403);
    assert_eq!(cluster.send(&locate("x")).await.status, 401);
}
