//! What an answer's body is: nothing, one piece, or a stream of events that is made while it is
//! sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// Pieces that a stream's producer may be ahead of the connection.
const PIECES_AHEAD: usize = 8;

/// An answer of the router.
pub type Response = http::Response<Body>;

/// The body of an answer.
#[derive(Debug)]
pub struct Body(Content);

#[derive(Debug)]
enum Content {
    Whole(Bytes),
    Events(EventBody),
}

impl Body {
    /// No bytes at all.
    #[must_use]
    pub fn empty() -> Self {
        Self(Content::Whole(Bytes::new()))
    }

    /// One piece.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Content::Whole(bytes.into()))
    }

    /// A stream whose pieces `produce` makes.
    ///
    /// The producer runs inside the body, wherever the connection polls it: there is no task. A
    /// body that is dropped (the agent closed the response) drops its producer at its next await,
    /// and what the producer owns says what that means.
    pub(crate) fn events<F>(produce: impl FnOnce(Pieces) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
        Self(Content::Events(EventBody {
            producer: Some(Box::pin(produce(Pieces(sender)))),
            pieces,
        }))
    }
}

/// Where the producer of a stream puts its pieces.
#[derive(Debug)]
pub(crate) struct Pieces(mpsc::Sender<Bytes>);

impl Pieces {
    /// Sends a piece once the connection took the earlier ones.
    pub(crate) async fn send(&self, piece: Bytes) {
        // The receiver lives in the same body as the producer, so it cannot be gone before it.
        let _ = self.0.send(piece).await;
    }
}

struct EventBody {
    producer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    pieces: mpsc::Receiver<Bytes>,
}

impl EventBody {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(Some(piece)) = self.pieces.poll_recv(cx) {
            return Poll::Ready(Some(piece));
        }
        if let Some(producer) = &mut self.producer
            && producer.as_mut().poll(cx).is_ready()
        {
            self.producer = None;
        }
        self.pieces.poll_recv(cx)
    }
}

impl std::fmt::Debug for EventBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventBody")
            .field("ended", &self.producer.is_none())
            .finish_non_exhaustive()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut self.0 {
            Content::Whole(bytes) if bytes.is_empty() => None,
            Content::Whole(bytes) => Some(std::mem::take(bytes)),
            Content::Events(events) => std::task::ready!(events.poll_piece(cx)),
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Events(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    #[tokio::test]
    async fn a_stream_sends_more_pieces_than_fit_ahead() {
        let body = Body::events(|pieces| async move {
            for n in 0..100_u8 {
                pieces.send(Bytes::copy_from_slice(&[n])).await;
            }
        });
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!(bytes.to_vec(), (0..100).collect::<Vec<u8>>());
    }

    #[tokio::test]
    async fn dropping_a_stream_drops_what_its_producer_owns() {
        let (held, mut dropped) = mpsc::channel::<()>(1);
        let mut body = Body::events(|pieces| async move {
            let _held = held;
            pieces.send(Bytes::from_static(b":\n\n")).await;
            std::future::pending::<()>().await;
        });
        assert!(body.frame().await.is_some());
        drop(body);
        assert_eq!(dropped.recv().await, None);
    }
}
