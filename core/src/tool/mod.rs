//! What routers know of an app's tools, read from stored content (SPEC.md §4.4, §8.1).
//!
//! Content was checked when it was registered ([`crate::register`]); here it is read again, by
//! whichever process needs it, and indexed.

mod header;
mod rest;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Json};
use crate::limits;
use crate::registration::ContentError;

pub use header::{HeaderParam, ParamKind};
pub use rest::{RestContent, TaskMode, ToolOptions};

pub(crate) use header::header_params;
pub(crate) use rest::read_tool_options;

/// What is said of a name that [`is_name`] refuses.
pub(crate) const NAME_GRAMMAR: &str = "name must be 1 to 128 characters of A-Z a-z 0-9 _ . -";

/// Whether a tool may have this name: `[A-Za-z0-9_.-]{1,128}` (SPEC.md §4.4).
#[must_use]
pub fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=limits::TOOL_NAME_BYTES).contains(&name.len()) && name.bytes().all(allowed)
}

/// One tool.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: Arc<str>,
    /// MCP's `Tool` object, verbatim.
    pub definition: Json,
    /// Arguments that agents mirror into headers.
    pub header_params: Vec<HeaderParam>,
    /// Whether it has an `outputSchema`.
    pub has_output_schema: bool,
    /// What the app says of it beside its definition.
    pub options: ToolOptions,
}

/// The tools of an app, in its order, found by name.
#[derive(Debug, Clone, Default)]
pub struct ToolIndex {
    tools: Vec<Tool>,
    by_name: HashMap<Arc<str>, usize>,
}

impl ToolIndex {
    /// Reads the content of the kind `tools`; options come from the kind `rest`.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn read(tools: Bytes, rest: &RestContent) -> Result<Self, ContentError> {
        let content = Json::parse(tools)?;
        let mut index = Self::default();
        for entry in content.entries()? {
            let definition = content.part(entry);
            let view: View<'_> = definition.read()?;
            let schema = definition.part(view.input_schema);
            let name: Arc<str> = view.name.into();
            let options = rest.tool_options(&name).cloned().unwrap_or_default();
            let header_params = header_params(&schema).map_err(|e| ContentError(e.to_string()))?;
            let tool = Tool {
                name: Arc::clone(&name),
                header_params,
                has_output_schema: view.output_schema.is_some(),
                options,
                definition,
            };
            index.by_name.insert(name, index.tools.len());
            index.tools.push(tool);
        }
        Ok(index)
    }

    /// The tool with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(|&at| &self.tools[at])
    }

    /// Whether calls of any tool may become tasks.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|tool| tool.options.task != TaskMode::Never)
    }

    /// All tools, in the app's order.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    name: String,
    #[serde(borrow)]
    input_schema: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "json::present")]
    output_schema: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests;
