//! An app that remembers calls, and the node that holds it.

use std::time::Duration;

use clientmcp_e2e::exchange::Request;
use clientmcp_e2e::raw_app::{RawApp, registration_of, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::waiting::poll;
use http::Method;

/// A cluster that expects apps back for long.
pub(crate) async fn patient() -> Scenario {
    Scenario::start_with(|options| options.timings.grace = Duration::from_secs(60)).await
}

/// `register` of an app that remembers calls.
pub(crate) fn resuming(connection: u64, tools: &[&str]) -> String {
    let tools: Vec<String> = tools.iter().map(|name| tool(name)).collect();
    let resume = r#","features":["resume"]"#;
    registration_of("app", connection, &format!("[{}]", tools.join(",")), resume)
}

/// A connection of such an app.
pub(crate) async fn connect(scenario: &Scenario, connection: u64, tools: &[&str]) -> RawApp {
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    app.register(resuming(connection, tools)).await;
    app
}

/// The index of the node that holds the one app.
pub(crate) async fn holder(scenario: &Scenario) -> usize {
    poll("a node holds the app", async || {
        for (index, node) in scenario.cluster.nodes().iter().enumerate() {
            let page = Request::new(Method::GET, "/metrics");
            let page = page.send(node.admin_addr()).await.bytes().await;
            let page = String::from_utf8_lossy(&page);
            if page.lines().any(|line| line == "clientmcp_node_apps 1") {
                return Some(index);
            }
        }
        None
    })
    .await
}

/// How many calls wait for apps, at all nodes.
pub(crate) async fn calls_waiting(scenario: &Scenario) -> u64 {
    let mut waiting = 0;
    for node in scenario.cluster.nodes() {
        let status = Request::new(Method::GET, "/status");
        let status = status.send(node.admin_addr()).await.json().await;
        waiting += status["callsWaiting"].as_u64().expect("a number");
    }
    waiting
}
