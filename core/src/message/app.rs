//! What apps say.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Log, LogLevel, MessageError, PING, PONG, Progress, Task};
use crate::ids::CallId;
use crate::json::{self, Json, ObjectWriter, Text};
use crate::token::BearerToken;

/// A message of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppMessage {
    /// The whole message; [`crate::register`] reads and checks it, [`super::Register`] writes it.
    Register(Json),
    /// A call succeeded.
    Result {
        /// The call.
        id: CallId,
        /// Its result, verbatim.
        result: Json,
    },
    /// A call failed.
    Error {
        /// The call.
        id: CallId,
        /// A JSON-RPC error object, verbatim; its `code` and `message` were checked.
        error: Json,
    },
    /// A call makes progress.
    Progress {
        /// The call.
        id: CallId,
        /// How far it is.
        progress: Progress,
    },
    /// A call has something to say.
    Log {
        /// The call.
        id: CallId,
        /// What.
        log: Log,
    },
    /// A call becomes a task (SPEC.md §12).
    Task {
        /// The call.
        id: CallId,
        /// What kind of.
        task: Task,
    },
    /// Something happened that agents may watch.
    Notify {
        /// `notifications/resources/updated`.
        method: String,
        /// Its params, verbatim.
        params: Json,
    },
    /// A new token, for the connection that stands.
    Auth {
        /// The token, not verified yet.
        token: BearerToken,
    },
    /// Are you there?
    Ping,
    /// I am.
    Pong,
}

impl AppMessage {
    /// Reads a message. `None`: an answer under an ID that no cluster gives out, and so of a
    /// call that nobody waits for; it is ignored like those of calls that have ended.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn read(text: &Text) -> Result<Option<Self>, MessageError> {
        match text.as_str() {
            PING => return Ok(Some(Self::Ping)),
            PONG => return Ok(Some(Self::Pong)),
            _ => {}
        }
        let view: View<'_> = text.read().map_err(MessageError::Unreadable)?;
        let reader = Reader { text, view: &view };
        match &*view.kind {
            "register" => {
                let whole = text.clone().parse().map_err(MessageError::Unreadable)?;
                Ok(Some(Self::Register(whole)))
            }
            "result" => reader.result(),
            "error" => reader.error(),
            "progress" => reader.progress(),
            "log" => reader.log(),
            "task" => reader.task(),
            "notify" => reader.notify(),
            "auth" => reader.auth(),
            "ping" => Ok(Some(Self::Ping)),
            "pong" => Ok(Some(Self::Pong)),
            other => Err(MessageError::UnknownType(other.chars().take(32).collect())),
        }
    }

    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Register(whole) => whole.clone(),
            Self::Result { id, result } => answer("result", *id, "result", result),
            Self::Error { id, error } => answer("error", *id, "error", error),
            Self::Progress { id, progress } => {
                let mut object = ObjectWriter::new();
                object.name("type", "progress").name("id", id);
                progress.write(&mut object);
                object.finish()
            }
            Self::Log { id, log } => {
                let mut object = ObjectWriter::with_capacity(128 + log.data.len());
                object.name("type", "log").name("id", id);
                log.write(&mut object);
                object.finish()
            }
            Self::Task { id, task } => {
                let mut object = ObjectWriter::new();
                object.name("type", "task").name("id", id);
                task.write(&mut object);
                object.finish()
            }
            Self::Notify { method, params } => {
                let mut object = ObjectWriter::new();
                object.name("type", "notify").string("method", method);
                object.raw("params", params);
                object.finish()
            }
            Self::Auth { token } => {
                let mut object = ObjectWriter::new();
                object.name("type", "auth").string("token", token.as_str());
                object.finish()
            }
            Self::Ping => Json::constant(PING),
            Self::Pong => Json::constant(PONG),
        }
    }
}

fn answer(kind: &str, id: CallId, key: &str, payload: &Json) -> Json {
    let mut object = ObjectWriter::with_capacity(96 + payload.len());
    object.name("type", kind).name("id", id).raw(key, payload);
    object.finish()
}

/// The members of all messages: a duplicate among them is refused whatever the type is.
#[derive(Deserialize)]
struct View<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    error: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    progress: Option<&'a RawValue>,
    #[serde(borrow, default)]
    total: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    level: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logger: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    data: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    token: Option<&'a RawValue>,
    #[serde(rename = "ttlMs", borrow, default)]
    ttl_ms: Option<&'a RawValue>,
    #[serde(rename = "pollIntervalMs", borrow, default)]
    poll_interval_ms: Option<&'a RawValue>,
    #[serde(rename = "statusMessage", borrow, default)]
    status_message: Option<&'a RawValue>,
}

struct Reader<'a> {
    text: &'a Text,
    view: &'a View<'a>,
}

type Read = Result<Option<AppMessage>, MessageError>;

impl Reader<'_> {
    /// The call's ID; `None` if it is none that a cluster gives out.
    fn id(&self, kind: &'static str) -> Result<Option<CallId>, MessageError> {
        let id = string(self.view.id).ok_or(invalid(kind, "id must be a string"))?;
        Ok(CallId::parse(&id).ok())
    }

    fn result(&self) -> Read {
        let id = self.id("result")?;
        let result = self.view.result;
        let result = result.ok_or(invalid("result", "result is missing"))?;
        let result = self.text.part(result);
        Ok(id.map(|id| AppMessage::Result { id, result }))
    }

    fn error(&self) -> Read {
        let wrong = invalid(
            "error",
            "error must be an object with an integer code and a message",
        );
        let id = self.id("error")?;
        let error = self
            .text
            .part(self.view.error.ok_or_else(|| wrong.clone())?);
        error.read::<ErrorView<'_>>().map_err(|_| wrong)?;
        Ok(id.map(|id| AppMessage::Error { id, error }))
    }

    fn progress(&self) -> Read {
        let id = self.id("progress")?;
        let view = self.view;
        let part = |member: Option<&RawValue>| member.map(|member| self.text.part(member));
        let progress = Progress {
            progress: part(view.progress)
                .filter(Json::is_number)
                .ok_or(invalid("progress", "progress must be a number"))?,
            total: part(view.total),
            message: part(view.message),
        };
        if progress
            .total
            .as_ref()
            .is_some_and(|total| !total.is_number())
        {
            return Err(invalid("progress", "total must be a number"));
        }
        if progress
            .message
            .as_ref()
            .is_some_and(|text| !text.is_string())
        {
            return Err(invalid("progress", "message must be a string"));
        }
        Ok(id.map(|id| AppMessage::Progress { id, progress }))
    }

    fn log(&self) -> Read {
        let id = self.id("log")?;
        let level = string(self.view.level).and_then(|level| LogLevel::parse(&level));
        let log = Log {
            level: level.ok_or(invalid("log", "level must be one of syslog's eight"))?,
            logger: self.view.logger.map(|logger| self.text.part(logger)),
            // JavaScript leaves out a member that is undefined.
            data: self
                .view
                .data
                .map_or(Json::NULL, |data| self.text.part(data)),
        };
        if log
            .logger
            .as_ref()
            .is_some_and(|logger| !logger.is_string())
        {
            return Err(invalid("log", "logger must be a string"));
        }
        Ok(id.map(|id| AppMessage::Log { id, log }))
    }

    fn task(&self) -> Read {
        let id = self.id("task")?;
        let task = Task {
            ttl_ms: self.milliseconds(self.view.ttl_ms)?,
            poll_interval_ms: self.milliseconds(self.view.poll_interval_ms)?,
            status_message: self.view.status_message.map(|text| self.text.part(text)),
        };
        if task
            .status_message
            .as_ref()
            .is_some_and(|text| !text.is_string())
        {
            return Err(invalid("task", "statusMessage must be a string"));
        }
        Ok(id.map(|id| AppMessage::Task { id, task }))
    }

    fn milliseconds(&self, member: Option<&RawValue>) -> Result<Option<u64>, MessageError> {
        let wrong = invalid(
            "task",
            "ttlMs and pollIntervalMs must be integers of 0 or more",
        );
        member
            .map(|ms| self.text.part(ms).value().map_err(|_| wrong))
            .transpose()
    }

    fn notify(&self) -> Read {
        let method = string(self.view.method);
        let method = method.ok_or(invalid("notify", "method must be a string"))?;
        let params = self.view.params.map(|params| self.text.part(params));
        Ok(Some(AppMessage::Notify {
            method: method.into_owned(),
            params: params.unwrap_or(Json::EMPTY_OBJECT),
        }))
    }

    fn auth(&self) -> Read {
        let token = string(self.view.token);
        let token = token.ok_or(invalid("auth", "token must be a string"))?;
        let token = BearerToken::new(token);
        Ok(Some(AppMessage::Auth { token }))
    }
}

#[derive(Deserialize)]
struct ErrorView<'a> {
    #[serde(rename = "code")]
    _code: i64,
    #[serde(rename = "message", borrow)]
    _message: Cow<'a, str>,
}

fn string(member: Option<&RawValue>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
    let text: Borrowed<'_> = serde_json::from_str(member?.get()).ok()?;
    Some(text.0)
}

fn invalid(kind: &'static str, problem: &'static str) -> MessageError {
    MessageError::Invalid { kind, problem }
}
