//! How a task stands, and how that changes.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::StoredTaskError;
use super::input::{Asked, NextRound};
use crate::ids::{Subject, TaskId};
use crate::json::{self, Json, JsonError, ObjectWriter};
use crate::limits;
use crate::mcp::error::RpcError;
use crate::mcp::request::Request;
use crate::mcp::result;
use crate::message;

/// A task as it is stored.
///
/// It begins as working. Its call ends it, or asks for input; when that is there, it works again.
/// A task that has ended changes no more: each change says whether it was one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Who began it: nobody else gets to see it.
    pub subject: Subject,
    created_ms: u64,
    updated_ms: u64,
    ttl_ms: u64,
    poll_interval_ms: u64,
    /// A JSON string.
    status_message: Option<Json>,
    /// The keys of all requests for input so far.
    used_keys: Vec<String>,
    phase: Phase,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Its call runs.
    Working,
    /// The agent is asked.
    InputRequired(Asked),
    /// With the app's result, or one of ours, verbatim.
    Completed(Json),
    /// With a JSON-RPC error object, verbatim.
    Failed(Json),
    /// By its agent.
    Cancelled,
}

impl Phase {
    fn as_str(&self) -> &'static str {
        match self {
            Phase::Working => "working",
            Phase::InputRequired(_) => "input_required",
            Phase::Completed(_) => "completed",
            Phase::Failed(_) => "failed",
            Phase::Cancelled => "cancelled",
        }
    }
}

/// How a call of a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With a result.
    Result(Json),
    /// With a JSON-RPC error object.
    Error(Json),
}

impl Ended {
    /// An error of the cluster's.
    #[must_use]
    pub fn refused(error: &RpcError) -> Self {
        let error = Json::parse(error.to_object());
        Self::Error(error.expect("our own errors are JSON"))
    }
}

/// What became of an agent's answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Updated {
    /// None of them was asked for any more.
    Nothing,
    /// Others are missing still.
    Partly,
    /// All are there: the app is called again.
    Whole(NextRound),
}

impl Task {
    /// A task that begins now, for a call of this subject. `wish`: what the app says of it.
    #[must_use]
    pub fn begin(subject: Subject, now_ms: u64, wish: &message::Task) -> Self {
        let mut task = Self {
            subject,
            created_ms: now_ms,
            updated_ms: now_ms,
            ttl_ms: limits::TASK_TTL_MS,
            poll_interval_ms: limits::TASK_POLL_INTERVAL_MS,
            status_message: None,
            used_keys: Vec::new(),
            phase: Phase::Working,
        };
        task.wish(wish);
        task
    }

    /// How far it is.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !matches!(self.phase, Phase::Working | Phase::InputRequired(_))
    }

    /// How long it is kept from now on.
    #[must_use]
    pub fn remaining(&self, now_ms: u64) -> Duration {
        let ends = self.created_ms.saturating_add(self.ttl_ms);
        Duration::from_millis(ends.saturating_sub(now_ms).max(1))
    }

    /// The app says something of its task. `false`: it has ended.
    pub fn handle_wish(&mut self, now_ms: u64, wish: &message::Task) -> bool {
        if self.has_ended() {
            return false;
        }
        self.touch(now_ms);
        self.wish(wish);
        true
    }

    /// Its call has ended; a result that asks for input makes the task wait for it. `request` is
    /// what the call answers. `false`: it works no more.
    pub fn handle_end(&mut self, now_ms: u64, ended: Ended, request: &Request) -> bool {
        if self.phase != Phase::Working {
            return false;
        }
        self.touch(now_ms);
        self.phase = match ended {
            Ended::Error(error) => Phase::Failed(error),
            Ended::Result(result) => match self.read_result(result, request) {
                Ok(phase) => phase,
                Err(error) => match Ended::refused(&error) {
                    Ended::Error(error) | Ended::Result(error) => Phase::Failed(error),
                },
            },
        };
        true
    }

    /// The agent answers.
    ///
    /// # Errors
    /// [`JsonError`] if the answers are no object.
    pub fn handle_answers(&mut self, now_ms: u64, answers: &Json) -> Result<Updated, JsonError> {
        answers.members()?;
        let Phase::InputRequired(asked) = &mut self.phase else {
            return Ok(Updated::Nothing);
        };
        if asked.answer(answers)?.is_none() {
            return Ok(Updated::Nothing);
        }
        let next = asked.next_round();
        self.touch(now_ms);
        Ok(match next {
            None => Updated::Partly,
            Some(next) => {
                self.phase = Phase::Working;
                Updated::Whole(next)
            }
        })
    }

    /// The agent wants it no more. `false`: it has ended already.
    pub fn handle_cancel(&mut self, now_ms: u64) -> bool {
        if self.has_ended() {
            return false;
        }
        self.touch(now_ms);
        self.phase = Phase::Cancelled;
        true
    }

    /// The result that tells an agent that its call has become this task.
    #[must_use]
    pub fn created(&self, id: TaskId) -> Json {
        let mut object = ObjectWriter::with_capacity(256);
        object.name("resultType", "task");
        self.write_public(&mut object, id);
        object.finish()
    }

    /// The result of `tasks/get`.
    #[must_use]
    pub fn detailed(&self, id: TaskId) -> Json {
        let mut object = ObjectWriter::with_capacity(256);
        object.name("resultType", "complete");
        self.write_public(&mut object, id);
        match &self.phase {
            Phase::Working | Phase::Cancelled => {}
            Phase::InputRequired(asked) => {
                object.raw("inputRequests", &asked.outstanding());
            }
            Phase::Completed(result) => {
                object.raw("result", result);
            }
            Phase::Failed(error) => {
                object.raw("error", error);
            }
        }
        object.finish()
    }

    fn write_public(&self, object: &mut ObjectWriter, id: TaskId) {
        object
            .name("taskId", id)
            .name("status", self.phase.as_str())
            .raw_if("statusMessage", self.status_message.as_ref())
            .name("createdAt", iso_8601(self.created_ms))
            .name("lastUpdatedAt", iso_8601(self.updated_ms))
            .plain("ttlMs", self.ttl_ms)
            .plain("pollIntervalMs", self.poll_interval_ms);
    }

    fn touch(&mut self, now_ms: u64) {
        self.updated_ms = self.updated_ms.max(now_ms);
    }

    fn wish(&mut self, wish: &message::Task) {
        if let Some(ttl_ms) = wish.ttl_ms {
            self.ttl_ms = ttl_ms.clamp(limits::TASK_TTL_MIN_MS, limits::TASK_TTL_MAX_MS);
        }
        if let Some(interval_ms) = wish.poll_interval_ms {
            self.poll_interval_ms =
                interval_ms.clamp(limits::TASK_POLL_MIN_MS, limits::TASK_POLL_MAX_MS);
        }
        if wish.status_message.is_some() {
            self.status_message.clone_from(&wish.status_message);
        }
    }

    fn read_result(&mut self, result: Json, request: &Request) -> Result<Phase, RpcError> {
        let Some((requests, state)) = result::input_of(&result, request)? else {
            return Ok(Phase::Completed(result));
        };
        let asked = Asked::new(&requests, state, &mut self.used_keys);
        let asked = asked
            .map_err(|_| RpcError::app_fault("The application's inputRequests are no object"))?;
        if asked.next_round().is_some() {
            // Nobody could answer what was not asked.
            return Err(RpcError::app_fault(
                "The application asked for input without saying for what",
            ));
        }
        if self.used_keys.len() > limits::TASK_QUESTIONS {
            return Err(RpcError::app_fault(
                "The application asks for input again and again",
            ));
        }
        Ok(Phase::InputRequired(asked))
    }
}

fn iso_8601(ms: u64) -> impl std::fmt::Display {
    let time: SystemTime = UNIX_EPOCH + Duration::from_millis(ms.min(limits::UNIX_MS_MAX));
    humantime::format_rfc3339_millis(time)
}

// ---- As it is stored ----

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    subject: Subject,
    created_ms: u64,
    updated_ms: u64,
    ttl_ms: u64,
    poll_interval_ms: u64,
    #[serde(borrow, default)]
    status_message: Option<&'a RawValue>,
    used_keys: Vec<String>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    questions: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Task {
    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::with_capacity(512);
        object
            .string("subject", self.subject.as_str())
            .plain("createdMs", self.created_ms)
            .plain("updatedMs", self.updated_ms)
            .plain("ttlMs", self.ttl_ms)
            .plain("pollIntervalMs", self.poll_interval_ms)
            .raw_if("statusMessage", self.status_message.as_ref())
            .raw("usedKeys", &Json::of(&self.used_keys))
            .name("status", self.phase.as_str());
        match &self.phase {
            Phase::Working | Phase::Cancelled => {}
            Phase::InputRequired(asked) => {
                object
                    .raw("questions", &asked.to_json())
                    .raw_if("state", asked.state.as_ref());
            }
            Phase::Completed(result) => {
                object.raw("result", result);
            }
            Phase::Failed(error) => {
                object.raw("error", error);
            }
        }
        object.finish()
    }

    /// Reads what [`Task::to_json`] wrote.
    ///
    /// # Errors
    /// [`StoredTaskError`].
    pub fn read(text: &Json) -> Result<Self, StoredTaskError> {
        let view: View<'_> = text.read()?;
        let part = |part: Option<&RawValue>| part.map(|part| text.part(part));
        let needed = |part: Option<Json>| {
            part.ok_or_else(|| StoredTaskError(format!("{} lacks a member", view.status)))
        };
        let phase = match &*view.status {
            "working" => Phase::Working,
            "input_required" => {
                let questions = needed(part(view.questions))?;
                Phase::InputRequired(Asked::read(&questions, part(view.state))?)
            }
            "completed" => Phase::Completed(needed(part(view.result))?),
            "failed" => Phase::Failed(needed(part(view.error))?),
            "cancelled" => Phase::Cancelled,
            other => return Err(StoredTaskError(format!("it is {other}"))),
        };
        Ok(Self {
            status_message: part(view.status_message),
            subject: view.subject,
            created_ms: view.created_ms,
            updated_ms: view.updated_ms,
            ttl_ms: view.ttl_ms,
            poll_interval_ms: view.poll_interval_ms,
            used_keys: view.used_keys,
            phase,
        })
    }
}
