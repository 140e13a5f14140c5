//! How a node stops (B04).

use clientmcp_proto::v1::node_frame;
use clientmcp_proto::v1::watch_event::Event;
use clientmcp_proto::v1::{WatchRequest, not_here};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::app::{App, protocols};
use crate::entrance::{Entrance, NoTunnel};
use crate::router::Router;
use crate::world::{CLIENT, SOON, World, eventually, ms};

#[tokio::test]
async fn everything_ends_in_order_and_in_time() {
    let world = World::new();
    let node = world.node("node-1").await;
    let addr = node.addr();
    // What holds others up: a socket that says nothing, one with half a head, a watch, a link,
    // apps, one of which never registered.
    let _silent = TcpStream::connect(addr).await.unwrap();
    let token = world.token(CLIENT);
    let mut app = App::connect(&node, "node-1", &world.secrets, &token).await;
    app.register("i1", 1).await;
    let other = world.token("desk-2");
    let mut unregistered = App::connect(&node, "node-1", &world.secrets, &other).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let request = router.signed(WatchRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        ..WatchRequest::default()
    });
    let watch = router.client.clone().watch(request).await;
    let mut watch = watch.unwrap().into_inner();
    assert!(watch.message().await.unwrap().is_some());

    let before = Instant::now();
    let stopping = tokio::spawn(node.stop());
    assert_eq!(app.expect_close().await.0, 1012);
    assert_eq!(unregistered.expect_close().await.0, 1012);
    let mut last = None;
    while let Some(event) = watch.message().await.unwrap() {
        last = event.event;
    }
    assert!(matches!(last, Some(Event::NotHere(n)) if n.why() == not_here::Why::Draining));
    assert!(link.frame().await.is_none(), "the link ends");
    timeout(SOON, stopping).await.unwrap().unwrap();
    assert!(before.elapsed() < ms(4000), "{:?}", before.elapsed());

    // The store knows that the app is away, not gone.
    let record = world.record(CLIENT).await.unwrap();
    assert!(record.holder.is_none());
    assert!(TcpStream::connect(addr).await.is_err(), "nobody listens");
}

#[tokio::test]
async fn calls_in_flight_get_their_answer_before_the_socket_ends() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    let heard = app.expect("call").await;
    let stopping = tokio::spawn(node.stop());
    assert_eq!(app.hear_within(ms(150)).await, None);
    let result = serde_json::json!({"type": "result", "id": heard["id"], "result": {}});
    app.send(result).await;
    link.result(sent).await;
    assert_eq!(app.expect_close().await.0, 1012);
    timeout(SOON, stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_node_that_stops_takes_no_new_sockets() {
    let world = World::with(|timings| timings.drain = ms(2000));
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let link = router.link().await;
    link.call(CLIENT);
    app.expect("call").await;
    let entrance = Entrance::of(&node, "node-1", &world.secrets);
    let stopping = tokio::spawn(node.stop());
    eventually("new sockets are refused", || async {
        match App::enter(&entrance, &protocols("x")).await {
            Err(NoTunnel::Refused(status, headers)) => {
                assert!(headers.contains_key("retry-after"));
                status == 503
            }
            _ => false,
        }
    })
    .await;
    drop(app);
    timeout(SOON, stopping).await.unwrap().unwrap();
    drop(link);
}

#[tokio::test]
async fn a_node_that_is_dropped_ends_at_once() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let addr = node.addr();
    drop(node);
    assert_eq!(app.expect_close().await.0, 1006);
    let end = link.frame().await;
    assert!(
        !matches!(end, Some(node_frame::Frame::Outcome(_))),
        "{end:?}"
    );
    eventually("nobody listens", || async {
        TcpStream::connect(addr).await.is_err()
    })
    .await;
}
