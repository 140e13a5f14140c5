//! What a handler answers: a result for the model, or an error.

use std::any::Any;
use std::fmt;

use clientmcp_core::json::{ArrayWriter, Json, ObjectWriter};
use serde::Serialize;

use crate::content::Content;

/// JSON-RPC's code for parameters that do not fit, an unknown tool among them.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC's code for a method that the application does not offer.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The code of MCP before 2026-07-28 for a resource that does not exist.
const NO_SUCH_RESOURCE: i64 = -32002;
/// JSON-RPC's code for what went wrong inside.
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// The result of a tool call (MCP's `CallToolResult`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolResult {
    content: Vec<Content>,
    structured: Option<Json>,
    meta: Option<Json>,
    is_error: bool,
}

impl ToolResult {
    /// A result without content.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A result that is one text.
    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::new().with_text(text)
    }

    /// A failure that the model can read and react to.
    #[must_use]
    pub fn error(text: impl AsRef<str>) -> Self {
        let mut result = Self::text(text);
        result.is_error = true;
        result
    }

    /// A value as structured content, and its JSON as text for agents that read only text.
    ///
    /// # Errors
    /// [`CallError`] if the value cannot be written as JSON.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> Result<Self, CallError> {
        let json = Json::parse(serde_json::to_vec(value)?)?;
        let mut result = Self::text(json.as_str());
        result.structured = Some(json);
        Ok(result)
    }

    /// Adds a text.
    #[must_use]
    pub fn with_text(self, text: impl AsRef<str>) -> Self {
        self.with_content(Content::text(text))
    }

    /// Adds an image: base64 and its media type.
    #[must_use]
    pub fn with_image(self, base64: impl AsRef<str>, mime_type: impl AsRef<str>) -> Self {
        self.with_content(Content::image(base64, mime_type))
    }

    /// Adds a sound: base64 and its media type.
    #[must_use]
    pub fn with_audio(self, base64: impl AsRef<str>, mime_type: impl AsRef<str>) -> Self {
        self.with_content(Content::audio(base64, mime_type))
    }

    /// Adds a piece of content of any kind.
    #[must_use]
    pub fn with_content(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Sets the structured content, as it is.
    #[must_use]
    pub fn with_structured(mut self, value: Json) -> Self {
        self.structured = Some(value);
        self
    }

    /// Sets `_meta`, as it is.
    #[must_use]
    pub fn with_meta(mut self, meta: Json) -> Self {
        self.meta = Some(meta);
        self
    }

    /// The result as it is sent.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut content = ArrayWriter::new();
        for item in &self.content {
            content.raw(item.to_json());
        }
        let mut result = ObjectWriter::new();
        result
            .raw("content", &content.finish())
            .raw_if("structuredContent", self.structured.as_ref());
        if self.is_error {
            result.plain("isError", true);
        }
        result.raw_if("_meta", self.meta.as_ref());
        result.finish()
    }
}

impl From<&str> for ToolResult {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ToolResult {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<()> for ToolResult {
    fn from((): ()) -> Self {
        Self::new()
    }
}

/// A failure of the tool, told to the model: the call ends with this text and `isError`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// A failure with a text for the model.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A failure of the protocol rather than of the tool: the call ends with a JSON-RPC error. Models
/// usually do not see these, so prefer [`ToolError`] for what a model could react to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// JSON-RPC's code. -32768 to -32000 are reserved for the protocols.
    pub code: i64,
    /// What is wrong, in a short sentence.
    pub message: String,
    /// More about it.
    pub data: Option<Json>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// There is no such resource. The revisions before 2026-07-28 have a code of their own for it.
    pub(crate) fn resource_not_found(uri: &str, legacy: bool) -> Self {
        let code = if legacy {
            NO_SUCH_RESOURCE
        } else {
            INVALID_PARAMS
        };
        Self {
            code,
            message: "Resource not found".to_owned(),
            data: Some(Json::of(&serde_json::json!({"uri": uri}))),
        }
    }

    /// What the agent sent does not fit (-32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }
}

/// How a call fails. `?` on any error makes one: an [`RpcError`] stays what it is, everything else
/// becomes a [`ToolError`] with the error's text.
#[derive(Clone, PartialEq, Eq)]
pub enum CallError {
    /// Told to the model.
    Tool(ToolError),
    /// Told to the agent's program.
    Rpc(RpcError),
}

impl<E: std::error::Error + 'static> From<E> for CallError {
    fn from(error: E) -> Self {
        match (&error as &dyn Any).downcast_ref::<RpcError>() {
            Some(rpc) => Self::Rpc(rpc.clone()),
            None => Self::Tool(ToolError::new(error.to_string())),
        }
    }
}

// It is no `Error` itself: that would clash with the conversion of all errors.
impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(error) => error.fmt(f),
            Self::Rpc(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(error) => error.fmt(f),
            Self::Rpc(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_members_that_were_set() {
        let table = [
            (ToolResult::new(), r#"{"content":[]}"#),
            (
                "done".into(),
                r#"{"content":[{"type":"text","text":"done"}]}"#,
            ),
            (
                ToolResult::error("a\nb"),
                r#"{"content":[{"type":"text","text":"a\nb"}],"isError":true}"#,
            ),
            (
                ToolResult::structured(&[1, 2]).unwrap(),
                r#"{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]}"#,
            ),
            (
                ToolResult::new()
                    .with_image("QQ==", "image/png")
                    .with_audio("QQ==", "audio/wav")
                    .with_content(Json::parse(r#"{"type": "x"}"#).unwrap())
                    .with_meta(Json::parse(r#"{"k":1}"#).unwrap()),
                r#"{"content":[{"type":"image","data":"QQ==","mimeType":"image/png"},{"type":"audio","data":"QQ==","mimeType":"audio/wav"},{"type": "x"}],"_meta":{"k":1}}"#,
            ),
        ];
        for (result, json) in table {
            assert_eq!(result.to_json().as_str(), json);
        }
    }

    #[test]
    fn any_error_becomes_a_tool_error_and_an_rpc_error_stays_one() {
        fn io() -> Result<(), CallError> {
            Err(std::io::Error::other("disk full"))?
        }
        fn rpc() -> Result<(), CallError> {
            Err(RpcError::new(-32602, "no"))?
        }
        fn tool() -> Result<(), CallError> {
            Err(ToolError::new("no pen"))?
        }
        assert_eq!(io(), Err(CallError::Tool(ToolError::new("disk full"))));
        assert_eq!(rpc(), Err(CallError::Rpc(RpcError::new(-32602, "no"))));
        assert_eq!(tool(), Err(CallError::Tool(ToolError::new("no pen"))));
    }
}
