//! Trunks: the streams that carry the WebSockets of apps that come through routers.
//!
//! One task reads each. It answers handshakes and hands over what has arrived; each socket is
//! served by tasks of its own, as one that came straight to this node.

use std::pin::pin;
use std::sync::Arc;

use clientmcp_core::limits::MESSAGE_BYTES;
use clientmcp_proto::tunnel::{Closed, Drain, Trunk, trunk};
use clientmcp_proto::v1::{Header, TunnelAnswer, TunnelFrame, TunnelOpen, tunnel_frame};
use futures_util::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use tonic::Status;

use crate::link;
use crate::listener::Response;
use crate::socket;
use crate::state::NodeState;
use crate::upgrade::{self, Door};

/// Begins a trunk: gives the frames for the router, and the task that reads the router's.
pub(crate) fn serve(
    node: Arc<NodeState>,
    router: String,
    frames: impl Stream<Item = Result<TunnelFrame, Status>> + Send + 'static,
) -> (Drain, impl Future<Output = ()> + Send + 'static) {
    let (trunk, drain) = trunk();
    trunk.introduce(welcome(&node));
    let stands = Stands {
        node,
        trunk,
        router: router.into(),
    };
    (drain, read(stands, frames))
}

/// The first frame of every trunk: who is here.
pub(crate) fn welcome(node: &NodeState) -> tunnel_frame::Frame {
    tunnel_frame::Frame::Welcome(link::who_is_here(node))
}

/// While the trunk is read. Dropped when its task ends, however it does: nobody waits for what does
/// not come.
struct Stands {
    node: Arc<NodeState>,
    trunk: Trunk,
    router: Arc<str>,
}

impl Drop for Stands {
    fn drop(&mut self) {
        tracing::debug!(router = %self.router, tunnels = self.trunk.tunnels(), "trunk ends");
        self.trunk.lose();
    }
}

async fn read(stands: Stands, frames: impl Stream<Item = Result<TunnelFrame, Status>>) {
    let mut frames = pin!(frames);
    let mut ends = false;
    loop {
        let frame = tokio::select! {
            frame = frames.next() => frame,
            () = stands.node.end_links.cancelled(), if !ends => {
                // What was said to apps still arrives; the router ends its half then.
                ends = true;
                stands.trunk.finish();
                continue;
            }
            () = stands.node.abort.cancelled() => return,
        };
        let Some(Ok(frame)) = frame else {
            return;
        };
        match stands.trunk.handle(frame) {
            Ok(None) => {}
            Ok(Some((number, handshake))) => {
                if stands.open(number, handshake).is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(router = %stands.router, %error, "ending a trunk");
                return;
            }
        }
    }
}

impl Stands {
    /// Answers a handshake, and begins to serve the socket.
    fn open(&self, number: u64, handshake: TunnelOpen) -> Result<(), Closed> {
        let node = &self.node;
        let request = request(handshake);
        let judged = upgrade::judge(node, &Door::Tunnel, &request).and_then(|judged| {
            let place = node.tunnel_places.clone().try_acquire_owned();
            let place = place.map_err(|_| Box::new(upgrade::no_place(node)))?;
            Ok((judged, place))
        });
        let (judged, place) = match judged {
            Ok(judged) => judged,
            Err(refusal) => {
                self.trunk.answer(number, answer(&refusal));
                return Ok(());
            }
        };
        let (receiver, sender) = self.trunk.accept(number)?;
        self.trunk.answer(number, answer(&judged.answer()));
        let socket = socket::over_tunnel(receiver, sender, MESSAGE_BYTES);
        upgrade::serve(node, judged, socket, Some(self.router.clone()), place);
        Ok(())
    }
}

/// The app's request, as far as the router passed it on. A header that is none is left out, and
/// missed where it is needed.
fn request(handshake: TunnelOpen) -> http::Request<()> {
    let mut request = http::Request::new(());
    *request.uri_mut() = http::Uri::from_static(upgrade::PATH);
    for Header { name, value } in handshake.headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::try_from(name),
            HeaderValue::from_maybe_shared(value),
        ) {
            request.headers_mut().append(name, value);
        }
    }
    request
}

fn answer(response: &Response) -> TunnelAnswer {
    let headers = response.headers().iter().map(|(name, value)| Header {
        name: name.as_str().to_owned(),
        value: bytes::Bytes::copy_from_slice(value.as_bytes()),
    });
    TunnelAnswer {
        status: response.status().as_u16().into(),
        headers: headers.collect(),
    }
}
