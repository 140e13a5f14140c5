//! What is served where. There are no redirects: both spellings of a path are served alike.

use std::sync::Arc;

use clientmcp_core::mcp::cors;
use clientmcp_core::mcp::error::{RpcError, code};
use clientmcp_core::mcp::origin::AllowedOrigin;
use http::{HeaderMap, Method, Request, StatusCode, Version, header};
use hyper::body::Incoming;

use crate::agent;
use crate::app::{connect, locate};
use crate::body::{Body, Response};
use crate::gateway::Gateway;
use crate::limits;
use crate::refusal;

/// Answers a request.
pub(crate) async fn answer(gateway: Arc<Gateway>, request: Request<Incoming>) -> Response {
    let stall = gateway.config.timings.write_stall;
    let is_http2 = request.version() == Version::HTTP_2;
    let response = respond(gateway, request).await;
    if is_http2 {
        response.map(|body| body.guarded(stall))
    } else {
        response
    }
}

async fn respond(gateway: Arc<Gateway>, mut request: Request<Incoming>) -> Response {
    hide_tokens(request.headers_mut());
    let served = match request.uri().path() {
        "/mcp" | "/mcp/" => Served::Agents,
        "/v1/connect" | "/v1/connect/" => Served::Connect,
        "/v1/locate" | "/v1/locate/" => Served::Locate,
        _ => Served::Extra,
    };
    let authority = request.uri().authority().map(http::uri::Authority::as_str);
    let origin = gateway.origins.check(authority, request.headers());
    if let Err(error) = check_size(request.headers()) {
        let mut response = refusal::error(&error);
        cors::decorate(response.headers_mut(), origin.ok().flatten().as_ref());
        return response;
    }
    if let (Ok(origin), true) = (
        &origin,
        served.to_pages() && request.method() == Method::OPTIONS,
    ) {
        return preflight(request.headers(), origin.as_ref());
    }
    let (answered, origin) = match (served, origin) {
        // It tells a foreign origin by a close code.
        (Served::Connect, origin) => {
            let answered = connect::answer(&gateway, request).await;
            (answered, origin.ok().flatten())
        }
        (_, Err(error)) => (Err(error), None),
        (served, Ok(origin)) => (serve(&gateway, served, request).await, origin),
    };
    let mut response = answered.unwrap_or_else(|error| refusal::error(&error));
    cors::decorate(response.headers_mut(), origin.as_ref());
    response
}

#[derive(Clone, Copy)]
enum Served {
    Agents,
    Connect,
    Locate,
    Extra,
}

impl Served {
    /// Whether pages of other origins may ask for it with `fetch`.
    fn to_pages(self) -> bool {
        matches!(self, Served::Agents | Served::Locate)
    }
}

/// Answers a request whose Host and Origin are allowed.
async fn serve(
    gateway: &Arc<Gateway>,
    served: Served,
    request: Request<Incoming>,
) -> Result<Response, RpcError> {
    match served {
        Served::Agents => agent::answer(gateway, request).await,
        Served::Locate => locate::answer(gateway, &request.into_parts().0),
        Served::Connect => connect::answer(gateway, request).await,
        Served::Extra => match &gateway.config.extra {
            Some(extra) => extra(&request.into_parts().0).ok_or_else(RpcError::path_not_found),
            None => Err(RpcError::path_not_found()),
        },
    }
}

fn preflight(headers: &HeaderMap, origin: Option<&AllowedOrigin>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    *response.headers_mut() = cors::preflight(headers, origin);
    response
}

/// Whoever prints headers prints no token.
fn hide_tokens(headers: &mut HeaderMap) {
    for (name, value) in headers.iter_mut() {
        if name == header::AUTHORIZATION
            || name == header::SEC_WEBSOCKET_PROTOCOL
            || name == header::COOKIE
            || name == clientmcp_core::mcp::header::SESSION_ID
        {
            value.set_sensitive(true);
        }
    }
}

fn check_size(headers: &HeaderMap) -> Result<(), RpcError> {
    let bytes: usize = headers
        .iter()
        // With the colon, the blank and the line end.
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if bytes > limits::HEADER_BYTES {
        return Err(RpcError::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            code::HEADERS_TOO_LARGE,
            format!(
                "The request's headers exceed {} bytes",
                limits::HEADER_BYTES
            ),
        ));
    }
    Ok(())
}
