//! Apps' WebSocket handshakes: through a router's tunnel, or straight from the app on the public
//! port (SPEC.md §4.1).
//!
//! A browser cannot see the status of a failed upgrade. So what an app can mend (its token, its
//! origin) completes the handshake and closes with a code; what a router can mend (another run of
//! the node, a node that takes nothing new) is an HTTP status, and the router tries elsewhere.

mod handshake;

use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::listener::Place;
use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::handshake::SUBPROTOCOL;
use clientmcp_core::limits::MESSAGE_BYTES;
use clientmcp_core::mcp::origin::OriginPolicy;
use clientmcp_core::token::ServeGrant;
use http::header::{
    ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderValue, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::upgrade::downcast;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::body::Body;

use crate::connection::Connection;
use crate::limits;
use crate::listener::Response;
use crate::socket::{self, Frame};
use crate::state::NodeState;
use handshake::{Handshake, NoHandshake};

/// Where apps connect.
pub(crate) const PATH: &str = "/v1/connect";

/// How a handshake came.
#[derive(Debug, Clone)]
pub(crate) enum Door {
    /// Through a router's tunnel. The router has checked the origin.
    Tunnel,
    /// Straight from the app.
    Public(Arc<OriginPolicy>),
}

/// What the handshake is completed for.
type Admitted = Result<ServeGrant, Closing>;

/// A handshake that is completed: for an app that may connect, or for one that is told why not.
#[derive(Debug)]
pub(crate) struct Judged {
    handshake: Handshake,
    admitted: Admitted,
}

impl Judged {
    /// The answer that completes it.
    pub(crate) fn answer(&self) -> Response {
        switching(&self.handshake)
    }
}

/// Reads a handshake.
///
/// # Errors
/// The answer that refuses it.
pub(crate) fn judge<B>(
    node: &NodeState,
    door: &Door,
    request: &http::Request<B>,
) -> Result<Judged, Box<Response>> {
    if let Some(refusal) = refuse_place(node, door) {
        return Err(Box::new(refusal));
    }
    let handshake = handshake::read(request);
    let handshake = handshake.map_err(|error| Box::new(no_handshake(node, error)))?;
    let admitted = admit(node, door, &handshake, request);
    if let Err(closing) = &admitted {
        tracing::debug!(%closing, "socket refused");
        count_refusal(node, "token_or_origin");
    }
    Ok(Judged {
        handshake,
        admitted,
    })
}

/// Answers a request for an upgrade on the public port, and begins to serve the socket.
pub(crate) fn answer(
    node: &Arc<NodeState>,
    door: &Door,
    mut request: http::Request<Incoming>,
) -> Response {
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, "not found");
    }
    let judged = match judge(node, door, &request) {
        Ok(judged) => judged,
        Err(refusal) => return *refusal,
    };
    let response = judged.answer();
    let place = request.extensions().get::<Place>().cloned();
    // Nothing of the request outlives this function: its headers pin a buffer of many KiB.
    let upgrade = hyper::upgrade::on(&mut request);
    let serving = serve_upgraded(node.clone(), upgrade, judged, place.clone());
    node.sockets
        .spawn(until_abort(node.clone(), serving, place));
    response
}

/// Whether the socket belongs to another process; the router finds a better one.
fn refuse_place(node: &NodeState, door: &Door) -> Option<Response> {
    if node.draining.is_cancelled() {
        return Some(come_back(
            node,
            "draining",
            "the node stops",
            Duration::ZERO,
        ));
    }
    if node.is_cut_off() {
        let text = "the node is cut off from the store";
        return Some(come_back(node, "cut_off", text, Duration::ZERO));
    }
    let wait = node.admission.full_for()?;
    let text = "too many apps come at once";
    let mut response = come_back(node, "overloaded", text, wait);
    if matches!(door, Door::Tunnel) {
        // Tells the router that another node is not to be tried.
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    Some(response)
}

/// 503, and when to come back.
fn come_back(node: &NodeState, why: &str, text: &'static str, wait: Duration) -> Response {
    count_refusal(node, why);
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, text);
    let seconds = wait.as_secs() + 1;
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}

/// As many tunnels stand as may.
pub(crate) fn no_place(node: &NodeState) -> Response {
    let text = "too many apps are connected";
    come_back(node, "full", text, Duration::ZERO)
}

fn admit<B>(
    node: &NodeState,
    door: &Door,
    handshake: &Handshake,
    request: &http::Request<B>,
) -> Admitted {
    if let Door::Public(policy) = door {
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        policy
            .check(authority, request.headers())
            .map_err(|error| Closing::new(CloseCode::Forbidden, error.message))?;
    }
    let token = handshake.token.as_ref().map_err(|error| error.closing())?;
    node.verify(token)
}

/// Waits until HTTP has let go of the connection, and has the socket served.
async fn serve_upgraded(
    node: Arc<NodeState>,
    upgrade: OnUpgrade,
    judged: Judged,
    place: Option<Place>,
) {
    let upgraded = match timeout(limits::FIRST_REQUEST_TIMEOUT, upgrade).await {
        Ok(Ok(upgraded)) => upgraded,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the peer left during the handshake");
            return;
        }
        Err(_) => return,
    };
    if let Some(socket) = into_socket(upgraded) {
        serve(&node, judged, socket, None, place);
    }
}

/// Has a socket served by a task that has room for nothing else: it stays as long as the socket,
/// and so does its `place`. `via` is the run of the router through which it comes.
pub(crate) fn serve<P: Send + 'static>(
    node: &Arc<NodeState>,
    judged: Judged,
    (reader, writer): (socket::Reader, socket::Writer),
    via: Option<Arc<str>>,
    place: P,
) {
    match judged.admitted {
        Ok(grant) => {
            let connection = Connection::new(node.clone(), grant, via);
            tracing::debug!(client_id = %connection.client_id, socket = connection.number, "connected");
            let running = connection.run(reader, writer);
            node.sockets
                .spawn(until_abort(node.clone(), running, place));
        }
        Err(closing) => {
            let refusing = refuse(node.clone(), reader, writer, closing);
            node.sockets
                .spawn(until_abort(node.clone(), refusing, place));
        }
    }
}

/// Serves, and keeps the socket's place, until the socket has ended or all are dropped.
async fn until_abort<P>(node: Arc<NodeState>, served: impl Future<Output = ()>, _place: P) {
    tokio::select! {
        () = served => {}
        () = node.abort.cancelled() => {}
    }
}

/// The public port speaks plain TCP below HTTP. What is left of HTTP's read buffer, which is larger
/// than all that an idle socket has, is let go.
fn into_socket(upgraded: Upgraded) -> Option<(socket::Reader, socket::Writer)> {
    match downcast::<TokioIo<TcpStream>>(upgraded) {
        Ok(parts) => {
            let stream = parts.io.into_inner();
            Some(socket::over_tcp(stream, &parts.read_buf, MESSAGE_BYTES))
        }
        Err(_) => {
            tracing::error!("an upgraded connection is no TCP stream");
            None
        }
    }
}

/// Tells an app why it may not connect, and waits until it knows.
async fn refuse(
    node: Arc<NodeState>,
    mut reader: socket::Reader,
    mut writer: socket::Writer,
    closing: Closing,
) {
    let code = closing.code().to_string();
    node.metrics.closes.with_label_values(&[&code]).inc();
    let written = timeout(
        limits::LAST_WRITE_TIMEOUT,
        writer.write([Frame::Close(closing)], || ()),
    );
    if matches!(written.await, Ok(Ok(()))) {
        reader.await_close(limits::CLOSE_TIMEOUT).await;
        writer.finish().await;
    }
}

fn switching(handshake: &Handshake) -> Response {
    let mut response = http::Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let accept = HeaderValue::from_str(&handshake.accept).expect("base64 is a header value");
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    let protocol = HeaderValue::from_static(SUBPROTOCOL);
    headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    response
}

fn no_handshake(node: &NodeState, error: NoHandshake) -> Response {
    count_refusal(node, "handshake");
    let mut response = plain(error.status(), error.to_string());
    let headers = response.headers_mut();
    match error {
        NoHandshake::Method => {
            headers.insert(ALLOW, HeaderValue::from_static("GET"));
        }
        NoHandshake::Upgrade | NoHandshake::Version => {
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        }
        NoHandshake::Key | NoHandshake::Subprotocol => {}
    }
    response
}

fn count_refusal(node: &NodeState, why: &str) {
    node.metrics.refused_sockets.with_label_values(&[why]).inc();
}

/// A short answer in plain text.
pub(crate) fn plain(status: StatusCode, text: impl Into<bytes::Bytes>) -> Response {
    let mut response = http::Response::new(Body::new(Full::new(text.into())));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::tests::node;
    use clientmcp_core::ids::ClientId;
    use clientmcp_core::mcp::origin::OriginPolicy;

    #[tokio::test]
    async fn when_no_turn_is_to_be_had_no_socket_is_opened() {
        let node = node().await;
        // A turn is given every two milliseconds: no time passes between the looks.
        tokio::time::pause();
        let public = Door::Public(Arc::new(OriginPolicy::new(true, &[], &[]).unwrap()));
        let refused = |door: &Door| refuse_place(&node, door);
        assert!(refused(&Door::Tunnel).is_none());

        let client_id = |n: usize| ClientId::parse(&format!("app-{n}")).unwrap();
        let mut turns = (0..).map(|n| node.admission.take_turn(&client_id(n)));
        turns.find_map(Result::err).unwrap();
        let answers = [(Door::Tunnel, 429), (public, 503)];
        for (door, status) in answers {
            let refusal = refused(&door).unwrap();
            assert_eq!(refusal.status(), status);
            assert!(refusal.headers().contains_key(RETRY_AFTER));
        }
    }
}
