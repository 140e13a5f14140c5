//! Losses that processes of their own alone can show: one that stands still, one that is killed
//! again as soon as it is back, one that is told twice to stop.

use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::processes::{CLIENT, Deployment};
use clientmcp_e2e::waiting::until;
use tokio::task::JoinHandle;

use crate::FIXTURE;
use crate::failures::stats;

/// A call that runs for a while, and does when this returns.
async fn running(deployment: &Deployment, ms: u32) -> JoinHandle<Answer> {
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    let router = deployment.routers[1].addr;
    let slow = modern.call("1", "test_slow", &format!(r#"{{"ms":{ms}}}"#));
    let asked = tokio::spawn(async move { Answer::read(slow.send(router).await).await });
    until("the slow call runs", async || {
        stats(deployment, "started").await == 1
    })
    .await;
    asked
}

/// Against routers that go on asking a peer whose packets lead nowhere: a node that stands still
/// refuses no connection and answers nothing. Its call goes on elsewhere, and runs once; and when
/// the node wakes it has nothing to say.
#[tokio::test]
async fn a_node_that_stands_still_costs_no_call() {
    let deployment = Deployment::start("info").await;
    let mut app = deployment.fixture(FIXTURE, 0).await;
    let asked = running(&deployment, 3_000).await;
    let holder = deployment.holder().await;
    deployment.nodes[holder].process.signal("STOP").await;
    app.wait_for_lines("online", 2).await;
    assert_eq!(asked.await.unwrap().text(), "slept 3000 ms");
    deployment.nodes[holder].process.signal("CONT").await;
    let modern = Modern::new(deployment.tokens.agent(CLIENT));
    for router in &deployment.routers {
        for _ in 0..20 {
            let answer = modern.use_tool(router.addr, "test_simple_text", "{}").await;
            assert_eq!(answer.result().get("isError"), None, "{}", answer.message);
        }
    }
    assert_eq!(stats(&deployment, "started").await, 1);
}

/// Against a node that is taken for its former run: killed, started again at once at the same
/// address, and killed again before it has settled.
#[tokio::test]
async fn a_node_that_is_killed_twice_in_a_moment_costs_no_call() {
    let mut deployment = Deployment::start("info").await;
    let _app = deployment.fixture(FIXTURE, 0).await;
    let asked = running(&deployment, 4_000).await;
    let holder = deployment.holder().await;
    for _ in 0..2 {
        deployment.nodes[holder].process.kill().await;
        deployment.start_again(holder);
        deployment.nodes[holder]
            .process
            .wait_for_lines("node started", 1)
            .await;
    }
    assert_eq!(asked.await.unwrap().text(), "slept 4000 ms");
    assert_eq!(stats(&deployment, "started").await, 1);
}

/// Against a process that nobody can stop while a call runs.
#[tokio::test]
async fn a_second_signal_ends_the_wait_for_what_runs() {
    let mut deployment = Deployment::start("info").await;
    let _app = deployment.fixture(FIXTURE, 0).await;
    let asked = running(&deployment, 60_000).await;
    let router = &mut deployment.routers[1].process;
    router.terminate().await;
    router.wait_for_lines("a second signal", 1).await;
    router.terminate().await;
    assert!(!router.ended().await.success(), "it did not wait");
    asked.abort();
}
