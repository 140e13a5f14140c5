//! What apps say, and what becomes of it (SPEC.md §4.3).

use bytes::Bytes;
use serde::Deserialize;

use super::{Channel, Outcome, Output};
use crate::close::{CloseCode, Closing};
use crate::ids::CallId;
use crate::json::{Json, JsonError, ObjectWriter, Text};
use crate::limits;
use crate::mcp::error::RpcError;
use crate::message::{AppMessage, Log, Misread, Progress};
use crate::tick::Tick;

impl Channel {
    /// A text frame arrived. Counts as life, as all frames do.
    pub fn handle_text(&mut self, now: Tick, frame: &Bytes) {
        if self.ended {
            return;
        }
        self.handle_frame_seen(now);
        let read = match read_text(frame) {
            Ok(None) => Ok(()),
            Ok(Some(message)) => self.on_message(now, message),
            Err(closing) => self.on_misread(now, frame, closing),
        };
        if let Err(closing) = read {
            self.close(now, closing);
        }
    }

    /// What cannot be read ends the call that it answers. It ends the connection only if it cannot
    /// be told what it is about.
    fn on_misread(&mut self, now: Tick, frame: &[u8], closing: Closing) -> Result<(), Closing> {
        if closing.code() != CloseCode::NotUnderstood {
            return Err(closing);
        }
        match Misread::attribute(frame) {
            None => return Err(closing),
            Some(Misread::Answer(None)) => {}
            Some(Misread::Answer(Some(id))) => {
                let fault = format!(
                    "The application's answer cannot be used: {}",
                    closing.reason()
                );
                let fault = RpcError::app_fault(fault).to_object();
                let fault = Json::parse(fault).expect("our own errors are JSON");
                self.on_answer(now, id, Outcome::Error(fault));
            }
            Some(Misread::News) => self.outputs.push_back(Output::Misread(closing)),
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
                let flight = self.flights.get_mut(id);
                if flight.is_some_and(|flight| flight.sent && flight.wants.log(log.level)) {
                    self.outputs.push_back(Output::Log(id, log_event(&log)));
                }
            }
            AppMessage::Notify { method, params } => self.on_notify(&method, params),
            AppMessage::Auth { token } => self.outputs.push_back(Output::Verify(token)),
            AppMessage::Ping => self.outbox.push_pong(now),
            AppMessage::Task { id, task } => {
                let flight = self.flights.get_mut(id);
                let event = task.to_json();
                if flight.is_some_and(|flight| flight.sent && flight.wants.tasks)
                    && event.len() <= limits::EVENT_BYTES
                {
                    self.outputs.push_back(Output::Task(id, event));
                }
            }
            AppMessage::Pong => {}
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

    /// What SDKs of later versions may notify of is nothing to this one; an update that does not
    /// say of which resource it is, is none.
    fn on_notify(&mut self, method: &str, params: Json) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        let updated = params.read::<Updated>();
        if let ("notifications/resources/updated", Ok(Updated { uri })) = (method, updated)
            && self.is_serving()
        {
            let params = update_params(&uri, params);
            self.outputs
                .push_back(Output::ResourceUpdated { uri, params });
        }
    }

    fn on_progress(&mut self, id: CallId, progress: &Progress) {
        let Some(flight) = self.flights.get_mut(id) else {
            return;
        };
        let value = progress.value();
        if flight.sent && flight.wants.progress && value > flight.reached {
            flight.reached = value;
            let event = progress_event(progress);
            self.outputs
                .extend(event.map(|event| Output::Progress(id, event)));
        }
    }
}

fn read_text(frame: &Bytes) -> Result<Option<AppMessage>, Closing> {
    let text = Text::new(frame.clone()).map_err(|error| {
        let code = match error {
            JsonError::NotUtf8 => CloseCode::InvalidText,
            _ => CloseCode::NotUnderstood,
        };
        Closing::new(code, format!("the message is {error}"))
    })?;
    AppMessage::read(&text).map_err(|error| error.closing())
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

/// What whoever watches a resource gets of its update; params that are too large say which
/// resource it is, and no more.
fn update_params(uri: &str, params: Json) -> Json {
    if params.len() <= limits::EVENT_BYTES {
        return params;
    }
    let mut object = ObjectWriter::new();
    object.string("uri", uri);
    object.finish()
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
