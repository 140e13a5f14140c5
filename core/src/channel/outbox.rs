//! What waits for the socket.

use std::collections::VecDeque;

use bytes::Bytes;

use super::io::Transmit;
use crate::close::Closing;
use crate::ids::CallId;
use crate::message::{PONG, PreparedCall};
use crate::tick::Tick;

/// The frames of one connection that nobody has pulled yet.
///
/// Short messages of ours go before calls, pings and pongs before both; among each other they
/// keep their order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    ping: bool,
    /// However many pings were answered since the last pull: one pong is enough.
    pong: bool,
    closing: Option<Box<Closing>>,
    /// Nothing is queued any more.
    closed: bool,
    queue: Queue,
    /// Since when something waits without the socket taking bytes.
    waiting_since: Option<Tick>,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Bytes>,
    calls: VecDeque<QueuedCall>,
    bytes: usize,
}

#[derive(Debug)]
struct QueuedCall {
    id: CallId,
    text: PreparedCall,
    deadline: Tick,
}

/// A pulled frame, and the call that left with it.
#[derive(Debug)]
pub(super) struct Pulled {
    pub(super) transmit: Transmit,
    pub(super) call: Option<CallId>,
}

impl Outbox {
    /// Bytes of queued text.
    pub(super) fn bytes(&self) -> usize {
        self.queue.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        let queued = self.queue.messages.len() + self.queue.calls.len();
        !self.ping && !self.pong && queued == 0 && self.closing.is_none()
    }

    pub(super) fn waiting_since(&self) -> Option<Tick> {
        self.waiting_since
    }

    pub(super) fn has_ping(&self) -> bool {
        self.ping
    }

    pub(super) fn push_ping(&mut self, now: Tick) {
        self.ping = !self.closed;
        self.wait(now);
    }

    pub(super) fn push_pong(&mut self, now: Tick) {
        self.pong = !self.closed;
        self.wait(now);
    }

    pub(super) fn push_message(&mut self, now: Tick, text: Bytes) {
        if self.closed {
            return;
        }
        self.queue.bytes += text.len();
        self.queue.messages.push_back(text);
        self.wait(now);
    }

    pub(super) fn push_call(&mut self, now: Tick, id: CallId, text: PreparedCall, deadline: Tick) {
        self.queue.bytes += text.max_len();
        self.queue
            .calls
            .push_back(QueuedCall { id, text, deadline });
        self.wait(now);
    }

    /// Takes a call back that was not pulled. `false`: it was, or never stood here.
    pub(super) fn withdraw(&mut self, id: CallId) -> bool {
        let Some(at) = self.queue.calls.iter().position(|call| call.id == id) else {
            return false;
        };
        if let Some(call) = self.queue.calls.remove(at) {
            self.queue.bytes -= call.text.max_len();
        }
        self.rest(None);
        true
    }

    /// Drops what waits. A close frame, if there is one, is all that still comes out.
    pub(super) fn close(&mut self, closing: Option<Closing>) {
        *self = Self {
            closing: closing.map(Box::new),
            closed: true,
            ..Self::default()
        };
    }

    /// The socket took bytes.
    pub(super) fn written(&mut self, now: Tick) {
        self.rest(Some(now));
    }

    pub(super) fn pull(&mut self, now: Tick) -> Option<Pulled> {
        let (transmit, call) = self.next(now)?;
        self.rest(Some(now));
        Some(Pulled { transmit, call })
    }

    fn next(&mut self, now: Tick) -> Option<(Transmit, Option<CallId>)> {
        if let Some(closing) = self.closing.take() {
            return Some((Transmit::Close(*closing), None));
        }
        if std::mem::take(&mut self.ping) {
            return Some((Transmit::Ping, None));
        }
        if std::mem::take(&mut self.pong) {
            return Some((Transmit::Text(Bytes::from_static(PONG.as_bytes())), None));
        }
        if let Some(text) = self.queue.messages.pop_front() {
            self.queue.bytes -= text.len();
            return Some((Transmit::Text(text), None));
        }
        let call = self.queue.calls.pop_front()?;
        self.queue.bytes -= call.text.max_len();
        let text = call.text.finish(now.until(call.deadline));
        Some((Transmit::Text(text.into_bytes()), Some(call.id)))
    }

    fn wait(&mut self, now: Tick) {
        if !self.closed {
            self.waiting_since.get_or_insert(now);
        }
    }

    /// After something left: the wait begins anew, or ends and gives its memory back.
    fn rest(&mut self, now: Option<Tick>) {
        if self.is_empty() {
            self.waiting_since = None;
            self.queue = Queue::default();
        } else if now.is_some() {
            self.waiting_since = now;
        }
    }
}
