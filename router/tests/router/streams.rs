//! Long-lived streams: changes of lists, each once, wherever the client ID is.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Cluster, Request, agent_token, token};
use crate::http_client::Connection;

const LISTEN: &str = r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"]}"#;

async fn listen(cluster: &Cluster, id: &str) -> Connection {
    let mut stream = cluster.connect().await;
    let request = Request::modern(id, "subscriptions/listen", LISTEN);
    stream.write(&request.to_bytes()).await;
    let head = stream.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("cache-control"), Some("no-cache"));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    stream
}

fn tools(name: &str) -> String {
    format!(r#"[{{"name":"{name}","inputSchema":{{"type":"object"}}}}]"#)
}

#[tokio::test]
async fn a_subscription_is_acknowledged_first_and_tagged_always() {
    let cluster = Cluster::start().await;
    for id in ["5", "\"five\""] {
        let tag: serde_json::Value = serde_json::from_str(id).unwrap();
        let mut stream = listen(&cluster, id).await;
        let first = stream.event().await.unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(
            first["params"]["notifications"],
            json!({"toolsListChanged": true})
        );
        let meta = "io.modelcontextprotocol/subscriptionId";
        assert_eq!(first["params"]["_meta"][meta], tag);
        cluster.node().watched_by(1).await;
        cluster
            .node()
            .register(&tools(&format!("a{}", id.len())))
            .await;
        let event = stream.event().await.unwrap();
        assert_eq!(event["method"], "notifications/tools/list_changed");
        assert_eq!(event["params"]["_meta"][meta], tag);
        drop(stream);
    }
}

#[tokio::test]
async fn updates_of_resources_are_told_under_their_subscription() {
    let cluster = Cluster::start().await;
    let resources = r#"{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"t"}]}"#;
    cluster.node().script().resources = resources.to_owned();
    let mut stream = listen(&cluster, "\"s\"").await;
    let first = stream.event().await.unwrap();
    assert_eq!(
        first["params"]["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]})
    );
    cluster.node().watched_by(1).await;
    let asked = cluster.node().script().watches[0].clone();
    assert_eq!((asked.uris, asked.resumed), (vec!["a:b".to_owned()], false));
    cluster.node().update(r#"{"uri":"a:b", "n":1.0}"#).await;
    let update = stream.event().await.unwrap();
    assert_eq!(update["method"], "notifications/resources/updated");
    let meta = json!({"io.modelcontextprotocol/subscriptionId": "s"});
    assert_eq!(
        update["params"],
        json!({"_meta": meta, "uri": "a:b", "n": 1.0})
    );

    // What happens while nobody watches is not known: the node is told so.
    cluster.node().break_watches();
    cluster.node().watched_by(1).await;
    let asked = cluster.node().script().watches[1].clone();
    assert_eq!((asked.uris, asked.resumed), (vec!["a:b".to_owned()], true));
}

#[tokio::test]
async fn each_change_is_told_once_across_losses_and_moves() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    let mut stream = listen(&cluster, "1").await;
    stream.event().await.unwrap();
    owner.watched_by(1).await;
    // The same again is no change, nor is what only the rest says.
    let same = owner.script().tools.clone();
    owner.register(&same).await;
    // The watch is lost and opened again: still no change.
    owner.break_watches();
    owner.watched_by(1).await;
    owner.register(&tools("b")).await;
    assert_eq!(
        stream.event().await.unwrap()["method"],
        "notifications/tools/list_changed"
    );
    // It moves, and changes on the way.
    other.script().tools = tools("c");
    owner.script().elsewhere = Some(other.as_elsewhere(9));
    owner.break_watches();
    assert_eq!(
        stream.event().await.unwrap()["method"],
        "notifications/tools/list_changed"
    );
    other.watched_by(1).await;
    other.register(&tools("d")).await;
    assert_eq!(
        stream.event().await.unwrap()["method"],
        "notifications/tools/list_changed"
    );
    // Nothing else was said.
    for _ in 0..3 {
        assert_eq!(stream.chunk().await.unwrap(), ":\n\n");
    }
}

#[tokio::test]
async fn a_stream_outlives_the_node_that_is_watched() {
    let cluster = Cluster::with(2, |_| {}).await;
    let (owner, other) = cluster.owner_and_other();
    let mut stream = listen(&cluster, "1").await;
    stream.event().await.unwrap();
    owner.watched_by(1).await;
    owner.kill().await;
    other.watched_by(1).await;
    other.register(&tools("b")).await;
    let event = stream.event().await.unwrap();
    assert_eq!(event["method"], "notifications/tools/list_changed");
    // One was told, and nothing of the loss.
    for _ in 0..3 {
        assert_eq!(stream.chunk().await.unwrap(), ":\n\n");
    }
}

#[tokio::test]
async fn lists_say_what_was_announced() {
    let cluster = Cluster::start().await;
    let mut stream = listen(&cluster, "1").await;
    stream.event().await.unwrap();
    cluster.node().watched_by(1).await;
    for round in 0..5 {
        let name = format!("tool-{round}");
        cluster.node().register(&tools(&name)).await;
        stream.event().await.unwrap();
        let answer = cluster.send(&Request::modern("1", "tools/list", "")).await;
        assert_eq!(answer.json()["result"]["tools"][0]["name"], name);
        assert_eq!(answer.json()["result"]["cacheScope"], "private");
        assert_eq!(answer.json()["result"]["ttlMs"], 0);
    }
}

#[tokio::test]
async fn streams_end_with_their_token() {
    let cluster = Cluster::start().await;
    // The leeway of five seconds has nearly passed.
    let expiring = format!("Bearer {}", token(false, true, -3));
    let request =
        Request::modern("1", "subscriptions/listen", LISTEN).set("Authorization", &expiring);
    let mut stream = cluster.connect().await;
    stream.write(&request.to_bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    stream.event().await.unwrap();
    let last = stream.event().await.unwrap();
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(stream.event().await, None);
}

#[tokio::test]
async fn a_subscription_needs_a_stream_and_a_filter() {
    let cluster = Cluster::start().await;
    let request =
        Request::modern("1", "subscriptions/listen", LISTEN).set("Accept", "application/json");
    let answer = cluster.send(&request).await;
    assert_eq!((answer.status, answer.code()), (406, 40_600));
    let answer = cluster
        .send(&Request::modern("1", "subscriptions/listen", ""))
        .await;
    assert_eq!((answer.status, answer.code()), (400, -32_602));
}

#[tokio::test]
async fn a_closed_stream_ends_its_watch() {
    let cluster = Cluster::start().await;
    let session = cluster.session("2025-11-25").await;
    let mut stream = cluster.connect().await;
    let request = Request::new("GET", "/mcp")
        .header("Authorization", &format!("Bearer {}", agent_token()))
        .header("Mcp-Session-Id", &session);
    stream.write(&request.to_bytes()).await;
    stream.head().await;
    cluster.node().watched_by(1).await;
    drop(stream);
    let unwatched = async {
        while !cluster.node().is_unwatched() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), unwatched)
        .await
        .unwrap();
}
