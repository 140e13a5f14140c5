//! What a tool says about itself.

use std::time::Duration;

use clientmcp_core::json::{Json, JsonError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::{Definition, described};

/// A tool's definition, as agents see it (MCP's `Tool`), and how the cluster treats its calls.
#[derive(Debug, Clone)]
pub struct Tool {
    name: String,
    definition: Definition,
    options: Options,
}

/// Whether calls of a tool may become tasks ([`Context::become_task`](crate::Context::become_task)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// They may not.
    Never,
    /// They may, for agents that know tasks.
    Optional,
    /// They always do: only agents that know tasks can call.
    Required,
}

/// `toolOptions` of one tool (SPEC.md §4.4).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    requires: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskSupport>,
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

    /// The JSON Schema of its structured results. [`Structured`](crate::Structured) results set it
    /// by themselves.
    #[must_use]
    pub fn output_schema(self, schema: Value) -> Self {
        self.member("outputSchema", schema)
    }

    /// Hints for agents, such as `{"readOnlyHint": true}`.
    #[must_use]
    pub fn annotations(self, annotations: Value) -> Self {
        self.member("annotations", annotations)
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

    /// Whether its calls may become tasks; never by default.
    #[must_use]
    pub fn task(mut self, support: TaskSupport) -> Self {
        self.options.task = Some(support);
        self
    }

    /// How the cluster treats its calls, if that was said.
    pub(crate) fn options(&self) -> Option<&Options> {
        (self.options != Options::default()).then_some(&self.options)
    }

    /// The schema of its arguments.
    pub(crate) fn declared_input(&self) -> Option<Value> {
        self.definition.get("inputSchema")
    }

    /// Sets the schema of its results, unless it has one.
    pub(crate) fn or_output_schema(self, schema: impl FnOnce() -> Option<Value>) -> Self {
        if self.definition.get::<Value>("outputSchema").is_some() {
            return self;
        }
        match schema() {
            Some(schema) => self.output_schema(schema),
            None => self,
        }
    }
}

described!(Tool);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_definition_has_what_was_said() {
        let tool = Tool::new("a", "says \"a\"")
            .input_schema(json!({"type": "object", "required": ["x"]}))
            .title("t")
            .icons(json!([{"src": "data:,"}]))
            .output_schema(json!({}))
            .annotations(json!({"readOnlyHint": true}))
            .meta(json!({"k": 1}));
        assert_eq!(
            tool.definition().as_str(),
            r#"{"name":"a","description":"says \"a\"","inputSchema":{"required":["x"],"type":"object"},"title":"t","icons":[{"src":"data:,"}],"outputSchema":{},"annotations":{"readOnlyHint":true},"_meta":{"k":1}}"#
        );
        assert_eq!(tool.options(), None);
    }

    #[test]
    fn a_given_definition_needs_a_name() {
        let text = r#"{ "z": 1.0, "name":"a", "inputSchema":{"type":"object","x":{}}}"#;
        let tool = Tool::from_definition(Json::parse(text).unwrap()).unwrap();
        assert_eq!(tool.name(), "a");
        assert_eq!(tool.definition().as_str(), text);
        assert_eq!(
            tool.declared_input(),
            Some(json!({"type": "object", "x": {}}))
        );
        for bad in ["[]", "{}", r#"{"name":1}"#] {
            assert!(Tool::from_definition(Json::parse(bad).unwrap()).is_err());
        }
    }

    #[test]
    fn options_are_apart_from_the_definition() {
        let tool = Tool::new("a", "")
            .requires(json!({"sampling": {}}))
            .timeout(Duration::from_secs(300))
            .task(TaskSupport::Optional);
        assert_eq!(
            Json::of(tool.options().unwrap()).as_str(),
            r#"{"requires":{"sampling":{}},"timeoutMs":300000,"task":"optional"}"#
        );
        assert!(!tool.definition().as_str().contains("sampling"));
    }
}
