//! The receiving half: payloads out of first frames and chunks.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use super::{CallKey, Limits};

/// Payloads of a link that are not whole yet. `H` is what came in the first frame and waits for
/// the rest.
pub struct Assembler<H> {
    limits: Limits,
    parts: HashMap<CallKey, Part<H>>,
    /// Announced bytes of all parts.
    announced: usize,
}

struct Part<H> {
    head: H,
    total: usize,
    data: BytesMut,
    /// What the sender may still send without credit.
    window: usize,
    /// What was taken and not yet given back as credit.
    taken: usize,
}

/// What a first frame gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Begun<H> {
    /// The payload is whole.
    Whole(H, Bytes),
    /// Chunks follow.
    Partial,
}

/// What a chunk gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived<H> {
    /// The payload is whole.
    Whole(H, Bytes),
    /// More follows. If `credit` is above zero, a credit frame over so many bytes is to be sent.
    Partial {
        /// Bytes to give back to the sender.
        credit: u64,
    },
    /// Nothing is known of this call: it was forgotten while chunks were under way.
    Unknown,
}

/// Why a payload was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The payload exceeds [`Limits::payload_bytes`]. The call fails, the link goes on.
    #[error("the payload is too large for the link")]
    TooLarge,
    /// Too many bytes are half assembled. The call fails, the link goes on.
    #[error("too many payloads are under way")]
    Full,
    /// The sender broke the rules (a second payload of one call, more bytes than announced, or
    /// than it had credit for): the link must end.
    #[error("the peer sent more than was agreed")]
    Overrun,
}

impl<H> Assembler<H> {
    /// An assembler without payloads.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            parts: HashMap::new(),
            announced: 0,
        }
    }

    /// Takes the first frame of a call's payload: what came within it, and the size of the whole.
    ///
    /// # Errors
    /// [`AssembleError`]; the head is dropped, and chunks that follow are unknown.
    pub fn begin(
        &mut self,
        call: CallKey,
        head: H,
        within: Bytes,
        total: u64,
    ) -> Result<Begun<H>, AssembleError> {
        let total = usize::try_from(total).map_err(|_| AssembleError::TooLarge)?;
        if total <= within.len() {
            return Ok(Begun::Whole(head, within));
        }
        if total > self.limits.payload_bytes {
            return Err(AssembleError::TooLarge);
        }
        if self.parts.contains_key(&call) {
            return Err(AssembleError::Overrun);
        }
        if self.announced + total > self.limits.queue_bytes {
            return Err(AssembleError::Full);
        }
        let mut data = BytesMut::with_capacity(total);
        data.extend_from_slice(&within);
        self.announced += total;
        let part = Part {
            head,
            total,
            data,
            window: self.limits.window_bytes,
            taken: 0,
        };
        self.parts.insert(call, part);
        Ok(Begun::Partial)
    }

    /// Takes a chunk.
    ///
    /// # Errors
    /// [`AssembleError::Overrun`] if the sender broke the rules.
    pub fn chunk(&mut self, call: CallKey, data: &[u8]) -> Result<Arrived<H>, AssembleError> {
        let Some(part) = self.parts.get_mut(&call) else {
            return Ok(Arrived::Unknown);
        };
        let missing = part.total - part.data.len();
        if data.len() > missing || data.len() > part.window {
            return Err(AssembleError::Overrun);
        }
        part.data.extend_from_slice(data);
        if data.len() == missing {
            return Ok(self.complete(call));
        }
        part.window -= data.len();
        part.taken += data.len();
        // Credit goes back in quarters of a window: few frames, and the sender never runs dry
        // while the transport keeps up.
        if part.taken < self.limits.window_bytes / 4 {
            return Ok(Arrived::Partial { credit: 0 });
        }
        let credit = std::mem::take(&mut part.taken);
        part.window += credit;
        Ok(Arrived::Partial {
            credit: credit as u64,
        })
    }

    /// Drops what has arrived of a call's payload. Gives back the head, if there was one.
    pub fn forget(&mut self, call: CallKey) -> Option<H> {
        let part = self.parts.remove(&call)?;
        self.announced -= part.total;
        Some(part.head)
    }

    /// Whether nothing is half assembled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    fn complete(&mut self, call: CallKey) -> Arrived<H> {
        let Some(part) = self.parts.remove(&call) else {
            return Arrived::Unknown;
        };
        self.announced -= part.total;
        Arrived::Whole(part.head, part.data.freeze())
    }
}
