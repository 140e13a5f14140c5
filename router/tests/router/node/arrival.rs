//! A call at a scripted node.

use clientmcp_proto::link::{CallKey, Outbox};
use clientmcp_proto::v1::{self, NodeFrame, node_frame, outcome};

/// A call that arrived, to be answered.
pub(crate) struct Arrival {
    pub(crate) call: v1::Call,
    pub(super) outbox: Outbox<NodeFrame>,
}

impl Arrival {
    pub(crate) fn progress(&self, json: &str) {
        self.event(v1::event::Event::Progress(json.to_owned().into()));
    }

    pub(crate) fn log(&self, json: &str) {
        self.event(v1::event::Event::Log(json.to_owned().into()));
    }

    fn event(&self, event: v1::event::Event) {
        let event = v1::Event {
            call_id: self.call.call_id.clone(),
            event: Some(event),
        };
        let _ = self.outbox.send(node_frame::Frame::Event(event));
    }

    pub(crate) fn result(&self, json: &str) {
        self.answer(outcome::Outcome::Result(json.to_owned().into()));
    }

    pub(crate) fn error(&self, json: &str) {
        self.answer(outcome::Outcome::Error(json.to_owned().into()));
    }

    pub(crate) fn moved(&self, to: v1::Elsewhere) {
        let _ = self.outbox.send(node_frame::Frame::Moved(v1::Moved {
            call_id: self.call.call_id.clone(),
            to: Some(to),
        }));
    }

    pub(crate) fn answer(&self, mut outcome: outcome::Outcome) {
        let call_id = self.call.call_id.clone();
        let payload = match &mut outcome {
            outcome::Outcome::Result(payload) | outcome::Outcome::Error(payload) => {
                std::mem::take(payload)
            }
            _ => {
                let frame = v1::Outcome {
                    call_id,
                    outcome: Some(outcome),
                    payload_bytes: 0,
                };
                let _ = self.outbox.send(node_frame::Frame::Outcome(frame));
                return;
            }
        };
        let key = CallKey::read(&call_id).unwrap();
        let sent = self.outbox.send_payload(key, payload, |within, total| {
            let outcome = match outcome {
                outcome::Outcome::Result(_) => outcome::Outcome::Result(within),
                _ => outcome::Outcome::Error(within),
            };
            node_frame::Frame::Outcome(v1::Outcome {
                call_id,
                outcome: Some(outcome),
                payload_bytes: total,
            })
        });
        let _ = sent;
    }
}
