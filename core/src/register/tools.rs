//! Tools: each is checked for what makes strict agents drop it, or the whole list.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::definition::{self, Members};
use super::rejected::{self, Rejected};
use crate::json::{self, ArrayWriter, Json, JsonError};
use crate::limits;
use crate::registration::Kind;
use crate::tool;

/// The accepted tools, verbatim and in order; reasons for the others.
pub(super) fn accept(list: &Json, entries: &[&RawValue], rejected: &mut Rejected) -> Json {
    let mut names = HashSet::new();
    let mut accepted = ArrayWriter::with_capacity(list.len());
    for (index, entry) in entries.iter().enumerate() {
        let entry = list.part(entry);
        let checked = if index < limits::REGISTRATION_ENTRIES {
            check(&entry, &mut names)
        } else {
            Err("a registration has at most 10000 tools".into())
        };
        match checked {
            Ok(()) => {
                accepted.raw(&entry);
            }
            Err(reason) => rejected.add(Kind::Tools, rejected::name(&entry).as_deref(), reason),
        }
    }
    accepted.finish()
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

type Check = Result<(), Cow<'static, str>>;

fn check(entry: &Json, names: &mut HashSet<String>) -> Check {
    definition::readable(entry)?;
    let view: View<'_> = entry.read().map_err(|error| match error {
        JsonError::Shape(_) => "a tool must be an object".to_owned(),
        error => error.to_string(),
    })?;
    let part = |part: Option<&RawValue>| part.map(|part| entry.part(part));
    check_name(part(view.name), names)?;
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
    Ok(())
}

fn check_name(name: Option<Json>, names: &mut HashSet<String>) -> Check {
    const GRAMMAR: &str = "name must be 1 to 128 characters of A-Z a-z 0-9 _ . -";
    let name = name.ok_or("name is missing")?;
    let name: Cow<'_, str> = name.value().map_err(|_| GRAMMAR)?;
    if !tool::is_name(&name) {
        return Err(GRAMMAR.into());
    }
    if !names.insert(name.into_owned()) {
        return Err("another tool has this name already".into());
    }
    Ok(())
}
