//! Tokens and secrets stand nowhere: not in logs at the highest level, not in metrics or status,
//! not on a command line, not in Redis.

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::processes::{CLIENT, Deployment};
use clientmcp_e2e::raw_app::{RawApp, registration, text_result, tool};
use clientmcp_e2e::session::Session;
use clientmcp_e2e::tokens::{Scope, Tokens};
use serde_json::json;

use crate::FIXTURE;

#[tokio::test]
async fn no_token_and_no_secret_can_be_found() {
    let mut deployment = Deployment::start("trace").await;
    let mut fixture = deployment.fixture(FIXTURE, 0).await;
    let mut secrets = Secrets(vec![deployment.secret().to_owned()]);
    work_with_good_tokens(&deployment, &mut secrets).await;
    try_bad_tokens(&deployment, &mut secrets).await;

    expect_in_no_page_or_command_line(&deployment, &secrets).await;
    expect_not_in_redis(&deployment.redis_url, &secrets).await;
    fixture.terminate().await;
    fixture.ended().await;
    for member in deployment.routers.iter_mut().chain(&mut deployment.nodes) {
        member.process.terminate().await;
        member.process.ended().await;
        let log = member.process.log();
        assert!(log.contains("TRACE"), "the level is in force");
        secrets.expect_none_in(&log);
    }
}

/// What must not be found.
struct Secrets(Vec<String>);

impl Secrets {
    /// Takes a note of a token: the whole of it, and its signature alone.
    fn note(&mut self, token: String) -> String {
        let signature = token.rsplit('.').next().unwrap().to_owned();
        self.0.extend([token.clone(), signature]);
        token
    }

    fn expect_none_in(&self, text: &str) {
        for secret in &self.0 {
            if let Some(at) = text.find(secret.as_str()) {
                let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
                let line = text[line..].lines().next().unwrap_or_default();
                panic!("found {secret} in: {line}");
            }
        }
    }
}

async fn work_with_good_tokens(deployment: &Deployment, secrets: &mut Secrets) {
    let [first, second] = [0, 1].map(|index| deployment.routers[index].addr);
    let app_token = secrets.note(deployment.tokens.app(CLIENT));
    let agent_token = secrets.note(deployment.tokens.agent(CLIENT));
    let modern = Modern::new(agent_token.clone());
    for router in [first, second] {
        modern.use_tool(router, "test_simple_text", "{}").await;
        modern.use_tool(router, "test_slow", r#"{"ms":1200}"#).await;
    }
    let session = Session::begin(first, &agent_token, Version::V2025_11_25).await;
    // As good as a token.
    secrets.0.push(session.id().to_owned());
    session.use_tool(second, "test_simple_text", "{}").await;
    session.stream().send(second).await.events().comment().await;

    let mut app = RawApp::connect(second, &app_token).await;
    app.register(registration("raw", &format!("[{}]", tool("x"))))
        .await;
    let renewed = secrets.note(deployment.tokens.ending_in(CLIENT, Scope::Serve, 7_000));
    app.send(json!({"type": "auth", "token": renewed}).to_string())
        .await;
    app.expect("authorized").await;
    let request = modern.call("1", "x", "{}");
    let asked = tokio::spawn(async move { request.send(first).await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("x")).await;
    assert_eq!(asked.await.unwrap().status, 200);
    let refused = secrets.note(deployment.tokens.app("other"));
    app.send(json!({"type": "auth", "token": refused}).to_string())
        .await;
    app.closed().await;
}

/// Bad ones, and good ones in bad company.
async fn try_bad_tokens(deployment: &Deployment, secrets: &mut Secrets) {
    let tokens = &deployment.tokens;
    let [first, second] = [0, 1].map(|index| deployment.routers[index].addr);
    let stranger = Tokens::new("another secret that this cluster does not know");
    for token in [
        stranger.agent(CLIENT),
        tokens.ending_in(CLIENT, Scope::Call, -60),
        tokens.ending_in(CLIENT, Scope::Serve, -60),
        tokens.signed(r#"{"alg":"none"}"#, r#"{"sub":"demo"}"#),
    ] {
        let token = secrets.note(token);
        let refused = Modern::new(token.clone())
            .call("1", "x", "{}")
            .send(first)
            .await;
        assert!(refused.status.is_client_error());
        secrets.expect_none_in(&String::from_utf8_lossy(&refused.bytes().await));
        let (_, reason) = RawApp::connect(second, &token).await.closed().await;
        secrets.expect_none_in(&reason);
    }
    let agent = Modern::new(tokens.agent(CLIENT));
    agent
        .call("1", "x", "{}")
        .with("Origin", "https://evil.example")
        .send(first)
        .await;
    agent.post("not json").send(first).await;
    let app_token = tokens.app(CLIENT);
    let without_v1 = RawApp::offer(first, &[&format!("clientmcp.token.{app_token}")]).await;
    assert!(without_v1.is_err());
}

async fn expect_in_no_page_or_command_line(deployment: &Deployment, secrets: &Secrets) {
    for member in deployment.routers.iter().chain(&deployment.nodes) {
        for page in ["/metrics", "/status", "/readyz"] {
            secrets.expect_none_in(&member.page(page).await.unwrap().1);
        }
        let command = std::fs::read(format!("/proc/{}/cmdline", member.process.pid())).unwrap();
        secrets.expect_none_in(&String::from_utf8_lossy(&command));
    }
}

async fn expect_not_in_redis(url: &str, secrets: &Secrets) {
    let mut redis = redis::Client::open(url)
        .unwrap()
        .get_multiplexed_async_connection()
        .await
        .unwrap();
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut redis)
        .await
        .unwrap();
    assert!(keys.len() > 5);
    for key in keys {
        // Whatever type it is: the form in which Redis would hand it to another server.
        let value: Option<Vec<u8>> = redis::cmd("DUMP")
            .arg(&key)
            .query_async(&mut redis)
            .await
            .unwrap();
        secrets.expect_none_in(&String::from_utf8_lossy(&key));
        secrets.expect_none_in(&String::from_utf8_lossy(&value.unwrap_or_default()));
    }
}
