//! One connection per client ID: the newest wins, in the whole cluster (B01).

use clientmcp_cluster::store::faulty::{Fault, Operation};
use clientmcp_node::Node;
use clientmcp_proto::v1::displace_response::Outcome;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{DisplaceRequest, Target};
use rand::RngExt as _;
use serde_json::json;
use tokio::time::sleep;

use crate::app::{App, Heard, register, tool};
use crate::router::Router;
use crate::world::{CLIENT, World, eventually, ms};

async fn connect(world: &World, node: &Node, id: &str) -> App {
    App::connect(node, id, &world.secrets, &world.token(CLIENT)).await
}

#[tokio::test]
async fn another_instance_takes_over_on_the_same_node() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut first = connect(&world, &node, "node-1").await;
    first.register("i1", 1).await;
    let mut second = connect(&world, &node, "node-1").await;
    second.register("i2", 1).await;
    assert_eq!(first.expect_close().await.0, 4409);

    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    second.echo().await;
    link.result(sent).await;
}

#[tokio::test]
async fn within_an_instance_the_higher_connection_wins_whatever_the_order() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut first = connect(&world, &one, "node-1").await;
    first.register("i1", 1).await;
    let mut third = connect(&world, &two, "node-2").await;
    third.register("i1", 3).await;
    assert_eq!(first.expect_close().await.0, 1000);

    // The second comes late.
    let mut second = connect(&world, &one, "node-1").await;
    second.send(register("i1", 2, &[tool("echo")])).await;
    assert_eq!(second.expect_close().await.0, 1000);
    let holder = world.record(CLIENT).await.unwrap().holder.unwrap();
    assert_eq!(holder.node.as_str(), "node-2");
    assert_eq!(holder.connection, 3);
}

#[tokio::test]
async fn a_takeover_across_nodes_is_told_to_the_old_node_before_it_is_answered() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut first = connect(&world, &one, "node-1").await;
    first.register("i1", 1).await;
    let router = Router::connect(&one, "node-1", &world.secrets).await;
    let mut link = router.link().await;

    let mut second = connect(&world, &two, "node-2").await;
    second.register("i2", 1).await;
    // The old node knows: it dispatches nothing more, whether or not the old app has noticed.
    let sent = link.call(CLIENT);
    match link.outcome(sent).await {
        Word::Elsewhere(elsewhere) => assert_eq!(elsewhere.node_id, "node-2"),
        other => panic!("{other:?}"),
    }
    assert_eq!(first.expect_close().await.0, 4409);
}

#[tokio::test]
async fn a_dead_former_holder_is_not_waited_for() {
    let world = World::with(|timings| timings.displace_wait = ms(5000));
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut first = connect(&world, &one, "node-1").await;
    first.register("i1", 1).await;
    // As a kill: nothing is told to anybody, and nobody listens there any more.
    drop(one);
    let mut second = connect(&world, &two, "node-2").await;
    let before = tokio::time::Instant::now();
    second.register("i1", 2).await;
    assert!(before.elapsed() < ms(2000), "{:?}", before.elapsed());
}

#[tokio::test]
async fn a_displace_for_another_run_or_an_older_claim_changes_nothing() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    app.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let epoch = world.record(CLIENT).await.unwrap().epoch.0;
    let displace = async |target: Target, epoch: u64| {
        let request = router.signed(DisplaceRequest {
            address: String::new(),
            target: Some(target),
            client_id: CLIENT.into(),
            node_id: "node-2".into(),
            incarnation: 2,
            epoch,
            instance: "i2".into(),
            connection: 1,
        });
        let answer = router.client.clone().displace(request).await;
        answer.unwrap().into_inner().outcome.unwrap()
    };
    let mut other_run = router.target.clone();
    other_run.incarnation += 1;
    let answer = displace(other_run, epoch + 1).await;
    assert!(matches!(answer, Outcome::NotHere(_)));
    let answer = displace(router.target.clone(), epoch).await;
    assert!(matches!(answer, Outcome::Newer(newer) if newer.epoch == epoch));

    app.send(json!({"type": "ping"})).await;
    app.expect("pong").await;
    let answer = displace(router.target.clone(), epoch + 1).await;
    assert!(matches!(answer, Outcome::Displaced(_)));
    assert_eq!(app.expect_close().await.0, 4409);
}

/// While the store is slow an app is asked to move, and another instance comes: the move is as old
/// as the socket that it was to take over from.
#[tokio::test]
async fn a_move_takes_over_from_no_other_instance() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut moved = connect(&world, &one, "node-1").await;
    moved.register("i1", 1).await;
    let mut newest = connect(&world, &one, "node-1").await;
    newest.register("i2", 1).await;
    assert_eq!(moved.expect_close().await.0, 4409);

    let mut next = connect(&world, &two, "node-2").await;
    let mut register = register("i1", 2, &[tool("echo")]);
    register["moving"] = json!(true);
    next.send(register).await;
    assert_eq!(next.expect_close().await.0, 4409);
    let router = Router::connect(&one, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    newest.echo().await;
    link.result(sent).await;
}

/// A register that the store has kept waiting is as old as when it came, however many have come
/// since.
#[tokio::test]
async fn a_register_that_was_held_up_displaces_nobody_that_came_later() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut early = connect(&world, &one, "node-1").await;
    world.store.inject(Operation::Claim, Fault::Delay(ms(400)));
    early.send(register("i1", 1, &[tool("echo")])).await;
    eventually("it has begun", || async {
        world.store.calls(Operation::Claim) == 1
    })
    .await;
    let mut later = connect(&world, &two, "node-2").await;
    later.register("i2", 1).await;
    let mut latest = connect(&world, &two, "node-2").await;
    latest.register("i3", 1).await;
    assert_eq!(later.expect_close().await.0, 4409);
    assert_eq!(early.expect_close().await.0, 4409);
    let holder = world.record(CLIENT).await.unwrap().holder.unwrap();
    assert_eq!(holder.instance.as_str(), "i3");
    latest.send(json!({"type": "ping"})).await;
    latest.expect("pong").await;
}

/// The clean-up of an old connection never removes the new one: reconnects at random moments,
/// on the same node and on another, while the old socket closes, is cut, or stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_any_takeover_the_newest_serves_and_the_store_names_it() {
    let world = World::new();
    let nodes = [
        ("node-1", world.node("node-1").await),
        ("node-2", world.node("node-2").await),
    ];
    let mut links = Vec::new();
    for (id, node) in &nodes {
        let router = Router::connect(node, id, &world.secrets).await;
        links.push(router.link().await);
    }
    let mut rng = rand::rng();
    let mut old: Option<App> = None;
    for round in 1..=200_u64 {
        let at = rng.random_range(0..2);
        let (id, node) = &nodes[at];
        let mut newest = connect(&world, node, id).await;
        let offset = ms(rng.random_range(0..4));
        let end = rng.random_range(0..3);
        let leaving = old.take().map(|app| {
            tokio::spawn(async move {
                sleep(offset).await;
                match end {
                    0 => app.close(1000).await,
                    1 => drop(app),
                    _ => drop(watch(app).await),
                }
            })
        });
        sleep(ms(rng.random_range(0..4))).await;
        newest.send(register("i1", round, &[tool("echo")])).await;
        newest.expect("registered").await;
        if let Some(leaving) = leaving {
            leaving.await.unwrap();
        }

        let holder = world.record(CLIENT).await.unwrap().holder;
        let holder = holder.unwrap_or_else(|| panic!("round {round}: the record lost its holder"));
        assert_eq!(holder.connection, round);
        assert_eq!(holder.node.as_str(), *id);
        let sent = links[at].call(CLIENT);
        newest.echo().await;
        links[at].result(sent).await;
        old = Some(newest);
    }
}

/// Stays until it is closed.
async fn watch(mut app: App) -> Heard {
    let (code, reason) = app.expect_close().await;
    assert_eq!(code, 1000, "{reason}");
    Heard::Closed(code, reason)
}

/// The release of an old connection that arrives late gives nothing up.
#[tokio::test]
async fn a_late_release_does_not_remove_a_newer_claim() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut first = connect(&world, &one, "node-1").await;
    first.register("i1", 1).await;
    world
        .store
        .inject(Operation::Release, Fault::Delay(ms(200)));
    first.close(1000).await;
    let mut second = connect(&world, &two, "node-2").await;
    second.register("i1", 2).await;
    eventually("the release has run", || async {
        world.store.calls(Operation::Release) > 0
    })
    .await;
    sleep(ms(300)).await;
    let holder = world.record(CLIENT).await.unwrap().holder.unwrap();
    assert_eq!(holder.connection, 2);
}

/// Ten sockets of one instance register at the same time, on two nodes: one is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_the_newest_is_left() {
    let world = World::new();
    let nodes = [
        ("node-1", world.node("node-1").await),
        ("node-2", world.node("node-2").await),
    ];
    for round in 0..10 {
        let instance = format!("round-{round}");
        let mut apps = Vec::new();
        for number in 1..=10_u64 {
            let (id, node) = &nodes[usize::try_from(number % 2).unwrap()];
            let app = connect(&world, node, id).await;
            apps.push((number, app));
        }
        let mut racing = Vec::new();
        for (number, mut app) in apps {
            let instance = instance.clone();
            racing.push(tokio::spawn(async move {
                app.send(register(&instance, number, &[tool("echo")])).await;
                if number == 10 {
                    app.expect("registered").await;
                    assert_eq!(app.hear_within(ms(100)).await, None);
                } else {
                    assert_eq!(app.expect_close().await.0, 1000, "connection {number}");
                }
                app
            }));
        }
        let mut left = Vec::new();
        for app in racing {
            left.push(app.await.unwrap());
        }
        let holder = world.record(CLIENT).await.unwrap().holder.unwrap();
        assert_eq!(holder.connection, 10);
        assert_eq!(holder.instance.as_str(), instance);
    }
}
