//! Tokens appear in no log, however much is logged.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use crate::harness::{Cluster, Request, agent_token, token};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Captured;

    fn make_writer(&'a self) -> Captured {
        self.clone()
    }
}

// One thread, so that the subscriber of this test sees all that its router does.
#[tokio::test]
async fn tokens_and_keys_are_never_logged() {
    let captured = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(captured.clone())
        .finish();
    let _default = tracing::subscriber::set_default(subscriber);
    let cluster = Cluster::start().await;
    let agent = agent_token();
    let app = token(true, false, 600);
    let session = cluster.session("2025-11-25").await;
    cluster.send(&Request::modern_call("fast")).await;
    cluster.send(&Request::legacy_call(&session, "fast")).await;
    let wrong = format!("{agent}x");
    let refused = Request::modern_call("fast").set("Authorization", &format!("Bearer {wrong}"));
    cluster.send(&refused).await;
    for offer in [&app, &wrong] {
        let request = Request::new("GET", "/v1/connect")
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header(
                "Sec-WebSocket-Protocol",
                &format!("clientmcp.v1, clientmcp.token.{offer}"),
            );
        let mut connection = cluster.connect().await;
        connection.write(&request.to_bytes()).await;
        connection.head().await;
    }
    cluster.router.stop().await;
    let log = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("router started"));
    let signature = |token: &str| token.rsplit('.').next().unwrap().to_owned();
    let key = crate::harness::secrets().cluster_key();
    for secret in [signature(&agent), signature(&app), signature(&session), key] {
        assert!(!log.contains(&secret), "the log has {secret}");
    }
}
