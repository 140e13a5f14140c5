//! The way of an app's WebSocket to the node that owns its client ID: a TCP connection of its
//! own, opened by passing the app's handshake on.
//!
//! Nothing outside this file knows how a tunnel is carried.

use std::pin::pin;

use bytes::Bytes;
use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::ids::ClientId;
use clientmcp_proto::headers::{CLUSTER_KEY, INCARNATION, NODE, ROUTER};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::relay::Leg;
use crate::gateway::Gateway;
use crate::limits;
use crate::links::{Peer, Run};

/// A tunnel whose node has answered the app's handshake.
#[derive(Debug)]
pub(crate) struct Tunnel {
    /// What the node's answer says about the WebSocket.
    pub(crate) handshake: HeaderMap,
    /// The connection to the node.
    pub(crate) leg: Leg,
    /// Cancelled when the node turns out to be out of reach.
    pub(crate) reach: CancellationToken,
    /// The node.
    pub(crate) node: Run,
}

/// Why one node did not take a socket.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("no answer in time")]
    Timeout,
    #[error("cannot be reached: {0}")]
    Connect(#[from] std::io::Error),
    #[error("connection failed: {0}")]
    Http(#[from] hyper::Error),
    #[error("it answered {0}")]
    Status(StatusCode),
}

/// Opens a tunnel to the owner of a client ID or, where that takes no socket, to the next on the
/// ring.
///
/// # Errors
/// How the app's socket is to be closed: nobody took it.
pub(crate) async fn open(
    gateway: &Gateway,
    client_id: &ClientId,
    app: &HeaderMap,
) -> Result<Tunnel, Closing> {
    let takers = gateway.placement.takers(client_id).into_iter();
    for peer in takers.take(limits::TUNNEL_ATTEMPTS) {
        match open_to(gateway, &peer, app).await {
            Ok(tunnel) => return Ok(tunnel),
            // Its apps are many: others would bring them back to it.
            Err(Refused::Status(StatusCode::TOO_MANY_REQUESTS)) => {
                let text = "too many apps come at once; try later";
                return Err(Closing::new(CloseCode::TryLater, text));
            }
            Err(error) => {
                let node = peer.run();
                tracing::debug!(%node, %client_id, %error, "a node did not take a socket");
            }
        }
    }
    let text = "no node takes the socket; try later";
    Err(Closing::new(CloseCode::TryLater, text))
}

async fn open_to(gateway: &Gateway, peer: &Peer, app: &HeaderMap) -> Result<Tunnel, Refused> {
    let timings = &gateway.config.timings;
    // First: a node that is lost in this moment cuts this tunnel as well.
    let reach = peer.reach();
    let opening = async {
        let stream = peer.connect().await?;
        stream.set_nodelay(true)?;
        shake_hands(stream, request(gateway, peer, app)).await
    };
    // A node that hangs accepts connections and answers none.
    let (handshake, leg) = tokio::time::timeout(timings.connect_timeout * 2, opening)
        .await
        .unwrap_or(Err(Refused::Timeout))?;
    Ok(Tunnel {
        handshake,
        leg,
        reach,
        node: peer.run(),
    })
}

/// Sends the upgrade request and takes the connection over once the node switched protocols.
async fn shake_hands(
    stream: TcpStream,
    request: Request<Empty<Bytes>>,
) -> Result<(HeaderMap, Leg), Refused> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let mut response = sender.send_request(request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(Refused::Status(response.status()));
        }
        let upgraded = hyper::upgrade::on(&mut response).await?;
        let parts = upgraded
            .downcast::<TokioIo<TcpStream>>()
            .expect("the connection was made of a TcpStream");
        let leg = Leg {
            stream: parts.io.into_inner(),
            early: parts.read_buf,
        };
        Ok((websocket_headers(response.headers()), leg))
    };
    let (mut exchange, connection) = (pin!(exchange), connection.with_upgrades());
    tokio::select! {
        // A node that refuses would keep the connection for a next request.
        exchanged = &mut exchange => exchanged,
        // It ends when the stream is taken out of it; if it ends by itself, the exchange fails.
        _ = connection => exchange.await,
    }
}

fn request(gateway: &Gateway, peer: &Peer, app: &HeaderMap) -> Request<Empty<Bytes>> {
    let member = peer.member();
    let ascii = |text: String| HeaderValue::try_from(text).expect("names of members are ASCII");
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = http::Uri::from_static("/v1/connect");
    let headers = request.headers_mut();
    *headers = websocket_headers(app);
    if let Some(origin) = app.get(header::ORIGIN) {
        headers.insert(header::ORIGIN, origin.clone());
    }
    if let Ok(host) = HeaderValue::try_from(&member.address) {
        headers.insert(header::HOST, host);
    }
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CLUSTER_KEY, gateway.cluster_key.clone());
    headers.insert(ROUTER, ascii(gateway.links.router_run()));
    headers.insert(NODE, ascii(member.id.to_string()));
    headers.insert(INCARNATION, ascii(member.incarnation.to_string()));
    request
}

/// Copies of the `Sec-WebSocket-*` headers. Copies: slices of the request's own buffer would keep
/// all of it alive as long as the tunnel.
fn websocket_headers(headers: &HeaderMap) -> HeaderMap {
    let mut copied = HeaderMap::new();
    for (name, value) in headers {
        if name.as_str().starts_with("sec-websocket-")
            && let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes())
        {
            copy.set_sensitive(name == header::SEC_WEBSOCKET_PROTOCOL);
            copied.append(name.clone(), copy);
        }
    }
    copied
}
