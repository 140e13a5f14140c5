//! A node that this router cannot reach, and another one can.

use std::time::Duration;

use clientmcp_cluster::ring::Ring;
use clientmcp_core::ids::{ClientId, MemberId};
use tokio::io::AsyncWriteExt as _;

use crate::harness::{CLIENT_ID, Cluster, Request, enter, secrets, token};
use crate::http_client::{Connection, PATIENCE};
use crate::links::{answer, begin};
use crate::node::{FakeNode, RESULT};
use crate::proxy::Proxy;

/// Two nodes: the owner of the client ID, whose direct way can be cut, and another one that
/// reaches it.
struct Scene {
    cluster: Cluster,
    owner: FakeNode,
    other: FakeNode,
    way: Proxy,
}

async fn scene() -> Scene {
    let cluster = Cluster::with(0, |_| {}).await;
    let names = ["node-0", "node-1"];
    let ids = names.map(|name| MemberId::parse(name).unwrap());
    let ring = Ring::new(&ids);
    let owner = ring.owner(&ClientId::parse(CLIENT_ID).unwrap()).unwrap();
    let other = ids.iter().find(|id| *id != owner).unwrap();
    let owner = FakeNode::start(owner.as_str(), &secrets()).await;
    let other = FakeNode::start(other.as_str(), &secrets()).await;
    let way = Proxy::start(&owner.member().address).await;
    let mut member = owner.member().clone();
    member.address = way.addr().to_string();
    enter(&cluster.store, &member).await;
    enter(&cluster.store, other.member()).await;
    owner.linked().await;
    other.linked().await;
    owner.script().resume = true;
    let mut there = owner.as_elsewhere(5);
    there.address = member.address;
    other.script().elsewhere = Some(there);
    other.script().relays_to = Some(owner.member().address.clone());
    Scene {
        cluster,
        owner,
        other,
        way,
    }
}

#[tokio::test]
async fn its_calls_go_on_through_another_node() {
    let scene = scene().await;
    let call = begin(&scene.cluster, &Request::modern_call("slow")).await;
    let first = scene.owner.next_call().await.call;
    scene.way.silence(true);
    let again = scene.owner.next_call().await;
    assert_eq!(again.call.call_id, first.call_id);
    assert_eq!(again.call.attempt, 1);
    again.result(RESULT);
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
    assert_eq!(scene.other.relayed(), 1);
    // What is asked beside the link goes the same way.
    let list = Request::modern("1", "tools/list", "");
    assert_eq!(scene.cluster.send(&list).await.status, 200);
}

#[tokio::test]
async fn apps_get_there_as_well() {
    let scene = scene().await;
    scene.way.silence(true);
    let call = begin(&scene.cluster, &Request::modern_call("fast")).await;
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
    let mut app = connect(&scene.cluster).await;
    let mut tunnel = scene.owner.next_tunnel().await.stream;
    tunnel.write_all(b"a frame").await.unwrap();
    assert_eq!(app.read(7).await, b"a frame");
    assert_eq!(
        scene.other.relayed(),
        1,
        "the tunnel shares the connection of the link"
    );
}

#[tokio::test]
async fn the_direct_way_is_taken_again_when_it_is_open() {
    let scene = scene().await;
    scene.way.silence(true);
    let call = begin(&scene.cluster, &Request::modern_call("fast")).await;
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
    let call = begin(&scene.cluster, &Request::modern_call("slow")).await;
    let first = scene.owner.next_call().await.call;
    scene.way.silence(false);
    // It is found by itself, and the call comes along.
    let again = scene.owner.next_call().await;
    assert_eq!(again.call.call_id, first.call_id);
    scene.other.kill().await;
    again.result(RESULT);
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
}

#[tokio::test]
async fn apps_stay_on_the_way_that_they_took() {
    let scene = scene().await;
    scene.way.silence(true);
    let call = begin(&scene.cluster, &Request::modern_call("fast")).await;
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
    let mut app = connect(&scene.cluster).await;
    let mut tunnel = scene.owner.next_tunnel().await.stream;
    let call = begin(&scene.cluster, &Request::modern_call("slow")).await;
    scene.owner.next_call().await;
    scene.way.silence(false);
    // The link has gone over to the direct way.
    scene.owner.next_call().await.result(RESULT);
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
    tunnel.write_all(b"a frame").await.unwrap();
    assert_eq!(app.read(7).await, b"a frame");
    // Who comes now takes the direct way.
    let mut other = connect(&scene.cluster).await;
    let mut direct = scene.owner.next_tunnel().await.stream;
    direct.write_all(b"a frame").await.unwrap();
    assert_eq!(other.read(7).await, b"a frame");
    assert_eq!(scene.other.relayed(), 1);
}

async fn connect(cluster: &Cluster) -> Connection {
    let offer = format!("clientmcp.v1, clientmcp.token.{}", token(true, false, 600));
    let upgrade = Request::new("GET", "/v1/connect")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("Sec-WebSocket-Protocol", &offer);
    let mut app = begin(cluster, &upgrade).await;
    assert_eq!(app.head().await.status, 101);
    app
}

#[tokio::test]
async fn while_nobody_reaches_it_calls_wait() {
    let scene = scene().await;
    scene.other.script().relays_to = None;
    scene.way.silence(true);
    let lost = async {
        let lost = |page: serde_json::Value| page["members"].to_string().contains("false");
        loop {
            let admin = scene.cluster.router.admin_addr();
            let mut admin = Connection::open(admin).await;
            let status = Request::new("GET", "/status").to_bytes();
            if lost(admin.exchange(&status).await.json()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, lost).await.unwrap();
    let call = begin(&scene.cluster, &Request::modern_call("fast")).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    scene.way.silence(false);
    assert_eq!(answer(call).await["result"]["content"][0]["text"], "ok");
}
