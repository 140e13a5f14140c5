//! A node that hangs or is cut off: nothing is reset, and it must be noticed all the same.

use std::time::{Duration, Instant};

use clientmcp_cluster::store::Store as _;

use crate::harness::{Cluster, Request, enter, secrets, token};
use crate::http_client::Connection;
use crate::node::FakeNode;
use crate::proxy::Proxy;

/// A cluster whose node is reached through a proxy.
async fn cluster() -> (Cluster, FakeNode, Proxy) {
    let cluster = Cluster::with(0, |_| {}).await;
    let node = FakeNode::start("node-0", &secrets()).await;
    let proxy = Proxy::start(&node.member().address).await;
    let mut member = node.member().clone();
    member.address = proxy.addr().to_string();
    enter(&cluster.store, &member).await;
    node.linked().await;
    (cluster, node, proxy)
}

async fn begin(cluster: &Cluster, request: &Request) -> Connection {
    let mut connection = cluster.connect().await;
    connection.write(&request.to_bytes()).await;
    connection
}

/// Field report B08: a peer that drops packets.
#[tokio::test]
async fn its_calls_and_tunnels_end_within_a_probe() {
    let (cluster, node, proxy) = cluster().await;
    let mut call = begin(&cluster, &Request::modern_call("slow")).await;
    node.next_call().await;
    let offer = format!("clientmcp.v1, clientmcp.token.{}", token(true, false, 600));
    let upgrade = Request::new("GET", "/v1/connect")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("Sec-WebSocket-Protocol", &offer);
    let mut app = begin(&cluster, &upgrade).await;
    assert_eq!(app.head().await.status, 101);
    let tunnel = node.next_tunnel().await;

    proxy.silence(true);
    let begun = Instant::now();
    call.head().await;
    let event = call.event().await.unwrap();
    assert_eq!(event["result"]["_meta"]["dev.clientmcp/outcome"], "unknown");
    assert!(app.ends().await);
    // A probe goes out every 200 ms and is waited for 800 ms.
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    drop(tunnel);

    // It is found again at once when it comes back.
    proxy.silence(false);
    assert_eq!(cluster.send(&Request::modern_call("fast")).await.code(), 0);
}

#[tokio::test]
async fn its_client_ids_are_asked_for_elsewhere_when_the_ring_has_changed() {
    let (cluster, node, proxy) = cluster().await;
    assert_eq!(
        cluster.send(&Request::modern_call("fast")).await.status,
        200
    );
    proxy.silence(true);
    let mut waiting = begin(&cluster, &Request::modern("1", "tools/list", "")).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let other = FakeNode::start("node-1", &secrets()).await;
    enter(&cluster.store, other.member()).await;
    let gone = node.member();
    cluster
        .store
        .leave(&gone.id, gone.incarnation)
        .await
        .unwrap();
    assert_eq!(waiting.head().await.status, 200);
    assert!(other.asked() > 0);
}
