//! Calls whose node, link or app was lost (SPEC.md §7.4).

use clientmcp_proto::v1::{self, outcome::Outcome, refused::Why};

use crate::harness::{Cluster, Request};
use crate::http_client::Connection;
use crate::links::{answer, begin};
use crate::node::{FakeNode, RESULT, refused};

async fn outcome(connection: Connection) -> String {
    let answer = answer(connection).await;
    let outcome = &answer["result"]["_meta"]["dev.clientmcp/outcome"];
    outcome.as_str().unwrap_or_default().to_owned()
}

fn lost(not_delivered: bool, r#final: bool) -> Outcome {
    Outcome::Lost(v1::Lost {
        not_delivered,
        r#final,
    })
}

/// A cluster whose app remembers calls, and a call that runs at its owner.
async fn running(nodes: usize) -> (Cluster, Connection) {
    let cluster = Cluster::with(nodes, |_| {}).await;
    for node in cluster.nodes() {
        node.script().resume = true;
    }
    let call = begin(&cluster, &Request::modern_call("slow")).await;
    (cluster, call)
}

fn ok(answer: &serde_json::Value) -> bool {
    answer["result"]["content"][0]["text"] == "ok"
}

/// Field report B25: a broken transport is a lost node, whatever status it comes as.
#[tokio::test]
async fn a_call_whose_node_was_killed_is_delivered_again_at_the_next() {
    let (cluster, call) = running(2).await;
    let (owner, other) = cluster.owner_and_other();
    let first = owner.next_call().await.call;
    assert_eq!((first.attempt, first.instance.as_str()), (0, "i1"));
    owner.kill().await;
    // Without waiting for the ring: the link is gone.
    let again = other.next_call().await;
    assert_eq!(again.call.call_id, first.call_id);
    assert_eq!(
        (again.call.attempt, again.call.instance.as_str()),
        (1, "i1")
    );
    assert_eq!(again.call.params, first.params);
    assert!(again.call.deadline_ms <= first.deadline_ms);
    assert_eq!(again.call.unreachable, [owner_run(owner)]);
    again.result(RESULT);
    assert!(ok(&answer(call).await));
}

fn owner_run(node: &FakeNode) -> v1::Target {
    v1::Target {
        node_id: node.member().id.to_string(),
        incarnation: node.member().incarnation.0,
    }
}

#[tokio::test]
async fn a_call_whose_app_lost_its_socket_is_delivered_again() {
    let (cluster, call) = running(1).await;
    cluster.node().next_call().await.answer(lost(false, false));
    let again = cluster.node().next_call().await;
    assert_eq!(again.call.attempt, 1);
    again.result(RESULT);
    assert!(ok(&answer(call).await));
}

#[tokio::test]
async fn what_never_reached_the_app_is_sent_as_if_for_the_first_time() {
    let (cluster, call) = running(1).await;
    cluster.node().next_call().await.answer(lost(true, false));
    let again = cluster.node().next_call().await;
    assert_eq!(again.call.attempt, 0);
    again.result(RESULT);
    assert!(ok(&answer(call).await));
}

#[tokio::test]
async fn a_final_loss_is_final() {
    let (cluster, call) = running(1).await;
    cluster.node().next_call().await.answer(lost(false, false));
    cluster.node().next_call().await.answer(lost(false, true));
    assert_eq!(outcome(call).await, "unknown");
}

#[tokio::test]
async fn an_app_that_is_gone_leaves_the_outcome_unknown() {
    let (cluster, call) = running(1).await;
    let first = cluster.node().next_call().await;
    cluster.node().script().connected = false;
    first.answer(lost(false, false));
    assert_eq!(
        outcome(call).await,
        "unknown",
        "not offline: it may have run"
    );
}

#[tokio::test]
async fn a_reloaded_page_is_described_again_before_anything_runs_there() {
    let (cluster, call) = running(1).await;
    cluster.node().next_call().await.result(RESULT);
    assert!(ok(&answer(call).await));
    cluster.node().script().instance = "i2".to_owned();
    let call = begin(&cluster, &Request::modern_call("slow")).await;
    let arrival = cluster.node().next_call().await;
    assert_eq!(
        (arrival.call.attempt, arrival.call.instance.as_str()),
        (0, "i2")
    );
    arrival.result(RESULT);
    assert!(ok(&answer(call).await));
}

#[tokio::test]
async fn an_app_that_is_busy_is_tried_again_for_what_it_had_already() {
    let (cluster, call) = running(1).await;
    cluster.node().next_call().await.answer(lost(false, false));
    for why in [Why::QueueFull, Why::TooManyCalls, Why::TooManyWait] {
        cluster.node().next_call().await.answer(refused(why));
    }
    cluster.node().next_call().await.result(RESULT);
    assert!(ok(&answer(call).await));
}

#[tokio::test]
async fn a_call_under_which_three_nodes_were_lost_is_given_up() {
    let (cluster, call) = running(4).await;
    let mut left: Vec<_> = cluster.nodes().iter().collect();
    for _ in 0..3 {
        let at = holder_of_next_call(&left).await;
        left.remove(at).kill().await;
    }
    assert_eq!(outcome(call).await, "unknown");
    assert_eq!(left.len(), 1);
}

async fn holder_of_next_call(nodes: &[&FakeNode]) -> usize {
    let waiting = nodes.iter().map(|node| Box::pin(node.next_call()));
    let (_, at, _) = futures_util::future::select_all(waiting).await;
    at
}

#[tokio::test]
async fn an_agent_that_leaves_between_holders_cancels_the_call_at_the_next() {
    let (cluster, call) = running(1).await;
    let first = cluster.node().next_call().await;
    let id = first.call.call_id.clone();
    cluster.node().script().elsewhere = None;
    first.answer(lost(false, false));
    // Lost again and again: it is between holders most of the time.
    let again = cluster.node().next_call().await;
    again.answer(refused(Why::QueueFull));
    drop(call);
    let cancel = cluster.node().next_cancel().await;
    assert_eq!(cancel.call_id, id);
}
