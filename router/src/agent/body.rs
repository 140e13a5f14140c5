//! The body of a POST, bounded in bytes and in time.

use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::limits::REQUEST_BODY_BYTES;
use clientmcp_core::mcp::error::RpcError;
use http::StatusCode;
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;

use crate::limits::BODY_TIMEOUT;

const REQUEST_TIMEOUT: i64 = 40_800;

/// Reads the whole body.
///
/// # Errors
/// 413 if it is larger than the limit, at once where its length is declared; 408 if it does not
/// arrive in time; 400 if it ends early.
pub(super) async fn read(body: Incoming) -> Result<Bytes, RpcError> {
    let too_large = || RpcError::too_large(REQUEST_BODY_BYTES);
    if body.size_hint().lower() > REQUEST_BODY_BYTES as u64 {
        return Err(too_large());
    }
    let reading = Limited::new(body, REQUEST_BODY_BYTES).collect();
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a body ended early");
            Err(RpcError::parse_error("Parse error: the body ended early"))
        }
        Err(_) => Err(late(BODY_TIMEOUT)),
    }
}

fn late(within: Duration) -> RpcError {
    RpcError::new(
        StatusCode::REQUEST_TIMEOUT,
        REQUEST_TIMEOUT,
        format!("The body did not arrive within {} s", within.as_secs()),
    )
}
