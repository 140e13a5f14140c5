//! Stopping: calls end, streams end with their last word, nobody is waited for in vain.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Cluster, Request, agent_token, token};
use crate::http_client::Connection;
use crate::node::RESULT;

#[tokio::test]
async fn a_router_stops_gracefully() {
    let cluster = Cluster::with(1, |config| {
        config.timings.drain = Duration::from_secs(4);
    })
    .await;
    let (mut stream, mut subscription) = open_streams(&cluster).await;
    let mut call = cluster.connect().await;
    call.write(&Request::modern_call("slow").to_bytes()).await;
    let arrival = cluster.node().next_call().await;
    call.head().await;
    let whole = Request::modern_call("slow").set("Accept", "application/json");
    let mut headless = cluster.connect().await;
    headless.write(&whole.to_bytes()).await;
    let second = cluster.node().next_call().await;
    let mut idle = cluster.connect().await;
    let mut kept = cluster.connect().await;
    kept.exchange(&Request::modern("1", "tools/list", "").to_bytes())
        .await;
    let (mut app, mut tunnel) = open_tunnel(&cluster).await;

    let Cluster {
        router,
        nodes,
        store,
    } = cluster;
    let addr = router.addr();
    let begun = Instant::now();
    let stopping = tokio::spawn(router.stop());

    assert_eq!(stream.event().await, None);
    let last = subscription.event().await.unwrap();
    assert_eq!(last["id"], 1);
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(subscription.event().await, None);
    assert!(idle.ends().await);
    assert!(kept.ends().await);
    assert!(!stopping.is_finished(), "a call is under way");
    arrival.result(RESULT);
    second.result(RESULT);
    let head = headless.head().await;
    assert_eq!(head.header("connection"), Some("close"));
    let answer = call.event().await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "ok");
    // The node is told that nothing more comes, and has the last word.
    let mut nothing = Vec::new();
    tunnel.read_to_end(&mut nothing).await.unwrap();
    tunnel.write_all(b"a close frame").await.unwrap();
    drop(tunnel);
    assert_eq!(app.read(13).await, b"a close frame");
    assert!(app.ends().await);

    stopping.await.unwrap();
    assert_eq!(nodes[0].drains(), 1, "its apps were told to move");
    println!("stopped after {:?}", begun.elapsed());
    assert!(TcpStream::connect(addr).await.is_err());
    use clientmcp_cluster::store::Store as _;
    let members = store.members().await.unwrap();
    let left = members
        .iter()
        .find(|m| m.member.id.as_str() == "router-1")
        .unwrap();
    assert!(matches!(
        left.standing,
        clientmcp_cluster::member::Standing::Left { .. }
    ));
    drop(nodes);
}

/// A GET stream and a subscription.
async fn open_streams(cluster: &Cluster) -> (Connection, Connection) {
    let session = cluster.session("2025-11-25").await;
    let get = Request::new("GET", "/mcp")
        .header("Authorization", &format!("Bearer {}", agent_token()))
        .header("Mcp-Session-Id", &session);
    let mut stream = cluster.connect().await;
    stream.write(&get.to_bytes()).await;
    stream.head().await;
    let filter = r#""notifications":{"toolsListChanged":true}"#;
    let listen = Request::modern("1", "subscriptions/listen", filter);
    let mut subscription = cluster.connect().await;
    subscription.write(&listen.to_bytes()).await;
    subscription.head().await;
    subscription.event().await.unwrap();
    (stream, subscription)
}

async fn open_tunnel(cluster: &Cluster) -> (Connection, tokio::io::DuplexStream) {
    let offer = format!("clientmcp.v1, clientmcp.token.{}", token(true, false, 600));
    let request = Request::new("GET", "/v1/connect")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("Sec-WebSocket-Protocol", &offer);
    let mut app = cluster.connect().await;
    app.write(&request.to_bytes()).await;
    assert_eq!(app.head().await.status, 101);
    (app, cluster.node().next_tunnel().await.stream)
}

#[tokio::test]
async fn what_does_not_end_is_dropped_at_the_deadline() {
    let cluster = Cluster::with(1, |config| {
        config.timings.drain = Duration::from_millis(500);
    })
    .await;
    let mut call = cluster.connect().await;
    call.write(&Request::modern_call("slow").to_bytes()).await;
    let arrival = cluster.node().next_call().await;
    let begun = Instant::now();
    let Cluster { router, nodes, .. } = cluster;
    router.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
    assert!(call.ends().await);
    drop((arrival, nodes));
}

#[tokio::test]
async fn a_router_says_that_it_drains_before_it_does() {
    let cluster = Cluster::with(1, |config| {
        config.timings.pre_drain = Duration::from_millis(800);
        config.timings.drain = Duration::from_millis(500);
    })
    .await;
    let admin = cluster.router.admin_addr();
    let ready = async || {
        let request = Request::new("GET", "/readyz").to_bytes();
        Connection::open(admin)
            .await
            .exchange(&request)
            .await
            .status
    };
    assert_eq!(ready().await, 200);
    let addr = cluster.addr();
    let Cluster { router, nodes, .. } = cluster;
    let stopping = tokio::spawn(router.stop());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(ready().await, 503);
    let request = Request::modern("1", "tools/list", "").to_bytes();
    let answer = Connection::open(addr).await.exchange(&request).await;
    assert_eq!(answer.status, 200, "it serves as before");
    stopping.await.unwrap();
    drop(nodes);
}

#[tokio::test]
async fn status_names_the_members() {
    let cluster = Cluster::start().await;
    let mut admin = Connection::open(cluster.router.admin_addr()).await;
    let page = admin
        .exchange(&Request::new("GET", "/status").to_bytes())
        .await
        .json();
    assert_eq!(page["member"], "router-1");
    assert_eq!(
        page["incarnation"],
        cluster.router.incarnation().to_string()
    );
    let members = page["members"].as_array().unwrap();
    assert_eq!(members.len(), 2);
    assert_eq!(members[0]["id"], "node-0");
    assert_eq!(members[0]["linkUp"], true);
    assert_eq!(members[0]["ringShare"], 1.0);
}

#[tokio::test]
async fn what_is_half_sent_holds_nobody_up() {
    let cluster = Cluster::with(1, |config| {
        config.timings.drain = Duration::from_secs(600);
    })
    .await;
    let request = Request::modern("1", "tools/list", "").to_bytes();
    let mut half_head = cluster.connect().await;
    half_head.write(&request[..40]).await;
    let mut half_body = cluster.connect().await;
    half_body.write(&request[..request.len() - 10]).await;
    let mut second_half_head = cluster.connect().await;
    assert_eq!(second_half_head.exchange(&request).await.status, 200);
    second_half_head.write(&request[..40]).await;
    let _pre_connect = cluster.connect().await;
    let mut half_preface = cluster.connect().await;
    half_preface.write(b"PRI * HT").await;
    // All of it has arrived.
    cluster.send(&Request::modern("1", "tools/list", "")).await;

    let Cluster { router, nodes, .. } = cluster;
    let begun = Instant::now();
    let stopped = tokio::time::timeout(Duration::from_secs(20), router.stop()).await;
    stopped.expect("the router waits for what does not come");
    println!("stopped after {:?}", begun.elapsed());
    drop(nodes);
}
