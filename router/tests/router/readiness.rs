//! When a router says that it is ready: when it can do what it is asked.

use std::time::Duration;

use crate::harness::{Cluster, Request, enter, secrets};
use crate::http_client::{Answer, Connection, PATIENCE};
use crate::node::FakeNode;

async fn admin(cluster: &Cluster, path: &str) -> Answer {
    let request = Request::new("GET", path).to_bytes();
    let mut connection = Connection::open(cluster.router.admin_addr()).await;
    connection.exchange(&request).await
}

async fn becomes(cluster: &Cluster, status: u16) {
    let becoming = async {
        while admin(cluster, "/readyz").await.status != status {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, becoming).await.unwrap();
}

#[tokio::test]
async fn a_router_that_reaches_no_node_is_not_ready() {
    let cluster = Cluster::with(0, |_| {}).await;
    assert_eq!(admin(&cluster, "/readyz").await.status, 200, "nobody is");
    let node = FakeNode::start("node-0", &secrets()).await;
    node.kill().await;
    enter(&cluster.store, node.member()).await;
    becomes(&cluster, 503).await;
    let page = admin(&cluster, "/status").await.json();
    assert_eq!(page["ready"], false);
    assert_eq!(page["members"][0]["linkUp"], false);
    let other = FakeNode::start("node-1", &secrets()).await;
    enter(&cluster.store, other.member()).await;
    becomes(&cluster, 200).await;
    let page = admin(&cluster, "/status").await.json();
    assert_eq!(page["ready"], true);
    assert_eq!(page["members"][1]["linkUp"], true);
}
