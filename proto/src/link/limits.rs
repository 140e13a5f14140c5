//! The sizes by which a link is shared.

/// Sizes of a link, in bytes. Both ends are given the same chunk and window.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest chunk.
    pub chunk_bytes: usize,
    /// How much of one payload may be under way without credit.
    pub window_bytes: usize,
    /// The largest payload.
    pub payload_bytes: usize,
    /// How much may wait in an outbox; and how much may be half assembled at the receiver.
    pub queue_bytes: usize,
}

impl Limits {
    /// Payloads up to this size travel within their first frame.
    #[must_use]
    pub fn inline_bytes(&self) -> usize {
        self.chunk_bytes / 4
    }

    /// Small frames are taken up to here, so that the last word on a call finds room although
    /// payloads fill the queue. An outbox that exceeds it has a peer that stopped reading.
    #[must_use]
    pub fn small_frames_bytes(&self) -> usize {
        self.queue_bytes + self.queue_bytes / 4
    }
}
