//! What a cluster of processes does when one of them is lost.

use std::time::Duration;

use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::processes::{CLIENT, Deployment};
use clientmcp_e2e::waiting::{poll, until};

use crate::FIXTURE;

#[tokio::test]
async fn apps_of_a_killed_node_come_back_elsewhere() {
    let mut deployment = Deployment::start("info").await;
    let mut app = deployment.fixture(FIXTURE, 0).await;
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    let router = deployment.routers[1].addr;
    let slow = modern.call("1", "test_slow", r#"{"ms":60000}"#);
    let asked =
        tokio::spawn(
            async move { clientmcp_e2e::answer::Answer::read(slow.send(router).await).await },
        );
    until("the slow call runs", async || {
        stats(&deployment, "started").await == 1
    })
    .await;

    let holder = deployment.holder().await;
    deployment.nodes[holder].process.kill().await;
    app.wait_for_lines("online", 2).await;
    // It runs for a minute, and goes on.
    assert!(!asked.is_finished());
    asked.abort();
    until("calls work again", async || {
        let mut works = true;
        for router in &deployment.routers {
            let answer = modern.use_tool(router.addr, "test_simple_text", "{}").await;
            works &= answer.result().get("isError").is_none();
        }
        works
    })
    .await;
    assert_ne!(deployment.holder().await, holder);
}

#[tokio::test]
async fn connected_apps_go_on_being_called_without_redis() {
    let mut deployment = Deployment::start("info").await;
    let _app = deployment.fixture(FIXTURE, 1).await;
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    deployment.redis.kill().await;
    // Longer than leases last: the ring must stay as it was.
    let until = tokio::time::Instant::now() + Duration::from_secs(5);
    let mut calls = 0;
    while tokio::time::Instant::now() < until {
        for router in &deployment.routers {
            let answer = modern.use_tool(router.addr, "test_simple_text", "{}").await;
            assert_eq!(answer.result().get("isError"), None, "{}", answer.message);
            let list = modern.ask(router.addr, "tools/list", "{}").await;
            assert!(
                list.result()["tools"]
                    .as_array()
                    .is_some_and(|tools| tools.len() > 20)
            );
            calls += 1;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(calls > 20);
}

#[tokio::test]
async fn an_app_whose_router_is_killed_comes_back_through_another() {
    let mut deployment = Deployment::start("info").await;
    let mut app = clientmcp_e2e::raw_app::RawApp::connect(
        deployment.routers[0].addr,
        &deployment.tokens.app(CLIENT),
    )
    .await;
    app.register(clientmcp_e2e::raw_app::registration("app", "[]"))
        .await;
    deployment.routers[0].process.kill().await;
    assert_eq!(app.closed().await.0, 1006);
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    let router = deployment.routers[1].addr;
    poll("the loss is noticed", async || {
        let answer = modern.use_tool(router, "none", "{}").await;
        (answer.error() == (200, -32602)).then_some(())
    })
    .await;
    let mut app =
        clientmcp_e2e::raw_app::RawApp::connect(router, &deployment.tokens.app(CLIENT)).await;
    app.register(clientmcp_e2e::raw_app::registration_of("app", 2, "[]", ""))
        .await;
}

/// A number of the fixture's `test_slow_stats`.
pub(crate) async fn stats(deployment: &Deployment, name: &str) -> u64 {
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    let answer = modern
        .use_tool(deployment.routers[0].addr, "test_slow_stats", "{}")
        .await;
    let stats: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
    stats[name].as_u64().unwrap()
}
