//! The store is away for everybody: nothing happens to apps that are connected.

use std::time::Duration;

use clientmcp_cluster::ring::Ring;
use clientmcp_cluster::store::faulty::Fault;
use clientmcp_core::ids::{ClientId, MemberId};
use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::raw_app::{RawApp, registration, text_result, tool};
use clientmcp_e2e::scenario::Scenario;
use clientmcp_e2e::session::Session;
use clientmcp_node::{Config, Node};

/// A client ID that the ring gives to the last of so many nodes.
fn client_of_the_last(nodes: usize) -> String {
    let names: Vec<_> = (1..=nodes)
        .map(|number| MemberId::parse(&format!("node-{number}")).unwrap())
        .collect();
    let ring = Ring::new(&names);
    let mut clients = (0..).map(|number| format!("client-{number}"));
    let is_of_the_last =
        |client: &String| ring.owner(&ClientId::parse(client).unwrap()) == names.last();
    clients.find(is_of_the_last).unwrap()
}

/// No router has heard of the app, and its owner has never held it: a node has joined since, and
/// an app that remembers no calls is not asked to move.
#[tokio::test]
async fn an_app_is_found_that_its_owner_does_not_hold() {
    for fault in [Fault::Unreachable, Fault::Hang] {
        let scenario = Scenario::start().await;
        let client = client_of_the_last(4);
        let token = scenario.tokens.app(&client);
        let mut app = RawApp::connect(scenario.router(0), &token).await;
        app.register(registration("app", &format!("[{}]", tool("echo"))))
            .await;
        let agent = scenario.tokens.agent(&client);
        let session = Session::begin(scenario.router(1), &agent, Version::V2025_11_25).await;

        let name = MemberId::parse("node-4").unwrap();
        let config = Config::new(name, scenario.tokens.secrets());
        let owner = Node::start(config, scenario.store.clone()).await.unwrap();
        let ready = r#"clientmcp_members{role="node",state="ready"}"#;
        let joined = async {
            while scenario.of_routers(ready).await + scenario.of_nodes(ready).await < 24.0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let soon = Duration::from_secs(10);
        tokio::time::timeout(soon, joined).await.expect("it joins");

        scenario.store.break_down(fault);
        let _app = app.serve(|call| vec![call.result(&text_result("here"))]);
        let (modern, legacy) = tokio::join!(
            async {
                Modern::new(agent.clone())
                    .use_tool(scenario.router(2), "echo", "{}")
                    .await
            },
            session.use_tool(scenario.router(0), "echo", "{}"),
        );
        for answer in [modern, legacy] {
            assert_eq!(answer.text(), "here", "{fault:?}");
        }
        scenario.store.heal();
        owner.stop().await;
    }
}
