//! The body of a POST: bounded in bytes and in time, each by itself and all of them together.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_core::limits::REQUEST_BODY_BYTES;
use clientmcp_core::mcp::error::{RpcError, code};
use http::StatusCode;
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{BODIES_BYTES, BODY_TIMEOUT};
use crate::refusal;

/// Bytes of all bodies that this router holds.
#[derive(Debug, Clone)]
pub(crate) struct Bodies(Arc<Semaphore>);

/// The share of one body, as long as it is held.
#[derive(Debug, Clone)]
pub(crate) struct Share(#[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>);

impl Bodies {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(BODIES_BYTES)))
    }

    /// Reads a whole body. Its bytes count as long as the share is held.
    ///
    /// # Errors
    /// 413 if it is larger than the limit, at once where its length is declared; 408 if it does
    /// not arrive in time; 400 if it ends early; 503 while other bodies take all the room.
    pub(crate) async fn read(&self, body: Incoming) -> Result<(Bytes, Share), RpcError> {
        let declared = body.size_hint();
        let most = declared.upper().unwrap_or(REQUEST_BODY_BYTES as u64);
        if declared.lower() > REQUEST_BODY_BYTES as u64 {
            return Err(too_large());
        }
        let most = most.min(REQUEST_BODY_BYTES as u64);
        let most = u32::try_from(most).expect("a body's limit fits into 32 bits");
        let reading = async {
            let share = self.0.clone().acquire_many_owned(most).await;
            let mut share = share.map_err(|_| refusal::overloaded())?;
            let bytes = collect(body).await?;
            // What was reserved and is not needed goes back.
            drop(share.split((most as usize).saturating_sub(bytes.len())));
            Ok((bytes, Share(Arc::new(share))))
        };
        match tokio::time::timeout(BODY_TIMEOUT, reading).await {
            Ok(read) => read,
            Err(_) if self.0.available_permits() < most as usize => Err(refusal::overloaded()),
            Err(_) => Err(late()),
        }
    }
}

async fn collect(body: Incoming) -> Result<Bytes, RpcError> {
    match Limited::new(body, REQUEST_BODY_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => {
            tracing::debug!(%error, "a body ended early");
            Err(RpcError::parse_error("Parse error: the body ended early"))
        }
    }
}

fn too_large() -> RpcError {
    RpcError::too_large(REQUEST_BODY_BYTES)
}

fn late() -> RpcError {
    let message = format!(
        "The body did not arrive within {} s",
        BODY_TIMEOUT.as_secs()
    );
    RpcError::new(StatusCode::REQUEST_TIMEOUT, code::REQUEST_TIMEOUT, message)
}
