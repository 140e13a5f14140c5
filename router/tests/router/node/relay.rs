//! A scripted node that passes bytes on to another one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use clientmcp_proto::headers::{INCARNATION, NODE, RELAY_PROTOCOL};
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::State;

pub(super) async fn answer(
    state: &Arc<State>,
    mut request: http::Request<hyper::body::Incoming>,
) -> http::Response<Empty<Bytes>> {
    assert_eq!(request.headers()["upgrade"], RELAY_PROTOCOL);
    assert!(request.headers().contains_key(NODE));
    assert!(request.headers().contains_key(INCARNATION));
    let refused = |status: u16| {
        let response = http::Response::builder().status(status);
        response.body(Empty::new()).unwrap()
    };
    let to = state.script.lock().unwrap().relays_to.clone();
    let Some(to) = to else {
        return refused(404);
    };
    let Ok(mut onward) = TcpStream::connect(to).await else {
        return refused(502);
    };
    state.relayed.fetch_add(1, Ordering::SeqCst);
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let mut upgraded = TokioIo::new(upgrade.await.unwrap());
        let _ = tokio::io::copy_bidirectional(&mut upgraded, &mut onward).await;
    });
    let response = http::Response::builder().status(101);
    response
        .header("upgrade", RELAY_PROTOCOL)
        .header("connection", "upgrade")
        .body(Empty::new())
        .unwrap()
}
