//! How sockets end, as the app sees it.

use clientmcp_node::Node;
use futures_util::SinkExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::app::{App, Bytes, Heard, protocols, public_request, register};
use crate::world::{CLIENT, SOON, World, ms};

async fn registered(world: &World, node: &Node, instance: &str, connection: u64) -> App {
    let token = world.token(CLIENT);
    let mut app = App::connect(node, "node-1", &world.secrets, &token).await;
    app.register(instance, connection).await;
    app
}

/// One frame of a client, masked with zeros. `announced` may exceed what is sent of the payload.
fn frame(first: u8, payload: &[u8], announced: usize) -> Vec<u8> {
    let mut bytes = vec![first, 0x80 | 127];
    bytes.extend((announced as u64).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

/// A registered app's bare connection.
async fn bare(world: &World, node: &Node) -> Box<dyn Bytes> {
    bare_as(world, node, "i1").await
}

async fn bare_as(world: &World, node: &Node, instance: &str) -> Box<dyn Bytes> {
    registered(world, node, instance, 1)
        .await
        .socket
        .into_inner()
}

/// Reads to the end; gives the code of the close frame that must be there.
async fn read_close(stream: &mut Box<dyn Bytes>) -> u16 {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    tokio::time::timeout(SOON, read).await.unwrap().unwrap();
    let mut rest = &bytes[..];
    while let [first, length, after @ ..] = rest {
        let length = usize::from(*length);
        if first & 0x0F == 8 {
            return u16::from_be_bytes([after[0], after[1]]);
        }
        rest = &after[length..];
    }
    panic!("no close frame in {bytes:?}");
}

#[tokio::test]
async fn what_is_not_understood_closes_with_a_code_of_its_own() {
    let world = World::new();
    let node = world.node("node-1").await;
    let cases = [
        (Message::text("no JSON"), 4400),
        (Message::text("[]"), 4400),
        (Message::text(r#"{"type":"made-up"}"#), 4400),
        (Message::text(r#"{"type":"result"}"#), 4400),
        (Message::binary(vec![1, 2, 3]), 1003),
    ];
    for (message, expected) in cases {
        let mut app = registered(&world, &node, "i1", 1).await;
        app.socket.send(message.clone()).await.unwrap();
        let (code, reason) = app.expect_close().await;
        assert_eq!(code, expected, "{message:?}: {reason}");
    }
}

#[tokio::test]
async fn broken_frames_close_with_the_codes_of_the_protocol() {
    let world = World::new();
    let node = world.node("node-1").await;
    let cases = [
        ("text that is no UTF-8", frame(0x81, b"\xff\xfe", 2), 1007),
        ("a long ping", frame(0x89, &[0; 126], 126), 1002),
        ("a ping in parts", frame(0x09, &[], 0), 1002),
        ("a reserved bit", frame(0xC1, b"{}", 2), 1002),
        ("nothing to continue", frame(0x80, b"{}", 2), 1002),
        ("an unknown opcode", frame(0x83, b"{}", 2), 1002),
        ("no mask", vec![0x81, 0x02, b'{', b'}'], 1002),
        (
            "a code that is never sent",
            frame(0x88, &[0x03, 0xED], 2),
            1002,
        ),
        ("half a code", frame(0x88, &[0x03], 1), 1002),
    ];
    for (what, bytes, expected) in cases {
        let mut stream = bare(&world, &node).await;
        stream.write_all(&bytes).await.unwrap();
        // The rest of what was under way, as a peer sends it that has not seen our close frame.
        let _ = stream.write_all(&[0; 64 * 1024]).await;
        stream.shutdown().await.unwrap();
        assert_eq!(read_close(&mut stream).await, expected, "{what}");
    }
}

#[tokio::test]
async fn a_message_over_the_limit_closes_with_1009() {
    let world = World::new();
    let node = world.node("node-1").await;
    // As one frame, of which everything is sent although it is refused at its head.
    let mut app = registered(&world, &node, "i1", 1).await;
    let text = format!(r#"{{"type":"ping","x":"{}"}}"#, "x".repeat(4 * 1024 * 1024));
    app.send_text(text).await;
    assert_eq!(app.expect_close().await.0, 1009);

    // In parts that exceed it together.
    let mut stream = bare(&world, &node).await;
    let part = vec![b' '; 3 * 1024 * 1024];
    stream
        .write_all(&frame(0x01, &part, part.len()))
        .await
        .unwrap();
    stream
        .write_all(&frame(0x80, &part, part.len()))
        .await
        .unwrap();
    stream
        .write_all(&frame(0x88, &[0x03, 0xE8], 2))
        .await
        .unwrap();
    assert_eq!(read_close(&mut stream).await, 1009);

    // One of exactly the limit is read.
    let mut app = registered(&world, &node, "i1", 1).await;
    let frame = r#"{"type":"ping","x":""}"#;
    let padding = "x".repeat(4 * 1024 * 1024 - frame.len());
    app.send_text(format!(r#"{{"type":"ping","x":"{padding}"}}"#))
        .await;
    app.expect("pong").await;
}

/// B37: whatever the reason, it arrives although the app is in the middle of sending.
#[tokio::test]
async fn the_code_arrives_while_the_app_is_in_the_middle_of_a_message() {
    for (why, expected) in [
        ("replaced", 4409),
        ("succeeded", 1000),
        ("stopped", 1012),
        ("silent", 4408),
    ] {
        let world = World::with(|timings| {
            timings.silence_timeout = ms(300);
            timings.ping_interval = ms(100);
        });
        let node = world.node("node-1").await;
        let mut stream = bare_as(&world, &node, why).await;
        let half = vec![b' '; 512 * 1024];
        stream
            .write_all(&frame(0x81, &half, 1024 * 1024))
            .await
            .unwrap();
        let mut newer = None;
        match why {
            "replaced" => newer = Some(registered(&world, &node, "other", 1).await),
            "succeeded" => newer = Some(registered(&world, &node, why, 2).await),
            "stopped" => drop(tokio::spawn(node.stop())),
            _ => {}
        }
        if why != "silent" {
            // The rest comes after the node has said its word, and then the peer's own.
            tokio::time::sleep(ms(20)).await;
            stream.write_all(&half).await.unwrap();
            stream
                .write_all(&frame(0x88, &[0x03, 0xE8], 2))
                .await
                .unwrap();
        }
        assert_eq!(read_close(&mut stream).await, expected, "{why}");
        drop(newer);
    }
}

#[tokio::test]
async fn a_peer_that_never_answers_the_close_frame_is_left() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut stream = bare(&world, &node).await;
    stream.write_all(&frame(0x82, &[], 0)).await.unwrap();
    let before = tokio::time::Instant::now();
    // Its own side stays open: the node ends the connection.
    assert_eq!(read_close(&mut stream).await, 1003);
    assert!(before.elapsed() < ms(5000));
}

#[tokio::test]
async fn a_close_frame_is_echoed_with_its_code() {
    let world = World::new();
    let node = world.node("node-1").await;
    for code in [1000_u16, 1001, 4000] {
        let mut stream = bare(&world, &node).await;
        stream
            .write_all(&frame(0x88, &code.to_be_bytes(), 2))
            .await
            .unwrap();
        assert_eq!(read_close(&mut stream).await, code);
    }
}

/// A router that stops ends its half of the tunnel; the app is still told.
#[tokio::test]
async fn after_a_bare_end_of_the_stream_the_app_is_told_to_come_back() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut stream = bare(&world, &node).await;
    stream.shutdown().await.unwrap();
    assert_eq!(read_close(&mut stream).await, 1012);
}

#[tokio::test]
async fn a_connection_that_does_not_register_is_closed() {
    let world = World::with(|timings| timings.register_deadline = ms(100));
    let node = world.node("node-1").await;
    let token = world.token(CLIENT);
    let mut app = App::connect(&node, "node-1", &world.secrets, &token).await;
    let (code, reason) = app.expect_close().await;
    assert_eq!(code, 4408, "{reason}");
    assert!(reason.contains("register"), "{reason}");
}

/// Field report B13.
#[tokio::test]
async fn silence_is_noticed_and_pongs_are_life() {
    let world = World::with(|timings| {
        timings.ping_interval = ms(50);
        timings.silence_timeout = ms(200);
    });
    let node = world.node("node-1").await;
    // This one answers pings, by reading.
    let mut alive = registered(&world, &node, "i1", 1).await;
    assert_eq!(alive.hear_within(ms(600)).await, None);

    // This one reads nothing more, and its kernel takes what comes.
    let mut app = registered(&world, &node, "i2", 1).await;
    tokio::time::sleep(ms(400)).await;
    let (code, reason) = app.expect_close().await;
    assert_eq!(code, 4408, "{reason}");
}

/// Field report B11.
#[tokio::test]
async fn a_connection_ends_with_its_token_unless_it_is_renewed() {
    let world = World::new();
    let node = world.node("node-1").await;
    // The leeway has nearly passed as well.
    let ending = world.token_for(CLIENT, true, -4);
    let mut app = App::connect(&node, "node-1", &world.secrets, &ending).await;
    app.register("i1", 1).await;
    assert_eq!(app.expect_close().await.0, 4401);

    let ending = world.token_for(CLIENT, true, -3);
    let mut app = App::connect(&node, "node-1", &world.secrets, &ending).await;
    app.register("i1", 1).await;
    app.send(json!({"type": "auth", "token": world.token(CLIENT)}))
        .await;
    app.expect("authorized").await;
    assert_eq!(app.hear_within(ms(2200)).await, None);

    let foreign = world.token("desk-2");
    app.send(json!({"type": "auth", "token": foreign})).await;
    assert_eq!(app.expect_close().await.0, 4401);
}

#[tokio::test]
async fn a_refused_register_closes_with_4400() {
    let world = World::new();
    let node = world.node("node-1").await;
    let token = world.token(CLIENT);
    for bad in [
        json!({"type": "register"}),
        json!({"type": "register", "instance": "a b", "connection": 1}),
        register("i1", 0, &[]),
    ] {
        let mut app = App::connect(&node, "node-1", &world.secrets, &token).await;
        app.send(bad.clone()).await;
        assert_eq!(app.expect_close().await.0, 4400, "{bad}");
    }
}

#[tokio::test]
async fn pings_are_answered_at_once_and_a_flood_of_them_is_borne() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut stream = bare(&world, &node).await;
    let mut flood = Vec::new();
    for number in 0..1000_u32 {
        flood.extend(frame(0x89, &number.to_be_bytes(), 4));
    }
    stream.write_all(&flood).await.unwrap();
    // Pongs may be left out, but the last ping has its own.
    let mut last = 0;
    while last != 999 {
        let mut pong = [0; 6];
        stream.read_exact(&mut pong).await.unwrap();
        assert_eq!(pong[..2], [0x8A, 4]);
        last = u32::from_be_bytes(pong[2..].try_into().unwrap());
    }
}

#[tokio::test]
async fn bytes_that_came_with_the_handshake_are_read() {
    let world = World::new();
    let mut config = world.config("node-1");
    config.public_listen = Some(([127, 0, 0, 1], 0).into());
    let node = world.start(config).await;
    let addr = node.public_addr().unwrap();
    let request = public_request(addr, &protocols(&world.token(CLIENT)));
    let mut bytes = b"GET /v1/connect HTTP/1.1\r\n".to_vec();
    for (name, value) in request.headers() {
        bytes.extend(format!("{name}: ").into_bytes());
        bytes.extend(value.as_bytes());
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"\r\n");
    let message = register("i1", 1, &[]).to_string();
    bytes.extend(frame(0x81, message.as_bytes(), message.len()));
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    let mut answer = Vec::new();
    let registered = b"\"registered\"";
    while !answer.windows(registered.len()).any(|w| w == registered) {
        let read = stream.read_buf(&mut answer);
        assert_ne!(tokio::time::timeout(SOON, read).await.unwrap().unwrap(), 0);
    }
}

#[tokio::test]
async fn fragments_make_one_message_with_pings_in_between() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut stream = bare(&world, &node).await;
    stream
        .write_all(&frame(0x01, br#"{"type":"#, 8))
        .await
        .unwrap();
    stream.write_all(&frame(0x89, b"?", 1)).await.unwrap();
    stream.write_all(&frame(0x00, b"", 0)).await.unwrap();
    stream
        .write_all(&frame(0x80, br#""ping"}"#, 7))
        .await
        .unwrap();
    let mut pongs = [0; 3 + 2 + 15];
    stream.read_exact(&mut pongs).await.unwrap();
    let text = String::from_utf8_lossy(&pongs);
    assert!(text.contains(r#"{"type":"pong"}"#), "{text}");
}

#[tokio::test]
async fn nothing_heard_is_no_close() {
    let world = World::new();
    let node = world.node("node-1").await;
    let mut app = registered(&world, &node, "i1", 1).await;
    app.send_text(r#"{"type":"ping"}"#.into()).await;
    assert!(matches!(app.hear().await, Heard::Message(m) if m["type"] == "pong"));
}
