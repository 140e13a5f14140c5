//! What handlers answer: a result, or requests to the agent that it must answer first.

use clientmcp_core::json::Json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::input::InputRequests;
use crate::prompt::PromptResult;
use crate::resource::ResourceResult;
use crate::result::{CallError, ToolResult};
use crate::schema;

/// What a handler answers that may need more than one round: a result, or what it must know from
/// the agent first.
///
/// This is the form that remembers nothing: what the handler has to know in the next round it puts
/// into the state, and the agent brings it back. The state is encrypted, so the agent can neither
/// read nor alter it, and it is of use for the same subject, tool and arguments alone, for 600 s.
/// [`Context::elicit`](crate::Context::elicit) and its siblings keep the handler itself instead.
///
/// ```
/// use clientmcp_sdk::{Answer, CallError, Context, Elicited, InputRequests, ToolResult};
/// use serde_json::{Value, json};
///
/// async fn rename(args: Value, call: Context) -> Result<Answer<ToolResult>, CallError> {
///     let old: Option<String> = call.state()?;
///     match (old, call.input_responses().elicited::<Value>("name")?) {
///         (Some(old), Some(Elicited::Accepted(new))) => {
///             Ok(ToolResult::text(format!("{old} is {} now", new["name"])).into())
///         }
///         (Some(_), Some(_)) => Ok(ToolResult::text("nothing was changed").into()),
///         _ => {
///             let schema = json!({
///                 "type": "object",
///                 "properties": {"name": {"type": "string"}},
///                 "required": ["name"],
///             });
///             let requests = InputRequests::new().elicit("name", "Which name?", schema);
///             Answer::input_required(requests, args["file"].as_str())
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Answer<T> {
    /// The result.
    Result(T),
    /// The agent must answer these first, and call again.
    InputRequired(InputRequired),
}

/// Requests to the agent, and what the handler wants to know in the next round.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequired {
    pub(crate) requests: InputRequests,
    pub(crate) state: Json,
}

impl<T> Answer<T> {
    /// Asks the agent, and hands it the state for the next round.
    ///
    /// # Errors
    /// [`CallError`] if the state cannot be written as JSON.
    pub fn input_required<S: Serialize>(
        requests: InputRequests,
        state: S,
    ) -> Result<Self, CallError> {
        let state = Json::parse(serde_json::to_vec(&state)?)?;
        Ok(Self::InputRequired(InputRequired { requests, state }))
    }

    pub(crate) fn map<U>(self, write: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Result(result) => Answer::Result(write(result)),
            Self::InputRequired(input) => Answer::InputRequired(input),
        }
    }
}

impl<T> From<T> for Answer<T> {
    fn from(result: T) -> Self {
        Self::Result(result)
    }
}

/// What a handler of tools ([`ToolResult`]), prompts ([`PromptResult`]) or resources
/// ([`ResourceResult`]) may answer: that, anything that becomes it, or an [`Answer`] of it.
pub trait Reply<T> {
    /// The answer.
    fn into_answer(self) -> Answer<T>;

    /// The schema of the structured content, if the type has one.
    #[must_use]
    fn output_schema() -> Option<Value>
    where
        Self: Sized,
    {
        None
    }
}

impl<T, R: Into<T>> Reply<T> for R {
    fn into_answer(self) -> Answer<T> {
        Answer::Result(self.into())
    }
}

impl Reply<ToolResult> for Answer<ToolResult> {
    fn into_answer(self) -> Answer<ToolResult> {
        self
    }
}

impl Reply<PromptResult> for Answer<PromptResult> {
    fn into_answer(self) -> Answer<PromptResult> {
        self
    }
}

impl Reply<ResourceResult> for Answer<ResourceResult> {
    fn into_answer(self) -> Answer<ResourceResult> {
        self
    }
}

/// A tool's result as a value: structured content, and its JSON as text for agents that read only
/// text. The tool's output schema is that of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema> Reply<ToolResult> for Structured<T> {
    fn into_answer(self) -> Answer<ToolResult> {
        let result = ToolResult::structured(&self.0);
        Answer::Result(result.unwrap_or_else(|error| ToolResult::error(error.to_string())))
    }

    fn output_schema() -> Option<Value> {
        Some(schema::of::<T>())
    }
}
