//! The writing half of a socket.

use std::io::{self, IoSlice};

use clientmcp_proto::tunnel;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::OwnedWriteHalf;

use super::encode::{Encoded, Frame};

/// Pieces that one system call takes.
const SLICES: usize = 32;

/// The writing half of what carries a socket.
#[derive(Debug)]
pub(super) enum Sink {
    /// An app that came straight to this node.
    Tcp(OwnedWriteHalf),
    /// One that came through a router.
    Tunnel(tunnel::Sender),
}

/// Writes frames.
#[derive(Debug)]
pub(crate) struct Writer {
    sink: Sink,
}

impl Writer {
    pub(super) fn new(sink: Sink) -> Self {
        Self { sink }
    }

    /// Writes frames, together; `progress` is called whenever the peer took some bytes. Not
    /// cancel safe: half a frame may have been written.
    pub(crate) async fn write(
        &mut self,
        frames: impl IntoIterator<Item = Frame>,
        mut progress: impl FnMut(),
    ) -> io::Result<()> {
        let mut encoded = Encoded::default();
        for frame in frames {
            encoded.push(frame);
        }
        while !encoded.is_empty() {
            self.sink.write_some(&mut encoded).await?;
            progress();
        }
        Ok(())
    }

    /// Ends our direction of the connection; the peer reads to the end of it.
    pub(crate) async fn finish(&mut self) {
        match &mut self.sink {
            Sink::Tcp(io) => {
                // The peer may have ended the connection before.
                let _ = io.shutdown().await;
            }
            Sink::Tunnel(sender) => sender.finish(),
        }
    }
}

impl Sink {
    /// Writes what is taken at once, when something is.
    async fn write_some(&mut self, encoded: &mut Encoded) -> io::Result<()> {
        match self {
            Sink::Tcp(io) => loop {
                let mut slices = [IoSlice::new(&[]); SLICES];
                let count = encoded.slices(&mut slices);
                match io.try_write_vectored(&slices[..count]) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(bytes) => {
                        encoded.advance(bytes);
                        return Ok(());
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        io.writable().await?;
                    }
                    Err(error) => return Err(error),
                }
            },
            Sink::Tunnel(sender) => {
                let room = sender.ready().await?;
                if let Some(chunk) = encoded.take(room) {
                    sender.send(chunk);
                }
                Ok(())
            }
        }
    }
}
