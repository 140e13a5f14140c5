//! Tools: each is checked for what makes strict agents drop it, or the whole list.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::definition::{self, Members};
use super::entries::{self, List};
use super::rejected::Rejected;
use crate::json::{self, Json, JsonError};
use crate::registration::Kind;
use crate::tool;

const TOOLS: List = List {
    kind: Kind::Tools,
    what: "tool",
    key: "name",
};

/// The accepted tools, verbatim and in order; reasons for the others.
pub(super) fn accept(list: &Json, rejected: &mut Rejected) -> Result<Json, JsonError> {
    entries::accept(TOOLS, list, rejected, check)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    title: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    annotations: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    icons: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    execution: Option<&'a RawValue>,
    #[serde(rename = "_meta", borrow, default, deserialize_with = "json::present")]
    meta: Option<&'a RawValue>,
}

fn check(entry: &Json) -> Result<String, Cow<'static, str>> {
    let view: View<'_> = entry.read().map_err(|error| match error {
        JsonError::Shape(_) => "a tool must be an object".to_owned(),
        error => error.to_string(),
    })?;
    let part = |part: Option<&RawValue>| part.map(|part| entry.part(part));
    let name = check_name(part(view.name))?;
    definition::optional_string("title", part(view.title))?;
    definition::optional_string("description", part(view.description))?;
    let schema = part(view.input_schema).ok_or("inputSchema is missing")?;
    definition::input_schema(&schema)?;
    if let Some(schema) = part(view.output_schema) {
        definition::output_schema(&schema)?;
    }
    if let Some(annotations) = part(view.annotations) {
        definition::tool_annotations(&annotations)?;
    }
    definition::optional_icons(part(view.icons))?;
    if let Some(execution) = part(view.execution) {
        definition::tool_execution(&execution)?;
    }
    if let Some(meta) = part(view.meta) {
        Members::of("_meta", &meta)?;
    }
    tool::header_params(&schema).map_err(|error| error.to_string())?;
    Ok(name)
}

fn check_name(name: Option<Json>) -> Result<String, Cow<'static, str>> {
    let name = name.ok_or("name is missing")?;
    let name: Cow<'_, str> = name.value().map_err(|_| tool::NAME_GRAMMAR)?;
    if !tool::is_name(&name) {
        return Err(tool::NAME_GRAMMAR.into());
    }
    Ok(name.into_owned())
}
