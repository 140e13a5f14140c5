//! Calls that wait for an app to come back (SPEC.md §7.5).

use clientmcp_cluster::store::faulty::{Fault, Operation};
use clientmcp_core::limits;
use clientmcp_proto::v1::describe_response::At;
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{Call, CancelRequestRequest, DescribeRequest, Era, absent, refused};
use tokio::time::{Instant, sleep};

use crate::router::{Link, Router};
use crate::scene::{PARAMS, connect, for_instance, link, resume, run_of, waits};
use crate::world::{CLIENT, World, eventually, ms};

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

/// The new run knows of the old one by the record alone.
#[tokio::test]
async fn a_call_waits_at_a_node_that_was_killed_and_started_again() {
    let world = World::new();
    let killed = world.node("node-1").await;
    let mut app = connect(&world, &killed, "node-1").await;
    resume(&mut app, "i1", 1).await;
    drop(killed);
    let node = world.node("node-1").await;
    let mut link = link(&world, &node, "node-1").await;
    let sent = link.send(for_instance("i1"), PARAMS);
    waits(&mut link, sent).await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 2).await;
    app.echo().await;
    link.result(sent).await;
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

/// Whatever is waited for elsewhere: an app that comes here gets its calls.
#[tokio::test]
async fn a_lookup_that_hangs_does_not_hold_up_a_register_here() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut link = link(&world, &node, "node-1").await;
    world.store.inject(Operation::Record, Fault::Hang);
    let sent = link.send(for_instance("i1"), PARAMS);
    eventually("it is looked for", || async {
        world.store.calls(Operation::Record) == 1
    })
    .await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    app.echo().await;
    link.result(sent).await;
}

#[tokio::test]
async fn calls_that_wait_for_one_app_share_one_look() {
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
    // That some router cannot reach some node changes nothing.
    let call = || Call {
        unreachable: vec![run_of(&node, "node-9")],
        ..for_instance("i1")
    };
    let waiting: Vec<_> = (0..20).map(|_| link.send(call(), PARAMS)).collect();
    waits(&mut link, waiting[0]).await;
    let before = world.store.calls(Operation::Record);
    sleep(ms(1_000)).await;
    let looks = world.store.calls(Operation::Record) - before;
    assert!((1..=5).contains(&looks), "{looks}");
}

/// Until its node has written it again.
#[tokio::test]
async fn what_the_store_has_lost_is_not_taken_for_gone() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    sleep(world.timings.heartbeat * 2).await;
    let mut app = connect(&world, &one, "node-1").await;
    resume(&mut app, "i1", 1).await;
    let router = Router::connect(&two, "node-2", &world.secrets).await;
    let mut link = router.link().await;
    world.memory.forget();
    // A router that has seen the app, one that has not, and one that asks first.
    let known = link.send(for_instance("i1"), PARAMS);
    let unknown = link.call(CLIENT);
    let request = router.signed(DescribeRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        ..DescribeRequest::default()
    });
    let described = router.client.clone().describe(request).await.unwrap();
    let at = described.into_inner().at.unwrap();
    assert!(matches!(at, At::Elsewhere(_)), "{at:?}");
    for sent in [known, unknown] {
        let word = link.outcome(sent).await;
        assert!(matches!(word, Word::Elsewhere(_)), "{word:?}");
    }
}

#[tokio::test]
async fn a_legacy_cancel_finds_the_call_that_waits_and_the_one_that_comes() {
    let world = World::with(|timings| timings.grace = ms(60_000));
    let node = world.node("node-1").await;
    let mut app = connect(&world, &node, "node-1").await;
    resume(&mut app, "i1", 1).await;
    drop(app);
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let legacy = |id: &'static str| Call {
        era: Era::Legacy.into(),
        session_id: "s1".into(),
        request_id: id.into(),
        ..for_instance("i1")
    };
    let cancel = async |id: &'static str| {
        let request = router.signed(CancelRequestRequest {
            target: router.target(),
            client_id: CLIENT.into(),
            session_id: "s1".into(),
            request_id: id.into(),
            reason: String::new(),
        });
        router.client.clone().cancel_request(request).await.unwrap();
    };
    let sent = link.send(legacy("1"), PARAMS);
    waits(&mut link, sent).await;
    cancel("1").await;
    assert!(matches!(link.outcome(sent).await, Word::Cancelled(_)));
    cancel("2").await;
    let sent = link.send(legacy("2"), PARAMS);
    assert!(matches!(link.outcome(sent).await, Word::Cancelled(_)));
}
