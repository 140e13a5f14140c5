//! Losing and moving: apps that are away, calls that come again, nodes that stop (SPEC.md §4.10,
//! §7.4, §7.5).

use clientmcp_cluster::store::Store as _;
use clientmcp_cluster::store::faulty::{Fault, FaultyStore};
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_core::limits;
use clientmcp_node::Node;
use clientmcp_proto::link::CallKey;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{Call, Draining, Target, absent, refused, router_frame};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::app::{App, register, tool};
use crate::router::{Heard, Link, Router, call};
use crate::world::{CLIENT, SOON, World, eventually, ms};

const PARAMS: &str = r#"{"name":"echo"}"#;

async fn connect(world: &World, node: &Node, id: &str) -> App {
    App::connect(node, id, &world.secrets, &world.token(CLIENT)).await
}

/// `register` of an app that remembers calls.
fn resuming(instance: &str, connection: u64) -> Value {
    let mut register = register(instance, connection, &[tool("echo")]);
    register["features"] = json!(["resume"]);
    register
}

async fn resume(app: &mut App, instance: &str, connection: u64) {
    app.send(resuming(instance, connection)).await;
    app.expect("registered").await;
}

fn for_instance(instance: &str) -> Call {
    Call {
        instance: instance.into(),
        ..call(CLIENT)
    }
}

/// The same call, delivered again.
fn again(first: &Call) -> Call {
    Call {
        attempt: first.attempt + 1,
        ..first.clone()
    }
}

async fn link(world: &World, node: &Node, id: &str) -> Link {
    Router::connect(node, id, &world.secrets).await.link().await
}

/// The node has taken in that the app is away, and the call waits.
async fn waits(link: &mut Link, key: CallKey) {
    let heard = timeout(ms(300), link.hear(key)).await;
    assert!(heard.is_err(), "{heard:?}");
}

#[tokio::test]
async fn a_call_waits_for_an_app_that_comes_back_here() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    drop(app);
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(for_instance("i1"), PARAMS);
    waits(&mut link, sent).await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 2).await;
    app.echo().await;
    link.result(sent).await;
}

#[tokio::test]
async fn a_call_that_waits_learns_that_its_app_came_back_elsewhere() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut app = connect(&world, &one, "node-1").await;
    resume(&mut app, "i1", 1).await;
    drop(app);
    let mut link = link(&world, &one, "node-1").await;
    let sent = link.send(for_instance("i1"), PARAMS);
    waits(&mut link, sent).await;
    let mut app = connect(&world, &two, "node-2").await;
    resume(&mut app, "i1", 2).await;
    match link.outcome(sent).await {
        Word::Elsewhere(to) => {
            assert_eq!(to.node_id, "node-2");
            assert_eq!(to.address, two.addr().to_string());
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn after_a_clean_close_nobody_waits() {
    let world = World::with(|timings| timings.grace = ms(60_000));
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    app.close(1000).await;
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(for_instance("i1"), PARAMS);
    match link.outcome(sent).await {
        Word::Absent(absent) => assert_eq!(absent.why(), absent::Why::Gone),
        other => panic!("{other:?}"),
    }
}

/// The grace counts from the loss, and not from the call.
#[tokio::test]
async fn a_call_that_comes_late_in_the_grace_waits_for_what_is_left_of_it() {
    let world = World::with(|timings| timings.grace = ms(2_000));
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    drop(app);
    let lost = Instant::now();
    eventually("the loss is noted", || async {
        world.record(CLIENT).await.unwrap().departed.is_some()
    })
    .await;
    sleep(ms(1_200)).await;
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(for_instance("i1"), PARAMS);
    let Word::Absent(absent) = link.outcome(sent).await else {
        panic!("the app is gone");
    };
    assert_eq!(absent.why(), absent::Why::Gone);
    assert!(lost.elapsed() < ms(3_100), "{:?}", lost.elapsed());
}

#[tokio::test]
async fn so_many_calls_wait_and_no_more() {
    let world = World::with(|timings| timings.grace = ms(60_000));
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    drop(app);
    eventually("the loss is noted", || async {
        world.record(CLIENT).await.unwrap().departed.is_some()
    })
    .await;
    let mut link = link(&world, &node, "node-1").await;
    let send = |link: &Link| link.send(for_instance("i1"), PARAMS);
    let waiting: Vec<_> = (0..limits::CALLS_WAITING_PER_CLIENT_ID)
        .map(|_| send(&link))
        .collect();
    sleep(ms(300)).await;
    let one_more = send(&link);
    match link.outcome(one_more).await {
        Word::Refused(refused) => assert_eq!(refused.why(), refused::Why::TooManyWait),
        other => panic!("{other:?}"),
    }
    // A cancel makes room, and all others get their answers.
    link.cancel(waiting[0]);
    assert!(matches!(link.outcome(waiting[0]).await, Word::Cancelled(_)));
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 2).await;
    for _ in &waiting[1..] {
        app.echo().await;
    }
    for call in &waiting[1..] {
        link.result(*call).await;
    }
}

#[tokio::test]
async fn calls_move_with_their_app_to_another_node() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut old = connect(&world, &one, "node-1").await;
    resume(&mut old, "i1", 1).await;
    let mut link_one = link(&world, &one, "node-1").await;
    let first = for_instance("i1");
    let sent = link_one.send(first.clone(), PARAMS);
    let delivered = old.expect("call").await;
    let mut new = connect(&world, &two, "node-2").await;
    resume(&mut new, "i1", 2).await;
    assert_eq!(old.expect_close().await.0, 1000);
    let to = loop {
        match link_one.hear(sent).await {
            Heard::Moved(to) => break to,
            Heard::Dispatched { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        (to.node_id.as_str(), to.address),
        ("node-2", two.addr().to_string())
    );
    // The router follows, and the app is asked again under the same ID.
    let mut link_two = link(&world, &two, "node-2").await;
    let sent = link_two.send(again(&first), PARAMS);
    let redelivered = new.echo().await;
    assert_eq!(redelivered["id"], delivered["id"]);
    assert_eq!(
        (&delivered["attempt"], &redelivered["attempt"]),
        (&json!(0), &json!(1))
    );
    link_two.result(sent).await;
}

#[tokio::test]
async fn a_call_of_a_lost_link_is_attached_to_and_runs_once() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let lost = link(&world, &node, "node-1").await;
    let first = for_instance("i1");
    lost.send(first.clone(), PARAMS);
    let call = app.expect("call").await;
    drop(lost);
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(again(&first), PARAMS);
    waits_dispatched(&mut link, sent).await;
    app.send(json!({"type": "result", "id": call["id"], "result": {"n": 1}}))
        .await;
    assert_eq!(link.result(sent).await, json!({"n": 1}));
}

async fn waits_dispatched(link: &mut Link, key: CallKey) {
    let heard = link.hear(key).await;
    assert!(matches!(heard, Heard::Dispatched { .. }), "{heard:?}");
}

#[tokio::test]
async fn another_instance_is_told_apart() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i2", 1).await;
    let mut link = link(&world, &node, "node-1").await;
    let first = for_instance("i1");
    let sent = link.send(first.clone(), PARAMS);
    match link.outcome(sent).await {
        Word::Refused(refused) => assert_eq!(refused.why(), refused::Why::OtherInstance),
        other => panic!("{other:?}"),
    }
    let sent = link.send(again(&first), PARAMS);
    match link.outcome(sent).await {
        Word::Lost(lost) => assert!(lost.r#final && !lost.not_delivered),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_app_that_remembers_nothing_gets_no_call_twice() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    app.register("i1", 1).await;
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(again(&for_instance("i1")), PARAMS);
    match link.outcome(sent).await {
        Word::Lost(lost) => assert!(lost.r#final),
        other => panic!("{other:?}"),
    }
}

fn run_of(node: &Node, id: &str) -> Target {
    Target {
        node_id: id.into(),
        incarnation: node.incarnation().0,
    }
}

/// A holder that was killed a moment ago is still among the members.
#[tokio::test]
async fn a_holder_that_neither_router_nor_node_can_reach_holds_nothing() {
    let world = World::with(|timings| timings.lease = ms(30_000));
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut app = connect(&world, &one, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let mut link = link(&world, &two, "node-2").await;
    let unreachable = vec![run_of(&one, "node-1")];
    // It answers this node: the router has to find a way to it.
    let reached = Call {
        unreachable: unreachable.clone(),
        ..for_instance("i1")
    };
    let sent = link.send(reached.clone(), PARAMS);
    assert!(matches!(link.outcome(sent).await, Word::Elsewhere(_)));
    drop(one);
    drop(app);
    // What it answered a moment ago does not hold any more.
    sleep(world.timings.heartbeat * 2).await;
    let sent = link.send(again(&reached), PARAMS);
    waits(&mut link, sent).await;
    let mut app = connect(&world, &two, "node-2").await;
    resume(&mut app, "i1", 2).await;
    app.echo().await;
    link.result(sent).await;
}

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

#[tokio::test]
async fn an_app_registers_without_the_store_and_is_written_when_it_is_back() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut link = link(&world, &node, "node-1").await;
    // The node knows the store's clock from its first heartbeat on.
    sleep(world.timings.heartbeat * 2).await;
    world.store.break_down(Fault::Unreachable);
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let sent = link.send(for_instance("i1"), PARAMS);
    app.echo().await;
    link.result(sent).await;
    world.store.heal();
    eventually("it is written", || async {
        let record = world.record(CLIENT).await;
        record.and_then(|record| record.holder).is_some()
    })
    .await;
}

#[tokio::test]
async fn without_the_store_the_younger_register_wins() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    sleep(world.timings.heartbeat * 2).await;
    world.store.break_down(Fault::Unreachable);
    let mut old = connect(&world, &one, "node-1").await;
    resume(&mut old, "i1", 1).await;
    let mut new = connect(&world, &two, "node-2").await;
    resume(&mut new, "i2", 1).await;
    assert_eq!(old.expect_close().await.0, 4409);
    world.store.heal();
    eventually("the younger is written", || async {
        let holder = world.record(CLIENT).await.and_then(|record| record.holder);
        holder.is_some_and(|holder| holder.node.as_str() == "node-2")
    })
    .await;
}

#[tokio::test]
async fn a_store_that_lost_everything_is_filled_again_at_once() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let before = world.record(CLIENT).await.unwrap();
    world.memory.forget();
    eventually("claims are written again", || async {
        world.record(CLIENT).await == Some(before.clone())
    })
    .await;
    // What it offers as well.
    let hash = before.hashes.tools;
    assert!(world.store.content(&hash).await.unwrap().is_some());
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
            let mut head = vec![0; 12];
            stream.read_exact(&mut head).await.unwrap();
            String::from_utf8(head).unwrap()
        }
    };
    let key = world.secrets.cluster_key();
    assert_eq!(ask(two.incarnation(), key.clone()).await, "HTTP/1.1 101");
    assert_eq!(ask(Incarnation(1), key).await, "HTTP/1.1 404");
    assert_eq!(ask(two.incarnation(), "no".into()).await, "HTTP/1.1 403");
}
