//! What apps say, and what becomes of it (SPEC.md §4.3).

use bytes::Bytes;
use serde::Deserialize;

use super::{Channel, Outcome, Output};
use crate::close::{CloseCode, Closing};
use crate::ids::CallId;
use crate::json::{Json, JsonError, Text};
use crate::limits;
use crate::message::{AppMessage, Log, Progress};
use crate::tick::Tick;

impl Channel {
    /// A text frame arrived. Counts as life, as all frames do.
    pub fn handle_text(&mut self, now: Tick, frame: Bytes) {
        if self.ended {
            return;
        }
        self.handle_frame_seen(now);
        if let Err(closing) = self.read_text(now, frame) {
            self.close(now, closing);
        }
    }

    fn read_text(&mut self, now: Tick, frame: Bytes) -> Result<(), Closing> {
        let text = Text::new(frame).map_err(|error| {
            let code = match error {
                JsonError::NotUtf8 => CloseCode::InvalidText,
                _ => CloseCode::NotUnderstood,
            };
            Closing::new(code, format!("the message is {error}"))
        })?;
        let message = AppMessage::read(&text).map_err(|error| error.closing())?;
        if let Some(message) = message {
            self.on_message(now, message)?;
        }
        Ok(())
    }

    fn on_message(&mut self, now: Tick, message: AppMessage) -> Result<(), Closing> {
        match message {
            AppMessage::Register(message) => {
                self.on_register(&message)
                    .map_err(|error| error.closing())?;
            }
            AppMessage::Result { id, result } => self.on_answer(now, id, Outcome::Result(result)),
            AppMessage::Error { id, error } => {
                let outcome = self.error_outcome(id, error);
                self.on_answer(now, id, outcome);
            }
            AppMessage::Progress { id, progress } => self.on_progress(id, &progress),
            AppMessage::Log { id, log } => {
                if self.flights.get_mut(id).is_some_and(|flight| flight.sent) {
                    self.outputs.push_back(Output::Log(id, log_event(&log)));
                }
            }
            AppMessage::Auth { token } => self.outputs.push_back(Output::Verify(token)),
            AppMessage::Ping => self.outbox.push_pong(now),
            // No call may become a task, and no resource is watched, in this version: `context`
            // and `subscriptions` told the app so.
            AppMessage::Pong | AppMessage::Task { .. } | AppMessage::Notify { .. } => {}
        }
        Ok(())
    }

    /// Answers of calls that are not known are those of cancelled ones, and ignored.
    fn on_answer(&mut self, now: Tick, id: CallId, outcome: Outcome) {
        if self.flights.get_mut(id).is_some_and(|flight| flight.sent) {
            self.answer(id, outcome);
            self.end_if_expired(now);
        }
    }

    /// An app's error, but for the one by which it says that it has forgotten a call that it was
    /// asked for again.
    fn error_outcome(&mut self, id: CallId, error: Json) -> Outcome {
        #[derive(Deserialize)]
        struct View {
            code: i64,
        }
        let again = self.flights.get_mut(id).is_some_and(|flight| flight.again);
        let code = || error.read::<View>().map(|view| view.code);
        if again && code() == Ok(limits::FORGOTTEN_CALL) {
            return Outcome::Unknown;
        }
        Outcome::Error(error)
    }

    fn on_progress(&mut self, id: CallId, progress: &Progress) {
        let Some(flight) = self.flights.get_mut(id) else {
            return;
        };
        let value = progress.value();
        if flight.sent && flight.progress && value > flight.reached {
            flight.reached = value;
            let event = progress_event(progress);
            self.outputs
                .extend(event.map(|event| Output::Progress(id, event)));
        }
    }
}

/// What a router gets of a log message; one that is too large is told, without its data.
fn log_event(log: &Log) -> Json {
    let event = log.to_json();
    if event.len() <= limits::EVENT_BYTES {
        return event;
    }
    let note = format!(
        "a log message of {} bytes was too large to pass on",
        event.len()
    );
    let note = Log {
        level: log.level,
        logger: None,
        data: Json::of(&note),
    };
    note.to_json()
}

/// What a router gets of progress; a message that is too large is left out.
fn progress_event(progress: &Progress) -> Option<Json> {
    let event = progress.to_json();
    if event.len() <= limits::EVENT_BYTES {
        return Some(event);
    }
    let without_message = Progress {
        message: None,
        ..progress.clone()
    };
    Some(without_message.to_json()).filter(|event| event.len() <= limits::EVENT_BYTES)
}
