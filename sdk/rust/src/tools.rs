//! The tools of an application: definitions and the handlers behind them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use clientmcp_core::json::Json;
use futures_util::future::FutureExt as _;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::handler::Handler;
use crate::reply::{Answer, Reply};
use crate::result::{CallError, ToolError, ToolResult};
use crate::schema::{self, Validator};
use crate::tool::{Options, Tool};

/// The tools of an application, in the order in which agents see them.
#[derive(Clone, Default)]
pub struct Tools {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    tool: Tool,
    handler: ToolHandler,
}

/// What runs the calls of one tool.
#[derive(Clone)]
pub(crate) struct ToolHandler {
    pub(crate) handler: Handler,
    /// It takes the params as they came.
    pub(crate) raw: bool,
}

impl Tools {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. A tool of the same name is replaced in its place.
    ///
    /// Arguments are checked against the tool's schema, and then read into the handler's first
    /// parameter: any type that serde can read, [`serde_json::Value`] among them (which rounds
    /// numbers that no 64 bits hold; a [`raw_tool`](Self::raw_tool) gets them as they are). What
    /// does not fit is told to the model. So is a panic, which ends nothing but its call.
    #[must_use]
    pub fn tool<A, R, F, Fut>(self, tool: Tool, handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Reply<ToolResult>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        let tool = tool.or_output_schema(R::output_schema);
        let validator = validator(&tool);
        let handler = move |context: Context| {
            let read = read_arguments(validator.as_ref(), context.arguments());
            let result = read.map(|arguments| handler(arguments, context));
            async move {
                let answer = result?.await?.into_answer();
                Ok(answer.map(|result| result.to_json()))
            }
            .boxed()
        };
        self.with(tool, Arc::new(handler), false)
    }

    /// Adds a tool whose schema is that of the type that its arguments are read into.
    #[must_use]
    pub fn typed_tool<A, R, F, Fut>(self, tool: Tool, handler: F) -> Self
    where
        A: JsonSchema + DeserializeOwned + Send + 'static,
        R: Reply<ToolResult>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        self.tool(tool.input_schema(schema::of::<A>()), handler)
    }

    /// Adds a tool whose handler gets the agent's whole `params` and answers the whole result,
    /// both verbatim, to the byte: nothing is checked, and a `requestState` that the handler gives
    /// out comes back as it was. A tool of the same name is replaced in its place.
    #[must_use]
    pub fn raw_tool<F, Fut>(self, tool: Tool, handler: F) -> Self
    where
        F: Fn(Json, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, CallError>> + Send + 'static,
    {
        let handler = move |context: Context| {
            let result = handler(context.params().clone(), context);
            async move { Ok(Answer::Result(result.await?)) }.boxed()
        };
        self.with(tool, Arc::new(handler), true)
    }

    /// Takes a tool away.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.entries.retain(|entry| entry.tool.name() != name);
        self
    }

    /// The names of the tools, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.tool.name())
    }

    /// The handlers by tool name.
    pub(crate) fn handlers(&self) -> HashMap<String, ToolHandler> {
        let entries = self.entries.iter();
        entries
            .map(|entry| (entry.tool.name().to_owned(), entry.handler.clone()))
            .collect()
    }

    /// What is registered: definitions, and an object of options by tool name.
    pub(crate) fn content(&self) -> (Vec<Json>, Option<Json>) {
        let mut definitions = Vec::with_capacity(self.entries.len());
        let mut options: BTreeMap<&str, &Options> = BTreeMap::new();
        for Entry { tool, .. } in &self.entries {
            definitions.push(tool.definition());
            options.extend(tool.options().map(|given| (tool.name(), given)));
        }
        let options = (!options.is_empty()).then(|| Json::of(&options));
        (definitions, options)
    }

    fn with(mut self, tool: Tool, handler: Handler, raw: bool) -> Self {
        let handler = ToolHandler { handler, raw };
        let entry = Entry { tool, handler };
        let name = entry.tool.name();
        match self.entries.iter_mut().find(|old| old.tool.name() == name) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        self
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// What checks the arguments of a tool; nothing if its schema says nothing, or cannot be used.
fn validator(tool: &Tool) -> Option<Validator> {
    let schema = tool.declared_input()?;
    if schema == serde_json::json!({"type": "object"}) {
        return None;
    }
    match Validator::new(&schema) {
        Ok(validator) => Some(validator),
        Err(problem) => {
            let name = tool.name();
            tracing::warn!(
                name,
                "arguments are not checked against the schema: {problem}"
            );
            None
        }
    }
}

fn read_arguments<A: DeserializeOwned>(
    validator: Option<&Validator>,
    arguments: &Json,
) -> Result<A, CallError> {
    let text = arguments.as_str();
    let read = match validator {
        None => serde_json::from_str(text),
        Some(validator) => serde_json::from_str::<Value>(text).and_then(|value| {
            validator.check(&value).map_err(serde::de::Error::custom)?;
            // From the text, for a value has lost what the type may ask for, the order among it.
            serde_json::from_str(text)
        }),
    };
    read.map_err(|error| ToolError::new(format!("the arguments do not fit: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    async fn nothing(_: Value, _: Context) -> Result<(), CallError> {
        Ok(())
    }

    #[test]
    fn tools_keep_their_order_and_a_name_is_unique() {
        let tools = Tools::new()
            .tool(Tool::new("b", "1"), nothing)
            .tool(Tool::new("a", "2").requires(json!({"x": {}})), nothing)
            .tool(Tool::new("b", "3"), nothing);
        assert_eq!(tools.names().collect::<Vec<_>>(), ["b", "a"]);
        let (definitions, options) = tools.content();
        let definitions: Vec<&str> = definitions.iter().map(Json::as_str).collect();
        assert_eq!(
            definitions,
            [
                r#"{"name":"b","description":"3","inputSchema":{"type":"object"}}"#,
                r#"{"name":"a","description":"2","inputSchema":{"type":"object"}}"#
            ]
        );
        assert_eq!(options.unwrap().as_str(), r#"{"a":{"requires":{"x":{}}}}"#);
        assert_eq!(tools.handlers().len(), 2);
        assert_eq!(Tools::new().content(), (Vec::new(), None));
        let left = tools.without("b");
        assert_eq!(left.names().collect::<Vec<_>>(), ["a"]);
    }

    fn read<A: DeserializeOwned>(schema: Value, text: &'static str) -> Result<A, CallError> {
        let validator = validator(&Tool::new("a", "").input_schema(schema));
        read_arguments(validator.as_ref(), &Json::parse(text).unwrap())
    }

    #[test]
    fn arguments_that_do_not_fit_are_told_to_the_model() {
        let any = json!({"type": "object"});
        assert_eq!(read::<Vec<u8>>(any.clone(), "[1]"), Ok(vec![1]));
        assert!(matches!(
            read::<Vec<u8>>(any, "{}"),
            Err(CallError::Tool(_))
        ));
        let strict = json!({"type": "object", "required": ["x"]});
        assert_eq!(read(strict.clone(), r#"{"x":1}"#), Ok(json!({"x": 1})));
        assert_eq!(
            read::<Value>(strict, "{}").unwrap_err().to_string(),
            "the arguments do not fit: missing properties 'x'"
        );
    }

    #[test]
    fn a_schema_that_cannot_be_used_checks_nothing() {
        let foreign = json!({"$ref": "https://example.com/schema.json"});
        assert_eq!(read(foreign, "{}"), Ok(json!({})));
    }

    #[derive(serde::Deserialize, JsonSchema)]
    struct Point {
        x: i32,
    }

    #[derive(serde::Serialize, JsonSchema)]
    struct Sum {
        sum: i32,
    }

    async fn sum(point: Point, _: Context) -> Result<crate::Structured<Sum>, CallError> {
        Ok(crate::Structured(Sum { sum: point.x }))
    }

    #[test]
    fn the_schemas_of_types_are_registered() {
        let (definitions, _) = Tools::new().typed_tool(Tool::new("a", ""), sum).content();
        let definition: Value = definitions[0].value().unwrap();
        let input = &definition["inputSchema"];
        assert_eq!(input["type"], "object");
        assert_eq!(input["properties"]["x"]["type"], "integer");
        assert_eq!(input["required"], json!(["x"]));
        assert_eq!(definition["outputSchema"]["required"], json!(["sum"]));
    }
}
