//! The reading half of a socket.

use std::io;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};

use super::decode::{Decoder, Fault, Received};
use super::source::Source;

/// Bytes read at once, outside of long messages.
const READ_BYTES: usize = 4 * 1024;

/// Why nothing more comes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The peer's bytes ended without a close frame.
    #[error("the connection ended without a close frame")]
    Ended,
    /// The transport failed.
    #[error("the connection failed: {0}")]
    Transport(#[from] io::Error),
    /// The peer broke the rules of the protocol.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Reads frames and messages.
#[derive(Debug)]
pub(crate) struct Reader {
    source: Source,
    decoder: Decoder,
}

impl Reader {
    pub(super) fn new(source: Source, leftover: &[u8], max_message_bytes: usize) -> Self {
        Self {
            source,
            decoder: Decoder::new(leftover, max_message_bytes),
        }
    }

    /// What comes next. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Received, ReadError> {
        loop {
            if let Some(received) = self.decoder.next()? {
                return Ok(received);
            }
            if self.decoder.input.is_empty() {
                // Let go of while nothing is there to be read.
                self.decoder.input = BytesMut::new();
            }
            // A peer that always has something to read must not keep its thread to itself.
            tokio::task::coop::consume_budget().await;
            self.source.readable().await?;
            match self.fill()? {
                Some(0) => return Err(ReadError::Ended),
                Some(_) if self.decoder.missing() > 0 => return Ok(Received::Part),
                _ => {}
            }
        }
    }

    /// Reads on, for at most `within`, until the peer has seen our close frame and answered it
    /// or ended the connection. Closing a socket that has unread input resets the connection,
    /// and the peer might never see why.
    pub(crate) async fn await_close(&mut self, within: Duration) {
        self.decoder.discard();
        let closed = async {
            while !matches!(
                self.next().await,
                Ok(Received::Close(_)) | Err(ReadError::Ended | ReadError::Transport(_))
            ) {}
        };
        if tokio::time::timeout(within, closed).await.is_err() {
            tracing::debug!("the peer did not answer the close frame in time");
        }
    }

    /// Reads once. `None`: there was nothing after all.
    fn fill(&mut self) -> io::Result<Option<usize>> {
        let missing = self.decoder.missing();
        let read = if missing > 0 {
            self.source
                .try_read_buf(&mut (&mut self.decoder.message).limit(missing))
        } else {
            let there = self.source.there().unwrap_or(READ_BYTES);
            self.decoder.input.reserve(there.min(READ_BYTES));
            self.source.try_read_buf(&mut self.decoder.input)
        };
        match read {
            Ok(bytes) => {
                if missing > 0 {
                    self.decoder.filled(bytes);
                }
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}
