//! Connections of one client ID that end while the next one comes (SPEC.md §4.6).

use std::sync::Arc;
use std::time::Duration;

use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::raw_app::{RawApp, registration_of, text_result, tool};
use clientmcp_e2e::scenario::Scenario;
use futures_util::future::join_all;
use tokio::time::sleep;

const CLIENTS: u64 = 20;
/// Registers of one client ID that wait for no turn.
const ROUNDS: u64 = 50;

/// Against the clean-up of an old connection that removes the new one: a thousand reconnects
/// while the old socket closes, is cut, or stays, at moments that differ by a few milliseconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_thousand_reconnects_the_newest_serves() {
    let scenario = Arc::new(Scenario::start().await);
    let clients = (0..CLIENTS).map(|client| tokio::spawn(reconnects(scenario.clone(), client)));
    for client in join_all(clients).await {
        client.unwrap();
    }
}

async fn reconnects(scenario: Arc<Scenario>, client: u64) {
    let name = format!("client-{client}");
    let token = scenario.tokens.app(&name);
    let agent = Arc::new(Modern::new(scenario.tokens.agent(&name)));
    let mut old: Option<RawApp> = None;
    for round in 1..=ROUNDS {
        let turn = usize::try_from(client + round).unwrap();
        let mut newest = RawApp::connect(scenario.router(turn), &token).await;
        // Every pair of moments, and each way to end, comes up.
        let (before_end, before_register) = (round % 5, (round / 5) % 5);
        let ending = old.take().map(|mut app| {
            tokio::spawn(async move {
                sleep(Duration::from_millis(before_end)).await;
                match (client + round) % 3 {
                    0 => drop(app),
                    1 => app.leave().await,
                    _ => drop(app.closed().await),
                }
            })
        });
        sleep(Duration::from_millis(before_register)).await;
        let tools = format!("[{}]", tool("echo"));
        newest
            .register(registration_of("app", round, &tools, ""))
            .await;
        if let Some(ending) = ending {
            // One that was displaced before it could leave has left as well.
            let _ = ending.await;
        }
        let (agent, router) = (agent.clone(), scenario.router(turn + 1));
        let asked = tokio::spawn(async move { agent.use_tool(router, "echo", "{}").await });
        let call = newest.expect("call").await;
        newest.result(&call, &text_result("newest")).await;
        assert_eq!(
            asked.await.unwrap().text(),
            "newest",
            "round {round} of {name}"
        );
        old = Some(newest);
    }
}
