//! The sending half of one direction of a link.
//!
//! Everybody who has something to say puts it into the [`Outbox`]; one task, that of the stream,
//! takes it out through the [`Drain`]. Whoever sends only locks a short queue and never waits:
//! many frames leave with one write. To that end the drain, when it is woken, lets all others that
//! can run have their turn first.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;

use super::queue::{Queue, SendError, Withdrawn};
use super::{CallKey, Frame, Limits, Turn};

/// Creates the two ends of an outbox.
#[must_use]
pub fn outbox<F: Frame>(limits: Limits) -> (Outbox<F>, Drain<F>) {
    let shared = Arc::new(Mutex::new(State {
        queue: Queue::new(limits),
        phase: Phase::Open,
        waker: None,
    }));
    let outbox = Outbox {
        shared: shared.clone(),
    };
    let turn = Turn::default();
    (outbox, Drain { shared, turn })
}

/// Where frames are put. Cheap to clone; no clone keeps the stream open.
pub struct Outbox<F> {
    shared: Arc<Mutex<State<F>>>,
}

/// The stream of frames that tonic sends. Dropping it ends the link.
pub struct Drain<F> {
    shared: Arc<Mutex<State<F>>>,
    turn: Turn,
}

struct State<F> {
    queue: Queue<F>,
    phase: Phase,
    waker: Option<Waker>,
}

#[derive(PartialEq, Eq)]
enum Phase {
    Open,
    /// Nothing new is taken; the stream ends when all that waits has left.
    Closing,
    /// The stream ends now, or has ended.
    Closed,
}

impl<F: Frame> Outbox<F> {
    /// Sends a small frame.
    ///
    /// # Errors
    /// [`SendError::Closed`] after the end of the link. [`SendError::Full`] if the peer reads so
    /// slowly that not even small frames find room: the link is closed then, for a word about a
    /// call was lost.
    pub fn send(&self, frame: impl Into<F>) -> Result<(), SendError> {
        let mut state = self.open()?;
        let pushed = state.queue.push(frame.into());
        if pushed.is_err() {
            state.close();
        }
        wake(state);
        pushed
    }

    /// Sends the payload of a call. `first` builds the first frame out of what travels within it
    /// and the size of the whole payload.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent then, and the link goes on.
    pub fn send_payload<I: Into<F>>(
        &self,
        call: CallKey,
        payload: Bytes,
        first: impl FnOnce(Bytes, u64) -> I,
    ) -> Result<(), SendError> {
        let mut state = self.open()?;
        state
            .queue
            .push_payload(call, payload, |within, total| first(within, total).into())?;
        wake(state);
        Ok(())
    }

    /// The peer took so many bytes of a call's payload.
    pub fn credit(&self, call: CallKey, bytes: u64) {
        let mut state = lock(&self.shared);
        state.queue.credit(call, bytes);
        wake(state);
    }

    /// Takes back what has not left of a call's first frame and payload, and frees its bytes.
    /// It tells the truth also after the link has ended, once for each call.
    pub fn withdraw(&self, call: CallKey) -> Withdrawn {
        lock(&self.shared).queue.withdraw(call)
    }

    /// Bytes that wait.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        lock(&self.shared).queue.bytes()
    }

    /// Takes nothing new, and ends the stream when all that waits has left.
    pub fn finish(&self) {
        let mut state = lock(&self.shared);
        if state.phase == Phase::Open {
            state.phase = Phase::Closing;
        }
        wake(state);
    }

    /// Ends the stream now.
    pub fn close(&self) {
        let mut state = lock(&self.shared);
        state.close();
        wake(state);
    }

    /// Whether nothing more is taken.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        lock(&self.shared).phase != Phase::Open
    }

    fn open(&self) -> Result<MutexGuard<'_, State<F>>, SendError> {
        let state = lock(&self.shared);
        if state.phase == Phase::Open {
            Ok(state)
        } else {
            Err(SendError::Closed)
        }
    }
}

impl<F> Clone for Outbox<F> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<F> std::fmt::Debug for Outbox<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let queued_bytes = lock(&self.shared).queue.bytes();
        write!(f, "Outbox({queued_bytes} bytes)")
    }
}

impl<F> std::fmt::Debug for Drain<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Drain")
    }
}

impl<F: Frame> State<F> {
    fn close(&mut self) {
        self.phase = Phase::Closed;
        self.queue.clear();
    }
}

impl<F: Frame> Stream for Drain<F> {
    type Item = F;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F>> {
        if self.turn.is_others(context) {
            return Poll::Pending;
        }
        let Self { shared, turn } = &mut *self;
        let mut state = lock(shared);
        if state.phase == Phase::Closed {
            return Poll::Ready(None);
        }
        if let Some(frame) = state.queue.pop() {
            return Poll::Ready(Some(frame));
        }
        if state.phase == Phase::Closing && state.queue.is_empty() {
            state.phase = Phase::Closed;
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        turn.over();
        Poll::Pending
    }
}

impl<F> Drop for Drain<F> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        state.phase = Phase::Closed;
        state.queue.clear();
    }
}

/// Nothing that runs under the lock panics half-way, so a poisoned lock is still whole.
fn lock<F>(shared: &Mutex<State<F>>) -> MutexGuard<'_, State<F>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the stream, after the lock is free again.
fn wake<F>(mut state: MutexGuard<'_, State<F>>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}
