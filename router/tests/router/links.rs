//! Links that break, nodes that hang, client IDs that are elsewhere.

use std::time::{Duration, Instant};

use clientmcp_core::ids::Incarnation;

use crate::harness::{Cluster, Request, enter, secrets};
use crate::http_client::Connection;
use crate::node::{FakeNode, RESULT};

pub(crate) async fn begin(cluster: &Cluster, request: &Request) -> Connection {
    let mut connection = cluster.connect().await;
    connection.write(&request.to_bytes()).await;
    connection
}

pub(crate) async fn answer(mut connection: Connection) -> serde_json::Value {
    let head = connection.head().await;
    assert_eq!(head.status, 200);
    if head.header("content-type") == Some("text/event-stream") {
        return connection.event().await.unwrap();
    }
    let length = head.header("content-length").unwrap().parse().unwrap();
    serde_json::from_slice(&connection.read(length).await).unwrap()
}

#[tokio::test]
async fn a_lost_link_makes_calls_unknown_that_the_app_does_not_remember() {
    let cluster = Cluster::start().await;
    let mut running = Vec::new();
    for _ in 0..20 {
        running.push(begin(&cluster, &Request::modern_call("slow")).await);
        cluster.node().next_call().await;
    }
    cluster.node().cut_links();
    for connection in running {
        let result = answer(connection).await["result"].clone();
        assert_eq!(result["isError"], true);
        assert_eq!(result["_meta"]["dev.clientmcp/outcome"], "unknown");
    }
    // The link is opened again, and a call waits for it.
    assert_eq!(
        cluster.send(&Request::modern_call("fast")).await.status,
        200
    );
}

#[tokio::test]
async fn a_killed_node_makes_its_calls_unknown_and_new_ones_go_to_the_next_owner() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    let running = begin(&cluster, &Request::modern_call("slow")).await;
    owner.next_call().await;
    owner.kill().await;
    let result = answer(running).await["result"].clone();
    assert_eq!(result["_meta"]["dev.clientmcp/outcome"], "unknown");
    // The ring learns of it, and the call that waited is sent to the other node.
    let waiting = begin(&cluster, &Request::modern_call("fast")).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    use clientmcp_cluster::store::Store as _;
    let gone = owner.member();
    cluster
        .store
        .leave(&gone.id, gone.incarnation)
        .await
        .unwrap();
    assert_eq!(answer(waiting).await["result"]["content"][0]["text"], "ok");
    assert!(other.asked() > 0);
}

#[tokio::test]
async fn what_cannot_be_delivered_says_so_in_time() {
    let cluster = Cluster::start().await;
    cluster.node().kill().await;
    let begun = Instant::now();
    let list = Request::modern("1", "tools/list", "");
    let call = Request::modern_call("fast");
    let (list, call) = tokio::join!(cluster.send(&list), cluster.send(&call));
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!((list.status, list.code()), (503, 50_300));
    // The registration was never seen, so the call cannot be judged either.
    assert_eq!(call.status, 200);
    assert_eq!(call.events()[0]["error"]["code"], 50_300, "{call:?}");
}

#[tokio::test]
async fn a_client_id_is_found_where_nodes_say_that_it_is() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    owner.script().elsewhere = Some(other.as_elsewhere(5));
    for request in [
        Request::modern_call("fast"),
        Request::modern("1", "tools/list", ""),
        Request::modern_call("fast"),
    ] {
        assert_eq!(cluster.send(&request).await.code(), 0);
    }
    let asked = owner.asked();
    assert_eq!(
        cluster.send(&Request::modern_call("fast")).await.status,
        200
    );
    assert_eq!(owner.asked(), asked, "the holder is remembered");
    // It comes back to its owner.
    owner.script().elsewhere = None;
    other.script().elsewhere = Some(owner.as_elsewhere(6));
    assert_eq!(cluster.send(&Request::modern_call("fast")).await.code(), 0);
}

#[tokio::test]
async fn redirects_are_bounded() {
    let cluster = Cluster::with(2, |_| {}).await;
    assert_eq!(
        cluster.send(&Request::modern_call("fast")).await.status,
        200
    );
    let (owner, other) = cluster.owner_and_other();
    owner.script().elsewhere = Some(other.as_elsewhere(5));
    other.script().elsewhere = Some(owner.as_elsewhere(6));
    let call = begin(&cluster, &Request::modern_call("fast")).await;
    let meta = answer(call).await["result"]["_meta"].clone();
    assert_eq!(meta["dev.clientmcp/outcome"], "not_delivered");
    // In the time that it took they were not asked without a pause.
    assert!(owner.asked() + other.asked() < 200);
}

#[tokio::test]
async fn nodes_that_name_each_other_for_a_moment_fail_no_call() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    owner.script().elsewhere = Some(other.as_elsewhere(5));
    other.script().elsewhere = Some(owner.as_elsewhere(6));
    let call = begin(&cluster, &Request::modern_call("fast")).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    other.script().elsewhere = None;
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
}

#[tokio::test]
async fn a_call_moves_with_its_app() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    owner.script().resume = true;
    let running = begin(&cluster, &Request::modern_call("slow")).await;
    let arrival = owner.next_call().await;
    arrival.moved(other.as_elsewhere(9));
    let attached = other.next_call().await;
    assert_eq!(attached.call.call_id, arrival.call.call_id);
    assert!(!attached.call.attach_only);
    assert_eq!(attached.call.instance, "i1");
    assert_eq!(attached.call.attempt, 1);
    attached.result(RESULT);
    assert_eq!(answer(running).await["result"]["content"][0]["text"], "ok");
}

/// Field report B08: a recycled address.
#[tokio::test]
async fn another_process_at_the_address_of_a_node_gets_no_call() {
    let cluster = Cluster::with(0, |_| {}).await;
    let impostor = FakeNode::start("node-0", &secrets()).await;
    let mut member = impostor.member().clone();
    member.incarnation = Incarnation(member.incarnation.0 ^ 1);
    enter(&cluster.store, &member).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let answer = cluster.send(&Request::modern_call("fast")).await;
    assert!(!answer.body.contains("\"ok\""));
    // Once the member is the process that answers, calls pass.
    use clientmcp_cluster::store::Store as _;
    cluster
        .store
        .leave(&member.id, member.incarnation)
        .await
        .unwrap();
    enter(&cluster.store, impostor.member()).await;
    impostor.linked().await;
    assert_eq!(cluster.send(&Request::modern_call("fast")).await.code(), 0);
}

#[tokio::test]
async fn large_answers_do_not_hold_up_small_ones() {
    let cluster = Cluster::start().await;
    let large = format!(r#"{{"content":[],"large":"{}"}}"#, "x".repeat(3_900_000));
    let mut running = Vec::new();
    for _ in 0..4 {
        running.push(begin(&cluster, &Request::modern_call("slow")).await);
        cluster.node().next_call().await.result(&large);
    }
    assert_eq!(
        cluster.send(&Request::modern_call("fast")).await.status,
        200
    );
    for connection in running {
        let result = answer(connection).await["result"].clone();
        assert_eq!(result["large"].as_str().unwrap().len(), 3_900_000);
    }
}

#[tokio::test]
async fn of_a_call_that_moved_nobody_says_that_it_did_not_run() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    let running = begin(&cluster, &Request::modern_call("slow")).await;
    let arrival = owner.next_call().await;
    other.script().connected = false;
    arrival.moved(other.as_elsewhere(9));
    let result = answer(running).await["result"].clone();
    assert_eq!(result["_meta"]["dev.clientmcp/outcome"], "unknown");
}
