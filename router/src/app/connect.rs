//! `GET /v1/connect`: an app's WebSocket (SPEC.md §4.1).
//!
//! A browser cannot see the status of a failed upgrade. Whoever speaks the protocol and is
//! refused therefore gets its handshake completed, and a close code with a reason.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::listener::Place;
use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::handshake::Offer;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::token::{ServeGrant, TokenError};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;

use super::relay::{Leg, relay};
use super::tunnel::{self, Tunnel};
use super::websocket;
use crate::body::Response;
use crate::gateway::Gateway;

/// Answers an upgrade request.
///
/// # Errors
/// The request is no WebSocket upgrade, or does not offer `clientmcp.v1`.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    mut request: http::Request<Incoming>,
) -> Result<Response, RpcError> {
    let upgrade = hyper::upgrade::on(&mut request);
    let place = request.extensions_mut().remove::<Place>();
    let (head, _) = request.into_parts();
    websocket::check_upgrade(&head)?;
    let offer = Offer::read(&head.headers);
    if !offer.speaks_v1 {
        return Err(RpcError::invalid_request(
            "The subprotocols must contain clientmcp.v1",
        ));
    }
    let grant = match admit(gateway, &head, &offer) {
        Ok(grant) => grant,
        Err(closing) => return Ok(refuse(gateway, &head, upgrade, place, closing)),
    };
    match tunnel::open(gateway, grant.client_id(), &head.headers).await {
        Ok((handshake, tunnel)) => {
            let mut response = websocket::switching();
            response.headers_mut().extend(handshake);
            let carried = carry(gateway.clone(), upgrade, tunnel, place);
            gateway.tunnels.spawn(carried);
            Ok(response)
        }
        Err(closing) => {
            gateway.metrics.tunnels_refused.inc();
            Ok(refuse(gateway, &head, upgrade, place, closing))
        }
    }
}

/// Origin, token, scope.
fn admit(
    gateway: &Gateway,
    head: &http::request::Parts,
    offer: &Offer<'_>,
) -> Result<ServeGrant, Closing> {
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    gateway
        .origins
        .check(authority, &head.headers)
        .map_err(|error| Closing::new(CloseCode::Forbidden, error.message))?;
    let token = offer.token.map_err(|error| {
        gateway.metrics.token_refused("missing");
        error.closing()
    })?;
    let grant = gateway.verify(token).map_err(TokenError::closing)?;
    grant.serve().map_err(|error| {
        gateway.metrics.token_refused("scope");
        error.closing()
    })
}

/// Completes the handshake and closes.
fn refuse(
    gateway: &Arc<Gateway>,
    head: &http::request::Parts,
    upgrade: OnUpgrade,
    place: Option<Place>,
    closing: Closing,
) -> Response {
    tracing::debug!(%closing, "an app was refused");
    gateway.tunnels.spawn(async move {
        let _place = place;
        if let Some(leg) = take_over(upgrade).await
            && let Err(error) = websocket::close(leg.stream, &closing).await
        {
            tracing::debug!(%error, "a refused app was gone");
        }
    });
    websocket::accept(&head.headers)
}

/// Relays until either side ends, the node turns out to be out of reach, or the router stops.
async fn carry(gateway: Arc<Gateway>, upgrade: OnUpgrade, tunnel: Tunnel, place: Option<Place>) {
    let _place = place;
    let Some(app) = take_over(upgrade).await else {
        return;
    };
    let _open = gateway.metrics.tunnel_opened();
    let Tunnel {
        receiver,
        sender,
        node,
    } = tunnel;
    let stall = gateway.config.timings.write_stall;
    let relayed = tokio::select! {
        relayed = relay(app, receiver, sender, stall, hang_up(&gateway)) => relayed,
        () = gateway.abort.cancelled() => return,
    };
    if let Err(error) = relayed {
        tracing::debug!(%node, %error, "a tunnel broke");
    }
}

/// Resolves when the router stops. Apps that can move have half of its drain to do so; the others
/// are spread over a third of it: all at once would storm the routers that stay.
async fn hang_up(gateway: &Gateway) {
    gateway.closing.cancelled().await;
    let drain = gateway.config.timings.drain;
    let spread = (drain / 3).mul_f64(rand::random_range(0.0..1.0));
    // A tunnel has no room for a timer while nobody stops.
    Box::pin(tokio::time::sleep(drain / 2 + spread)).await;
}

/// The app's socket, once the answer to its handshake is written.
async fn take_over(upgrade: OnUpgrade) -> Option<Leg> {
    /// An app that does not read the answer to its handshake.
    const HANDSHAKE: Duration = Duration::from_secs(10);
    let upgraded = tokio::time::timeout(HANDSHAKE, upgrade);
    let upgraded = Box::pin(upgraded).await.ok()?.ok()?;
    let parts = auto::upgrade::downcast::<TokioIo<TcpStream>>(upgraded).ok()?;
    Some(Leg {
        stream: parts.io.into_inner(),
        early: parts.read_buf,
    })
}
