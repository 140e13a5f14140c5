//! The call that is made for a task: enough to make it again, in another process.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

use super::StoredTaskError;
use crate::ids::CallId;
use crate::json::{Json, ObjectWriter};
use crate::mcp::capability::Capabilities;
use crate::mcp::error::RpcError;
use crate::mcp::message::RequestId;
use crate::mcp::meta::Trace;
use crate::mcp::method::Method;
use crate::mcp::params::Params;
use crate::mcp::request::Request;
use crate::mcp::version::Version;

/// The instance of an app that a call was delivered to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskApp {
    /// The instance.
    pub instance: String,
    /// It remembers calls.
    pub resumes: bool,
}

/// A `tools/call` of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCall {
    /// Its call ID.
    pub id: CallId,
    /// The first call of the chain of rounds.
    pub root_id: CallId,
    /// The number of the round.
    pub round: u32,
    /// Whom it was delivered to; `None`: it was not delivered yet.
    pub app: Option<TaskApp>,
    /// When its deadline ends, in milliseconds since 1970.
    pub ends_at_ms: u64,
    /// Its params, verbatim.
    pub params: Json,
    /// What the agent can do, as it declared it.
    pub capabilities: Json,
    /// Who the agent says it is.
    pub client_info: Option<Json>,
    /// Trace context.
    pub trace: Trace,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    root_id: Cow<'a, str>,
    round: u32,
    #[serde(default)]
    instance: Option<String>,
    #[serde(default)]
    resumes: bool,
    ends_at_ms: u64,
    #[serde(borrow)]
    params: &'a RawValue,
    #[serde(borrow)]
    capabilities: &'a RawValue,
    #[serde(borrow, default)]
    client_info: Option<&'a RawValue>,
    #[serde(default)]
    traceparent: Option<String>,
    #[serde(default)]
    tracestate: Option<String>,
}

impl TaskCall {
    /// The first call of a task, made of the agent's request.
    #[must_use]
    pub fn of(request: &Request, id: CallId, app: Option<TaskApp>, ends_at_ms: u64) -> Self {
        Self {
            id,
            root_id: id,
            round: 0,
            app,
            ends_at_ms,
            params: request.params.raw.clone(),
            capabilities: request.capabilities_json.clone(),
            client_info: request.client_info.clone(),
            trace: request.trace.clone(),
        }
    }

    /// The request that this call answers. Nobody waits for its progress, and it has no log level:
    /// a task has neither.
    ///
    /// # Errors
    /// [`RpcError`] if the params cannot be read, which were read before.
    pub fn to_request(&self) -> Result<Request, RpcError> {
        let capabilities = self.capabilities.value().ok();
        Ok(Request {
            id: RequestId::parse("0").expect("0 is an id"),
            method: Method::CallTool,
            params: Params::read(Some(self.params.clone()))?,
            version: Version::MODERN,
            session: None,
            capabilities: capabilities
                .and_then(Capabilities::declared)
                .unwrap_or_default(),
            capabilities_json: self.capabilities.clone(),
            client_info: self.client_info.clone(),
            progress_token: None,
            log_level: None,
            trace: self.trace.clone(),
        })
    }

    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::with_capacity(512 + self.params.len());
        object
            .name("id", self.id)
            .name("rootId", self.root_id)
            .plain("round", self.round)
            .plain("endsAtMs", self.ends_at_ms)
            .raw("params", &self.params)
            .raw("capabilities", &self.capabilities)
            .raw_if("clientInfo", self.client_info.as_ref())
            .string_if("traceparent", self.trace.parent.as_deref())
            .string_if("tracestate", self.trace.state.as_deref());
        if let Some(app) = &self.app {
            object
                .string("instance", &app.instance)
                .plain("resumes", app.resumes);
        }
        object.finish()
    }

    /// Reads what [`TaskCall::to_json`] wrote.
    ///
    /// # Errors
    /// [`StoredTaskError`].
    pub fn read(text: &Json) -> Result<Self, StoredTaskError> {
        let view: View<'_> = text.read()?;
        let id =
            |text: &str| CallId::parse(text).map_err(|error| StoredTaskError(error.to_string()));
        let part = |part: &RawValue| text.part(part);
        let resumes = view.resumes;
        Ok(Self {
            id: id(&view.id)?,
            root_id: id(&view.root_id)?,
            round: view.round,
            app: view.instance.map(|instance| TaskApp { instance, resumes }),
            ends_at_ms: view.ends_at_ms,
            params: part(view.params),
            capabilities: part(view.capabilities),
            client_info: view.client_info.map(part),
            trace: Trace {
                parent: view.traceparent,
                state: view.tracestate,
            },
        })
    }
}
