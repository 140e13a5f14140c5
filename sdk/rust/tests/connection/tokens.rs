//! Tokens over real sockets: where they come from, and how they are renewed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clientmcp_sdk::{App, Builder, Status, TokenReason};
use tokio::sync::mpsc;

use crate::server::{Server, soon};

/// Gives `token-1`, `token-2`, … and tells why it was asked.
fn numbered(server: &Server) -> (Builder, mpsc::UnboundedReceiver<TokenReason>) {
    let (sender, asked) = mpsc::unbounded_channel();
    let count = Arc::new(AtomicU32::new(0));
    let builder = App::builder(server.url()).token_provider(move |reason| {
        sender.send(reason).unwrap();
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok::<_, std::convert::Infallible>(format!("token-{number}\n")) }
    });
    (builder, asked)
}

#[tokio::test]
async fn a_token_is_renewed_in_place_before_it_ends() {
    let server = Server::start().await;
    let (builder, mut asked) = numbered(&server);
    let app = builder.connect();
    let mut peer = server.accept().await;
    assert_eq!(peer.token, "token-1");
    peer.expect_register().await;
    peer.send_registered(250).await;
    soon(app.online()).await.unwrap();
    let began = std::time::Instant::now();
    assert_eq!(peer.text().await, r#"{"type":"auth","token":"token-2"}"#);
    assert!(began.elapsed().as_millis() >= 150, "at four fifths");
    peer.send(r#"{"type":"authorized","expiresAt":1,"expiresInMs":60000}"#)
        .await;
    assert_eq!(soon(asked.recv()).await, Some(TokenReason::Connect));
    assert_eq!(soon(asked.recv()).await, Some(TokenReason::Expiring));

    // The renewed one is used for the next connection.
    drop(peer);
    let peer = server.accept_registered().await;
    assert_eq!(peer.token, "token-2");
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let server = Server::start().await;
    let (builder, mut asked) = numbered(&server);
    let app = builder.connect();
    server.accept().await.close(4401, "expired").await;
    let mut second = server.accept().await;
    assert_eq!(second.token, "token-2");
    assert_eq!(soon(asked.recv()).await, Some(TokenReason::Connect));
    assert_eq!(soon(asked.recv()).await, Some(TokenReason::Refused));
    second.close(4401, "wrong secret").await;
    let stopped = soon(app.online()).await.unwrap_err();
    assert_eq!(stopped.code, Some(4401));
    assert!(stopped.reason.starts_with("wrong secret"), "{stopped}");
}

#[tokio::test]
async fn a_provider_that_fails_is_asked_again() {
    let server = Server::start().await;
    let tries = AtomicU32::new(0);
    let app = App::builder(server.url())
        .token_provider(move |_| {
            let first = tries.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    return Err("no network");
                }
                Ok("later".to_owned())
            }
        })
        .connect();
    let mut status = app.status();
    let offline = |status: &Status| matches!(status, Status::Offline { reason, .. } if reason.contains("no network"));
    soon(status.wait_for(offline)).await.unwrap();
    assert_eq!(server.accept_registered().await.token, "later");
}
