//! Watching a client ID.

use clientmcp_cluster::store::faulty::Operation;
use clientmcp_proto::v1::watch_event::Event;
use clientmcp_proto::v1::{EndSessionRequest, State, WatchEvent, WatchRequest};
use tokio::time::{sleep, timeout};
use tonic::Streaming;

use crate::app::{App, register, tool};
use crate::router::Router;
use crate::world::{CLIENT, SOON, World, ms};

struct Watch(Streaming<WatchEvent>);

impl Watch {
    async fn begin(router: &Router, session: &str) -> Self {
        let request = router.signed(WatchRequest {
            target: router.target(),
            client_id: CLIENT.into(),
            session_id: session.into(),
            ..WatchRequest::default()
        });
        let stream = router.client.clone().watch(request).await;
        Self(stream.unwrap().into_inner())
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Event> {
        let event = timeout(SOON, self.0.message());
        event.await.expect("nothing was heard").unwrap()?.event
    }

    async fn state(&mut self) -> State {
        match self.next().await {
            Some(Event::State(state)) => state,
            other => panic!("expected a state, heard {other:?}"),
        }
    }

    async fn is_silent(&mut self) -> bool {
        timeout(ms(150), self.0.message()).await.is_err()
    }
}

#[tokio::test]
async fn the_present_state_comes_first_and_then_each_change() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut watch = Watch::begin(&router, "").await;
    let absent = watch.state().await;
    assert!(!absent.connected && absent.hashes.is_none());

    let mut app = App::connect(&node, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let first = watch.state().await;
    assert!(first.connected);

    app.send(register("i1", 1, &[tool("other")])).await;
    app.expect("registered").await;
    let second = watch.state().await;
    assert_ne!(first.hashes, second.hashes);

    // The same again is no change.
    app.send(register("i1", 1, &[tool("other")])).await;
    app.expect("registered").await;
    assert!(watch.is_silent().await);

    // Lists stay when the app goes, and the stream does too.
    drop(app);
    let away = watch.state().await;
    assert!(!away.connected);
    assert_eq!(away.hashes, second.hashes);
    assert!(watch.is_silent().await);
}

#[tokio::test]
async fn a_watch_ends_where_the_client_id_has_moved() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let mut app = App::connect(&one, "node-1", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    let router = Router::connect(&one, "node-1", &world.secrets).await;
    let mut watch = Watch::begin(&router, "").await;
    assert!(watch.state().await.connected);
    let mut next = App::connect(&two, "node-2", &world.secrets, &world.token(CLIENT)).await;
    next.register("i1", 2).await;
    assert!(matches!(watch.next().await, Some(Event::Elsewhere(e)) if e.node_id == "node-2"));
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn a_watch_of_an_absent_client_id_finds_it_elsewhere() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let router = Router::connect(&one, "node-1", &world.secrets).await;
    let mut watch = Watch::begin(&router, "").await;
    assert!(!watch.state().await.connected);
    let mut app = App::connect(&two, "node-2", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    assert!(matches!(watch.next().await, Some(Event::Elsewhere(e)) if e.node_id == "node-2"));
}

#[tokio::test]
async fn a_session_has_one_stream_and_its_end_ends_it() {
    let world = World::new();
    let node = world.node("node-1").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut first = Watch::begin(&router, "s1").await;
    first.state().await;
    let mut other = Watch::begin(&router, "s2").await;
    other.state().await;
    let mut second = Watch::begin(&router, "s1").await;
    second.state().await;
    assert!(matches!(first.next().await, Some(Event::Replaced(_))));
    assert_eq!(first.next().await, None);

    let request = router.signed(EndSessionRequest {
        target: router.target(),
        client_id: CLIENT.into(),
        session_id: "s1".into(),
        ttl_s: 60,
    });
    router.client.clone().end_session(request).await.unwrap();
    assert!(matches!(second.next().await, Some(Event::SessionEnded(_))));
    assert_eq!(second.next().await, None);
    assert!(other.is_silent().await);

    let mut late = Watch::begin(&router, "s1").await;
    assert!(matches!(late.next().await, Some(Event::SessionEnded(_))));
}

#[tokio::test]
async fn a_request_for_another_run_is_told_so() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut router = Router::connect(&node, "node-1", &world.secrets).await;
    router.target.incarnation += 1;
    let mut watch = Watch::begin(&router, "").await;
    assert!(matches!(watch.next().await, Some(Event::NotHere(_))));
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn watches_of_an_absent_client_id_share_what_is_read() {
    let world = World::new();
    let one = world.node("node-1").await;
    let two = world.node("node-2").await;
    let router = Router::connect(&one, "node-1", &world.secrets).await;
    let mut watches = Vec::new();
    for n in 0..20 {
        let mut watch = Watch::begin(&router, &format!("s{n}")).await;
        assert!(!watch.state().await.connected);
        watches.push(watch);
    }
    // They are polled, as routers do.
    let watching = watches.into_iter().map(|mut watch| {
        tokio::spawn(async move { matches!(watch.next().await, Some(Event::Elsewhere(_))) })
    });
    let watching: Vec<_> = watching.collect();
    let reads = || {
        let (records, sessions) = (Operation::Record, Operation::Sessions);
        (world.store.calls(records), world.store.calls(sessions))
    };
    let before = reads();
    sleep(ms(3_200)).await;
    let after = reads();
    let (records, sessions) = (after.0 - before.0, after.1 - before.1);
    assert!((1..=6).contains(&records), "{records} records");
    assert!((1..=6).contains(&sessions), "{sessions} lists of sessions");
    let mut app = App::connect(&two, "node-2", &world.secrets, &world.token(CLIENT)).await;
    app.register("i1", 1).await;
    for watch in watching {
        assert!(timeout(SOON, watch).await.unwrap().unwrap());
    }
}
