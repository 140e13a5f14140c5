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
    assert_eq!(cluster.node().next_give_up().await.call_id, id);
}

/// The node that carries it may be lost before it hears of a cancel: that is brought to the app as
/// well, wherever it is.
#[tokio::test]
async fn what_an_agent_gives_up_follows_its_app() {
    let (cluster, call) = running(2).await;
    let (owner, other) = cluster.owner_and_other();
    let id = owner.next_call().await.call.call_id;
    owner.script().elsewhere = Some(other.as_elsewhere(2));
    drop(call);
    assert_eq!(owner.next_cancel().await.call_id, id);
    assert_eq!(other.next_give_up().await.call_id, id);
}

/// It waits at the node for its app, which runs it, when its session cancels it.
#[tokio::test]
async fn a_redelivery_that_is_cancelled_before_it_found_its_app_is_given_up_there() {
    let cluster = Cluster::start().await;
    cluster.node().script().resume = true;
    let session = cluster.session("2025-11-25").await;
    let _call = begin(&cluster, &Request::legacy_call(&session, "slow")).await;
    let first = cluster.node().next_call().await;
    let id = first.call.call_id.clone();
    first.answer(lost(false, false));
    let again = cluster.node().next_call().await;
    again.answer(Outcome::Cancelled(v1::Cancelled {}));
    let told = cluster.node().next_give_up().await;
    assert_eq!(told.call_id, id);
    assert_eq!(told.reason(), v1::cancel::Reason::Agent);
}

#[tokio::test]
async fn an_app_that_remembers_nothing_is_attached_to_where_it_is() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    owner.script().attaches = true;
    let call = begin(&cluster, &Request::modern_call("slow")).await;
    let first = owner.next_call().await.call;
    let asked = other.asked();
    owner.cut_links();
    let again = owner.next_call().await;
    assert_eq!(again.call.call_id, first.call_id);
    assert_eq!((again.call.attempt, again.call.attach_only), (1, true));
    // Once more, and then it answers.
    owner.cut_links();
    owner.next_call().await.result(RESULT);
    assert!(ok(&answer(call).await));
    assert_eq!(other.asked(), asked, "nobody else is");
}

#[tokio::test]
async fn what_runs_nowhere_any_more_is_unknown() {
    let cluster = Cluster::start().await;
    let call = begin(&cluster, &Request::modern_call("slow")).await;
    cluster.node().next_call().await;
    cluster.node().cut_links();
    assert_eq!(outcome(call).await, "unknown");
}

#[tokio::test]
async fn a_call_that_was_delivered_goes_to_no_other_instance() {
    let (cluster, call) = running(1).await;
    let first = cluster.node().next_call().await;
    cluster.node().script().instance = "i2".to_owned();
    first.answer(lost(false, false));
    assert_eq!(outcome(call).await, "unknown");
}

#[tokio::test]
async fn progress_grows_across_deliveries() {
    let cluster = Cluster::start().await;
    cluster.node().script().resume = true;
    let session = cluster.session("2025-11-25").await;
    let mut call = begin(&cluster, &Request::legacy_call(&session, "slow")).await;
    let first = cluster.node().next_call().await;
    first.progress(r#"{"progress":2}"#);
    call.head().await;
    assert_eq!(call.event().await.unwrap()["params"]["progress"], 2);
    first.answer(lost(false, false));
    let again = cluster.node().next_call().await;
    for step in 1..=3 {
        again.progress(&format!(r#"{{"progress":{step}}}"#));
    }
    again.result(RESULT);
    assert_eq!(call.event().await.unwrap()["params"]["progress"], 3);
    assert!(ok(&call.event().await.unwrap()));
}

#[tokio::test]
async fn a_call_that_waits_out_its_deadline_between_holders_is_cancelled() {
    let (cluster, call) = running(1).await;
    cluster.node().next_call().await;
    drop(call);
    cluster.node().next_cancel().await;
    cluster.node().next_give_up().await;
    // A tool with a short deadline.
    let call = begin(&cluster, &Request::modern_call("hurried")).await;
    let first = cluster.node().next_call().await;
    let id = first.call.call_id.clone();
    let busy = async {
        first.answer(lost(false, false));
        loop {
            let again = cluster.node().next_call().await;
            again.answer(refused(Why::QueueFull));
        }
    };
    tokio::select! {
        () = busy => {}
        outcome = outcome(call) => assert_eq!(outcome, "timeout"),
    }
    let told = cluster.node().next_give_up().await;
    assert_eq!(told.call_id, id);
    assert_eq!(told.reason(), v1::cancel::Reason::Timeout);
}
