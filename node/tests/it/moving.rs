//! Planned moves: of a node or a router that stops, of what the ring gives to others (SPEC.md
//! §4.10); and passing bytes on.

use std::sync::Arc;

use clientmcp_cluster::store::faulty::Fault;
use clientmcp_cluster::store::{FaultyStore, Store as _};
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_node::Node;
use clientmcp_proto::v1::{Draining, router_frame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::scene::{connect, link, resume};
use crate::world::{SOON, World, eventually, ms};

#[tokio::test]
async fn a_node_that_stops_asks_its_apps_to_move() {
    let world = World::with(|timings| timings.drain = ms(5_000));
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    eventually("they know each other", || async {
        world.store.members().await.unwrap().len() == 2
    })
    .await;
    sleep(world.timings.heartbeat * 2).await;
    let mut old = connect(&world, &one, "node-1").await;
    resume(&mut old, "i1", 1).await;
    let stopping = tokio::spawn(one.stop());
    let moving = old.expect("move").await;
    assert_eq!(moving["reason"], "drain");
    let mut new = connect(&world, &two, "node-2").await;
    resume(&mut new, "i1", 2).await;
    assert_eq!(old.expect_close().await.0, 1000);
    timeout(SOON, stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_router_that_stops_has_the_apps_of_its_tunnels_moved() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let link = link(&world, &node, "node-1").await;
    // Of the run that the tunnel's request named.
    let draining = router_frame::Frame::Draining(Draining { within_ms: 100 });
    link.outbox.send(draining).unwrap();
    assert_eq!(app.expect("move").await["reason"], "drain");
}

#[tokio::test]
async fn the_ring_takes_back_what_is_held_elsewhere_and_is_patient() {
    let world = World::with(|timings| timings.settle_ring = ms(200));
    let one = world.node("node-1").await;
    let owner_is_two = |n: usize| {
        let members = ["node-1", "node-2"].map(|id| MemberId::parse(id).unwrap());
        let ring = clientmcp_cluster::ring::Ring::new(&members);
        let id = ClientId::parse(&format!("app-{n}")).unwrap();
        ring.owner(&id) == Some(&members[1])
    };
    let theirs = (0..).find(|n| owner_is_two(*n)).unwrap();
    let ours = (0..).find(|n| !owner_is_two(*n)).unwrap();
    let mut apps = Vec::new();
    for n in [theirs, ours] {
        let token = world.token(&format!("app-{n}"));
        let mut app = App::connect(&one, "node-1", &world.secrets, &token).await;
        resume(&mut app, "i1", 1).await;
        apps.push(app);
    }
    let _two = world.node("node-2").await;
    assert_eq!(apps[0].expect("move").await["reason"], "rebalance");
    assert_eq!(
        apps[1].hear_within(ms(500)).await,
        None,
        "only the moved share moves"
    );
    // It comes back all the same, and is left alone.
    let token = world.token(&format!("app-{theirs}"));
    let mut back = App::connect(&one, "node-1", &world.secrets, &token).await;
    resume(&mut back, "i1", 2).await;
    let _three = world.node("node-3").await;
    assert_eq!(back.hear_within(ms(1_000)).await, None);
}

/// A node with a store of its own that can be cut, beside one whose store is whole.
#[tokio::test]
async fn a_node_that_alone_has_lost_the_store_hands_its_apps_over() {
    let world = World::new();
    let cut = Arc::new(FaultyStore::new(world.memory.clone()));
    let one = Node::start(world.config("node-1"), cut.clone())
        .await
        .unwrap();
    let _two = world.node("node-2").await;
    sleep(world.timings.heartbeat * 2).await;
    let mut app = connect(&world, &one, "node-1").await;
    resume(&mut app, "i1", 1).await;
    cut.break_down(Fault::Unreachable);
    assert_eq!(app.expect("move").await["reason"], "rebalance");
    cut.heal();
}

#[tokio::test]
async fn bytes_are_passed_on_to_a_node_that_a_router_cannot_reach() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    sleep(world.timings.heartbeat * 3).await;
    let ask = |incarnation: Incarnation, key: String| {
        let addr = one.addr();
        async move {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            let request = format!(
                "GET /v1/relay HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n\
                 upgrade: clientmcp-relay\r\nclientmcp-cluster-key: {key}\r\n\
                 clientmcp-node: node-2\r\nclientmcp-incarnation: {incarnation}\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let head = read_head(&mut stream).await;
            (head[..12].to_owned(), stream)
        }
    };
    let key = world.secrets.cluster_key();
    let (status, mut relayed) = ask(two.incarnation(), key.clone()).await;
    assert_eq!(status, "HTTP/1.1 101");
    // What answers from here on is the other node, which wants the key for itself.
    relayed
        .write_all(b"GET /v1/connect HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert!(read_head(&mut relayed).await.starts_with("HTTP/1.1 403"));
    assert_eq!(ask(Incarnation(1), key.clone()).await.0, "HTTP/1.1 404");
    assert_eq!(ask(two.incarnation(), "no".into()).await.0, "HTTP/1.1 403");
    // One that is still in the view, and where nobody listens any more.
    let gone = two.incarnation();
    drop(two);
    assert_eq!(ask(gone, key).await.0, "HTTP/1.1 502");
}

/// A response up to its empty line.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(SOON, stream.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8(head).unwrap()
}
