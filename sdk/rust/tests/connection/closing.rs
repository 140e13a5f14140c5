//! How sockets end: what the other side sees.

use std::time::Duration;

use clientmcp_sdk::{CancelReason, Status, Tool, Tools};
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use crate::server::{CALL, Server, soon};
use crate::{builder, gated};

#[tokio::test]
async fn closing_says_that_the_application_left_and_cancels_what_runs() {
    let server = Server::start().await;
    let (builder, mut gate) = gated(builder(&server));
    let app = builder.connect();
    let mut peer = server.accept_registered().await;
    peer.call(CALL, 0, r#"{"name":"wait"}"#).await;
    let call = gate.began().await;
    let (closed, ()) = tokio::join!(peer.closed(), app.close());
    assert_eq!(closed.0, 1000);
    assert_eq!(call.cancel_reason(), Some(CancelReason::Closed));
    let stopped = soon(app.online()).await.unwrap_err();
    assert_eq!(stopped.reason, "closed by the application");
    assert!(app.set_tools(Tools::new()).await.is_err());
    app.close().await;
}

#[tokio::test]
async fn dropping_leaves_the_cluster_and_weak_handles_do_not_hinder_it() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    let weak = app.downgrade();
    assert!(weak.upgrade().is_some());
    drop(app);
    assert_eq!(peer.closed().await.0, 1000);
    assert!(weak.upgrade().is_none());
}

#[tokio::test]
async fn closing_before_the_connection_stands_ends_at_once() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let (_stream, _) = server.accept_raw().await;
    soon(app.close()).await;
    assert!(matches!(*app.status().borrow(), Status::Stopped(_)));
}

#[tokio::test]
async fn a_close_code_is_seen_although_much_is_under_way() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    let large = format!(r#"{{"type":"later","x":"{}"}}"#, "x".repeat(1024 * 1024));
    peer.send(&large).await;
    let (closed, ()) = tokio::join!(
        async {
            peer.send(&large).await;
            peer.closed().await
        },
        app.close()
    );
    assert_eq!(closed, (1000, "the application stopped".to_owned()));
}

#[tokio::test]
async fn a_code_of_the_cluster_is_seen_although_it_reads_nothing_more() {
    let server = Server::start().await;
    let app = builder(&server)
        .tool(Tool::new("large", ""), |_: Value, _| async {
            Ok("x".repeat(4_000_000))
        })
        .connect();
    let mut peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    peer.call(CALL, 0, r#"{"name":"large"}"#).await;
    // The result fills all buffers; then the socket is dropped with what nobody has read.
    tokio::time::sleep(Duration::from_millis(100)).await;
    peer.close(4409, "another instance took over").await;
    drop(peer);
    let mut status = app.status();
    let stopped =
        |status: &Status| matches!(status, Status::Stopped(stopped) if stopped.code == Some(4409));
    soon(status.wait_for(stopped)).await.unwrap();
}

#[tokio::test]
async fn frames_that_the_protocol_lacks_close_with_their_code() {
    let too_large = format!(
        r#"{{"type":"later","x":"{}"}}"#,
        "x".repeat(4 * 1024 * 1024)
    );
    let table = [
        (Message::binary(b"binary".as_slice()), 1003),
        (Message::text(too_large), 1009),
    ];
    for (message, code) in table {
        let server = Server::start().await;
        let app = builder(&server).connect();
        let mut peer = server.accept_registered().await;
        soon(app.online()).await.unwrap();
        use futures_util::SinkExt as _;
        // The rest of a message that is too large may find the connection closed.
        _ = soon(peer.socket.send(message)).await;
        assert_eq!(peer.closed().await.0, code);
        let mut status = app.status();
        let offline = |status: &Status| matches!(status, Status::Offline { code: Some(seen), .. } if *seen == code);
        soon(status.wait_for(offline)).await.unwrap();
    }
}
