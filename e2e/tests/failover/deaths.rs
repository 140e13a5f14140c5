//! Nodes that are killed (SPEC.md §7.4).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::events::{Event, Events};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::waiting::until;
use clientmcp_sdk::{App, Tool, ToolResult};
use serde_json::Value;

use crate::scene::{connect, holder, patient, resuming};

/// How often each call ran.
type Runs = Arc<Mutex<HashMap<u64, u32>>>;

/// An app whose tool `slow` notes that it runs, and takes its time.
async fn counting(scenario: &Scenario) -> (App, Runs) {
    let runs = Runs::default();
    let noted = runs.clone();
    let url = format!("ws://{}/v1/connect", scenario.router(0));
    let slow = Tool::new("slow", "Takes its time");
    let app = App::builder(&url)
        .token(scenario.tokens.app(CLIENT))
        .server_info("counting", "1")
        .tool(slow, move |arguments: Value, _| {
            let n = arguments["n"].as_u64().unwrap();
            *noted.lock().unwrap().entry(n).or_default() += 1;
            async move {
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                Ok(ToolResult::text(n.to_string()))
            }
        })
        .connect();
    app.online().await.unwrap();
    (app, runs)
}

/// Against calls that fail, hang or run twice when their node is lost, whatever the transport
/// makes of the loss: two nodes die, one after the other, under calls of both eras through all
/// routers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_which_nodes_die_are_answered_and_run_once() {
    let mut scenario = patient().await;
    let (app, runs) = counting(&scenario).await;
    let modern = Arc::new(scenario.modern());
    let session = Arc::new(scenario.session(Version::V2025_11_25).await);
    let mut begun = 0;
    for _ in 0..2 {
        let mut asked = Vec::new();
        for n in begun..begun + 16_u64 {
            let (modern, session) = (modern.clone(), session.clone());
            let router = scenario.router(usize::try_from(n).unwrap());
            asked.push(tokio::spawn(async move {
                let arguments = format!(r#"{{"n":{n}}}"#);
                if n % 2 == 0 {
                    modern.use_tool(router, "slow", &arguments).await
                } else {
                    session.use_tool(router, "slow", &arguments).await
                }
            }));
        }
        let expected = usize::try_from(begun).unwrap() + asked.len();
        until("all calls run", async || {
            runs.lock().unwrap().len() == expected
        })
        .await;
        let killed = holder(&scenario).await;
        drop(scenario.cluster.take_node(killed));
        for (n, answer) in (begun..).zip(asked) {
            assert_eq!(answer.await.unwrap().text(), n.to_string());
        }
        begun += 16;
    }
    assert!(runs.lock().unwrap().values().all(|times| *times == 1));
    app.close().await;
}

async fn expect_change(events: &mut Events) {
    let change = events.message().await;
    assert_eq!(change["method"], "notifications/tools/list_changed");
}

/// Against changes of a list that are lost, or told again, because a stream's node has died.
#[tokio::test]
async fn a_change_over_a_nodes_death_is_told_once() {
    let mut scenario = patient().await;
    let app = connect(&scenario, 1, &["a"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let mut legacy = session.stream().send(scenario.router(1)).await.events();
    assert_eq!(legacy.next().await, Some(Event::Comment));
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let request = scenario.modern();
    let request = request.request("1", "subscriptions/listen", filter);
    let mut modern = request.send(scenario.router(2)).await.events();
    modern.message().await;

    let killed = holder(&scenario).await;
    let killed = scenario.cluster.take_node(killed);
    let watches = async |scenario: &Scenario| {
        let watches = r#"clientmcp_node_requests_total{method="watch""#;
        scenario.of_nodes(watches).await
    };
    let before = watches(&scenario).await;
    drop((killed, app));
    until("both streams are fed by others", async || {
        watches(&scenario).await >= before + 2.0
    })
    .await;
    // The same tools are no change. What comes next is, once; and then another one.
    let mut app = connect(&scenario, 2, &["a"]).await;
    for tools in [&["a", "b"][..], &["c"]] {
        app.register(resuming(2, tools)).await;
        for events in [&mut legacy, &mut modern] {
            expect_change(events).await;
        }
    }
    for events in [&mut legacy, &mut modern] {
        events.comment().await;
        events.comment().await;
    }
}
