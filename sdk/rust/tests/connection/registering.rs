//! What is registered, and when.

use std::time::Duration;

use clientmcp_sdk::{App, OfferError, Status, Tool, Tools};
use serde_json::json;

use crate::server::{Server, soon};
use crate::{builder, done, json as text};

#[tokio::test]
async fn an_application_is_online_when_the_cluster_has_taken_its_registration() {
    let server = Server::start().await;
    let definition = text(r#"{ "z":1.0, "name":"raw", "inputSchema":{"type":"object"}}"#);
    let (tool, handler) = done("limited");
    let limited = tool
        .input_schema(json!({"type": "object", "required": ["x"]}))
        .requires(json!({"sampling": {}}))
        .timeout(Duration::from_secs(300));
    let app = builder(&server)
        .server_info("demo", "1.0.0")
        .instructions("Be kind.")
        .list_ttl(Duration::from_secs(5))
        .instance("run-1")
        .tool(limited, handler)
        .raw_tool(Tool::from_definition(definition).unwrap(), |_, _| async {
            Ok(text("{}"))
        })
        .connect();
    let mut peer = server.accept().await;
    assert_eq!(peer.token, "secret-token");
    assert_eq!(
        peer.text().await,
        r#"{"type":"register","instance":"run-1","connection":1,"features":["resume"],"serverInfo":{"name":"demo","version":"1.0.0"},"instructions":"Be kind.","toolOptions":{"limited":{"requires":{"sampling":{}},"timeoutMs":300000}},"ttlMs":5000,"tools":[{"name":"limited","description":"Is done at once","inputSchema":{"required":["x"],"type":"object"}},{ "z":1.0, "name":"raw", "inputSchema":{"type":"object"}}]}"#
    );
    assert_eq!(*app.status().borrow(), Status::Connecting);
    peer.send_registered(60_000).await;
    let online = soon(app.online()).await.unwrap();
    assert_eq!((online.client_id.as_str(), online.connection), ("c", 1));
}

#[tokio::test]
async fn what_was_refused_is_told() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let mut peer = server.accept().await;
    peer.expect_register().await;
    let hash = "A".repeat(43);
    let registered = format!(
        r#"{{"type":"registered","clientId":"c","hashes":{{"tools":"{hash}","prompts":"{hash}","resources":"{hash}","rest":"{hash}"}},"rejected":[{{"kind":"tools","name":"a b","reason":"no name of a tool"}}],"expiresAt":1,"expiresInMs":60000,"limits":{{"maxMessageBytes":4194304,"maxCallsInFlight":256,"pingIntervalMs":20000,"silenceTimeoutMs":45000}},"reconnectWithinMs":20}}"#
    );
    peer.send(&registered).await;
    let online = soon(app.online()).await.unwrap();
    assert_eq!(online.rejected.len(), 1);
    assert_eq!(online.rejected[0].name.as_deref(), Some("a b"));
    assert_eq!(online.rejected[0].reason, "no name of a tool");
}

#[tokio::test]
async fn new_tools_are_registered_on_the_same_socket() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    let setting = tokio::spawn({
        let app = app.clone();
        let (tool, handler) = done("later");
        async move { app.set_tools(Tools::new().tool(tool, handler)).await }
    });
    let register = peer.expect_register().await;
    assert_eq!(register["tools"][0]["name"], "later");
    assert_eq!(register["connection"], 1);
    assert!(register["rest"]["hash"].is_string(), "{register}");
    assert!(!setting.is_finished());
    peer.send_registered(60_000).await;
    assert_eq!(soon(setting).await.unwrap(), Ok(Vec::new()));
}

#[tokio::test]
async fn what_no_message_carries_is_not_registered() {
    let server = Server::start().await;
    let large = "x".repeat(4 * 1024 * 1024);
    let (tool, handler) = done("large");
    let tools = Tools::new().tool(tool.title(large), handler);
    let app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    let error = soon(app.set_tools(tools.clone())).await.unwrap_err();
    assert!(matches!(error, OfferError::TooLarge(_)), "{error}");
    peer.send(r#"{"type":"ping"}"#).await;
    assert_eq!(peer.text().await, r#"{"type":"pong"}"#, "nothing else");

    let stopped = builder(&server).tools(tools).connect();
    let stopped = soon(stopped.online()).await.unwrap_err();
    assert!(stopped.reason.contains("4194304"), "{stopped}");
}

#[tokio::test]
async fn mistakes_in_what_the_builder_was_told_stop() {
    let table = [
        (App::builder("ws://127.0.0.1:1/"), "no token"),
        (App::builder("ws://127.0.0.1:1/").token(" "), "no token"),
        (App::builder("ws://127.0.0.1:1/").token("a,b"), "no JWT"),
        (App::builder("http://a/").token("t"), "neither ws://"),
        (App::builder("").token("t"), "no URL"),
        (
            App::builder("ws://127.0.0.1:1/").token("t").instance("a b"),
            "instance",
        ),
        (
            App::builder("wss://127.0.0.1:1/")
                .token("t")
                .trust_certificate(b"none".as_slice()),
            "root certificate",
        ),
    ];
    for (builder, expected) in table {
        let app = builder.connect();
        let stopped = soon(app.online()).await.unwrap_err();
        assert!(stopped.reason.contains(expected), "{stopped}");
        soon(app.close()).await;
    }
}
