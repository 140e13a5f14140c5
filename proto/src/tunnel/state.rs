//! One tunnel as both of its halves and the trunk see it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use bytes::Bytes;

use super::trunk::{Overrun, Shared};
use super::{CHUNK_BYTES, WINDOW_BYTES};
use crate::v1::{TunnelAnswer, TunnelEnd, TunnelGone, tunnel_frame};

/// Chunks up to this size are copied when they arrive: as slices they would hold the stream's whole
/// read buffer for as long as a slow reader leaves them.
const COPY_BYTES: usize = 4 * 1024;

/// One tunnel. Lock order: a tunnel, then its trunk.
pub(super) struct Tunnel {
    pub(super) number: u64,
    pub(super) trunk: Arc<Shared>,
    state: Mutex<State>,
}

pub(super) struct State {
    /// What the peer still does.
    pub(super) peer: Peer,
    /// The node's answer to the handshake, until it is read.
    pub(super) answer: Option<Box<TunnelAnswer>>,
    /// What has arrived and was not taken.
    pub(super) arrived: VecDeque<Bytes>,
    /// What the peer may still send.
    window: usize,
    /// What was taken and not yet given back as credit.
    taken: usize,
    /// Whoever waits for something to arrive.
    pub(super) reader: Option<Waker>,

    /// What is to leave.
    leaving: VecDeque<Bytes>,
    /// What may still be sent.
    pub(super) credit: usize,
    /// What is said when all of it has left.
    last_word: LastWord,
    /// It stands in the trunk's turns.
    queued: bool,
    /// Whoever waits for credit.
    pub(super) writer: Option<Waker>,
    /// Halves that are still held.
    halves: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// It sends and takes.
    Open,
    /// It sends nothing more.
    Ended,
    /// Neither sends nor takes any more.
    Gone,
    /// The trunk has ended, or was lost: what the peer does is not known.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastWord {
    /// There may be more to say.
    NotYet,
    End,
    Gone,
    /// It was said.
    Said,
}

impl Tunnel {
    pub(super) fn new(number: u64, trunk: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            number,
            trunk,
            state: Mutex::new(State {
                peer: Peer::Open,
                answer: None,
                arrived: VecDeque::new(),
                window: WINDOW_BYTES,
                taken: 0,
                reader: None,
                leaving: VecDeque::new(),
                credit: WINDOW_BYTES,
                last_word: LastWord::NotYet,
                queued: false,
                writer: None,
                halves: 2,
            }),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock panics half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a chunk to send. Its size is within the credit.
    pub(super) fn push(self: &Arc<Self>, chunk: Bytes) {
        debug_assert!(chunk.len() <= CHUNK_BYTES);
        let mut state = self.lock();
        state.credit -= chunk.len();
        state.leaving.push_back(chunk);
        self.queue(state);
    }

    /// Nothing more is pushed.
    pub(super) fn finish(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.last_word == LastWord::NotYet {
            state.last_word = LastWord::End;
            self.queue(state);
        }
    }

    /// One of the halves is dropped. With the second one, the peer learns that nobody is here.
    pub(super) fn drop_half(self: &Arc<Self>) {
        let mut state = self.lock();
        state.halves -= 1;
        if state.halves > 0 {
            return;
        }
        state.arrived = VecDeque::new();
        let peer_knows = match state.peer {
            Peer::Open => false,
            // It waits for our end, and that is said, or about to be.
            Peer::Ended => state.last_word != LastWord::NotYet,
            Peer::Gone | Peer::Lost => true,
        };
        if !peer_knows {
            state.last_word = LastWord::Gone;
            self.queue(state);
        } else {
            drop(state);
        }
        self.trunk.forget(self.number);
    }

    /// Lets it stand in the trunk's turns.
    fn queue(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if !std::mem::replace(&mut state.queued, true) {
            let waker = self.trunk.queue(self.clone());
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Its turn has come: what it says. `true`: it wants another turn.
    pub(super) fn pop(&self) -> (Option<tunnel_frame::Frame>, bool) {
        let mut state = self.lock();
        let frame = match state.leaving.pop_front() {
            Some(chunk) => Some(tunnel_frame::Frame::Data(chunk)),
            None => state.say_last_word(),
        };
        if state.leaving.is_empty() {
            state.leaving = VecDeque::new();
        }
        state.queued =
            !state.leaving.is_empty() || matches!(state.last_word, LastWord::End | LastWord::Gone);
        (frame, state.queued)
    }

    /// The reader took so many bytes.
    pub(super) fn took(&self, bytes: usize) {
        let mut state = self.lock();
        state.taken += bytes;
        // In quarters of a window: few frames, and the sender never runs dry while the transport
        // keeps up.
        if state.taken < WINDOW_BYTES / 4 || state.peer != Peer::Open {
            return;
        }
        let credit = std::mem::take(&mut state.taken);
        state.window += credit;
        drop(state);
        self.trunk
            .say(self.number, tunnel_frame::Frame::Credit(credit as u64));
    }

    pub(super) fn handle_data(&self, chunk: Bytes) -> Result<(), Overrun> {
        let mut state = self.lock();
        if chunk.len() > state.window || state.peer != Peer::Open {
            return Err(Overrun);
        }
        state.window -= chunk.len();
        if !chunk.is_empty() {
            let small = chunk.len() <= COPY_BYTES;
            state.arrived.push_back(match small {
                true => Bytes::copy_from_slice(&chunk),
                false => chunk,
            });
        }
        wake(state, |state| state.reader.take());
        Ok(())
    }

    pub(super) fn handle_credit(&self, bytes: u64) {
        let mut state = self.lock();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        state.credit = state.credit.saturating_add(bytes).min(WINDOW_BYTES);
        wake(state, |state| state.writer.take());
    }

    pub(super) fn handle_answer(&self, answer: TunnelAnswer) {
        let mut state = self.lock();
        state.answer = Some(Box::new(answer));
        wake(state, |state| state.reader.take());
    }

    /// The peer does less than before.
    pub(super) fn handle_peer(&self, peer: Peer) {
        let mut state = self.lock();
        if matches!(state.peer, Peer::Gone | Peer::Lost) {
            return;
        }
        state.peer = peer;
        if peer != Peer::Ended {
            state.leaving = VecDeque::new();
        }
        let wakers = (state.reader.take(), state.writer.take());
        drop(state);
        for waker in [wakers.0, wakers.1].into_iter().flatten() {
            waker.wake();
        }
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tunnel({})", self.number)
    }
}

impl State {
    fn say_last_word(&mut self) -> Option<tunnel_frame::Frame> {
        match std::mem::replace(&mut self.last_word, LastWord::Said) {
            LastWord::NotYet => {
                self.last_word = LastWord::NotYet;
                None
            }
            LastWord::End => Some(tunnel_frame::Frame::End(TunnelEnd {})),
            LastWord::Gone => Some(tunnel_frame::Frame::Gone(TunnelGone {})),
            LastWord::Said => None,
        }
    }
}

/// Wakes somebody, after the lock is free again.
fn wake(mut state: MutexGuard<'_, State>, who: impl FnOnce(&mut State) -> Option<Waker>) {
    let waker = who(&mut state);
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}
