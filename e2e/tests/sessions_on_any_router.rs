//! Two hundred sessions, each request of which goes to another of three routers, on a connection
//! of its own (SPEC.md §6.1): what a balancer that knows nothing of sessions does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::session::Session;
use serde_json::json;

const LOOPS: usize = 200;

#[tokio::test]
async fn every_request_may_go_to_another_router() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let legacy: Vec<Version> = Version::ALL
        .into_iter()
        .filter(|version| *version != Version::MODERN)
        .collect();
    let mut turn = (0..).map(|index| scenario.router(index));
    let mut next = || turn.next().expect("there is always another turn");
    for index in 0..LOOPS {
        let version = legacy[index % legacy.len()];
        // `begin` initializes at one router and says so at the same: the notification is sent
        // again elsewhere.
        let session = Session::begin(next(), &scenario.tokens.agent(CLIENT), version).await;
        session
            .notify(next(), "notifications/initialized", "{}")
            .await;
        let list = session.ask(next(), "tools/list", "{}").await;
        assert_eq!(list.result()["tools"][0]["name"], "echo");
        let arguments = json!({ "loop": index }).to_string();
        let answer = session.use_tool(next(), "echo", &arguments).await;
        assert_eq!(answer.text(), arguments);
        let mut stream = session.stream().send(next()).await.events();
        stream.comment().await;
        assert_eq!(session.end().send(next()).await.status, 204);
        stream.end().await;
        assert_eq!(
            session.request("1", "ping", "{}").send(next()).await.status,
            404
        );
    }
}
