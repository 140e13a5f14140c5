//! An app that remembers calls, and calls that are meant for it.

use clientmcp_node::Node;
use clientmcp_proto::link::CallKey;
use clientmcp_proto::v1::{Call, Target};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::app::{App, register, tool};
use crate::router::{Link, Router, call};
use crate::world::{CLIENT, World, ms};

pub(crate) const PARAMS: &str = r#"{"name":"echo"}"#;

pub(crate) async fn connect(world: &World, node: &Node, id: &str) -> App {
    App::connect(node, id, &world.secrets, &world.token(CLIENT)).await
}

/// `register` of an app that remembers calls.
pub(crate) fn resuming(instance: &str, connection: u64) -> Value {
    let mut register = register(instance, connection, &[tool("echo")]);
    register["features"] = json!(["resume"]);
    register
}

pub(crate) async fn resume(app: &mut App, instance: &str, connection: u64) {
    app.send(resuming(instance, connection)).await;
    app.expect("registered").await;
}

pub(crate) fn for_instance(instance: &str) -> Call {
    Call {
        instance: instance.into(),
        ..call(CLIENT)
    }
}

/// The same call, delivered again.
pub(crate) fn again(first: &Call) -> Call {
    Call {
        attempt: first.attempt + 1,
        ..first.clone()
    }
}

pub(crate) async fn link(world: &World, node: &Node, id: &str) -> Link {
    Router::connect(node, id, &world.secrets).await.link().await
}

/// The node has taken in that the app is away, and the call waits.
pub(crate) async fn waits(link: &mut Link, key: CallKey) {
    let heard = timeout(ms(300), link.hear(key)).await;
    assert!(heard.is_err(), "{heard:?}");
}

pub(crate) fn run_of(node: &Node, id: &str) -> Target {
    Target {
        node_id: id.into(),
        incarnation: node.incarnation().0,
    }
}
