//! The same endpoint over HTTP/2 by prior knowledge.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::harness::{Cluster, Request, agent_token};

async fn connect(cluster: &Cluster) -> http2::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(cluster.addr()).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn over_http2(request: &Request, authority: &str) -> http::Request<Full<Bytes>> {
    let mut builder = http::Request::builder()
        .method(request.method)
        .uri(format!("http://{authority}{}", request.path));
    for (name, value) in &request.headers {
        if name != "Host" {
            builder = builder.header(name, value);
        }
    }
    builder
        .body(Full::new(request.body.clone().into()))
        .unwrap()
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let cluster = Cluster::start().await;
    let sender = connect(&cluster).await;
    let requests = (0..50).map(|_| {
        let mut sender = sender.clone();
        let request = over_http2(&Request::modern_call("fast"), "localhost");
        async move {
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.status(), 200);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert!(String::from_utf8_lossy(&body).contains("\"ok\""));
        }
    });
    futures_util::future::join_all(requests).await;
}

#[tokio::test]
async fn the_authority_is_the_host() {
    let cluster = Cluster::start().await;
    let mut sender = connect(&cluster).await;
    for (authority, status) in [("localhost:1", 200), ("evil.example.com", 403)] {
        let request = over_http2(&Request::modern_call("fast"), authority);
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), status, "{authority}");
    }
}

#[tokio::test]
async fn a_reset_stream_cancels_its_call_alone() {
    let cluster = Cluster::start().await;
    let sender = connect(&cluster).await;
    // Before the head.
    let mut first = sender.clone();
    let request = over_http2(&Request::modern_call("slow"), "localhost");
    let waiting = tokio::spawn(async move { first.send_request(request).await });
    let arrival = cluster.node().next_call().await;
    waiting.abort();
    assert_eq!(
        cluster.node().next_cancel().await.call_id,
        arrival.call.call_id
    );
    // After it.
    let mut second = sender.clone();
    let request = over_http2(&Request::modern_call("slow"), "localhost");
    let response = second.send_request(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let arrival = cluster.node().next_call().await;
    drop(response);
    assert_eq!(
        cluster.node().next_cancel().await.call_id,
        arrival.call.call_id
    );
    // The connection goes on.
    let mut third = sender;
    let request = over_http2(&Request::modern_call("fast"), "localhost");
    assert_eq!(third.send_request(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_websocket_needs_http_1() {
    let cluster = Cluster::start().await;
    let mut sender = connect(&cluster).await;
    let request = Request::new("GET", "/v1/connect")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-protocol", "clientmcp.v1");
    let response = sender
        .send_request(over_http2(&request, "localhost"))
        .await
        .unwrap();
    assert_eq!(response.status(), 426);
}

#[tokio::test]
async fn streams_of_one_connection_end_when_the_router_stops() {
    let cluster = Cluster::start().await;
    let mut sender = connect(&cluster).await;
    let session = cluster.session("2025-11-25").await;
    let get = Request::new("GET", "/mcp")
        .header("Authorization", &format!("Bearer {}", agent_token()))
        .header("Mcp-Session-Id", &session);
    let response = sender
        .send_request(over_http2(&get, "localhost"))
        .await
        .unwrap();
    let Cluster { router, nodes, .. } = cluster;
    let stopped = tokio::time::timeout(Duration::from_secs(4), router.stop());
    let (stopped, body) = tokio::join!(stopped, response.into_body().collect());
    stopped.unwrap();
    assert!(body.unwrap().to_bytes().starts_with(b":\n\n"));
    drop(nodes);
}

#[tokio::test]
async fn an_agent_that_gives_an_answer_no_room_is_given_up() {
    let cluster = Cluster::with(1, |config| {
        config.timings.write_stall = Duration::from_millis(700);
    })
    .await;
    let stream = TcpStream::connect(cluster.addr()).await.unwrap();
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = over_http2(&Request::modern_call("slow"), "localhost");
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let arrival = cluster.node().next_call().await;
    // The connection lives and answers pings; its call is cancelled all the same.
    assert_eq!(
        cluster.node().next_cancel().await.call_id,
        arrival.call.call_id
    );
}
