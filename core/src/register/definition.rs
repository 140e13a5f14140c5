//! The shapes that every served MCP revision asks of what agents are shown.
//!
//! Strict agents parse a whole list, or a whole `initialize`, and fail on its first bad member.
//! So members are held to what all revisions have in common: a schema of `true`, say, is allowed
//! since 2026-07-28 and breaks agents of the revisions before.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, Json, JsonError};

pub(super) type Check = Result<(), Cow<'static, str>>;

/// The members of an object.
pub(super) struct Members<'a> {
    what: &'a str,
    object: &'a Json,
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Members<'a> {
    pub(super) fn of(what: &'a str, object: &'a Json) -> Result<Self, Cow<'static, str>> {
        let members = object.members().map_err(|error| match error {
            JsonError::Unparsable(_) => format!("{what} has a key with a lone surrogate"),
            _ => format!("{what} must be an object"),
        })?;
        Ok(Self {
            what,
            object,
            members,
        })
    }

    /// The member with this key; one that stands there twice is refused.
    pub(super) fn get(&self, key: &str) -> Result<Option<Json>, Cow<'static, str>> {
        let mut found = self.members.iter().filter(|member| member.0 == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(format!("{} has {key} twice", self.what).into()),
            (found, None) => Ok(found.map(|member| self.object.part(member.1))),
        }
    }

    /// Refuses the member if it is there and no string.
    pub(super) fn string(&self, key: &str) -> Check {
        optional_string(&format!("{}.{key}", self.what), self.get(key)?)
    }

    /// The text of a member that must be there.
    pub(super) fn required_string(&self, key: &str) -> Result<String, Cow<'static, str>> {
        let member = self
            .get(key)?
            .ok_or_else(|| format!("{}.{key} is missing", self.what))?;
        let text = member.value::<Cow<'_, str>>();
        let text = text.map_err(|_| format!("{}.{key} must be a string", self.what))?;
        Ok(text.into_owned())
    }

    /// Refuses the member if it is there and no boolean.
    pub(super) fn boolean(&self, key: &str) -> Check {
        let value = self.get(key)?;
        if value.is_some_and(|value| value.value::<bool>().is_err()) {
            return Err(format!("{}.{key} must be a boolean", self.what).into());
        }
        Ok(())
    }

    fn values(&self) -> impl Iterator<Item = Json> {
        self.members.iter().map(|member| self.object.part(member.1))
    }
}

/// Checks what no strict parser takes although it is JSON: a lone surrogate, or a number beyond
/// the range of a double. Numbers of any length within that range pass.
pub(super) fn readable(entry: &Json) -> Check {
    match entry.value::<Readable>() {
        Ok(_) => Ok(()),
        Err(_) => Err("it holds a lone surrogate, or a number that no double can hold".into()),
    }
}

/// Any JSON, with each string and each number read.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadableVisitor)
    }
}

struct ReadableVisitor;

impl<'de> Visitor<'de> for ReadableVisitor {
    type Value = Readable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Readable, A::Error> {
        while entries.next_element::<Readable>()?.is_some() {}
        Ok(Readable)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Readable, A::Error> {
        while members.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(Readable)
    }
}

pub(super) fn optional_string(what: &str, value: Option<Json>) -> Check {
    match value {
        Some(value) if value.value::<Cow<'_, str>>().is_err() => {
            Err(format!("{what} must be a string").into())
        }
        _ => Ok(()),
    }
}

pub(super) fn input_schema(schema: &Json) -> Check {
    let members = Members::of("inputSchema", schema)?;
    if !is_object_type(&members)? {
        return Err("inputSchema must have \"type\": \"object\"".into());
    }
    schema_members(&members)
}

pub(super) fn output_schema(schema: &Json) -> Check {
    let members = Members::of("outputSchema", schema)?;
    if is_object_type(&members)? {
        return schema_members(&members);
    }
    // Shown to agents since 2026-07-28 alone, where every schema is allowed.
    members.string("$schema")
}

fn is_object_type(schema: &Members<'_>) -> Result<bool, Cow<'static, str>> {
    let kind = schema.get("type")?;
    let is_object = |kind: Json| {
        kind.value::<Cow<'_, str>>()
            .is_ok_and(|kind| kind == "object")
    };
    Ok(kind.is_some_and(is_object))
}

fn schema_members(schema: &Members<'_>) -> Check {
    let what = schema.what;
    schema.string("$schema")?;
    if let Some(properties) = schema.get("properties")? {
        let named = format!("{what}.properties");
        let are_objects = Members::of(&named, &properties)?
            .values()
            .all(|property| property.is_object());
        if !are_objects {
            return Err(format!(
                "{named} must hold objects ({{}} in place of true): older agents refuse the \
                 whole list otherwise"
            )
            .into());
        }
    }
    let required = schema.get("required")?;
    if required.is_some_and(|required| required.value::<Vec<Cow<'_, str>>>().is_err()) {
        return Err(format!("{what}.required must be a list of strings").into());
    }
    Ok(())
}

pub(super) fn tool_annotations(annotations: &Json) -> Check {
    const HINTS: [&str; 4] = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    ];
    let members = Members::of("annotations", annotations)?;
    members.string("title")?;
    HINTS.into_iter().try_for_each(|hint| members.boolean(hint))
}

pub(super) fn tool_execution(execution: &Json) -> Check {
    let members = Members::of("execution", execution)?;
    let Some(support) = members.get("taskSupport")? else {
        return Ok(());
    };
    match support.value::<Cow<'_, str>>() {
        Ok(text) if ["forbidden", "optional", "required"].contains(&&*text) => Ok(()),
        _ => Err("execution.taskSupport must be forbidden, optional or required".into()),
    }
}

pub(super) fn optional_icons(icons: Option<Json>) -> Check {
    const WRONG: &str = "icons must be a list of objects with a src";
    let Some(icons) = icons else {
        return Ok(());
    };
    for icon in icons.entries().map_err(|_| WRONG)? {
        let icon = icons.part(icon);
        icon.read::<Icon<'_>>().map_err(|_| WRONG)?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Icon<'a> {
    #[serde(rename = "src", borrow)]
    _src: Cow<'a, str>,
    #[serde(rename = "mimeType", borrow, default)]
    _mime_type: Option<Cow<'a, str>>,
    #[serde(rename = "sizes", borrow, default)]
    _sizes: Option<Vec<Cow<'a, str>>>,
    #[serde(rename = "theme", default)]
    _theme: Option<Theme>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Theme {
    Dark,
    Light,
}

/// MCP's `Implementation`.
pub(super) fn implementation(server_info: &Json) -> Check {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct View<'a> {
        #[serde(rename = "name", borrow)]
        _name: Cow<'a, str>,
        #[serde(rename = "version", borrow)]
        _version: Cow<'a, str>,
        #[serde(borrow, default, deserialize_with = "json::present")]
        title: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "json::present")]
        description: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "json::present")]
        website_url: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "json::present")]
        icons: Option<&'a RawValue>,
    }
    let view: View<'_> = server_info
        .read()
        .map_err(|_| "serverInfo must be an object with the strings name and version")?;
    let part = |part: Option<&RawValue>| part.map(|part| server_info.part(part));
    optional_string("serverInfo.title", part(view.title))?;
    optional_string("serverInfo.description", part(view.description))?;
    optional_string("serverInfo.websiteUrl", part(view.website_url))?;
    optional_icons(part(view.icons)).map_err(|reason| format!("serverInfo.{reason}").into())
}
