//! The way of an app's WebSocket to the node that owns its client ID: a tunnel on the trunk of the
//! pair, opened by passing the app's handshake on.

use std::io;

use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::ids::ClientId;
use clientmcp_proto::tunnel::{Closed, Receiver, Sender};
use clientmcp_proto::v1::{Header, TunnelAnswer};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::gateway::Gateway;
use crate::limits;
use crate::links::{NoTrunk, Peer, Run};

/// A tunnel whose node has answered the app's handshake.
#[derive(Debug)]
pub(crate) struct Tunnel {
    /// What comes from the node.
    pub(crate) receiver: Receiver,
    /// What goes to it.
    pub(crate) sender: Sender,
    /// The node.
    pub(crate) node: Run,
}

/// Why one node did not take a socket.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("no answer in time")]
    Timeout,
    #[error(transparent)]
    NoTrunk(#[from] NoTrunk),
    #[error(transparent)]
    Closed(#[from] Closed),
    #[error("no answer: {0}")]
    Lost(#[from] io::Error),
    #[error("it answered {0}")]
    Status(StatusCode),
}

/// Opens a tunnel to the owner of a client ID or, where that takes no socket, to the next on the
/// ring. Gives what the node's answer says about the WebSocket as well.
///
/// # Errors
/// How the app's socket is to be closed: nobody took it.
pub(crate) async fn open(
    gateway: &Gateway,
    client_id: &ClientId,
    app: &HeaderMap,
) -> Result<(HeaderMap, Tunnel), Closing> {
    let takers = gateway.placement.takers(client_id).into_iter();
    for peer in takers.take(limits::TUNNEL_ATTEMPTS) {
        match open_to(gateway, &peer, app).await {
            Ok(opened) => return Ok(opened),
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

async fn open_to(
    gateway: &Gateway,
    peer: &Peer,
    app: &HeaderMap,
) -> Result<(HeaderMap, Tunnel), Refused> {
    let opening = async {
        let trunk = peer.trunk().await?;
        let opening = trunk.open(request(app))?;
        Ok(opening.answer().await?)
    };
    // A node that hangs accepts connections and answers none.
    let within = gateway.config.timings.connect_timeout * 2;
    let answered = tokio::time::timeout(within, opening).await;
    let (answer, receiver, sender) = answered.unwrap_or(Err(Refused::Timeout))?;
    let status = u16::try_from(answer.status).ok();
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    match status.unwrap_or(StatusCode::BAD_GATEWAY) {
        StatusCode::SWITCHING_PROTOCOLS => {
            let tunnel = Tunnel {
                receiver,
                sender,
                node: peer.run(),
            };
            Ok((response(answer), tunnel))
        }
        status => Err(Refused::Status(status)),
    }
}

/// What concerns the node in the app's request.
fn request(app: &HeaderMap) -> Vec<Header> {
    let concerns = |name: &HeaderName| is_of_websocket(name) || name == header::ORIGIN;
    let concerning = app.iter().filter(|(name, _)| concerns(name));
    let concerning = concerning.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let upgrade = [("connection", &b"Upgrade"[..]), ("upgrade", b"websocket")];
    let headers = concerning.chain(upgrade).map(|(name, value)| Header {
        name: name.to_owned(),
        value: value.to_vec().into(),
    });
    headers.collect()
}

/// What the node's answer says about the WebSocket.
fn response(answer: TunnelAnswer) -> HeaderMap {
    let headers = answer.headers.into_iter().filter_map(|header| {
        let name = HeaderName::try_from(header.name).ok()?;
        let value = HeaderValue::from_bytes(&header.value).ok()?;
        is_of_websocket(&name).then_some((name, value))
    });
    headers.collect()
}

fn is_of_websocket(name: &HeaderName) -> bool {
    name.as_str().starts_with("sec-websocket-")
}
