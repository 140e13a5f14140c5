//! Passing bytes on to another node, for a router that cannot reach it.
//!
//! One hop: the other node is reached directly or not at all.

use std::sync::Arc;

use clientmcp_cluster::listener::Place;
use clientmcp_cluster::view::Whereabouts;
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_proto::headers::{INCARNATION, NODE, RELAY_PROTOCOL};
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::body::Body;

use crate::limits;
use crate::listener::Response;
use crate::state::NodeState;
use crate::upgrade::plain;

/// Answers a request for a relay, and begins to pass bytes.
pub(crate) async fn answer(
    node: &Arc<NodeState>,
    mut request: http::Request<Incoming>,
) -> Response {
    let Some(address) = target(node, request.headers()) else {
        return plain(StatusCode::NOT_FOUND, "no such node is known here");
    };
    let connecting = timeout(node.timings.connect_timeout, TcpStream::connect(&address));
    let Ok(Ok(mut onward)) = connecting.await else {
        return plain(
            StatusCode::BAD_GATEWAY,
            "the node cannot be reached from here",
        );
    };
    let place = request.extensions().get::<Place>().cloned();
    let upgrade = hyper::upgrade::on(&mut request);
    let state = node.clone();
    // Until the very end: what passes here belongs to others.
    node.errands.spawn(async move {
        let _place = place;
        let passing = async {
            let Ok(Ok(upgraded)) = timeout(limits::FIRST_REQUEST_TIMEOUT, upgrade).await else {
                return;
            };
            // Whatever broke it, both sides see their end of it.
            let mut upgraded = TokioIo::new(upgraded);
            let _ = onward.set_nodelay(true);
            let _ = tokio::io::copy_bidirectional(&mut upgraded, &mut onward).await;
        };
        tokio::select! {
            () = passing => {}
            () = state.end_links.cancelled() => {}
            () = state.abort.cancelled() => {}
        }
    });
    let mut response = http::Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(RELAY_PROTOCOL));
    response
}

/// Where the node is that a request is meant for.
fn target(node: &NodeState, headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let id = MemberId::parse(text(NODE)?).ok()?;
    let incarnation = Incarnation(u64::from_str_radix(text(INCARNATION)?, 16).ok()?);
    match node.membership.view().whereabouts(&id, incarnation) {
        Whereabouts::Present(member) => Some(member.address.clone()),
        Whereabouts::Lost(lost) => Some(lost.member.address.clone()),
        Whereabouts::Unknown => None,
    }
}
