//! The order in which frames leave: small ones first, payloads in turns.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use super::{CallKey, Frame, Limits};

/// After so many chunks' worth of small frames in a row, a waiting chunk gets its turn, so that
/// a flood of small frames cannot starve payloads.
const CHUNK_DUE_AFTER: usize = 4;

/// Why a frame was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The link has ended.
    #[error("the link has ended")]
    Closed,
    /// Too many bytes wait already.
    #[error("too many bytes wait on the link")]
    Full,
    /// The payload exceeds [`Limits::payload_bytes`].
    #[error("the payload is too large for the link")]
    TooLarge,
    /// An earlier payload of the same call is still being sent.
    #[error("a payload of this call is still being sent")]
    Busy,
}

/// What taking back a call's frames found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawn {
    /// Nothing of it left this process, and nothing will.
    NeverSent,
    /// Its first frame had left, but not all of its payload, and the rest never will: the peer
    /// cannot have acted on it.
    PartlySent,
    /// All of it had left (or there was nothing).
    Sent,
}

/// Frames that wait, without waking or locking.
pub(super) struct Queue<F> {
    limits: Limits,
    /// Small frames in order; `None` was withdrawn.
    small: VecDeque<Option<Entry<F>>>,
    /// The number of frames that left `small`: the position of a frame is its number less this.
    left: u64,
    /// First frames of calls that are still in `small`, by their number.
    unsent: HashMap<CallKey, u64>,
    /// What is left of payloads.
    payloads: HashMap<CallKey, Payload>,
    /// Calls whose next chunk may go, in order.
    turns: VecDeque<CallKey>,
    /// Bytes of all that waits.
    bytes: usize,
    /// Bytes of small frames since the last chunk.
    since_chunk: usize,
}

struct Entry<F> {
    frame: F,
    bytes: usize,
    /// Set on the first frame of a call's payload.
    opens: Option<CallKey>,
}

struct Payload {
    rest: Bytes,
    credit: usize,
    /// Its first frame has left, so chunks may follow.
    opened: bool,
    /// It stands in `turns`.
    queued: bool,
}

impl<F> Queue<F> {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits, not even for credit.
    pub(super) fn is_empty(&self) -> bool {
        self.small.iter().all(Option::is_none) && self.payloads.is_empty()
    }

    /// Drops all that waits, for the link has ended. Which calls it was stays known, so that
    /// [`withdraw`](Queue::withdraw) proves afterwards that they were not delivered.
    pub(super) fn clear(&mut self) {
        self.small.clear();
        self.turns.clear();
        for payload in self.payloads.values_mut() {
            payload.rest = Bytes::new();
        }
        self.bytes = 0;
    }

    /// Takes back what has not left of a call's first frame and payload.
    pub(super) fn withdraw(&mut self, call: CallKey) -> Withdrawn {
        let payload = self.payloads.remove(&call);
        if let Some(payload) = &payload {
            self.bytes -= payload.rest.len();
        }
        let Some(number) = self.unsent.remove(&call) else {
            return match payload {
                Some(_) => Withdrawn::PartlySent,
                None => Withdrawn::Sent,
            };
        };
        let position = usize::try_from(number - self.left).expect("positions fit in memory");
        if let Some(entry) = self.small.get_mut(position).and_then(Option::take) {
            self.bytes -= entry.bytes;
        }
        Withdrawn::NeverSent
    }
}

impl<F: Frame> Queue<F> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            small: VecDeque::new(),
            left: 0,
            unsent: HashMap::new(),
            payloads: HashMap::new(),
            turns: VecDeque::new(),
            bytes: 0,
            since_chunk: 0,
        }
    }

    /// Takes a small frame.
    pub(super) fn push(&mut self, frame: F) -> Result<(), SendError> {
        let bytes = frame.encoded_len();
        if self.bytes + bytes > self.limits.small_frames_bytes() {
            return Err(SendError::Full);
        }
        self.enqueue(frame, bytes, None);
        Ok(())
    }

    /// Takes the first frame of a payload and the payload. `first` is given what travels within
    /// the first frame and the size of the whole.
    pub(super) fn push_payload(
        &mut self,
        call: CallKey,
        payload: Bytes,
        first: impl FnOnce(Bytes, u64) -> F,
    ) -> Result<(), SendError> {
        let total = payload.len();
        if total > self.limits.payload_bytes {
            return Err(SendError::TooLarge);
        }
        if self.payloads.contains_key(&call) || self.unsent.contains_key(&call) {
            return Err(SendError::Busy);
        }
        if self.bytes + total > self.limits.queue_bytes {
            return Err(SendError::Full);
        }
        let inline = total <= self.limits.inline_bytes();
        let (within, rest) = if inline {
            (payload, Bytes::new())
        } else {
            (Bytes::new(), payload)
        };
        let frame = first(within, total as u64);
        let bytes = frame.encoded_len();
        self.enqueue(frame, bytes, Some(call));
        if !inline {
            self.bytes += rest.len();
            let payload = Payload {
                rest,
                credit: self.limits.window_bytes,
                opened: false,
                queued: false,
            };
            self.payloads.insert(call, payload);
        }
        Ok(())
    }

    fn enqueue(&mut self, frame: F, bytes: usize, opens: Option<CallKey>) {
        if let Some(call) = opens {
            self.unsent
                .insert(call, self.left + self.small.len() as u64);
        }
        self.small.push_back(Some(Entry {
            frame,
            bytes,
            opens,
        }));
        self.bytes += bytes;
    }

    /// More of a call's payload may follow.
    pub(super) fn credit(&mut self, call: CallKey, bytes: u64) {
        let Some(payload) = self.payloads.get_mut(&call) else {
            return;
        };
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        payload.credit = payload.credit.saturating_add(bytes);
        if payload.opened && !payload.queued && payload.credit > 0 {
            payload.queued = true;
            self.turns.push_back(call);
        }
    }

    /// The next frame.
    pub(super) fn pop(&mut self) -> Option<F> {
        let chunk_is_due = self.since_chunk >= CHUNK_DUE_AFTER * self.limits.chunk_bytes;
        if chunk_is_due && let Some(chunk) = self.pop_chunk() {
            return Some(chunk);
        }
        self.pop_small().or_else(|| self.pop_chunk())
    }

    fn pop_small(&mut self) -> Option<F> {
        while let Some(slot) = self.small.pop_front() {
            self.left += 1;
            let Some(entry) = slot else { continue };
            self.bytes -= entry.bytes;
            self.since_chunk += entry.bytes;
            if let Some(call) = entry.opens {
                self.unsent.remove(&call);
                self.open(call);
            }
            return Some(entry.frame);
        }
        None
    }

    /// The first frame of a call has left: its chunks may follow.
    fn open(&mut self, call: CallKey) {
        if let Some(payload) = self.payloads.get_mut(&call) {
            payload.opened = true;
            payload.queued = true;
            self.turns.push_back(call);
        }
    }

    fn pop_chunk(&mut self) -> Option<F> {
        self.since_chunk = 0;
        while let Some(call) = self.turns.pop_front() {
            // A withdrawn payload leaves its turn behind.
            let Some(payload) = self.payloads.get_mut(&call).filter(|p| p.queued) else {
                continue;
            };
            let size = self
                .limits
                .chunk_bytes
                .min(payload.rest.len())
                .min(payload.credit);
            let data = payload.rest.split_to(size);
            payload.credit -= size;
            self.bytes -= size;
            payload.queued = !payload.rest.is_empty() && payload.credit > 0;
            if payload.queued {
                self.turns.push_back(call);
            } else if payload.rest.is_empty() {
                self.payloads.remove(&call);
            }
            return Some(F::chunk(call, data));
        }
        None
    }
}
