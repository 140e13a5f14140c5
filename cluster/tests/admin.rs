//! The admin server over a real socket.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clientmcp_cluster::admin::{self, AdminServer};
use clientmcp_cluster::member::Role;
use clientmcp_cluster::metrics;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn start(ready: Arc<AtomicBool>) -> AdminServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let registry = metrics::registry(Role::Router);
    metrics::counter(&registry, "clientmcp_test_total", "Counts.").inc_by(3);
    let ready = move || match ready.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err("there is no node yet".to_owned()),
    };
    let status = || Box::pin(async { json!({ "members": [{ "id": "n1" }] }) }) as _;
    admin::serve(listener, registry, Arc::new(ready), Arc::new(status)).unwrap()
}

/// The whole answer to one request.
async fn ask(server: &AdminServer, head: &str) -> String {
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    let request = format!("{head} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn pages_answer_what_they_are_for() {
    let ready = Arc::new(AtomicBool::new(false));
    let server = start(ready.clone()).await;

    let live = ask(&server, "GET /livez").await;
    assert!(live.starts_with("HTTP/1.1 200 "), "{live}");

    let unready = ask(&server, "GET /readyz").await;
    assert!(unready.starts_with("HTTP/1.1 503 "), "{unready}");
    assert!(
        unready.contains("content-type: application/json"),
        "{unready}"
    );
    assert!(
        unready.contains(r#""reason":"there is no node yet""#),
        "{unready}"
    );
    ready.store(true, Ordering::Relaxed);
    assert!(
        ask(&server, "GET /readyz")
            .await
            .starts_with("HTTP/1.1 200 ")
    );

    let status = ask(&server, "GET /status").await;
    assert!(status.ends_with(r#"{"members":[{"id":"n1"}]}"#), "{status}");

    let metrics = ask(&server, "GET /metrics").await;
    assert!(
        metrics.contains("content-type: text/plain; version=0.0.4"),
        "{metrics}"
    );
    assert!(metrics.contains("\nclientmcp_test_total 3\n"), "{metrics}");
    assert!(
        metrics.contains("\nprocess_resident_memory_bytes "),
        "{metrics}"
    );
    let build = format!(
        "clientmcp_build_info{{role=\"router\",version=\"{}\"}} 1",
        env!("CARGO_PKG_VERSION")
    );
    assert!(metrics.contains(&build), "{metrics}");

    let head = ask(&server, "HEAD /metrics").await;
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    server.stop().await;
}

#[tokio::test]
async fn other_paths_and_methods_are_refused_in_json() {
    let server = start(Arc::new(AtomicBool::new(true))).await;
    for path in ["/", "/metrics/", "/mcp", "/.well-known/x"] {
        let answer = ask(&server, &format!("GET {path}")).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        assert!(
            answer.contains("content-type: application/json"),
            "{answer}"
        );
    }
    let answer = ask(&server, "POST /status").await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert!(answer.contains("allow: GET, HEAD"), "{answer}");
}

#[tokio::test]
async fn the_port_is_closed_after_the_stop_although_a_connection_idles() {
    let server = start(Arc::new(AtomicBool::new(true))).await;
    let addr = server.addr();
    let mut idle = TcpStream::connect(addr).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nHost: admin\r\n\r\n")
        .await
        .unwrap();
    assert_ne!(idle.read(&mut [0; 1024]).await.unwrap(), 0);
    tokio::time::timeout(Duration::from_secs(5), server.stop())
        .await
        .unwrap();
    assert_eq!(
        idle.read(&mut [0; 16]).await.unwrap(),
        0,
        "the idle connection is closed"
    );
    assert!(TcpStream::connect(addr).await.is_err());
}

/// On paused time, which jumps to the server's timeout when nothing else is left to wait for.
#[tokio::test(start_paused = true)]
async fn who_does_not_finish_a_request_is_cut_off() {
    let server = start(Arc::new(AtomicBool::new(true))).await;
    let mut slow = TcpStream::connect(server.addr()).await.unwrap();
    slow.write_all(b"GET /livez HTTP/1.1\r\nHost: ")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let closed = slow.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(60), closed)
        .await
        .unwrap()
        .unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
}
