//! What is logged, at the finest level, names no token and no secret (B41).

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::app::App;
use crate::router::Router;
use crate::world::{CLIENT, World};

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[tokio::test]
async fn tokens_and_keys_are_in_no_log() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // For this thread, on which the whole test runs; hyper, h2 and tonic log through it too.
    let _logging = tracing::subscriber::set_default(subscriber);

    let world = World::new();
    let node = world.node("node-1").await;
    let token = world.token(CLIENT);
    let mut app = App::connect(&node, "node-1", &world.secrets, &token).await;
    app.register("i1", 1).await;
    let renewed = world.token_for(CLIENT, true, 7200);
    app.send(json!({"type": "auth", "token": renewed})).await;
    app.expect("authorized").await;
    let router = Router::connect(&node, "node-1", &world.secrets).await;
    let mut link = router.link().await;
    let sent = link.call(CLIENT);
    app.echo().await;
    link.result(sent).await;

    let expired = world.token_for(CLIENT, true, -60);
    for refused in [expired.clone(), format!("{token}x"), token[..40].to_owned()] {
        let mut app = App::connect(&node, "node-1", &world.secrets, &refused).await;
        app.expect_close().await;
    }
    app.send(json!({"type": "auth", "token": expired})).await;
    app.expect_close().await;
    node.stop().await;

    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("registered"), "something is logged");
    for token in [&token, &renewed, &expired] {
        let signature = token.rsplit('.').next().unwrap();
        assert!(!log.contains(signature), "a token is logged");
    }
    assert!(!log.contains(&world.secrets.cluster_key()));
}
