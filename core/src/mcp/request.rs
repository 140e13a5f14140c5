//! A request that passed the checks of its era: what the router serves.

use std::borrow::Cow;

use super::capability::Capabilities;
use super::error::RpcError;
use super::message::{RequestId, decode_string};
use super::meta::{ProgressToken, Trace};
use super::method::Method;
use super::params::Params;
use super::session::Session;
use super::version::{Era, Version};
use crate::ids::Subject;
use crate::json::Json;
use crate::message::{CallContext, LogLevel};

/// A request of either era.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its id: echoed in the answer.
    pub id: RequestId,
    /// What is asked for.
    pub method: Method,
    /// The params; `params.raw` goes to the app.
    pub params: Params,
    /// The revision that the agent speaks.
    pub version: Version,
    /// Its session: legacy alone.
    pub session: Option<Session>,
    /// What the agent can do, to check against.
    pub capabilities: Capabilities,
    /// The same as the agent declared it (modern), or as the session remembers it (legacy).
    pub capabilities_json: Json,
    /// Who the agent says it is.
    pub client_info: Option<Json>,
    /// Present if progress is wanted.
    pub progress_token: Option<ProgressToken>,
    /// The least severe log messages that are wanted; none at all without it. For legacy agents
    /// [`super::legacy::DEFAULT_LOG_LEVEL`], unless their session has set another: the node that
    /// keeps its note puts that one into the context of the call, and passes log messages by it.
    pub log_level: Option<LogLevel>,
    /// Trace context to hand on.
    pub trace: Trace,
}

impl Request {
    /// The era of the request.
    #[must_use]
    pub fn era(&self) -> Era {
        self.version.era()
    }

    /// The name of the tool or prompt, or the URI of the resource, that is asked for.
    ///
    /// # Errors
    /// 400, -32602 if params lack it, or it is no string.
    pub fn target(&self) -> Result<Cow<'_, str>, RpcError> {
        let (member, name) = match self.method {
            Method::ReadResource => (&self.params.uri, "uri"),
            _ => (&self.params.name, "name"),
        };
        member
            .as_ref()
            .and_then(|json| decode_string(json.as_str()))
            .ok_or_else(|| {
                self.refuse(RpcError::invalid_envelope(format!(
                    "params.{name} must be a string"
                )))
            })
    }

    /// An error as the answer to this request.
    #[must_use]
    pub fn refuse(&self, error: RpcError) -> RpcError {
        error.for_request(&self.id)
    }

    /// What the app is told of the agent. `subject` is that of the agent's token.
    #[must_use]
    pub fn context(&self, subject: &Subject, tasks: bool) -> CallContext {
        CallContext {
            protocol_version: self.version.as_str().to_owned(),
            client_info: self.client_info.clone(),
            client_capabilities: self.capabilities_json.clone(),
            subject: subject.clone(),
            log_level: self.log_level,
            progress: self.progress_token.is_some(),
            tasks,
        }
    }
}
