//! What is said to an agent before its answer: progress and log messages of a call, as the agent
//! wants them, and requests for input.

use bytes::Bytes;
use clientmcp_core::json::Json;
use clientmcp_core::mcp::meta::ProgressToken;
use clientmcp_core::mcp::notification;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::version::Era;
use clientmcp_core::message::{Log, LogLevel, Progress};

use crate::links::Event;

/// Something to be said to the agent, on the stream of its request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// By the app.
    Event(Event),
    /// A message of ours.
    Message(Bytes),
}

/// What one agent wants to hear of one call, and heard.
#[derive(Debug)]
pub(crate) struct Notices {
    progress_token: Option<ProgressToken>,
    log_level: Option<LogLevel>,
    /// The last progress: only growing values pass.
    reached: f64,
}

impl Notices {
    pub(crate) fn new(request: &Request) -> Self {
        Self {
            progress_token: request.progress_token.clone(),
            log_level: match request.era() {
                // The node passes what the session wants, for it has the session's note.
                Era::Legacy => Some(LogLevel::Debug),
                Era::Modern => request.log_level,
            },
            reached: f64::NEG_INFINITY,
        }
    }

    /// The message for what is said; `None` if the agent wants none.
    pub(crate) fn render(&mut self, said: Said) -> Option<Bytes> {
        let event = match said {
            Said::Message(message) => return Some(message),
            Said::Event(event) => event,
        };
        match event {
            Event::Progress(json) => {
                let token = self.progress_token.as_ref()?;
                let progress = Progress::read(&Json::parse(json).ok()?).ok()?;
                if progress.value() <= self.reached {
                    return None;
                }
                self.reached = progress.value();
                Some(notification::progress(token, &progress))
            }
            Event::Log(json) => {
                let log = Log::read(&Json::parse(json).ok()?).ok()?;
                notification::log(&log, self.log_level)
            }
            // For whoever makes a task of the call.
            Event::Task(_) => None,
        }
    }
}
