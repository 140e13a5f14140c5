//! Upgrades: who is let in, who is told why not, and how.

use clientmcp_node::Node;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite;
use tonic::Code;

use crate::app::{App, open, protocols, public_request};
use crate::entrance::{Entrance, NoTunnel};
use crate::world::{CLIENT, SOON, World};

async fn public_node(world: &World) -> Node {
    let mut config = world.config("node-1");
    config.public_listen = Some(([127, 0, 0, 1], 0).into());
    config.allowed_origins = vec!["https://desk.example".into()];
    world.start(config).await
}

/// The status of a refused upgrade.
fn status(error: &tungstenite::Error) -> u16 {
    match error {
        tungstenite::Error::Http(response) => response.status().as_u16(),
        other => panic!("{other:?}"),
    }
}

/// What an answer says to a bare request.
async fn answer(addr: std::net::SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = tokio::time::timeout(SOON, stream.read(&mut answer));
    let read = read.await.unwrap().unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

/// B20.
#[tokio::test]
async fn the_protocol_alone_is_echoed_wherever_the_token_stands() {
    let world = World::new();
    let node = public_node(&world).await;
    let addr = node.public_addr().unwrap();
    let token = world.token(CLIENT);
    let good = [
        format!("clientmcp.v1, clientmcp.token.{token}"),
        format!("clientmcp.token.{token}, clientmcp.v1"),
        format!("clientmcp.v1,clientmcp.token.{token}"),
        format!(",,clientmcp.v1 ,\tclientmcp.token.{token},"),
    ];
    for offered in good {
        // The client of the test wants to be offered what it chose: it is asked in bare bytes.
        let request = format!(
            "GET /v1/connect HTTP/1.1\r\nHost: {addr}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: {offered}\r\n\r\n"
        );
        let answer = answer(addr, request.as_bytes()).await.to_lowercase();
        assert!(answer.starts_with("http/1.1 101"), "{answer}");
        assert!(
            answer.contains("sec-websocket-protocol: clientmcp.v1\r\n"),
            "{answer}"
        );
        assert!(!answer.contains("token"), "{answer}");
    }
}

#[tokio::test]
async fn a_refused_token_completes_the_handshake_and_closes_with_a_code() {
    let world = World::new();
    let node = public_node(&world).await;
    let addr = node.public_addr().unwrap();
    let token = world.token(CLIENT);
    let cases = [
        ("missing", "clientmcp.v1".to_owned(), 4401),
        (
            "two",
            format!("{}, clientmcp.token.x", protocols(&token)),
            4401,
        ),
        ("no JWT", protocols("a/b+c="), 4401),
        ("cut off", protocols(&token[..token.len() / 2]), 4401),
        ("foreign signature", protocols(&format!("{token}x")), 4401),
        (
            "expired",
            protocols(&world.token_for(CLIENT, true, -60)),
            4401,
        ),
        (
            "an agent's",
            protocols(&world.token_for(CLIENT, false, 60)),
            4403,
        ),
    ];
    for (what, offered, expected) in cases {
        let (mut app, _) = open(addr, public_request(addr, &offered)).await.unwrap();
        let (code, reason) = app.expect_close().await;
        assert_eq!(code, expected, "{what}: {reason}");
        assert!(!reason.contains(&token[..20]), "{what}: {reason}");
    }
}

#[tokio::test]
async fn without_the_protocol_nothing_is_upgraded() {
    let world = World::new();
    let node = public_node(&world).await;
    let addr = node.public_addr().unwrap();
    let token = world.token(CLIENT);
    for offered in [
        format!("clientmcp.token.{token}"),
        format!("CLIENTMCP.V1, clientmcp.token.{token}"),
        format!("clientmcp.v2, clientmcp.token.{token}"),
    ] {
        let refused = open(addr, public_request(addr, &offered)).await.err();
        assert_eq!(status(&refused.unwrap()), 400, "{offered}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_with_a_code() {
    let world = World::new();
    let node = public_node(&world).await;
    let addr = node.public_addr().unwrap();
    let offered = protocols(&world.token(CLIENT));
    let connect = async |origin: &str| {
        let mut request = public_request(addr, &offered);
        let origin = origin.parse().unwrap();
        request.headers_mut().insert("origin", origin);
        open(addr, request).await.unwrap().0
    };
    for origin in ["https://evil.example", "null"] {
        let mut app = connect(origin).await;
        assert_eq!(app.expect_close().await.0, 4403, "{origin}");
    }
    for origin in ["https://desk.example", "http://localhost:3000"] {
        let mut app = connect(origin).await;
        app.register("i1", 1).await;
    }
}

/// As behind a proxy on the same host that passes the Host on.
#[tokio::test]
async fn the_host_of_the_public_url_is_allowed_on_a_loopback_port() {
    let world = World::new();
    let mut config = world.config("node-1");
    config.public_listen = Some(([127, 0, 0, 1], 0).into());
    config.public_url = Some("wss://node-1.example/v1/connect".into());
    let node = world.start(config).await;
    let addr = node.public_addr().unwrap();
    for (host, allowed) in [("node-1.example", true), ("other.example", false)] {
        let mut request = public_request(addr, &protocols(&world.token(CLIENT)));
        request.headers_mut().insert("host", host.parse().unwrap());
        let mut app = open(addr, request).await.unwrap().0;
        if allowed {
            app.register("i1", 1).await;
        } else {
            let (code, reason) = app.expect_close().await;
            assert_eq!(code, 4403);
            assert!(reason.contains("Host"), "{reason}");
        }
    }
}

#[tokio::test]
async fn the_public_port_knows_neither_grpc_nor_other_paths() {
    let world = World::new();
    let node = public_node(&world).await;
    let addr = node.public_addr().unwrap();
    let found = answer(addr, b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(found.starts_with("HTTP/1.1 404"), "{found}");
    let plain = answer(addr, b"GET /v1/connect HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(plain.starts_with("HTTP/1.1 426"), "{plain}");
    let posted = answer(
        addr,
        b"POST /v1/connect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
    );
    assert!(posted.await.starts_with("HTTP/1.1 405"));
}

#[tokio::test]
async fn a_trunk_shows_the_clusters_key_and_names_this_run() {
    let world = World::new();
    let node = world.node("node-1").await;
    let offered = protocols(&world.token(CLIENT));
    let good = || Entrance::of(&node, "node-1", &world.secrets);

    let mut wrong_key = good();
    wrong_key.key = "A".repeat(43);
    match App::enter(&wrong_key, &offered).await.err() {
        Some(NoTunnel::Status(status)) => assert_eq!(status.code(), Code::Unauthenticated),
        other => panic!("{other:?}"),
    }
    let mut other_node = good();
    other_node.target.node_id = "node-2".into();
    let mut other_run = good();
    other_run.target.incarnation += 1;
    for other in [other_node, other_run] {
        let refused = App::enter(&other, &offered).await.err();
        assert!(matches!(refused, Some(NoTunnel::Nobody)), "{refused:?}");
    }
    let mut app = App::enter(&good(), &offered).await.unwrap();
    app.register("i1", 1).await;
}

#[tokio::test]
async fn a_handshake_through_a_tunnel_is_judged_as_one_on_the_public_port() {
    let world = World::new();
    let node = world.node("node-1").await;
    let entrance = Entrance::of(&node, "node-1", &world.secrets);
    let (_, headers) = entrance
        .open(&protocols(&world.token(CLIENT)), 1024)
        .await
        .unwrap();
    let accept = &headers["sec-websocket-accept"];
    assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(headers["sec-websocket-protocol"], "clientmcp.v1");
    let refused = entrance.open("clientmcp.v2", 1024).await.err();
    assert!(matches!(refused, Some(NoTunnel::Refused(400, _))));
    let mut app = App::enter(&entrance, "clientmcp.v1").await.unwrap();
    assert_eq!(app.expect_close().await.0, 4401);
}

/// B49, B52.
#[tokio::test]
async fn heads_have_a_limit_and_long_tokens_fit() {
    let world = World::new();
    let node = public_node(&world).await;
    let addr = node.public_addr().unwrap();
    let request = format!(
        "GET /v1/connect HTTP/1.1\r\nHost: {addr}\r\nCookie: {}\r\n\r\n",
        "x".repeat(100 * 1024)
    );
    let refused = answer(addr, request.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 431"), "{refused}");

    // 16 KiB of token and 6 KiB of cookies are read, and judged as what they are.
    let mut request = public_request(addr, &protocols(&"x".repeat(16 * 1024)));
    let cookie = "c".repeat(6 * 1024).parse().unwrap();
    request.headers_mut().insert("cookie", cookie);
    let (mut app, _) = open(addr, request).await.unwrap();
    let (code, reason) = app.expect_close().await;
    assert_eq!(code, 4401);
    assert!(reason.contains("malformed"), "{reason}");
}

#[tokio::test]
async fn an_unregistered_socket_displaces_nobody() {
    let world = World::new();
    let node = world.node("node-1").await;
    let token = world.token(CLIENT);
    let mut app = App::connect(&node, "node-1", &world.secrets, &token).await;
    app.register("i1", 1).await;
    let _silent = App::connect(&node, "node-1", &world.secrets, &token).await;
    app.send_text(r#"{"type":"ping"}"#.into()).await;
    app.expect("pong").await;
    assert!(world.record(CLIENT).await.unwrap().holder.is_some());
}
