//! What lies below the messages: pings, addresses, encryption, sizes.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_sdk::{App, Tool};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::Message;

use crate::builder;
use crate::server::{CALL, Peer, Server, soon};

#[tokio::test]
async fn websocket_pings_are_answered_while_nothing_else_happens() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    for payload in [b"one".as_slice(), b"two", b""] {
        peer.ping(payload).await;
        let Message::Pong(answer) = peer.message().await else {
            panic!("no pong");
        };
        assert_eq!(answer, payload);
    }
    peer.send(r#"{"type":"ping"}"#).await;
    assert_eq!(peer.text().await, r#"{"type":"pong"}"#);
}

#[tokio::test]
async fn a_ping_is_answered_after_a_large_result_that_was_being_written() {
    let server = Server::start().await;
    let _app = builder(&server)
        .tool(Tool::new("large", ""), |_: Value, _| async {
            Ok("x".repeat(4_000_000))
        })
        .connect();
    let mut peer = server.accept_registered().await;
    peer.call(CALL, 0, r#"{"name":"large"}"#).await;
    // The result fills all buffers while nobody reads it, and the ping comes meanwhile.
    tokio::time::sleep(Duration::from_millis(100)).await;
    peer.ping(b"busy").await;
    let large = peer.text().await;
    assert!(large.len() > 4_000_000);
    assert_eq!(
        peer.message().await,
        Message::Pong(b"busy".as_slice().into())
    );
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let server = Server::start().await;
    let _app = builder(&server)
        .raw_tool(Tool::new("echo", ""), |params, _| async { Ok(params) })
        .connect();
    let mut peer = server.accept_registered().await;
    let params = format!(
        r#"{{"name":"echo","arguments":{{"x":"{}"}}}}"#,
        "ä".repeat(2_000_000)
    );
    peer.call(CALL, 0, &params).await;
    let frame = peer.text().await;
    assert!(frame.contains(&params));
}

#[tokio::test]
async fn an_application_connects_from_the_address_that_it_was_told() {
    let server = Server::start().await;
    let local = "127.0.0.2".parse().unwrap();
    let _app = builder(&server).connect_from(local).connect();
    let peer = server.accept().await;
    assert_eq!(peer.address.ip(), local);
}

#[tokio::test]
async fn connections_are_encrypted_and_checked_against_what_is_trusted() {
    let certificate = include_bytes!("../tls/certificate.der");
    let key = PrivatePkcs8KeyDer::from(include_bytes!("../tls/key.der").as_slice());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate.as_slice())],
            PrivateKeyDer::Pkcs8(key),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = Server::start().await;
    let url = format!("wss://localhost:{}/v1/connect", server.address().port());

    let stranger = App::builder(&url).token("t").connect();
    let (stream, _) = server.accept_raw().await;
    assert!(soon(acceptor.accept(stream)).await.is_err(), "not trusted");
    soon(stranger.close()).await;

    let app = App::builder(&url)
        .token("t")
        .trust_certificate(certificate.as_slice())
        .connect();
    let (stream, address) = server.accept_raw().await;
    let stream = soon(acceptor.accept(stream)).await.unwrap();
    let mut peer = Peer::upgrade(stream, address).await;
    peer.expect_register().await;
    peer.send_registered(60_000).await;
    soon(app.online()).await.unwrap();
}
