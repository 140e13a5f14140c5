//! The kind `rest`: what an app says of itself beside its tools.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Json};
use crate::limits;
use crate::registration::ContentError;

/// What agents are told where an app says nothing of itself.
const DEFAULT_SERVER_INFO: &str = r#"{"name":"clientmcp-app","version":"0"}"#;

/// Whether calls of a tool may become tasks (SPEC.md §12).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TaskMode {
    /// They never do.
    #[default]
    Never,
    /// They may, where the agent allows it.
    Optional,
    /// They always do.
    Required,
}

/// What an app says of a tool beside its definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOptions {
    /// Client capabilities that a call must declare: an object of objects, in the shape of MCP's
    /// `ClientCapabilities`.
    pub requires: Option<Json>,
    /// The deadline of its calls; at most [`limits::CALL_DEADLINE_MAX_MS`].
    pub timeout: Option<Duration>,
    /// Whether its calls may become tasks.
    pub task: TaskMode,
}

/// The content of the kind `rest`.
#[derive(Debug, Clone)]
pub struct RestContent {
    /// MCP's `Implementation` of the app, verbatim; a default where it has none.
    pub server_info: Json,
    /// What the agent's model is told about the app: a string, verbatim.
    pub instructions: Option<Json>,
    /// Whether the app completes arguments (SPEC.md §12).
    pub completions: bool,
    /// How long agents may cache lists, in milliseconds.
    pub ttl_ms: u64,
    tool_options: HashMap<String, ToolOptions>,
}

impl RestContent {
    /// Reads the content.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn read(content: Bytes) -> Result<Self, ContentError> {
        let content = Json::parse(content)?;
        let view: View<'_> = content.read()?;
        let part = |part: Option<&RawValue>| part.map(|part| content.part(part));
        let mut tool_options = HashMap::new();
        if let Some(options) = part(view.tool_options) {
            for (name, entry) in options.members()? {
                let entry = read_tool_options(&options.part(entry));
                let entry = entry.map_err(|problem| ContentError(problem.to_owned()))?;
                tool_options.insert(name.into_owned(), entry);
            }
        }
        Ok(Self {
            server_info: part(view.server_info).unwrap_or(Json::constant(DEFAULT_SERVER_INFO)),
            instructions: part(view.instructions),
            completions: view.completions,
            ttl_ms: view.ttl_ms,
            tool_options,
        })
    }

    /// What the app says of a tool; `None` if it says nothing.
    #[must_use]
    pub fn tool_options(&self, name: &str) -> Option<&ToolOptions> {
        self.tool_options.get(name)
    }
}

impl Default for RestContent {
    fn default() -> Self {
        Self {
            server_info: Json::constant(DEFAULT_SERVER_INFO),
            instructions: None,
            completions: false,
            ttl_ms: 0,
            tool_options: HashMap::new(),
        }
    }
}

/// Checks and reads the options of one tool. Unknown members are ignored.
pub(crate) fn read_tool_options(options: &Json) -> Result<ToolOptions, &'static str> {
    const WRONG: &str = "options must be an object without duplicate members";
    const TIMEOUT: &str = "timeoutMs must be an integer from 1 to 900000";
    let view: OptionsView<'_> = options.read().map_err(|_| WRONG)?;
    let part = |part: Option<&RawValue>| part.map(|part| options.part(part));
    let requires = part(view.requires);
    if requires
        .as_ref()
        .is_some_and(|requires| !is_object_of_objects(requires))
    {
        return Err("requires must be an object of objects, as MCP's client capabilities are");
    }
    let timeout = match view.timeout_ms {
        None => None,
        Some(number) => match number.get().parse::<u64>() {
            Ok(ms) if (1..=limits::CALL_DEADLINE_MAX_MS).contains(&ms) => {
                Some(Duration::from_millis(ms))
            }
            _ => return Err(TIMEOUT),
        },
    };
    let task =
        match part(view.task).map(|task| task.value::<Cow<'_, str>>().ok().map(Cow::into_owned)) {
            None => TaskMode::Never,
            Some(Some(task)) if task == "never" => TaskMode::Never,
            Some(Some(task)) if task == "optional" => TaskMode::Optional,
            Some(Some(task)) if task == "required" => TaskMode::Required,
            Some(_) => return Err("task must be never, optional or required"),
        };
    Ok(ToolOptions {
        requires,
        timeout,
        task,
    })
}

fn is_object_of_objects(json: &Json) -> bool {
    json.members().is_ok_and(|members| {
        members
            .iter()
            .all(|(_, value)| value.get().starts_with('{'))
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow, default)]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    instructions: Option<&'a RawValue>,
    #[serde(default)]
    completions: bool,
    #[serde(default)]
    ttl_ms: u64,
    #[serde(borrow, default)]
    tool_options: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OptionsView<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    requires: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    timeout_ms: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    task: Option<&'a RawValue>,
}
