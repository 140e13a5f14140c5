//! Where the bytes of a socket come from.

use std::collections::VecDeque;
use std::io;

use bytes::{BufMut, Bytes};
use clientmcp_proto::tunnel;
use tokio::net::tcp::OwnedReadHalf;

/// The reading half of what carries a socket.
#[derive(Debug)]
pub(super) enum Source {
    /// An app that came straight to this node.
    Tcp(OwnedReadHalf),
    /// One that came through a router, and what has come through its tunnel.
    Tunnel(tunnel::Receiver, VecDeque<Bytes>),
}

impl Source {
    pub(super) fn tunnel(receiver: tunnel::Receiver) -> Self {
        Self::Tunnel(receiver, VecDeque::new())
    }

    /// Resolves when there is something to read, or the end. Cancel safe.
    pub(super) async fn readable(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(io) => io.readable().await,
            Self::Tunnel(receiver, there) if there.is_empty() => {
                *there = receiver.recv().await?.unwrap_or_default();
                Ok(())
            }
            Self::Tunnel(..) => Ok(()),
        }
    }

    /// How much there is to read, where that is known.
    pub(super) fn there(&self) -> Option<usize> {
        match self {
            Self::Tcp(_) => None,
            Self::Tunnel(_, there) => Some(there.front().map_or(0, Bytes::len)),
        }
    }

    /// Reads once what there is, as far as it fits; 0 at the end.
    pub(super) fn try_read_buf(&mut self, buffer: &mut impl BufMut) -> io::Result<usize> {
        let (receiver, there) = match self {
            Self::Tcp(io) => return io.try_read_buf(buffer),
            Self::Tunnel(receiver, there) => (receiver, there),
        };
        let Some(chunk) = there.front_mut() else {
            return Ok(0);
        };
        let part = chunk.split_to(chunk.len().min(buffer.remaining_mut()));
        buffer.put_slice(&part);
        if chunk.is_empty() {
            there.pop_front();
            if there.is_empty() {
                // An idle socket has no buffers.
                *there = VecDeque::new();
            }
        }
        receiver.took(part.len());
        Ok(part.len())
    }
}
