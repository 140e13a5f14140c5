//! The tools of an application: definitions and the handlers behind them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use clientmcp_core::json::Json;
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::registration::Offer;
use crate::result::{CallError, ToolError, ToolResult};
use crate::tool::{Options, Tool};

/// Runs one call.
pub(crate) type Handler =
    Arc<dyn Fn(Context) -> BoxFuture<'static, Result<Json, CallError>> + Send + Sync>;

/// The tools of an application, in the order in which agents see them.
#[derive(Clone, Default)]
pub struct Tools {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    tool: Tool,
    handler: Handler,
}

impl Tools {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. A tool of the same name is replaced in its place.
    ///
    /// The handler's first parameter is what the arguments are read into: any type that serde can
    /// read, [`serde_json::Value`] among them (which rounds numbers that no 64 bits hold; a
    /// [`raw_tool`](Self::raw_tool) gets them as they are). Arguments that cannot be read are told
    /// to the model. So is a panic, which ends nothing but its call.
    #[must_use]
    pub fn tool<A, R, F, Fut>(self, tool: Tool, handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Into<ToolResult>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        let handler = move |context: Context| match read_arguments(context.arguments()) {
            Ok(arguments) => {
                let result = handler(arguments, context);
                async move { Ok(result.await?.into().to_json()) }.boxed()
            }
            Err(error) => std::future::ready(Err(error)).boxed(),
        };
        self.with(tool, Arc::new(handler))
    }

    /// Adds a tool whose handler gets the agent's whole `params` and answers the whole result,
    /// both verbatim, to the byte. A tool of the same name is replaced in its place.
    #[must_use]
    pub fn raw_tool<F, Fut>(self, tool: Tool, handler: F) -> Self
    where
        F: Fn(Json, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, CallError>> + Send + 'static,
    {
        let handler = move |context: Context| handler(context.params().clone(), context).boxed();
        self.with(tool, Arc::new(handler))
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
    pub(crate) fn handlers(&self) -> HashMap<String, Handler> {
        let entries = self.entries.iter();
        entries
            .map(|entry| (entry.tool.name().to_owned(), Arc::clone(&entry.handler)))
            .collect()
    }

    /// The tools as they are registered.
    pub(crate) fn offer(&self) -> Offer {
        let mut definitions = Vec::with_capacity(self.entries.len());
        let mut options: BTreeMap<&str, &Options> = BTreeMap::new();
        for Entry { tool, .. } in &self.entries {
            definitions.push(tool.definition());
            options.extend(tool.options().map(|given| (tool.name(), given)));
        }
        Offer {
            tools: definitions,
            options: (!options.is_empty()).then(|| Json::of(&options)),
        }
    }

    fn with(mut self, tool: Tool, handler: Handler) -> Self {
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

fn read_arguments<A: DeserializeOwned>(arguments: &Json) -> Result<A, CallError> {
    let read = serde_json::from_str(arguments.as_str());
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
        let offer = tools.offer();
        let definitions: Vec<&str> = offer.tools.iter().map(Json::as_str).collect();
        assert_eq!(
            definitions,
            [
                r#"{"name":"b","description":"3","inputSchema":{"type":"object"}}"#,
                r#"{"name":"a","description":"2","inputSchema":{"type":"object"}}"#
            ]
        );
        assert_eq!(
            offer.options.unwrap().as_str(),
            r#"{"a":{"requires":{"x":{}}}}"#
        );
        assert_eq!(tools.handlers().len(), 2);
        assert_eq!(Tools::new().offer().options, None);
        let left = tools.without("b");
        assert_eq!(left.names().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn arguments_that_do_not_fit_are_told_to_the_model() {
        let number = |text: &'static str| read_arguments::<Vec<u8>>(&Json::parse(text).unwrap());
        assert_eq!(number("[1]"), Ok(vec![1]));
        assert!(matches!(number("{}"), Err(CallError::Tool(_))));
    }
}
