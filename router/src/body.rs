//! What an answer's body is: nothing, one piece, or a stream of events that is made while it is
//! sent.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Pieces that a stream's producer may be ahead of the connection.
const PIECES_AHEAD: usize = 8;
/// The largest piece of an answer that is given to an HTTP/2 connection at once: it keeps what it
/// was given until the peer has room for it.
const PIECE_BYTES: usize = 64 * 1024;

/// An answer of the router.
pub type Response = http::Response<Body>;

/// The body of an answer.
#[derive(Debug)]
pub struct Body(Content);

#[derive(Debug)]
enum Content {
    Whole(Bytes),
    Events(EventBody),
    Guarded(Guarded),
}

/// The peer took nothing of the body for too long, and the rest of it was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer took nothing of the answer for too long")]
pub struct Stalled;

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

impl Body {
    /// The same body, dropped with all that it holds when its connection asks for nothing of it
    /// for `stall`. Streams have something to say more often than that. For HTTP/2, where a peer
    /// that lives may leave one answer without room for as long as it likes; one that is not
    /// HTTP/2 ends with its connection.
    pub(crate) fn guarded(self, stall: Duration) -> Self {
        if self.is_empty() {
            return self;
        }
        let held = Arc::new(Held {
            asked: AtomicBool::new(false),
            content: Mutex::new(Some(self.0)),
        });
        let watchdog = tokio::spawn({
            let held = held.clone();
            async move {
                loop {
                    tokio::time::sleep(stall).await;
                    if !held.asked.swap(false, Ordering::Relaxed) {
                        let stalled = held.lock().take();
                        drop(stalled);
                        return;
                    }
                }
            }
        });
        Self(Content::Guarded(Guarded {
            held,
            watchdog: watchdog.abort_handle(),
        }))
    }

    fn is_empty(&self) -> bool {
        matches!(&self.0, Content::Whole(bytes) if bytes.is_empty())
    }
}

/// A body that is dropped if nobody asks for it.
#[derive(Debug)]
struct Guarded {
    held: Arc<Held>,
    watchdog: AbortHandle,
}

#[derive(Debug)]
struct Held {
    /// The connection asked for a piece since the watchdog last looked.
    asked: AtomicBool,
    /// `None`: dropped.
    content: Mutex<Option<Content>>,
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, Option<Content>> {
        // A producer that panics takes its connection with it.
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guarded {
    fn poll_piece(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Stalled>>> {
        self.held.asked.store(true, Ordering::Relaxed);
        match &mut *self.held.lock() {
            None => Poll::Ready(Some(Err(Stalled))),
            Some(Content::Whole(bytes)) => {
                let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
                Poll::Ready((!piece.is_empty()).then_some(Ok(piece)))
            }
            Some(Content::Events(events)) => events.poll_piece(cx).map(|piece| piece.map(Ok)),
            Some(Content::Guarded(guarded)) => guarded.poll_piece(cx),
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.watchdog.abort();
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
    type Error = Stalled;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Stalled>>> {
        let piece = match &mut self.0 {
            Content::Whole(bytes) if bytes.is_empty() => None,
            Content::Whole(bytes) => Some(Ok(std::mem::take(bytes))),
            Content::Events(events) => std::task::ready!(events.poll_piece(cx)).map(Ok),
            Content::Guarded(guarded) => std::task::ready!(guarded.poll_piece(cx)),
        };
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Events(_) => false,
            Content::Guarded(guarded) => {
                matches!(&*guarded.held.lock(), Some(Content::Whole(bytes)) if bytes.is_empty())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        let of = |content: &Content| match content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Events(_) | Content::Guarded(_) => SizeHint::default(),
        };
        match &self.0 {
            Content::Guarded(guarded) => guarded
                .held
                .lock()
                .as_ref()
                .map_or_else(SizeHint::default, of),
            content => of(content),
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

    #[tokio::test(start_paused = true)]
    async fn a_guarded_body_arrives_whole_in_pieces() {
        let bytes = vec![b'x'; 3 * PIECE_BYTES + 1];
        let mut body = Body::whole(bytes.clone()).guarded(Duration::from_secs(1));
        let mut arrived = Vec::new();
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() <= PIECE_BYTES);
            arrived.extend_from_slice(&piece);
            tokio::time::sleep(Duration::from_millis(900)).await;
        }
        assert_eq!(arrived, bytes);
        assert!(http_body::Body::is_end_stream(&body));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_nobody_asks_for_is_dropped() {
        let (held, mut dropped) = mpsc::channel::<()>(1);
        let body = Body::events(|pieces| async move {
            let _held = held;
            loop {
                pieces.send(Bytes::from_static(b":\n\n")).await;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        let mut body = body.guarded(Duration::from_secs(1));
        for _ in 0..10 {
            assert!(body.frame().await.unwrap().is_ok());
        }
        assert_eq!(dropped.recv().await, None);
        assert_eq!(body.frame().await.unwrap().err(), Some(Stalled));
    }
}
