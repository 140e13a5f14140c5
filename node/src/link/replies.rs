//! What a link tells its router.

use bytes::Bytes;
use clientmcp_core::channel::{Outcome as AppOutcome, Refusal};
use clientmcp_core::ids::CallId;
use clientmcp_core::json::Json;
use clientmcp_proto::link::{CallKey, SendError};
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{
    Cancelled, Elsewhere, Event, Lost, Moved, Outcome, Refused, TimedOut, event, node_frame,
    refused,
};
use uuid::Uuid;

use super::Link;
use crate::limits;

impl Link {
    /// The call makes progress.
    pub(crate) fn progress(&self, id: CallId, progress: Json) {
        self.event(id, event::Event::Progress(progress.into_bytes()));
    }

    /// The call has something to say.
    pub(crate) fn log(&self, id: CallId, log: Json) {
        self.event(id, event::Event::Log(log.into_bytes()));
    }

    /// The call becomes a task, or says more of the one that it is.
    pub(crate) fn task(&self, id: CallId, task: Json) {
        self.event(id, event::Event::Task(task.into_bytes()));
    }

    /// The last word of an app on a call. `remembered`: it wants to know when it arrived.
    pub(crate) fn answer(&self, id: CallId, outcome: AppOutcome, remembered: bool) {
        self.ends(id, remembered);
        match outcome {
            AppOutcome::Result(result) => self.payload(id, result.into_bytes(), Word::Result),
            AppOutcome::Error(error) => self.payload(id, error.into_bytes(), Word::Error),
            AppOutcome::NotDelivered => self.say(id, lost(true)),
            // Where it has gone is not known: the router looks for it.
            AppOutcome::Lost | AppOutcome::Moved => self.say(id, lost(false)),
            AppOutcome::Unknown => self.say(id, unknown()),
            AppOutcome::TimedOut => self.say(id, Word::TimedOut(TimedOut {})),
            AppOutcome::Cancelled => self.say(id, Word::Cancelled(Cancelled {})),
        }
    }

    /// The call goes on at the new holder of its client ID.
    pub(crate) fn moved(&self, id: CallId, to: Elsewhere) {
        self.ends(id, false);
        self.send(node_frame::Frame::Moved(Moved {
            call_id: key(id).to_bytes(),
            to: Some(to),
        }));
    }

    /// The last word on a call, without a payload.
    pub(super) fn say(&self, id: CallId, word: Word) {
        self.send(node_frame::Frame::Outcome(Outcome {
            call_id: key(id).to_bytes(),
            outcome: Some(word),
            payload_bytes: 0,
        }));
    }

    /// A payload that finds no room on the link: the call ran, its answer is lost, and that is
    /// said. The link goes on for the others.
    fn payload(&self, id: CallId, payload: Bytes, word: fn(Bytes) -> Word) {
        let sent = self
            .outbox
            .send_payload(key(id), payload, |within, payload_bytes| {
                node_frame::Frame::Outcome(Outcome {
                    call_id: key(id).to_bytes(),
                    outcome: Some(word(within)),
                    payload_bytes,
                })
            });
        match sent {
            Ok(()) | Err(SendError::Closed) => {}
            Err(error) => {
                tracing::warn!(link = self.number, call = %id, %error, "an answer was dropped");
                self.say(id, lost(false));
            }
        }
    }

    /// Progress and logs give way first: the link ends when a word on a call finds no room, and
    /// one talkative app must not cost all others theirs.
    fn event(&self, id: CallId, event: event::Event) {
        if self.outbox.queued_bytes() > limits::LINK.queue_bytes / 2 {
            tracing::debug!(link = self.number, call = %id, "an event was dropped");
            return;
        }
        self.send(node_frame::Frame::Event(Event {
            call_id: key(id).to_bytes(),
            event: Some(event),
        }));
    }

    pub(super) fn send(&self, frame: node_frame::Frame) {
        match self.outbox.send(frame) {
            Ok(()) | Err(SendError::Closed) => {}
            Err(error) => tracing::warn!(link = self.number, %error, "the router does not read"),
        }
    }
}

/// A call as frames name it.
pub(super) fn key(id: CallId) -> CallKey {
    CallKey(id.0.into_bytes())
}

/// A call as the app knows it.
pub(super) fn call_id(key: CallKey) -> CallId {
    CallId(Uuid::from_bytes(key.0))
}

/// The app's socket, or the call, was lost.
pub(super) fn lost(not_delivered: bool) -> Word {
    Word::Lost(Lost {
        not_delivered,
        r#final: false,
    })
}

/// Nobody can say any more how the call ended.
pub(super) fn unknown() -> Word {
    Word::Lost(Lost {
        not_delivered: false,
        r#final: true,
    })
}

/// A call that a connection did not take; `again`: it was delivered before.
pub(super) fn refusal(refusal: Refusal, again: bool, tools_hash: impl FnOnce() -> String) -> Word {
    let why = match refusal {
        Refusal::Unavailable => return lost(!again),
        // The instance that is meant has gone: what it did before is not known.
        Refusal::OtherInstance if again => return unknown(),
        Refusal::NotRepeatable => return unknown(),
        Refusal::OtherInstance => refused::Why::OtherInstance,
        Refusal::Cancelled => return Word::Cancelled(Cancelled {}),
        Refusal::Stale => refused::Why::Stale,
        Refusal::TooManyCalls => refused::Why::TooManyCalls,
        Refusal::QueueFull => refused::Why::QueueFull,
        Refusal::TooLarge => refused::Why::TooLarge,
        Refusal::Duplicate => refused::Why::Duplicate,
    };
    let tools_hash = match why {
        refused::Why::Stale => tools_hash(),
        _ => String::new(),
    };
    Word::Refused(Refused {
        why: why.into(),
        tools_hash,
    })
}

/// The call is not taken, for this reason.
pub(super) fn refused(why: refused::Why) -> Word {
    Word::Refused(Refused {
        why: why.into(),
        tools_hash: String::new(),
    })
}

/// The session in whose name the call was made was ended.
pub(super) fn session_ended() -> Word {
    refused(refused::Why::SessionEnded)
}

/// What a metric calls a word that no app has said.
pub(super) fn label(word: &Word) -> &'static str {
    match word {
        Word::Elsewhere(_) => "elsewhere",
        Word::Absent(_) => "absent",
        Word::NotHere(_) => "not_here",
        Word::Lost(_) => "lost",
        Word::Cancelled(_) => "cancelled",
        Word::Refused(refused) => match refused.why() {
            refused::Why::Stale => "stale",
            refused::Why::TooManyCalls => "too_many_calls",
            refused::Why::QueueFull => "queue_full",
            refused::Why::TooLarge => "too_large",
            refused::Why::SessionEnded => "session_ended",
            refused::Why::Duplicate => "duplicate",
            refused::Why::OtherInstance => "other_instance",
            refused::Why::TooManyWait => "too_many_wait",
            refused::Why::Unspecified => "refused",
        },
        Word::Result(_) | Word::Error(_) | Word::TimedOut(_) => "answered",
    }
}
