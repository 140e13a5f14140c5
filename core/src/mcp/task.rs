//! Tasks: the extension `io.modelcontextprotocol/tasks` of 2026-07-28 (SPEC.md §13).
//!
//! The cluster makes tasks of calls; an app need not know of them. A [`Task`] is how one stands,
//! with the rules by which that changes; a [`TaskCall`] is the call that is made for it. Both are
//! stored as the JSON text that they write and read.

mod call;
mod input;
mod state;

use serde_json::{Map, Value, json};

use super::capability::Capabilities;
use super::error::RpcError;
use super::method::Method;
use super::request::Request;
use super::version::Era;
use crate::ids::TaskId;
use crate::json::{Json, JsonError};

pub use call::{TaskApp, TaskCall};
pub use input::NextRound;
pub use state::{Ended, Phase, Task, Updated};

/// The extension's name among capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A stored task that cannot be read: of a release that is too new, or damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored task cannot be read: {0}")]
pub struct StoredTaskError(String);

impl From<JsonError> for StoredTaskError {
    fn from(error: JsonError) -> Self {
        Self(error.to_string())
    }
}

/// Adds to client capabilities what an agent must declare that is to get tasks.
pub(super) fn require(required: &mut Map<String, Value>) {
    let extensions = required.entry("extensions").or_insert_with(|| json!({}));
    if let Value::Object(extensions) = extensions {
        extensions.insert(EXTENSION.to_owned(), json!({}));
    }
}

/// What of that an agent has not declared.
fn missing(capabilities: &Capabilities) -> Option<Value> {
    let mut required = Map::new();
    require(&mut required);
    capabilities.missing(&required)
}

/// Whether the answer to a request may be a task.
#[must_use]
pub fn is_taken_by(request: &Request) -> bool {
    request.method == Method::CallTool
        && request.era() == Era::Modern
        && missing(&request.capabilities).is_none()
}

/// Whether a request is about a task, and so is answered from the store.
#[must_use]
pub fn is_about_one(method: Method) -> bool {
    matches!(
        method,
        Method::GetTask | Method::UpdateTask | Method::CancelTask
    )
}

/// The task that a request is about.
///
/// # Errors
/// 400, -32021 if the client did not declare the extension; 400, -32602 if params name no task;
/// 200, -32602 if what they name is none. Each has the request's id.
pub fn named(request: &Request) -> Result<TaskId, RpcError> {
    if let Some(missing) = missing(&request.capabilities) {
        return Err(request.refuse(RpcError::missing_capability(&missing)));
    }
    let name = super::params::Params::text(request.params.task_id.as_ref(), "taskId");
    let name = name.map_err(|error| request.refuse(error))?;
    TaskId::parse(&name).map_err(|_| unknown(request))
}

/// There is no such task, or it is another subject's: nobody learns which.
#[must_use]
pub fn unknown(request: &Request) -> RpcError {
    request.refuse(RpcError::invalid_params(
        "Task not found: it is unknown, or has expired",
    ))
}

/// What acknowledges `tasks/update` and `tasks/cancel`.
#[must_use]
pub fn acknowledgement() -> Json {
    Json::EMPTY_OBJECT
}

#[cfg(test)]
mod tests;
