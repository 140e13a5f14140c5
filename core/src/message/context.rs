//! What an app is told of the agent that makes a call (SPEC.md §4.7).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ids::Subject;
use crate::json::{Json, JsonError, ObjectWriter};

/// The severity of a log message, from the least to the most (RFC 5424).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Debug.
    Debug,
    /// Info.
    Info,
    /// Notice.
    Notice,
    /// Warning.
    Warning,
    /// Error.
    Error,
    /// Critical.
    Critical,
    /// Alert.
    Alert,
    /// Emergency.
    Emergency,
}

impl LogLevel {
    /// All levels, from the least severe to the most.
    pub const ALL: [LogLevel; 8] = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
    ];

    /// Its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
        }
    }

    /// The level with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// The `context` of a call: written by routers, passed on verbatim by nodes, read by SDKs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContext {
    /// The MCP revision that the agent speaks.
    pub protocol_version: String,
    /// MCP's `Implementation` of the agent, verbatim.
    pub client_info: Option<Json>,
    /// MCP's `ClientCapabilities` of the agent, verbatim: an object.
    pub client_capabilities: Json,
    /// Who calls.
    pub subject: Subject,
    /// The least severe log messages that the agent wants; none at all without it.
    pub log_level: Option<LogLevel>,
    /// Whether the agent wants progress.
    pub progress: bool,
    /// Whether the call may become a task.
    pub tasks: bool,
}

impl CallContext {
    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::with_capacity(256);
        object
            .string("protocolVersion", &self.protocol_version)
            .raw_if("clientInfo", self.client_info.as_ref())
            .raw("clientCapabilities", &self.client_capabilities)
            .string("subject", self.subject.as_str())
            .string_if("logLevel", self.log_level.map(LogLevel::as_str))
            .plain("progress", self.progress)
            .plain("tasks", self.tasks);
        object.finish()
    }

    /// The same context with another level. A text that is no context stays as it is.
    #[must_use]
    pub fn with_log_level(context: &Json, level: LogLevel) -> Json {
        match Self::read(context) {
            Ok(mut read) => {
                read.log_level = Some(level);
                read.to_json()
            }
            Err(_) => context.clone(),
        }
    }

    /// Reads its text.
    ///
    /// # Errors
    /// [`JsonError`] if a member is missing or has the wrong type.
    pub fn read(json: &Json) -> Result<Self, JsonError> {
        let view: View<'_> = json.read()?;
        Ok(Self {
            protocol_version: view.protocol_version.into_owned(),
            client_info: view.client_info.map(|part| json.part(part)),
            client_capabilities: json.part(view.client_capabilities),
            subject: view.subject,
            // A level that is not known is none: SDKs outlive clusters.
            log_level: view.log_level.as_deref().and_then(LogLevel::parse),
            progress: view.progress,
            tasks: view.tasks,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow)]
    protocol_version: Cow<'a, str>,
    #[serde(borrow, default)]
    client_info: Option<&'a RawValue>,
    #[serde(borrow)]
    client_capabilities: &'a RawValue,
    subject: Subject,
    #[serde(borrow, default)]
    log_level: Option<Cow<'a, str>>,
    #[serde(default)]
    progress: bool,
    #[serde(default)]
    tasks: bool,
}
