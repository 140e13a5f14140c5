//! What a cluster of processes does while nothing goes wrong.

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::exchange::Request;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::processes::{CLIENT, Deployment, MemberProcess};
use clientmcp_e2e::raw_app::{RawApp, registration, text_result, tool};
use clientmcp_e2e::session::Session;
use clientmcp_e2e::waiting::until;
use http::Method;

use crate::FIXTURE;

#[tokio::test]
async fn an_app_is_called_through_both_routers_and_the_processes_stop_in_good_order() {
    let mut deployment = Deployment::start("info").await;
    let mut app = deployment.fixture(FIXTURE, 0).await;
    let agent = deployment.tokens.agent(CLIENT);
    let modern = Modern::new(agent.clone());
    for router in &deployment.routers {
        let list = modern.ask(router.addr, "tools/list", "{}").await;
        assert!(
            list.result()["tools"]
                .as_array()
                .is_some_and(|tools| tools.len() > 20)
        );
        let answer = modern
            .use_tool(router.addr, "test_count", r#"{"key":"modern"}"#)
            .await;
        assert!(["1", "2"].contains(&answer.text()));
        let session = Session::begin(router.addr, &agent, Version::V2025_11_25).await;
        for other in &deployment.routers {
            session.use_tool(other.addr, "test_simple_text", "{}").await;
        }
        let slow = modern
            .use_tool(router.addr, "test_slow", r#"{"ms":1500}"#)
            .await;
        assert_eq!((slow.text(), slow.streamed), ("slept 1500 ms", true));
    }
    expect_status(&deployment).await;
    expect_every_key_to_end(&deployment.redis_url).await;

    // SIGTERM: apps are told by 1012 that it is not their fault; every process ends with 0.
    app.terminate().await;
    assert!(app.ended().await.success());
    let mut last =
        RawApp::connect(deployment.routers[1].addr, &deployment.tokens.app(CLIENT)).await;
    last.register(registration("last", "[]")).await;
    for router in &deployment.routers {
        router.process.terminate().await;
    }
    assert_eq!(last.closed().await.0, 1012);
    for router in &mut deployment.routers {
        assert!(
            router.process.ended().await.success(),
            "{}",
            router.process.log()
        );
    }
    for node in &deployment.nodes {
        node.process.terminate().await;
    }
    for node in &mut deployment.nodes {
        assert!(
            node.process.ended().await.success(),
            "{}",
            node.process.log()
        );
    }
}

#[tokio::test]
async fn a_node_that_stops_tells_its_apps_and_others_take_over() {
    let mut deployment = Deployment::start("info").await;
    let mut app = deployment.fixture(FIXTURE, 0).await;
    let holder = deployment.holder().await;
    deployment.nodes[holder].process.terminate().await;
    app.wait_for_lines("online", 2).await;
    assert!(deployment.nodes[holder].process.ended().await.success());
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    for router in &deployment.routers {
        let answer = modern.use_tool(router.addr, "test_simple_text", "{}").await;
        assert_eq!(answer.result().get("isError"), None);
    }
}

#[tokio::test]
async fn an_app_connects_straight_to_the_node_that_it_is_told() {
    let deployment = Deployment::start("info").await;
    let token = deployment.tokens.app(CLIENT);
    let bearer = format!("Bearer {token}");
    let mut told = Vec::new();
    for router in &deployment.routers {
        let locate = Request::new(Method::GET, "/v1/locate").with("Authorization", &bearer);
        let answer = locate.send(router.addr).await.json().await;
        told.push(answer["url"].as_str().unwrap().to_owned());
    }
    assert_eq!(told[0], told[1]);
    let nodes = &deployment.nodes;
    let url = |node: &MemberProcess| format!("ws://{}/v1/connect", node.public);
    let owner = nodes.iter().find(|node| url(node) == told[0]).unwrap();

    let mut app = RawApp::connect(owner.public, &token).await;
    app.register(registration("direct", &format!("[{}]", tool("x"))))
        .await;
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    for router in &deployment.routers {
        let (request, router) = (modern.call("1", "x", "{}"), router.addr);
        let asked = tokio::spawn(async move { request.send(router).await });
        let call = app.expect("call").await;
        app.result(&call, &text_result("x")).await;
        assert_eq!(asked.await.unwrap().status, 200);
    }
    // The public port is for apps alone, and is as strict as a router.
    let mut refused = RawApp::connect(owner.public, "x.y.z").await;
    assert_eq!(refused.closed().await.0, 4401);
    let mut refused = RawApp::connect(owner.public, &deployment.tokens.agent(CLIENT)).await;
    assert_eq!(refused.closed().await.0, 4403);
    for path in ["/mcp", "/clientmcp.v1.Bridge/Identify"] {
        let response = Request::new(Method::POST, path).send(owner.public).await;
        assert!(response.status.is_client_error(), "{path}");
    }
}

async fn expect_status(deployment: &Deployment) {
    for router in &deployment.routers {
        let status = deployment.status(router).await;
        let ids = |role| {
            status
                .members(role)
                .map(|member| member["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (ids("node"), ids("router")),
            (
                vec!["n1".into(), "n2".into(), "n3".into()],
                vec!["r1".into(), "r2".into()]
            )
        );
        assert!(
            status.0["members"]
                .as_array()
                .unwrap()
                .iter()
                .all(|member| member["state"] == "ready")
        );
        let shares: Vec<f64> = status
            .members("node")
            .map(|node| node["ringShare"].as_f64().unwrap())
            .collect();
        assert!(
            (shares.iter().sum::<f64>() - 1.0).abs() < 1e-6
                && shares.iter().all(|share| *share > 0.1),
            "{shares:?}"
        );
        assert!(status.holder().is_some(), "{:#}", status.0);
        for page in ["/livez", "/readyz", "/metrics", "/status"] {
            assert_eq!(router.page(page).await.unwrap().0, 200);
        }
    }
    for node in &deployment.nodes {
        let (_, metrics) = node.page("/metrics").await.unwrap();
        assert!(metrics.contains("clientmcp_node_sockets"), "{metrics}");
    }
}

async fn expect_every_key_to_end(redis_url: &str) {
    let mut redis = redis::Client::open(redis_url)
        .unwrap()
        .get_multiplexed_async_connection()
        .await
        .unwrap();
    until("the app's record is there", async || {
        keys(&mut redis)
            .await
            .iter()
            .any(|key| key.contains(CLIENT))
    })
    .await;
    for key in keys(&mut redis).await {
        let left: i64 = redis::cmd("PTTL")
            .arg(&key)
            .query_async(&mut redis)
            .await
            .unwrap();
        // -2: it has ended meanwhile. -1: it never would.
        assert!(left > 0 || left == -2, "{key} {left}");
    }
}

async fn keys(redis: &mut redis::aio::MultiplexedConnection) -> Vec<String> {
    redis::cmd("KEYS")
        .arg("*")
        .query_async(redis)
        .await
        .unwrap()
}
