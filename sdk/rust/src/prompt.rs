//! What a prompt says about itself, and what it gives.

use clientmcp_core::json::{ArrayWriter, Json, JsonError, ObjectWriter};
use serde::Deserialize;

use crate::completion::{Completer, Completers, Completion, CompletionRequest};
use crate::content::Content;
use crate::context::Context;
use crate::definition::{Definition, described};
use crate::result::CallError;

/// A prompt's definition, as agents see it (MCP's `Prompt`).
#[derive(Debug, Clone)]
pub struct Prompt {
    name: String,
    definition: Definition,
    arguments: Vec<Json>,
    completers: Completers,
}

/// An argument of a prompt: a text (MCP's `PromptArgument`).
#[derive(Debug, Clone)]
pub struct Argument {
    name: String,
    definition: Definition,
    completer: Option<Completer>,
}

impl Argument {
    /// An argument that may be left out.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let name = name.into();
        let members = vec![
            ("name", Json::of(&name)),
            ("description", Json::of(&description.into())),
        ];
        Self {
            name,
            definition: Definition::Members(members),
            completer: None,
        }
    }

    /// It may not be left out.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.definition.set("required", Json::of(&true));
        self
    }

    /// A title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.set("title", Json::of(&title.into()));
        self
    }

    /// Completes it.
    #[must_use]
    pub fn complete<C, F, Fut>(mut self, complete: F) -> Self
    where
        C: Into<Completion>,
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, CallError>> + Send + 'static,
    {
        self.completer = Some(Completer::new(complete));
        self
    }
}

impl Prompt {
    /// A prompt without arguments. `name` is 1 to 128 characters of `A-Z a-z 0-9 _ . -`.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let name = name.into();
        let members = vec![
            ("name", Json::of(&name)),
            ("description", Json::of(&description.into())),
        ];
        Self {
            name,
            definition: Definition::Members(members),
            arguments: Vec::new(),
            completers: Completers::default(),
        }
    }

    /// A prompt whose definition is passed on as it is, to the byte, its arguments among it.
    ///
    /// # Errors
    /// [`JsonError`] if it is no JSON object with a `name`.
    pub fn from_definition(definition: Json) -> Result<Self, JsonError> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let Named { name } = definition.read()?;
        Ok(Self {
            name,
            definition: Definition::Verbatim(definition),
            arguments: Vec::new(),
            completers: Completers::default(),
        })
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: Argument) -> Self {
        self.arguments.push(argument.definition.to_json());
        let mut arguments = ArrayWriter::new();
        for argument in &self.arguments {
            arguments.raw(argument);
        }
        self.definition.set("arguments", arguments.finish());
        if let Some(completer) = argument.completer {
            self.completers.add(argument.name, completer);
        }
        self
    }

    /// Completes an argument that the definition has.
    #[must_use]
    pub fn complete<C, F, Fut>(mut self, argument: impl Into<String>, complete: F) -> Self
    where
        C: Into<Completion>,
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, CallError>> + Send + 'static,
    {
        self.completers
            .add(argument.into(), Completer::new(complete));
        self
    }

    /// The prompt's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the arguments that may not be left out.
    pub(crate) fn required(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct View {
            name: String,
            #[serde(default)]
            required: bool,
        }
        let arguments: Vec<View> = self.definition.get("arguments").unwrap_or_default();
        let required = arguments.into_iter().filter(|argument| argument.required);
        required.map(|argument| argument.name).collect()
    }

    pub(crate) fn completers(&self) -> &Completers {
        &self.completers
    }
}

described!(Prompt);

/// What a prompt gives: messages to put before a model (MCP's `GetPromptResult`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptResult {
    messages: Vec<Json>,
    description: Option<String>,
    verbatim: Option<Json>,
}

impl PromptResult {
    /// No messages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The whole result, as it is.
    #[must_use]
    pub fn verbatim(result: Json) -> Self {
        Self {
            verbatim: Some(result),
            ..Self::default()
        }
    }

    /// Adds what the user says.
    #[must_use]
    pub fn user(self, content: impl Into<Content>) -> Self {
        self.message("user", &content.into())
    }

    /// Adds what the model said.
    #[must_use]
    pub fn assistant(self, content: impl Into<Content>) -> Self {
        self.message("assistant", &content.into())
    }

    /// Says what the messages are about.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    pub(crate) fn to_json(&self) -> Json {
        if let Some(result) = &self.verbatim {
            return result.clone();
        }
        let mut messages = ArrayWriter::new();
        for message in &self.messages {
            messages.raw(message);
        }
        let mut result = ObjectWriter::new();
        result
            .string_if("description", self.description.as_deref())
            .raw("messages", &messages.finish());
        result.finish()
    }

    fn message(mut self, role: &str, content: &Content) -> Self {
        let mut message = ObjectWriter::new();
        message.name("role", role).raw("content", content.to_json());
        self.messages.push(message.finish());
        self
    }
}

/// One message of the user.
impl From<&str> for PromptResult {
    fn from(text: &str) -> Self {
        Self::new().user(text)
    }
}

/// One message of the user.
impl From<String> for PromptResult {
    fn from(text: String) -> Self {
        Self::new().user(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_stand_in_their_order() {
        let prompt = Prompt::new("review", "Reviews")
            .argument(Argument::new("text", "What").required())
            .title("Review")
            .argument(Argument::new("tone", "How").title("Tone"));
        assert_eq!(
            prompt.definition().as_str(),
            r#"{"name":"review","description":"Reviews","arguments":[{"name":"text","description":"What","required":true},{"name":"tone","description":"How","title":"Tone"}],"title":"Review"}"#
        );
        assert_eq!(prompt.required(), ["text"]);
        assert!(prompt.completers().is_empty());
        let prompt = prompt.icons(json!([]));
        assert!(prompt.definition().as_str().ends_with(r#","icons":[]}"#));
    }

    #[test]
    fn a_given_definition_says_what_is_required() {
        let text = r#"{"name":"p", "arguments":[{"name":"a","required":true},{"name":"b"}]}"#;
        let prompt = Prompt::from_definition(Json::parse(text).unwrap()).unwrap();
        assert_eq!(prompt.definition().as_str(), text);
        assert_eq!(prompt.required(), ["a"]);
        assert!(Prompt::from_definition(Json::EMPTY_OBJECT).is_err());
    }

    #[test]
    fn results_have_their_messages() {
        let table = [
            (PromptResult::new(), r#"{"messages":[]}"#),
            (
                "hi".into(),
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}"#,
            ),
            (
                PromptResult::new()
                    .assistant(Content::image("QQ==", "image/png"))
                    .description("d"),
                r#"{"description":"d","messages":[{"role":"assistant","content":{"type":"image","data":"QQ==","mimeType":"image/png"}}]}"#,
            ),
            (PromptResult::verbatim(Json::parse("{ }").unwrap()), "{ }"),
        ];
        for (result, json) in table {
            assert_eq!(result.to_json().as_str(), json);
        }
    }
}
