//! The two halves of a tunnel, for whoever serves its WebSocket.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::CHUNK_BYTES;
use super::state::{Peer, Tunnel};
use crate::v1::TunnelAnswer;

/// A tunnel whose handshake was passed on. Dropping it gives the tunnel up.
#[derive(Debug)]
pub struct Opening {
    receiver: Receiver,
    sender: Sender,
}

/// The reading half.
#[derive(Debug)]
pub struct Receiver(Arc<Tunnel>);

/// The writing half.
#[derive(Debug)]
pub struct Sender(Arc<Tunnel>);

pub(super) fn split(tunnel: Arc<Tunnel>) -> (Receiver, Sender) {
    (Receiver(tunnel.clone()), Sender(tunnel))
}

impl Opening {
    pub(super) fn new(tunnel: Arc<Tunnel>) -> Self {
        let (receiver, sender) = split(tunnel);
        Self { receiver, sender }
    }

    /// Waits for the node's answer.
    ///
    /// # Errors
    /// The trunk was lost, or the node left the tunnel.
    pub async fn answer(self) -> io::Result<(TunnelAnswer, Receiver, Sender)> {
        let tunnel = &self.receiver.0;
        let answer = poll_fn(|context| {
            let mut state = tunnel.lock();
            if let Some(answer) = state.answer.take() {
                return Poll::Ready(Ok(*answer));
            }
            match state.peer {
                Peer::Open => wait(&mut state.reader, context),
                Peer::Ended | Peer::Gone | Peer::Lost => Poll::Ready(Err(lost())),
            }
        });
        let answer = answer.await?;
        Ok((answer, self.receiver, self.sender))
    }
}

impl Receiver {
    /// What has arrived, once something has; `None`: nothing more comes. Cancel safe. More comes
    /// as [`took`](Receiver::took) is called.
    ///
    /// # Errors
    /// The trunk was lost.
    pub async fn recv(&mut self) -> io::Result<Option<VecDeque<Bytes>>> {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if !state.arrived.is_empty() {
                return Poll::Ready(Ok(Some(std::mem::take(&mut state.arrived))));
            }
            match state.peer {
                Peer::Open => wait(&mut state.reader, context),
                Peer::Ended | Peer::Gone => Poll::Ready(Ok(None)),
                Peer::Lost => Poll::Ready(Err(lost())),
            }
        })
        .await
    }

    /// So many bytes of what had arrived are done with.
    pub fn took(&mut self, bytes: usize) {
        self.0.took(bytes);
    }
}

impl Sender {
    /// Waits until something may be sent; gives how much. Cancel safe.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] if the peer listens no more,
    /// [`io::ErrorKind::ConnectionReset`] if the trunk was lost.
    pub async fn ready(&mut self) -> io::Result<usize> {
        poll_fn(|context| {
            let mut state = self.0.lock();
            match state.peer {
                Peer::Gone => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                Peer::Lost => Poll::Ready(Err(lost())),
                Peer::Open | Peer::Ended if state.credit == 0 => wait(&mut state.writer, context),
                Peer::Open | Peer::Ended => Poll::Ready(Ok(state.credit.min(CHUNK_BYTES))),
            }
        })
        .await
    }

    /// Sends a chunk, which is at most as large as [`ready`](Sender::ready) said.
    pub fn send(&mut self, chunk: Bytes) {
        self.0.push(chunk);
    }

    /// Says that nothing more comes.
    pub fn finish(&mut self) {
        self.0.finish();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.drop_half();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.drop_half();
    }
}

fn wait<T>(slot: &mut Option<Waker>, context: &Context<'_>) -> Poll<T> {
    match slot {
        Some(waker) => waker.clone_from(context.waker()),
        none => *none = Some(context.waker().clone()),
    }
    Poll::Pending
}

fn lost() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the link was lost")
}
