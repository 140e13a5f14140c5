//! Bounds at the edge.

use std::time::Duration;

use crate::harness::{Cluster, Request};

#[tokio::test]
async fn sizes_are_bounded_at_the_edge() {
    let cluster = Cluster::start().await;
    let limit = 4 * 1024 * 1024;
    // Declared: refused before it is sent.
    let mut connection = cluster.connect().await;
    let head = Request::post("").header("Content-Length", &(limit + 1).to_string());
    let answer = connection.exchange(&head.to_bytes()).await;
    assert_eq!((answer.status, answer.code()), (413, 41_300));
    // Chunked: refused when it has become too large.
    let mut chunked = Request::post("")
        .header("Transfer-Encoding", "chunked")
        .to_bytes();
    let text = String::from_utf8(chunked)
        .unwrap()
        .replace("Content-Length: 0\r\n", "");
    chunked = text.into_bytes();
    for _ in 0..5 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.resize(chunked.len() + 0x10_0000, b' ');
        chunked.extend_from_slice(b"\r\n");
    }
    let answer = cluster.connect().await.exchange(&chunked).await;
    assert_eq!((answer.status, answer.code()), (413, 41_300));
    // A large one that fits arrives whole.
    let large = "ä".repeat(1_900_000);
    let params = format!(r#""name":"slow","arguments":{{"text":"{large}"}}"#);
    let request = Request::modern("1", "tools/call", &params);
    let (answer, ()) = tokio::join!(cluster.send(&request), async {
        let call = cluster.node().next_call().await;
        assert!(String::from_utf8_lossy(&call.call.params).contains(&large));
        call.result(&format!(r#"{{"content":[],"big":"{large}"}}"#));
    });
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains(&large));
}

#[tokio::test]
async fn headers_are_bounded_at_64_kib() {
    let cluster = Cluster::start().await;
    for (kib, status) in [(1, 200), (16, 200), (48, 200), (80, 431), (100, 431)] {
        let cookie = "c".repeat(kib * 1024 / 4);
        let mut request = Request::modern("1", "tools/list", "");
        for _ in 0..4 {
            request = request.header("Cookie", &cookie);
        }
        let answer = cluster.send(&request).await;
        assert_eq!(answer.status, status, "{kib} KiB");
    }
}

#[tokio::test]
async fn connections_are_bounded() {
    let cluster = Cluster::with(1, |config| config.max_connections = 2).await;
    let request = Request::modern("1", "tools/list", "").to_bytes();
    let mut first = cluster.connect().await;
    assert_eq!(first.exchange(&request).await.status, 200);
    let mut second = cluster.connect().await;
    assert_eq!(second.exchange(&request).await.status, 200);
    assert!(
        cluster.connect().await.ends().await,
        "a third is closed at once"
    );
    assert_eq!(first.exchange(&request).await.status, 200);
    drop(second);
    let again = async {
        while !cluster.connect().await.answers(&request).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), again)
        .await
        .unwrap();
}
