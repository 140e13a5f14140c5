//! Tokens and secrets stand nowhere: not in logs at the highest level, not in metrics or status,
//! not on a command line, not in Redis.

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::processes::{CLIENT, Deployment};
use clientmcp_e2e::raw_app::{RawApp, registration, text_result, tool};
use clientmcp_e2e::session::Session;
use clientmcp_e2e::tokens::{Scope, Tokens};

use crate::FIXTURE;

#[tokio::test]
async fn no_token_and_no_secret_can_be_found() {
    let mut deployment = Deployment::start("trace").await;
    let tokens = deployment.tokens.clone();
    let stranger = Tokens::new("another secret that this cluster does not know");
    let mut needles = vec![deployment.secret().to_owned()];
    let mut used = |token: String| {
        // The whole token, and its signature alone.
        needles.extend([token.clone(), token.rsplit('.').next().unwrap().to_owned()]);
        token
    };

    // Good ones, at work.
    let app_token = used(tokens.app(CLIENT));
    let agent_token = used(tokens.agent(CLIENT));
    let mut fixture = deployment.fixture(FIXTURE, 0).await;
    let modern = Modern::new(agent_token.clone());
    for router in &deployment.routers {
        modern.use_tool(router.addr, "test_simple_text", "{}").await;
        modern.use_tool(router.addr, "test_slow", r#"{"ms":1200}"#).await;
    }
    let session = Session::begin(deployment.routers[0].addr, &agent_token, Version::V2025_11_25).await;
    session.use_tool(deployment.routers[1].addr, "test_simple_text", "{}").await;
    session.stream().send(deployment.routers[1].addr).await.events().comment().await;
    let mut app = RawApp::connect(deployment.routers[1].addr, &app_token).await;
    app.register(registration("raw", &format!("[{}]", tool("x")))).await;
    let renewed = used(tokens.ending_in(CLIENT, Scope::Serve, 7_000));
    app.send(serde_json::json!({"type": "auth", "token": renewed}).to_string()).await;
    app.expect("authorized").await;
    let (request, router) = (modern.call("1", "x", "{}"), deployment.routers[0].addr);
    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("x")).await;
    assert_eq!(asked.await.unwrap().status, 200);

    // Bad ones, and good ones in bad company.
    let bad = [
        used(stranger.agent(CLIENT)),
        used(tokens.ending_in(CLIENT, Scope::Call, -60)),
        used(tokens.ending_in(CLIENT, Scope::Serve, -60)),
        used(tokens.signed(r#"{"alg":"none"}"#, r#"{"sub":"demo"}"#)),
        app_token.clone(),
    ];
    for token in &bad {
        let refused = Modern::new(token.clone()).call("1", "x", "{}").send(deployment.routers[0].addr).await;
        assert!(refused.status.is_client_error());
        let answer = refused.bytes().await;
        assert!(!String::from_utf8_lossy(&answer).contains(token));
    }
    for token in [&bad[0], &bad[2], &agent_token] {
        let (_, reason) = RawApp::connect(deployment.routers[1].addr, token).await.closed().await;
        assert!(!reason.contains(token.as_str()));
    }
    modern.call("1", "x", "{}").with("Origin", "https://evil.example").send(deployment.routers[0].addr).await;
    modern.call("1", "x", "not json").send(deployment.routers[0].addr).await;
    let plain = RawApp::offer(deployment.routers[0].addr, &[&format!("clientmcp.token.{app_token}")]).await;
    assert!(plain.is_err(), "clientmcp.v1 is missing");
    app.send(serde_json::json!({"type": "auth", "token": bad[0]}).to_string()).await;
    app.closed().await;

    // A session ID is as good as a token.
    let mut needles = needles;
    needles.push(session.id().to_owned());
    expect_in_no_page_or_command_line(&deployment, &needles).await;
    expect_not_in_redis(&deployment.redis_url, &needles).await;
    fixture.terminate().await;
    fixture.ended().await;
    for member in deployment.routers.iter_mut().chain(&mut deployment.nodes) {
        member.process.terminate().await;
        member.process.ended().await;
        let log = member.process.log();
        assert!(log.contains("TRACE"), "the level is in force");
        expect_none(&log, &needles);
    }
}

async fn expect_in_no_page_or_command_line(deployment: &Deployment, needles: &[String]) {
    for member in deployment.routers.iter().chain(&deployment.nodes) {
        for page in ["/metrics", "/status", "/readyz"] {
            expect_none(&member.page(page).await.unwrap().1, needles);
        }
        let command = std::fs::read(format!("/proc/{}/cmdline", member.process.pid())).unwrap();
        expect_none(&String::from_utf8_lossy(&command), needles);
    }
}

async fn expect_not_in_redis(url: &str, needles: &[String]) {
    let mut redis = redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap();
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query_async(&mut redis).await.unwrap();
    assert!(keys.len() > 5);
    for key in keys {
        // Whatever type it is: the form in which Redis would hand it to another server.
        let value: Option<Vec<u8>> = redis::cmd("DUMP").arg(&key).query_async(&mut redis).await.unwrap();
        expect_none(&String::from_utf8_lossy(&key), needles);
        expect_none(&String::from_utf8_lossy(&value.unwrap_or_default()), needles);
    }
}

fn expect_none(text: &str, needles: &[String]) {
    for needle in needles {
        if let Some(at) = text.find(needle.as_str()) {
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            panic!("found {needle} in: {}", &text[start..].lines().next().unwrap_or_default());
        }
    }
}
