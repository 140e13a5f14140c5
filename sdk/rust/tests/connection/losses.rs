//! Lost connections, and the calls that ran meanwhile.

use clientmcp_sdk::Status;

use crate::server::{CALL, Server, soon};
use crate::{builder, done, gated};

#[tokio::test]
async fn a_lost_connection_is_replaced_and_names_what_the_cluster_knows() {
    let server = Server::start().await;
    let (tool, handler) = done("a");
    let app = builder(&server).tool(tool, handler).connect();
    let mut first = server.accept().await;
    let instance = first.expect_register().await["instance"].clone();
    first.send_registered(60_000).await;
    soon(app.online()).await.unwrap();
    drop(first);

    let mut second = server.accept().await;
    let register = second.expect_register().await;
    assert_eq!(register["instance"], instance);
    assert_eq!(register["connection"], 2);
    assert!(register["tools"]["hash"].is_string(), "{register}");
    second.send(r#"{"type":"need","kinds":["tools"]}"#).await;
    let register = second.expect_register().await;
    assert_eq!(register["tools"][0]["name"], "a");
    second.send_registered(60_000).await;
    let mut status = app.status();
    let online =
        |status: &Status| matches!(status, Status::Online(online) if online.connection == 2);
    soon(status.wait_for(online)).await.unwrap();
}

#[tokio::test]
async fn a_running_call_is_attached_to_on_the_next_socket_and_runs_once() {
    let server = Server::start().await;
    let (builder, mut gate) = gated(builder(&server));
    let _app = builder.connect();
    let mut first = server.accept_registered().await;
    first.call(CALL, 0, r#"{"name":"wait"}"#).await;
    let call = gate.began().await;
    drop(first);

    let mut second = server.accept_registered().await;
    second.call(CALL, 1, r#"{"name":"wait"}"#).await;
    second.send(r#"{"type":"ping"}"#).await;
    assert_eq!(second.text().await, r#"{"type":"pong"}"#, "attached");
    call.progress(1.0, None, None);
    assert_eq!(second.json().await["progress"], 1);
    gate.end.notify_one();
    assert_eq!(second.json().await["result"]["content"][0]["text"], "run 1");
}

#[tokio::test]
async fn a_finished_call_is_answered_from_memory_until_it_is_settled() {
    let server = Server::start().await;
    let (builder, mut gate) = gated(builder(&server));
    let _app = builder.connect();
    let mut first = server.accept_registered().await;
    first.call(CALL, 0, r#"{"name":"wait"}"#).await;
    gate.began().await;
    gate.end.notify_one();
    let answer = first.text().await;
    drop(first);

    let mut second = server.accept_registered().await;
    second.call(CALL, 1, r#"{"name":"wait"}"#).await;
    assert_eq!(second.text().await, answer, "the same, to the byte");
    second
        .send(&format!(r#"{{"type":"settled","ids":["{CALL}"]}}"#))
        .await;
    second.call(CALL, 2, r#"{"name":"wait"}"#).await;
    let unknown = second.json().await;
    assert_eq!(unknown["error"]["data"]["outcome"], "unknown");
}

#[tokio::test]
async fn a_move_registers_on_the_next_socket_while_the_old_one_serves() {
    let server = Server::start().await;
    let elsewhere = Server::start().await;
    let (tool, handler) = done("a");
    let app = builder(&server).tool(tool, handler).connect();
    let mut old = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    let url = elsewhere.url();
    old.send(&format!(
        r#"{{"type":"move","reason":"drain","withinMs":10,"url":"{url}"}}"#
    ))
    .await;
    let mut new = elsewhere.accept().await;
    assert_eq!(new.expect_register().await["connection"], 2);
    old.call(CALL, 0, r#"{"name":"a"}"#).await;
    assert_eq!(old.json().await["type"], "result");
    new.send_registered(60_000).await;
    old.close(1000, "its next socket took over").await;
    new.call(&CALL.replace("8057", "8059"), 0, r#"{"name":"a"}"#)
        .await;
    assert_eq!(new.json().await["type"], "result");
    let online = soon(app.online()).await.unwrap();
    assert_eq!(online.connection, 2);
}

#[tokio::test]
async fn an_application_that_was_replaced_stops_until_told() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
    peer.close(4409, "another instance took over").await;
    let mut status = app.status();
    let stopped = |status: &Status| matches!(status, Status::Stopped(_));
    let stopped = soon(status.wait_for(stopped)).await.unwrap().clone();
    let Status::Stopped(stopped) = stopped else {
        unreachable!();
    };
    assert_eq!(stopped.code, Some(4409));
    assert_eq!(stopped.reason, "another instance took over");
    assert_eq!(soon(app.online()).await, Err(stopped));

    soon(app.reconnect()).await;
    server.accept_registered().await;
}

#[tokio::test]
async fn a_refused_upgrade_is_tried_again() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    server
        .refuse("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
        .await;
    let mut status = app.status();
    let offline = |status: &Status| matches!(status, Status::Offline { .. });
    let offline = soon(status.wait_for(offline)).await.unwrap().clone();
    let Status::Offline { code, reason, .. } = offline else {
        unreachable!();
    };
    assert_eq!(code, Some(1013));
    assert!(reason.contains("503"), "{reason}");
    let _peer = server.accept_registered().await;
    soon(app.online()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_speak_the_protocol_is_named() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    // A plain WebSocket, which echoes no subprotocol.
    let (stream, _) = server.accept_raw().await;
    _ = soon(tokio_tungstenite::accept_async(stream)).await;
    let mut status = app.status();
    let offline = |status: &Status| matches!(status, Status::Offline { reason, .. } if reason.contains("does not speak clientmcp.v1"));
    soon(status.wait_for(offline)).await.unwrap();
}
