//! Asking the agent's model for a message (MCP's `sampling/createMessage`).

use clientmcp_core::json::Json;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::content::Content;

/// What the agent's model is asked.
///
/// ```
/// # use clientmcp_sdk::{CallError, Context, Sampling};
/// # async fn ask(call: Context) -> Result<(), CallError> {
/// let sampling = Sampling::new(100).system_prompt("Be brief.").user("What is a bridge?");
/// let answer = call.sample(&sampling).await?;
/// println!("{} says: {}", answer.model, answer.text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    messages: Vec<Value>,
    members: Map<String, Value>,
}

impl Sampling {
    /// A message of at most so many tokens.
    #[must_use]
    pub fn new(max_tokens: u32) -> Self {
        let mut members = Map::new();
        members.insert("maxTokens".to_owned(), Value::from(max_tokens));
        Self {
            messages: Vec::new(),
            members,
        }
    }

    /// Something that the user says.
    #[must_use]
    pub fn user(self, content: impl Into<Content>) -> Self {
        self.message("user", content.into())
    }

    /// Something that the model said.
    #[must_use]
    pub fn assistant(self, content: impl Into<Content>) -> Self {
        self.message("assistant", content.into())
    }

    /// What the model is told beforehand.
    #[must_use]
    pub fn system_prompt(self, text: impl Into<String>) -> Self {
        self.member("systemPrompt", Value::String(text.into()))
    }

    /// Any other of MCP's members, such as `temperature` or `modelPreferences`.
    #[must_use]
    pub fn member(mut self, name: &str, value: Value) -> Self {
        self.members.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn to_json(&self) -> Json {
        let mut members = self.members.clone();
        members.insert("messages".to_owned(), Value::from(self.messages.clone()));
        Json::of(&members)
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers convert")]
    fn message(mut self, role: &str, content: Content) -> Self {
        let content: Value = content.to_json().value().unwrap_or_default();
        self.messages
            .push(json!({"role": role, "content": content}));
        self
    }
}

/// What the agent's model said (MCP's `CreateMessageResult`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sampled {
    /// Whose message it is: `assistant`, as a rule.
    pub role: String,
    /// One of MCP's pieces of content, or a list of them.
    pub content: Value,
    /// The model.
    pub model: String,
    /// Why it stopped.
    #[serde(default)]
    pub stop_reason: Option<String>,
}

impl Sampled {
    /// The texts among the content, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        let one = std::slice::from_ref(&self.content);
        let pieces = self.content.as_array().map_or(one, Vec::as_slice);
        pieces
            .iter()
            .filter_map(|piece| piece["text"].as_str())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_what_was_said() {
        let sampling = Sampling::new(10)
            .system_prompt("s")
            .user("u")
            .assistant(Content::image("QQ==", "image/png"))
            .member("temperature", json!(0.5));
        let sent: Value = sampling.to_json().value().unwrap();
        assert_eq!(
            sent,
            json!({
                "maxTokens": 10,
                "systemPrompt": "s",
                "temperature": 0.5,
                "messages": [
                    {"role": "user", "content": {"type": "text", "text": "u"}},
                    {"role": "assistant", "content": {"type": "image", "data": "QQ==", "mimeType": "image/png"}},
                ],
            })
        );
    }

    #[test]
    fn the_text_of_a_message_is_that_of_its_pieces() {
        let said = |content: Value| Sampled {
            role: "assistant".to_owned(),
            content,
            model: "m".to_owned(),
            stop_reason: None,
        };
        assert_eq!(said(json!({"type": "text", "text": "a"})).text(), "a");
        let pieces = json!([{"text": "a"}, {"type": "image"}, {"text": "b"}]);
        assert_eq!(said(pieces).text(), "ab");
    }
}
