//! Planned moves (SPEC.md §4.10).

use clientmcp_e2e::raw_app::{RawApp, text_result};
use clientmcp_e2e::scenario::Scenario;

use crate::scene::{connect, holder, patient};

/// One call through a router, answered by the app.
async fn serves(scenario: &Scenario, app: &mut RawApp) {
    let (modern, router) = (scenario.modern(), scenario.router(1));
    let asked = tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("served")).await;
    assert_eq!(asked.await.unwrap().text(), "served");
}

/// Against a rollout that refuses calls: a node that is told to stop serves on until its app
/// stands elsewhere, and a call that runs meanwhile goes on there.
#[tokio::test]
async fn a_node_that_stops_serves_until_its_app_has_moved() {
    let mut scenario = patient().await;
    let mut old = connect(&scenario, 1, &["slow"]).await;
    let stopped = holder(&scenario).await;
    let stopped = scenario.cluster.take_node(stopped);
    let stopping = tokio::spawn(stopped.stop());
    old.expect("move").await;
    serves(&scenario, &mut old).await;
    let (modern, router) = (scenario.modern(), scenario.router(2));
    let asked = tokio::spawn(async move { modern.use_tool(router, "slow", "{}").await });
    let call = old.expect("call").await;

    let mut new = connect(&scenario, 2, &["slow"]).await;
    assert_eq!(old.closed().await.0, 1000);
    let again = new.expect("call").await;
    assert_eq!(again.value()["id"], call.value()["id"]);
    assert_eq!(again.value()["attempt"], 1);
    new.result(&again, &text_result("moved")).await;
    assert_eq!(asked.await.unwrap().text(), "moved");
    serves(&scenario, &mut new).await;
    stopping.await.unwrap();
}
