//! Refusals and JSON answers as HTTP responses.

use clientmcp_core::mcp::error::RpcError;
use http::{HeaderValue, StatusCode, header};

use crate::body::{Body, Response};

/// When to ask again a cluster that has no ready node, in seconds: about as long as members take
/// to see each other.
const RETRY_AFTER_S: u64 = 1;

/// An answer with a JSON body, which no cache may keep.
pub(crate) fn json(status: StatusCode, body: impl Into<bytes::Bytes>) -> Response {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An error as the answer to a request.
pub(crate) fn error(error: &RpcError) -> Response {
    let mut response = json(error.status, error.to_body());
    error.apply_headers(response.headers_mut());
    response
}

/// No node is ready.
pub(crate) fn no_node() -> RpcError {
    RpcError::unavailable("No node is ready; try again", RETRY_AFTER_S)
}

/// This router holds as much as it may.
pub(crate) fn overloaded() -> RpcError {
    RpcError::unavailable("Too much is under way; try again", RETRY_AFTER_S)
}

/// This router stops, and another one is there.
pub(crate) fn stopping() -> RpcError {
    RpcError::unavailable("This router stops; try again", RETRY_AFTER_S)
}

/// The nodes in question did not answer in time.
pub(crate) fn out_of_reach() -> RpcError {
    RpcError::unavailable("The cluster could not be reached; try again", RETRY_AFTER_S)
}

/// 202 without a body: nothing is answered.
pub(crate) fn accepted() -> Response {
    empty(StatusCode::ACCEPTED)
}

/// A status without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
