//! Nothing that is logged, at whatever level and by whichever library, has a token in it.
//!
//! A test binary of its own, since a process has one place for its logs.

#![expect(clippy::unwrap_used, reason = "tests fail by it")]

use std::io::Write;
use std::sync::{Arc, Mutex};

use clientmcp_sdk::App;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;

#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Write for Logged {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[expect(clippy::result_large_err, reason = "tungstenite wants it so")]
fn echo(_: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    let protocol = HeaderValue::from_static("clientmcp.v1");
    response
        .headers_mut()
        .insert("sec-websocket-protocol", protocol);
    Ok(response)
}

#[tokio::test]
async fn no_log_has_a_token() {
    let logged = Logged::default();
    let writer = logged.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/v1/connect", listener.local_addr().unwrap());
    let app = App::builder(url)
        .token_provider(
            |reason| async move { Ok::<_, std::fmt::Error>(format!("SECRET-{reason:?}")) },
        )
        .connect();

    // The scripted side is silenced: it is tungstenite as well, and reads what it is sent.
    let cluster = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_hdr_async(stream, echo)
            .await
            .unwrap();
        socket.next().await.unwrap().unwrap();
        let hash = "A".repeat(43);
        let registered = format!(
            r#"{{"type":"registered","clientId":"c","hashes":{{"tools":"{hash}","prompts":"{hash}","resources":"{hash}","rest":"{hash}"}},"rejected":[],"expiresAt":1,"expiresInMs":50,"limits":{{"maxMessageBytes":4194304,"maxCallsInFlight":256,"pingIntervalMs":20000,"silenceTimeoutMs":45000}},"reconnectWithinMs":20}}"#
        );
        socket.send(Message::text(registered)).await.unwrap();
        let auth = socket.next().await.unwrap().unwrap();
        assert!(auth.to_text().unwrap().contains("SECRET-Expiring"));
        socket.close(None).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        drop(stream);
    };
    use tracing::instrument::WithSubscriber as _;
    let cluster = cluster.with_subscriber(tracing::Dispatch::none());
    tokio::time::timeout(std::time::Duration::from_secs(20), cluster)
        .await
        .unwrap();
    app.close().await;

    let logged = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    assert!(
        logged.contains("online") && logged.contains("offline"),
        "{logged}"
    );
    assert!(logged.contains("tungstenite"), "libraries are heard");
    assert!(!logged.contains("SECRET"), "{logged}");
}
