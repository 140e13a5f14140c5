//! An app that reads nothing costs a bounded amount, and nobody else anything (B05).

use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::refused::Why;
use serde_json::json;

use crate::app::App;
use crate::router::{Router, call};
use crate::world::{CLIENT, World, eventually, ms};

const OTHER: &str = "desk-2";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_calls_and_harms_nobody_else() {
    let world = World::with(|timings| timings.write_stall = ms(4_000));
    let node = world.node("node-1").await;
    let token = world.token(CLIENT);
    let mut stuck = App::connect_narrow(&node, "node-1", &world.secrets, &token).await;
    stuck.register("i1", 1).await;
    let mut other = App::connect(&node, "node-1", &world.secrets, &world.token(OTHER)).await;
    other.register("i1", 1).await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let mut stuck_link = router.link().await;

    // More than the queue, the kernel's buffers and a message that is being written hold.
    let params = json!({"name": "echo", "text": "x".repeat(1024 * 1024)}).to_string();
    let calls: Vec<_> = (0..40)
        .map(|_| stuck_link.send(call(CLIENT), params.clone()))
        .collect();
    let full = async {
        let mut refused = 0;
        for sent in &calls[30..] {
            match stuck_link.outcome(*sent).await {
                Word::Refused(why) if why.why() == Why::QueueFull => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        refused
    };
    let unharmed = async {
        for _ in 0..50 {
            let before = tokio::time::Instant::now();
            let sent = link.call(OTHER);
            other.echo().await;
            link.result(sent).await;
            assert!(before.elapsed() < ms(1000), "{:?}", before.elapsed());
        }
    };
    let (refused, ()) = tokio::join!(full, unharmed);
    assert_eq!(refused, 10);

    // Calls that are given up leave the queue: there is room again.
    for sent in &calls[..30] {
        stuck_link.cancel(*sent);
    }
    let mut given_up = 0;
    for sent in &calls[..30] {
        match stuck_link.outcome(*sent).await {
            Word::Cancelled(_) => given_up += 1,
            Word::Refused(why) if why.why() == Why::QueueFull => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(given_up > 3, "{given_up}");

    // And in the end the app is let go.
    eventually("the app is gone", || async {
        world.record(CLIENT).await.unwrap().holder.is_none()
    })
    .await;
    drop(stuck);
}
