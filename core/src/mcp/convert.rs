//! What older revisions cannot express, in their terms (SPEC.md §6.5).
//!
//! Only what would be invalid there is converted: strict agents refuse a whole list for one
//! entry.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message::string;
use super::splice::Splice;
use super::version::{Era, Version};
use crate::json::{ArrayWriter, Json, JsonError, Text};

/// What is read of a tool result to convert it.
pub(super) struct ToolResult<'a> {
    /// The whole result.
    pub(super) text: &'a Text,
    /// Its `content`.
    pub(super) content: Option<&'a RawValue>,
    /// Its `structuredContent`.
    pub(super) structured: Option<&'a RawValue>,
}

/// A tool result as the revision of a legacy agent has it.
///
/// `structuredContent` that is no object is left out; where the result has no other content, it
/// becomes a text. In 2025-03-26 `resource_link` becomes a text.
pub(super) fn tool_result<'a>(
    result: &ToolResult<'a>,
    version: Version,
) -> Result<Cow<'a, str>, JsonError> {
    let whole = result.text.as_str().trim_ascii();
    let structured = result.structured;
    let structured = structured.filter(|value| !value.get().starts_with('{'));
    if structured.is_none() && version != Version::V2025_03_26 {
        return Ok(whole.into());
    }
    let content = match result.content {
        Some(content) => result.text.part(content),
        None => Json::EMPTY_ARRAY,
    };
    let content = if content.is_array() {
        converted_content(&content, structured, version)?
    } else {
        None
    };
    if structured.is_none() && content.is_none() {
        return Ok(whole.into());
    }
    let added = content.as_ref().filter(|_| result.content.is_none());
    let added = added.map(|content| (Cow::Borrowed("content"), content.as_str().into()));
    let parsed = Json::parse(whole.to_owned())?;
    let kept = parsed.members()?.into_iter();
    let kept = kept.filter_map(|(key, value)| match (&*key, &content) {
        ("structuredContent", _) if structured.is_some() => None,
        ("content", Some(content)) => Some((key, content.as_str().into())),
        _ => Some((key, Cow::Borrowed(value.get()))),
    });
    Ok(object(added.into_iter().chain(kept)).into())
}

/// The result of `prompts/get` as the revision of a legacy agent has it: in 2025-03-26 a
/// `resource_link` becomes a text. `messages` is a part of the result's text.
pub(super) fn prompt_result<'a>(
    result: &'a str,
    messages: Option<&'a RawValue>,
    version: Version,
) -> Result<Cow<'a, str>, JsonError> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let Some(messages) = messages.filter(|_| version == Version::V2025_03_26) else {
        return Ok(result.into());
    };
    // What is no list of messages passes as it is.
    let messages = serde_json::from_str::<Vec<Message<'a>>>(messages.get()).unwrap_or_default();
    let mut splice = Splice::new(result);
    let mut changed = false;
    for message in messages {
        let content = Json::parse(message.content.get().to_owned())?;
        if let Some(text) = resource_link_text(&content) {
            splice.replace(message.content, text.as_str());
            changed = true;
        }
    }
    if !changed {
        return Ok(result.into());
    }
    let mut text = String::with_capacity(result.len() + splice.growth());
    splice.write(&mut text);
    Ok(text.into())
}

/// The content as it has to be; `None` if it can stay.
fn converted_content(
    content: &Json,
    structured: Option<&RawValue>,
    version: Version,
) -> Result<Option<Json>, JsonError> {
    let entries = content.entries()?;
    let mut changed = false;
    let mut array = ArrayWriter::with_capacity(content.len());
    for entry in &entries {
        let entry = content.part(entry);
        match resource_link_text(&entry).filter(|_| version == Version::V2025_03_26) {
            Some(text) => {
                changed = true;
                array.raw(&text);
            }
            None => {
                array.raw(&entry);
            }
        }
    }
    if let (true, Some(structured)) = (entries.is_empty(), structured) {
        changed = true;
        array.raw(&Json::of(
            &json!({"type": "text", "text": structured.get()}),
        ));
    }
    Ok(changed.then(|| array.finish()))
}

/// A link as a text that says the same; `None` if the entry is no link.
fn resource_link_text(entry: &Json) -> Option<Json> {
    #[derive(Deserialize)]
    struct Link {
        #[serde(rename = "type")]
        kind: String,
        uri: String,
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        annotations: Option<Value>,
    }
    let link: Link = entry.read().ok()?;
    if link.kind != "resource_link" {
        return None;
    }
    let mut text = match link.title.or(link.name) {
        Some(name) => format!("{name}: {}", link.uri),
        None => link.uri,
    };
    if let Some(description) = link.description {
        text.push('\n');
        text.push_str(&description);
    }
    let mut block = json!({"type": "text", "text": text});
    if let Some(annotations) = link.annotations {
        block["annotations"] = annotations;
    }
    Some(Json::of(&block))
}

/// A tool's definition as the revision has it: before 2026-07-28 an `outputSchema` is one of an
/// object, else it is left out. What else older revisions ask of a definition is asked of each
/// when it is registered.
pub(super) fn tool(definition: &Json, version: Version) -> Result<Cow<'_, Json>, JsonError> {
    if version.era() == Era::Modern {
        return Ok(Cow::Borrowed(definition));
    }
    let members = definition.members()?;
    let is_kept = |(key, value): &(Cow<'_, str>, &RawValue)| {
        key != "outputSchema" || is_of_object(&definition.part(value))
    };
    if members.iter().all(is_kept) {
        return Ok(Cow::Borrowed(definition));
    }
    let kept = members.into_iter().filter(is_kept);
    let kept = kept.map(|(key, value)| (key, Cow::Borrowed(value.get())));
    Ok(Cow::Owned(Json::parse(object(kept))?))
}

fn is_of_object(schema: &Json) -> bool {
    #[derive(Deserialize)]
    struct Type<'a> {
        #[serde(borrow, rename = "type")]
        kind: &'a RawValue,
    }
    schema
        .read::<Type<'_>>()
        .is_ok_and(|schema| string(schema.kind).as_deref() == Some("object"))
}

/// The text of an object with these members.
pub(super) fn object<'a>(
    members: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
) -> String {
    let mut text = String::from("{");
    for (key, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(Json::of(&*key).as_str());
        text.push(':');
        text.push_str(&value);
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests;
