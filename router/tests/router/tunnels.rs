//! Apps' WebSockets (SPEC.md §4.1).

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{Cluster, Request, token};
use crate::http_client::{Answer, Connection};

fn app_token() -> String {
    token(true, false, 600)
}

fn upgrade(protocols: &[&str]) -> Request {
    let mut request = Request::new("GET", "/v1/connect")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    for line in protocols {
        request = request.header("Sec-WebSocket-Protocol", line);
    }
    request
}

fn with_token(token: &str) -> Request {
    upgrade(&[&format!("clientmcp.v1, clientmcp.token.{token}")])
}

/// Sends an upgrade and reads the head of the answer.
async fn open(cluster: &Cluster, request: &Request) -> (Connection, Answer) {
    let mut connection = cluster.connect().await;
    connection.write(&request.to_bytes()).await;
    let head = connection.head().await;
    (connection, head)
}

/// The code and reason of the close frame that is all that comes.
async fn refusal(connection: Connection) -> (u16, String) {
    let frame = connection.read_to_end().await;
    assert_eq!(frame[0], 0x88, "{frame:?}");
    let length = usize::from(frame[1]);
    assert_eq!(frame.len(), 2 + length);
    let code = u16::from_be_bytes([frame[2], frame[3]]);
    (code, String::from_utf8(frame[4..].to_vec()).unwrap())
}

#[tokio::test]
async fn a_socket_is_relayed_to_its_owner() {
    let cluster = Cluster::start().await;
    let token = app_token();
    let offer = format!("clientmcp.token.{token}");
    for protocols in [
        &[format!("clientmcp.v1, {offer}")][..],
        &[format!("{offer}, clientmcp.v1")],
        &["clientmcp.v1".to_owned(), offer.clone()],
        &[format!(",clientmcp.v1,,\t{offer},")],
    ] {
        let lines: Vec<&str> = protocols.iter().map(String::as_str).collect();
        let request = upgrade(&lines).header("Origin", "http://localhost:5173");
        let (mut app, head) = open(&cluster, &request).await;
        assert_eq!(head.status, 101);
        assert_eq!(head.header("sec-websocket-protocol"), Some("clientmcp.v1"));
        assert_eq!(
            head.header("sec-websocket-accept"),
            Some("made by the node")
        );
        assert_eq!(head.header("upgrade"), Some("websocket"));
        let mut tunnel = cluster.node().next_tunnel().await;
        let shown: Vec<&str> = tunnel
            .headers
            .get_all("sec-websocket-protocol")
            .iter()
            .map(|line| line.to_str().unwrap())
            .collect();
        assert_eq!(
            shown,
            lines.iter().map(|line| line.trim()).collect::<Vec<_>>()
        );
        assert_eq!(tunnel.headers["origin"], "http://localhost:5173");
        assert_eq!(
            tunnel.headers["sec-websocket-key"],
            "dGhlIHNhbXBsZSBub25jZQ=="
        );
        app.write(b"from the app").await;
        let mut received = [0; 12];
        tunnel.stream.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"from the app");
        tunnel.stream.write_all(b"from the node").await.unwrap();
        assert_eq!(app.read(13).await, b"from the node");
        drop(tunnel);
        assert!(app.ends().await);
    }
}

#[tokio::test]
async fn what_is_no_upgrade_or_no_protocol_of_ours_is_refused_before_it() {
    let cluster = Cluster::start().await;
    let token = format!("clientmcp.token.{}", app_token());
    for (request, status) in [
        (upgrade(&[]), 400),
        (upgrade(&[&token]), 400),
        (upgrade(&["CLIENTMCP.V1", &token]), 400),
        (upgrade(&["clientmcp.v2", &token]), 400),
        (upgrade(&["clientmcp.v1", &token]).without("upgrade"), 426),
        (
            upgrade(&["clientmcp.v1", &token]).set("Sec-WebSocket-Version", "8"),
            426,
        ),
        (
            upgrade(&["clientmcp.v1", &token]).without("sec-websocket-key"),
            400,
        ),
        (Request::new("GET", "/v1/connect"), 426),
        (Request::new("POST", "/v1/connect"), 405),
    ] {
        let shown = format!("{:?}", request.headers);
        let (_, head) = open(&cluster, &request).await;
        assert_eq!(head.status, status, "{shown}");
        assert_eq!(head.header("content-type"), Some("application/json"));
    }
    let (_, head) = open(&cluster, &with_token(&app_token()).at("/v1/connect/?x=1")).await;
    assert_eq!(head.status, 101);
    let (_, head) = open(&cluster, &with_token(&app_token()).at("//v1/connect")).await;
    assert_eq!(head.status, 404);
}

#[tokio::test]
async fn a_refused_app_can_see_why() {
    let cluster = Cluster::start().await;
    let before = cluster.node().asked();
    let good = app_token();
    // Somewhere in its signature.
    let (kept, replaced) = good.split_at(good.len() - 20);
    let forged = match replaced.strip_prefix('A') {
        Some(rest) => format!("{kept}B{rest}"),
        None => format!("{kept}A{}", &replaced[1..]),
    };
    let two = format!("clientmcp.v1, clientmcp.token.{good}, clientmcp.token.{good}");
    for (request, code, words) in [
        (upgrade(&["clientmcp.v1"]), 4401, "missing"),
        (with_token("x.y.z"), 4401, "malformed"),
        (with_token(&token(true, false, -60)), 4401, "expired"),
        (with_token(&forged), 4401, "signature"),
        (upgrade(&[&two]), 4401, "two tokens"),
        (with_token(&token(false, true, 60)), 4403, "scope"),
        (
            with_token(&good).header("Origin", "https://evil.example.com"),
            4403,
            "Origin",
        ),
        (
            with_token(&good).set("Host", "evil.example.com"),
            4403,
            "Host",
        ),
    ] {
        let (connection, head) = open(&cluster, &request).await;
        assert_eq!(head.status, 101, "{words}");
        assert_eq!(head.header("sec-websocket-protocol"), Some("clientmcp.v1"));
        assert_eq!(
            head.header("sec-websocket-accept"),
            Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        );
        let (closed, reason) = refusal(connection).await;
        assert_eq!(closed, code, "{reason}");
        assert!(reason.contains(words), "{reason} has no {words}");
        assert!(!reason.contains(&good[..16]));
    }
    assert_eq!(cluster.node().asked(), before, "a node was asked");
}

#[tokio::test]
async fn a_socket_that_its_owner_refuses_goes_to_the_next() {
    let cluster = Cluster::with(3, |_| {}).await;
    let (owner, _) = cluster.owner_and_other();
    let begun = Instant::now();
    for status in [503, 421] {
        owner.script().refuse_tunnels = Some(status);
        let (app, head) = open(&cluster, &with_token(&app_token())).await;
        assert_eq!(head.status, 101, "{status}");
        drop(app);
    }
    for node in &cluster.nodes {
        node.script().refuse_tunnels = Some(503);
    }
    let (app, head) = open(&cluster, &with_token(&app_token())).await;
    assert_eq!(head.status, 101);
    assert_eq!(refusal(app).await.0, 1013);
    // A refusal is not waited out.
    assert!(
        begun.elapsed() < Duration::from_millis(900),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_node_to_which_too_many_apps_come_sends_them_to_nobody_else() {
    let cluster = Cluster::with(3, |_| {}).await;
    let (owner, _) = cluster.owner_and_other();
    owner.script().refuse_tunnels = Some(429);
    let (app, head) = open(&cluster, &with_token(&app_token())).await;
    assert_eq!(head.status, 101);
    assert_eq!(refusal(app).await.0, 1013);
    // Another app is taken by whoever is asked.
    owner.script().refuse_tunnels = None;
    let (_app, head) = open(&cluster, &with_token(&app_token())).await;
    assert_eq!(head.status, 101);
    let tunnel = owner.next_tunnel().await;
    let router = format!("router-1/{}", cluster.router.incarnation());
    assert_eq!(tunnel.router, router);
}

#[tokio::test]
async fn without_a_node_an_app_is_told_to_come_back() {
    let cluster = Cluster::with(0, |_| {}).await;
    let (app, head) = open(&cluster, &with_token(&app_token())).await;
    assert_eq!(head.status, 101);
    assert_eq!(refusal(app).await.0, 1013);
}

#[tokio::test]
async fn tunnels_to_a_node_that_is_out_of_reach_end() {
    let cluster = Cluster::start().await;
    let (mut app, _) = open(&cluster, &with_token(&app_token())).await;
    let tunnel = cluster.node().next_tunnel().await;
    cluster.node().kill().await;
    let ended = tokio::time::timeout(Duration::from_secs(5), app.ends()).await;
    assert!(ended.unwrap());
    drop(tunnel);
}

#[tokio::test]
async fn a_long_token_passes() {
    let cluster = Cluster::start().await;
    let padding = "p".repeat(6 * 1024);
    let request = with_token(&app_token())
        .header("Cookie", &padding)
        .header("Cookie", &padding);
    let (_, head) = open(&cluster, &request).await;
    assert_eq!(head.status, 101);
}
