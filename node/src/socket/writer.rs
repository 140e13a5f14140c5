//! The writing half of a socket.

use std::io::{self, IoSlice};

use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::OwnedWriteHalf;

use super::encode::{Encoded, Frame};

/// Pieces that one system call takes.
const SLICES: usize = 32;

/// Writes frames.
#[derive(Debug)]
pub(crate) struct Writer {
    io: OwnedWriteHalf,
}

impl Writer {
    pub(super) fn new(io: OwnedWriteHalf) -> Self {
        Self { io }
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
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = encoded.slices(&mut slices);
            match self.io.try_write_vectored(&slices[..count]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    encoded.advance(bytes);
                    progress();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.io.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends our direction of the connection; the peer reads to the end of it.
    pub(crate) async fn finish(&mut self) {
        // The peer may have ended the connection before.
        let _ = self.io.shutdown().await;
    }
}
