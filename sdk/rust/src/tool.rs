//! What a tool says about itself.

use std::time::Duration;

use clientmcp_core::json::{Json, JsonError, ObjectWriter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool's definition, as agents see it (MCP's `Tool`), and how the cluster treats its calls.
#[derive(Debug, Clone)]
pub struct Tool {
    name: String,
    definition: Definition,
    options: Options,
}

#[derive(Debug, Clone)]
enum Definition {
    /// Members in their order.
    Members(Vec<(&'static str, Json)>),
    Verbatim(Json),
}

/// `toolOptions` of one tool (SPEC.md §4.4).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    requires: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

impl Tool {
    /// A tool that takes an object of any shape. `name` is 1 to 128 characters of
    /// `A-Z a-z 0-9 _ . -`; `description` is for the model.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let name = name.into();
        let members = vec![
            ("name", Json::of(&name)),
            ("description", Json::of(&description.into())),
            (
                "inputSchema",
                Json::of(&serde_json::json!({"type": "object"})),
            ),
        ];
        Self {
            name,
            definition: Definition::Members(members),
            options: Options::default(),
        }
    }

    /// A tool whose definition is passed on as it is, to the byte.
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
            options: Options::default(),
        })
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The JSON Schema of its arguments: an object with `"type": "object"`.
    #[must_use]
    pub fn input_schema(self, schema: Value) -> Self {
        self.member("inputSchema", schema)
    }

    /// The JSON Schema of its structured results.
    #[must_use]
    pub fn output_schema(self, schema: Value) -> Self {
        self.member("outputSchema", schema)
    }

    /// A title for people.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.member("title", Value::String(title.into()))
    }

    /// Hints for agents, such as `{"readOnlyHint": true}`.
    #[must_use]
    pub fn annotations(self, annotations: Value) -> Self {
        self.member("annotations", annotations)
    }

    /// `_meta` of the definition.
    #[must_use]
    pub fn meta(self, meta: Value) -> Self {
        self.member("_meta", meta)
    }

    /// The client capabilities without which the tool cannot be called, such as
    /// `{"elicitation": {}}`. The cluster refuses calls of agents that did not declare them.
    #[must_use]
    pub fn requires(mut self, capabilities: Value) -> Self {
        self.options.requires = Some(capabilities);
        self
    }

    /// How long a call may take: 1 ms to 900 s, 120 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.options.timeout_ms = Some(ms);
        self
    }

    /// The definition as it is registered.
    pub(crate) fn definition(&self) -> Json {
        match &self.definition {
            Definition::Verbatim(json) => json.clone(),
            Definition::Members(members) => {
                let mut object = ObjectWriter::new();
                for (key, value) in members {
                    object.raw(key, value);
                }
                object.finish()
            }
        }
    }

    /// How the cluster treats its calls, if that was said.
    pub(crate) fn options(&self) -> Option<&Options> {
        (self.options != Options::default()).then_some(&self.options)
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers write json!({…})")]
    fn member(mut self, key: &'static str, value: Value) -> Self {
        let value = Json::of(&value);
        match &mut self.definition {
            Definition::Members(members) => {
                match members.iter_mut().find(|(present, _)| *present == key) {
                    Some((_, present)) => *present = value,
                    None => members.push((key, value)),
                }
            }
            // A definition that is passed on as it is has been completed by whoever wrote it; a
            // member that is added must not stand there already.
            Definition::Verbatim(json) => *json = with_member(json, key, &value),
        }
        self
    }
}

/// An object with one more member at its end; the rest stays as it is.
fn with_member(object: &Json, key: &str, value: &Json) -> Json {
    let text = object.as_str();
    let body = text.strip_suffix('}').unwrap_or(text).trim_end();
    let comma = if body.ends_with('{') { "" } else { "," };
    let text = format!("{body}{comma}\"{key}\":{}}}", value.as_str());
    Json::parse(text).expect("a member was added to an object")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_stand_in_their_order_and_the_last_word_counts() {
        let tool = Tool::new("a", "says \"a\"")
            .input_schema(json!({"type": "object", "required": ["x"]}))
            .title("first")
            .title("second")
            .output_schema(json!({}))
            .annotations(json!({"readOnlyHint": true}))
            .meta(json!({"k": 1}));
        assert_eq!(
            tool.definition().as_str(),
            r#"{"name":"a","description":"says \"a\"","inputSchema":{"required":["x"],"type":"object"},"title":"second","outputSchema":{},"annotations":{"readOnlyHint":true},"_meta":{"k":1}}"#
        );
        assert_eq!(tool.options(), None);
    }

    #[test]
    fn a_given_definition_stays_as_it_is() {
        let text = r#"{ "z": 1.0, "name":"a", "inputSchema":{"type":"object","x":{}}}"#;
        let tool = Tool::from_definition(Json::parse(text).unwrap()).unwrap();
        assert_eq!(tool.name(), "a");
        assert_eq!(tool.definition().as_str(), text);
        assert_eq!(
            tool.title("t").definition().as_str(),
            r#"{ "z": 1.0, "name":"a", "inputSchema":{"type":"object","x":{}},"title":"t"}"#
        );
        for bad in ["[]", "{}", r#"{"name":1}"#] {
            assert!(Tool::from_definition(Json::parse(bad).unwrap()).is_err());
        }
    }

    #[test]
    fn options_are_apart_from_the_definition() {
        let tool = Tool::new("a", "")
            .requires(json!({"sampling": {}}))
            .timeout(Duration::from_secs(300));
        assert_eq!(
            Json::of(tool.options().unwrap()).as_str(),
            r#"{"requires":{"sampling":{}},"timeoutMs":300000}"#
        );
        assert!(!tool.definition().as_str().contains("sampling"));
    }
}
