//! One established stream to a node, and the calls that it carries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clientmcp_proto::link::{
    Arrived, AssembleError, Assembler, Begun, CallKey, Outbox, SendError, Withdrawn,
};
use clientmcp_proto::v1::{self, RouterFrame, node_frame, outcome, router_frame};

use super::feed::{End, Event, Feed, News};
use crate::metrics::Metrics;

/// Why a call was not sent at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// The link is down.
    Down,
    /// Too many bytes wait for the node already.
    Full,
    /// No link takes a payload of this size.
    TooLarge,
}

/// When the node is told that a call's answer has arrived, so that its app may forget it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settling {
    /// As soon as it has.
    OnArrival,
    /// When [`Receipt::settle`] says so.
    Later,
}

/// The calls of one stream.
pub(super) struct Session {
    outbox: Outbox<RouterFrame>,
    metrics: Arc<Metrics>,
    /// `None` once the stream was lost.
    calls: Mutex<Option<Calls>>,
}

#[derive(Debug, Default)]
struct Calls {
    feeds: HashMap<CallKey, (Feed, Settling)>,
    /// Calls that were given up while parts of their answers may wait in the assembler.
    given_up: Vec<CallKey>,
}

/// What the stream's task keeps beside the session: nobody else touches it.
pub(super) struct Reading {
    /// Answers that are not whole yet.
    pub(super) assembler: Assembler<outcome::Outcome>,
    /// Calls whose answers arrived and whose node was not told yet.
    pub(super) settled: Vec<Bytes>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(outbox: Outbox<RouterFrame>, metrics: Arc<Metrics>) -> Self {
        Self {
            outbox,
            metrics,
            calls: Mutex::new(Some(Calls::default())),
        }
    }

    /// Sends a call whose `params` are handed over apart.
    pub(super) fn start(
        self: &Arc<Self>,
        call: v1::Call,
        params: Bytes,
        settling: Settling,
    ) -> Result<InFlight, NotSent> {
        let key = CallKey::read(&call.call_id).expect("the router makes call IDs of 16 bytes");
        let feed = Feed::default();
        match &mut *self.lock() {
            Some(calls) => calls.feeds.insert(key, (feed.clone(), settling)),
            None => return Err(NotSent::Down),
        };
        let sent = self.outbox.send_payload(key, params, |within, total| {
            router_frame::Frame::Call(v1::Call {
                params: within,
                params_bytes: total,
                ..call
            })
        });
        let in_flight = InFlight {
            session: self.clone(),
            key,
            feed,
            over: sent.is_err(),
        };
        match sent {
            Ok(()) => Ok(in_flight),
            Err(error) => {
                self.take(key);
                Err(match error {
                    SendError::Closed => NotSent::Down,
                    SendError::Full | SendError::Busy => NotSent::Full,
                    SendError::TooLarge => NotSent::TooLarge,
                })
            }
        }
    }

    /// Calls under way.
    pub(super) fn in_flight(&self) -> usize {
        self.lock().as_ref().map_or(0, |calls| calls.feeds.len())
    }

    /// The node said something.
    ///
    /// # Errors
    /// The node broke the rules of the link, which must end then.
    pub(super) fn handle_frame(
        &self,
        reading: &mut Reading,
        frame: node_frame::Frame,
    ) -> Result<(), AssembleError> {
        for key in self.take_given_up() {
            reading.assembler.forget(key);
        }
        match frame {
            node_frame::Frame::Event(event) => self.handle_event(event),
            node_frame::Frame::Outcome(outcome) => self.handle_outcome(reading, outcome)?,
            node_frame::Frame::Chunk(chunk) => self.handle_chunk(reading, &chunk)?,
            node_frame::Frame::Credit(credit) => {
                if let Some(key) = CallKey::read(&credit.call_id) {
                    self.outbox.credit(key, credit.bytes);
                }
            }
            node_frame::Frame::Moved(moved) => {
                if let (Some(key), Some(to)) = (CallKey::read(&moved.call_id), moved.to) {
                    self.end(key, End::Moved(to));
                }
            }
            // Said once, before.
            node_frame::Frame::Welcome(_) => {}
        }
        Ok(())
    }

    /// This router stops.
    pub(super) fn announce_drain(&self, within: Duration) {
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let draining = router_frame::Frame::Draining(v1::Draining { within_ms });
        // A link that is gone carries no tunnels either.
        let _ = self.outbox.send(draining);
    }

    /// The stream was lost: each call learns whether it may have reached the app.
    pub(super) fn handle_loss(&self) {
        self.outbox.close();
        let Some(calls) = self.lock().take() else {
            return;
        };
        for (key, (feed, _)) in calls.feeds {
            let not_delivered = match self.outbox.withdraw(key) {
                Withdrawn::NeverSent | Withdrawn::PartlySent => true,
                Withdrawn::Sent => false,
            };
            feed.end(End::LinkLost { not_delivered });
        }
    }

    /// Tells the node which answers arrived.
    pub(super) fn settle(&self, reading: &mut Reading) {
        self.say_settled(std::mem::take(&mut reading.settled));
    }

    fn say_settled(&self, call_ids: Vec<Bytes>) {
        let settled = router_frame::Frame::Settled(v1::Settled { call_ids });
        // A link that is gone forgets by itself.
        let _ = self.outbox.send(settled);
    }

    fn handle_event(&self, event: v1::Event) {
        let Some(feed) = CallKey::read(&event.call_id).and_then(|key| self.feed(key)) else {
            return;
        };
        let dropped = match event.event {
            Some(v1::event::Event::Progress(json)) => !feed.push(Event::Progress(json)),
            Some(v1::event::Event::Log(json)) => !feed.push(Event::Log(json)),
            Some(v1::event::Event::Task(json)) => !feed.push(Event::Task(json)),
            None => false,
        };
        if dropped {
            self.metrics.events_dropped.inc();
        }
    }

    fn handle_outcome(
        &self,
        reading: &mut Reading,
        frame: v1::Outcome,
    ) -> Result<(), AssembleError> {
        let (Some(key), Some(mut outcome)) = (CallKey::read(&frame.call_id), frame.outcome) else {
            return Ok(());
        };
        let Some(payload) = payload_of(&mut outcome) else {
            self.end(key, End::Outcome(outcome));
            return Ok(());
        };
        if self.feed(key).is_none() {
            return Ok(());
        }
        let within = std::mem::take(payload);
        match reading
            .assembler
            .begin(key, outcome, within, frame.payload_bytes)
        {
            Ok(Begun::Whole(outcome, payload)) => self.complete(reading, key, outcome, payload),
            Ok(Begun::Partial) => {}
            Err(AssembleError::Overrun) => return Err(AssembleError::Overrun),
            Err(error) => {
                tracing::warn!(call = ?key, %error, "an answer was refused");
                self.end(
                    key,
                    End::Outcome(outcome::Outcome::Lost(v1::Lost::default())),
                );
            }
        }
        Ok(())
    }

    fn handle_chunk(&self, reading: &mut Reading, chunk: &v1::Chunk) -> Result<(), AssembleError> {
        let Some(key) = CallKey::read(&chunk.call_id) else {
            return Ok(());
        };
        let credit = match reading.assembler.chunk(key, &chunk.data)? {
            Arrived::Whole(outcome, payload) => {
                self.complete(reading, key, outcome, payload);
                0
            }
            Arrived::Partial { credit } => credit,
            // Nobody waits for it any more; what the node still has of it must drain.
            Arrived::Unknown => chunk.data.len() as u64,
        };
        if credit > 0 {
            let _ = self.outbox.send(router_frame::Frame::Credit(v1::Credit {
                call_id: chunk.call_id.clone(),
                bytes: credit,
            }));
        }
        Ok(())
    }

    fn complete(
        &self,
        reading: &mut Reading,
        key: CallKey,
        mut outcome: outcome::Outcome,
        whole: Bytes,
    ) {
        if let Some(payload) = payload_of(&mut outcome) {
            *payload = whole;
        }
        if self.settling(key) == Some(Settling::OnArrival) {
            reading.settled.push(key.to_bytes());
        }
        self.end(key, End::Outcome(outcome));
    }

    fn end(&self, key: CallKey, end: End) {
        if let Some(feed) = self.take(key) {
            // A call that was refused before all of it had left: the rest would wait for credit
            // that never comes.
            self.outbox.withdraw(key);
            feed.end(end);
        }
    }

    fn feed(&self, key: CallKey) -> Option<Feed> {
        let calls = self.lock();
        let (feed, _) = calls.as_ref()?.feeds.get(&key)?;
        Some(feed.clone())
    }

    fn settling(&self, key: CallKey) -> Option<Settling> {
        let calls = self.lock();
        let (_, settling) = calls.as_ref()?.feeds.get(&key)?;
        Some(*settling)
    }

    fn take(&self, key: CallKey) -> Option<Feed> {
        let (feed, _) = self.lock().as_mut()?.feeds.remove(&key)?;
        Some(feed)
    }

    fn take_given_up(&self) -> Vec<CallKey> {
        match &mut *self.lock() {
            Some(calls) => std::mem::take(&mut calls.given_up),
            None => Vec::new(),
        }
    }

    /// Nobody waits for the call any more: what has not left is taken back, and the node hears
    /// of the rest.
    fn give_up(&self, key: CallKey, reason: v1::cancel::Reason) {
        if let Some(calls) = &mut *self.lock() {
            calls.feeds.remove(&key);
            calls.given_up.push(key);
        }
        if self.outbox.withdraw(key) == Withdrawn::NeverSent {
            return;
        }
        let _ = self.outbox.send(router_frame::Frame::Cancel(v1::Cancel {
            call_id: key.to_bytes(),
            reason: reason.into(),
        }));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Calls>> {
        // Nothing that runs under the lock panics half-way.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of an outcome that may come in chunks.
fn payload_of(outcome: &mut outcome::Outcome) -> Option<&mut Bytes> {
    match outcome {
        outcome::Outcome::Result(payload) | outcome::Outcome::Error(payload) => Some(payload),
        _ => None,
    }
}

/// A call that was sent. Dropping it before its end cancels it: its agent is gone.
#[derive(Debug)]
pub(crate) struct InFlight {
    session: Arc<Session>,
    key: CallKey,
    feed: Feed,
    over: bool,
}

impl InFlight {
    /// What comes next; nothing follows [`News::End`].
    pub(crate) async fn next(&mut self) -> News {
        let news = self.feed.next().await;
        self.over = matches!(news, News::End(_));
        news
    }

    /// For a call that was sent with [`Settling::Later`].
    pub(crate) fn receipt(&self) -> Receipt {
        Receipt {
            session: self.session.clone(),
            key: self.key,
        }
    }

    /// Lets go of the call, which goes on: another router carries it from here.
    pub(crate) fn release(mut self) {
        self.over = true;
        self.session.take(self.key);
    }

    /// Cancels the call for a reason of its own.
    pub(crate) fn cancel(mut self, reason: v1::cancel::Reason) {
        self.over = true;
        self.session.give_up(self.key, reason);
    }
}

/// Says that the answer to a call is where nothing can lose it.
#[derive(Debug)]
pub(crate) struct Receipt {
    session: Arc<Session>,
    key: CallKey,
}

impl Receipt {
    /// The app may forget the call.
    pub(crate) fn settle(self) {
        self.session.say_settled(vec![self.key.to_bytes()]);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.over {
            self.session
                .give_up(self.key, v1::cancel::Reason::Disconnect);
        }
    }
}
