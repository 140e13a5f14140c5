//! The body of a POST: bounded in bytes and in time, each by itself and all of them together.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use clientmcp_core::limits::REQUEST_BODY_BYTES;
use clientmcp_core::mcp::error::{RpcError, code};
use http::StatusCode;
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::limits::{BODIES_BYTES, BODY_TIMEOUT, BODY_TIMEOUT_AT_STOP};
use crate::refusal;

/// Bytes of all bodies that this router holds.
#[derive(Debug, Clone)]
pub(crate) struct Bodies(Arc<Semaphore>);

/// The share of one body, as long as it is held.
#[derive(Debug, Clone)]
pub(crate) struct Share(#[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>);

impl Bodies {
    pub(crate) fn new() -> Self {
        Self::holding(BODIES_BYTES)
    }

    fn holding(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// Reads a whole body. What has arrived of it counts until the share is dropped; what is only
    /// announced does not. `closing` is cancelled when the router stops: nobody waits long then.
    ///
    /// # Errors
    /// 413 if it is larger than the limit, at once where its length is declared; 408 if it does
    /// not arrive in time; 400 if it ends early; 503 if other bodies take all the room, or the
    /// router stops.
    pub(crate) async fn read<B>(
        &self,
        body: B,
        closing: &CancellationToken,
    ) -> Result<(Bytes, Share), RpcError>
    where
        B: Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
    {
        if body.size_hint().lower() > REQUEST_BODY_BYTES as u64 {
            return Err(too_large());
        }
        let stopping = async {
            closing.cancelled().await;
            tokio::time::sleep(BODY_TIMEOUT_AT_STOP).await;
        };
        tokio::select! {
            read = self.collect(body) => read,
            () = tokio::time::sleep(BODY_TIMEOUT) => Err(late()),
            () = stopping => Err(refusal::stopping()),
        }
    }

    async fn collect<B>(&self, mut body: B) -> Result<(Bytes, Share), RpcError>
    where
        B: Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
    {
        let mut share = self.take(0)?;
        // Most bodies arrive as one piece, which is not copied.
        let (mut first, mut whole) = (Bytes::new(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                tracing::debug!(%error, "a body ended early");
                RpcError::parse_error("Parse error: the body ended early")
            })?;
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            let arrived = first.len() + whole.len();
            if arrived + piece.len() > REQUEST_BODY_BYTES {
                return Err(too_large());
            }
            share.merge(self.take(piece.len())?);
            if arrived == 0 {
                first = piece;
                continue;
            }
            if whole.is_empty() {
                whole = BytesMut::from(std::mem::take(&mut first));
            }
            whole.extend_from_slice(&piece);
        }
        let body = if whole.is_empty() {
            first
        } else {
            whole.freeze()
        };
        Ok((body, Share(Arc::new(share))))
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, RpcError> {
        let bytes = u32::try_from(bytes).map_err(|_| too_large())?;
        let taken = self.0.clone().try_acquire_many_owned(bytes);
        taken.map_err(|_| refusal::overloaded())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    use futures_util::{StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;

    type Piece = Result<Frame<Bytes>, Infallible>;

    fn piece(bytes: usize) -> Piece {
        Ok(Frame::data(vec![b'x'; bytes].into()))
    }

    /// A body of these pieces.
    fn whole(pieces: &[usize]) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let pieces: Vec<Piece> = pieces.iter().copied().map(piece).collect();
        StreamBody::new(stream::iter(pieces))
    }

    /// A body that stops after one piece.
    fn unfinished(bytes: usize) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        StreamBody::new(stream::iter([piece(bytes)]).chain(stream::pending()))
    }

    async fn read(
        bodies: &Bodies,
        body: impl Body<Data = Bytes, Error = Infallible> + Unpin,
    ) -> Result<(usize, Share), u16> {
        let read = bodies.read(body, &CancellationToken::new()).await;
        let read = read.map(|(bytes, share)| (bytes.len(), share));
        read.map_err(|error| error.status.as_u16())
    }

    #[tokio::test]
    async fn what_is_held_counts_and_nothing_else_does() {
        let bodies = Bodies::holding(100);
        // Many that have begun and go no further.
        let slow = (0..20).map(|_| read(&bodies, unfinished(1)));
        let mut slow = std::pin::pin!(futures_util::future::join_all(slow));
        assert!(futures_util::poll!(&mut slow).is_pending());
        let (bytes, share) = read(&bodies, whole(&[30, 20, 10])).await.unwrap();
        assert_eq!(bytes, 60);
        assert_eq!(read(&bodies, whole(&[10, 11])).await.err(), Some(503));
        drop(share);
        assert_eq!(read(&bodies, whole(&[10, 70])).await.unwrap().0, 80);
    }

    #[tokio::test]
    async fn a_body_is_bounded_by_itself() {
        let bodies = Bodies::new();
        let limit = REQUEST_BODY_BYTES;
        assert_eq!(read(&bodies, whole(&[])).await.unwrap().0, 0);
        let most = read(&bodies, whole(&[limit - 1, 1])).await;
        assert_eq!(most.unwrap().0, limit);
        assert_eq!(read(&bodies, whole(&[limit, 1])).await.err(), Some(413));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_arrives_in_time_or_not_at_all() {
        let bodies = Bodies::new();
        assert_eq!(read(&bodies, unfinished(1)).await.err(), Some(408));
        let closing = CancellationToken::new();
        closing.cancel();
        let begun = tokio::time::Instant::now();
        let stopped = bodies.read(unfinished(1), &closing).await;
        assert_eq!(stopped.err().map(|error| error.status.as_u16()), Some(503));
        assert_eq!(begun.elapsed().as_secs(), BODY_TIMEOUT_AT_STOP.as_secs());
    }
}
