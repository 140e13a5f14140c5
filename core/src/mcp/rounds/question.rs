//! A request for input as the request of a server that a legacy agent understands (MCP 2025-03-26
//! to 2025-11-25, "Elicitation", "Sampling", "Roots").
//!
//! What a revision understands passes verbatim. What it lacks is said in its terms, or not at all:
//! then the agent is not asked.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::asked::{InputRequest, Kind};
use crate::json::{ArrayWriter, Json, JsonError, ObjectWriter};
use crate::mcp::convert::{self, object};
use crate::mcp::version::Version;

/// A request to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// What it asks for.
    pub kind: Kind,
    /// The message.
    pub message: Bytes,
}

/// Why an agent cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unaskable {
    /// The app's request is valid in no revision.
    Fault(String),
    /// The agent's revision has no such thing.
    Unknown(&'static str),
}

impl From<JsonError> for Unaskable {
    fn from(error: JsonError) -> Self {
        Unaskable::Fault(format!(
            "The application's request for input cannot be used: {error}"
        ))
    }
}

/// The id of a request of ours. It goes out as a string, and says nothing but its random bits.
pub(super) fn id(random: [u8; 16]) -> String {
    URL_SAFE_NO_PAD.encode(random)
}

/// Whether a text may be the id of a request of ours.
pub(super) fn is_id(text: &str) -> bool {
    let is_of_base64 = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    text.len() == 22 && text.bytes().all(is_of_base64)
}

impl Question {
    /// The request with this id in the terms of a revision. `visit` is the `elicitationId` of an
    /// elicitation by URL.
    ///
    /// # Errors
    /// [`Unaskable`].
    pub(super) fn new(
        request: &InputRequest,
        version: Version,
        id: &str,
        visit: Option<&str>,
    ) -> Result<Self, Unaskable> {
        let params = match request.kind {
            Kind::Form => Some(form(given(request)?, version)?),
            Kind::Url => Some(by_url(given(request)?, visit.unwrap_or(id))?),
            Kind::Sampling { .. } => Some(sampling(given(request)?, version)?),
            Kind::Roots => request.params.clone(),
        };
        let length = params.as_ref().map_or(0, Json::len);
        let mut message = ObjectWriter::with_capacity(length + 128);
        message
            .name("jsonrpc", "2.0")
            .name("id", id)
            .name("method", request.kind.as_str())
            .raw_if("params", params.as_ref());
        Ok(Question {
            id: id.to_owned(),
            kind: request.kind,
            message: message.finish().into_bytes(),
        })
    }
}

fn given(request: &InputRequest) -> Result<&Json, Unaskable> {
    let lacking =
        || Unaskable::Fault("The application's request for input has no params".to_owned());
    request.params.as_ref().ok_or_else(lacking)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    #[expect(dead_code, reason = "it must be there")]
    message: String,
    #[serde(borrow)]
    requested_schema: &'a RawValue,
}

#[derive(Deserialize)]
struct Schema<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    properties: &'a RawValue,
}

/// A form. 2025-06-18 knows forms alone, and in them no lists of choices; titles of choices stand
/// in `enumNames` there.
fn form(params: &Json, version: Version) -> Result<Json, Unaskable> {
    let members: Form<'_> = params.read()?;
    let schema = params.part(members.requested_schema);
    let read: Schema<'_> = schema.read()?;
    let properties = schema.part(read.properties);
    if read.kind != "object" || !properties.is_object() {
        return Err(JsonError::Shape("requestedSchema is none of an object".to_owned()).into());
    }
    match version {
        Version::V2025_03_26 => return Err(Unaskable::Unknown("elicitation")),
        Version::V2025_06_18 => {}
        Version::V2025_11_25 | Version::V2026_07_28 => return Ok(params.clone()),
    }
    let converted = properties
        .members()?
        .into_iter()
        .map(|(name, property)| Ok((name, property_2025_06_18(&properties.part(property))?)))
        .collect::<Result<Vec<_>, Unaskable>>()?;
    let schema = with_member(&schema, "properties", &object(converted))?;
    let form = params
        .members()?
        .into_iter()
        .filter(|(key, _)| key != "mode");
    let form = form.map(|(key, value)| match &*key {
        "requestedSchema" => (key, Cow::Owned(schema.clone())),
        _ => (key, Cow::Borrowed(value.get())),
    });
    Ok(Json::trusted(object(form).into())?)
}

/// The members of an object, one of them with another value.
fn with_member(whole: &Json, name: &str, value: &str) -> Result<String, JsonError> {
    let members = whole.members()?.into_iter();
    let members = members.map(|(key, before)| {
        let is_it = key == name;
        let value = if is_it {
            Cow::Borrowed(value)
        } else {
            Cow::Borrowed(before.get())
        };
        (key, value)
    });
    Ok(object(members))
}

fn property_2025_06_18(property: &Json) -> Result<Cow<'static, str>, Unaskable> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Property<'a> {
        #[serde(rename = "type")]
        kind: String,
        #[serde(borrow, default)]
        one_of: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Choice {
        r#const: String,
        title: String,
    }
    let read: Property<'_> = property.read()?;
    if read.kind == "array" {
        return Err(Unaskable::Unknown(
            "a form in which several of a list are chosen",
        ));
    }
    let Some(choices) = read.one_of else {
        return Ok(Cow::Owned(property.as_str().to_owned()));
    };
    let choices = property.part(choices);
    let choices: Vec<Choice> = choices.value()?;
    let (values, titles): (Vec<_>, Vec<_>) =
        choices.into_iter().map(|it| (it.r#const, it.title)).unzip();
    let kept = property
        .members()?
        .into_iter()
        .filter(|(key, _)| key != "oneOf");
    let kept = kept.map(|(key, value)| (key, Cow::Borrowed(value.get())));
    let named = [("enum", values), ("enumNames", titles)];
    let named = named.map(|(key, texts)| {
        let texts = Json::of(&texts).as_str().to_owned();
        (Cow::Borrowed(key), Cow::Owned(texts))
    });
    Ok(Cow::Owned(object(kept.chain(named))))
}

/// The URL of an elicitation by URL, and the `elicitationId` that the app gave it.
pub(super) fn url(params: Option<&Json>) -> Result<(String, Option<String>), Unaskable> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        #[expect(dead_code, reason = "it must be there")]
        message: String,
        url: String,
        #[serde(default)]
        elicitation_id: Option<Value>,
    }
    let none = Json::EMPTY_OBJECT;
    let params: Params = params.unwrap_or(&none).read()?;
    let id = params.elicitation_id;
    let id = id
        .as_ref()
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty());
    Ok((params.url, id.map(str::to_owned)))
}

/// An elicitation by URL, which in 2025-11-25 has a name.
fn by_url(params: &Json, visit: &str) -> Result<Json, Unaskable> {
    let kept = params
        .members()?
        .into_iter()
        .filter(|(key, _)| key != "elicitationId");
    let kept = kept.map(|(key, value)| (key, Cow::Borrowed(value.get())));
    let named = (
        Cow::Borrowed("elicitationId"),
        Cow::Owned(Json::of(visit).as_str().to_owned()),
    );
    Ok(Json::trusted(object(kept.chain([named])).into())?)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sampling<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
    #[expect(dead_code, reason = "it must be there")]
    #[serde(borrow)]
    max_tokens: &'a RawValue,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

/// A request for a model's words. Before 2025-11-25 each message has one piece of content, and
/// there are no tools.
fn sampling(params: &Json, version: Version) -> Result<Json, Unaskable> {
    let members: Sampling<'_> = params.read()?;
    if version >= Version::V2025_11_25 {
        return match members.tools {
            Some(tools) => sampling_tools(params, &params.part(tools), version),
            None => Ok(params.clone()),
        };
    }
    let messages = params.part(members.messages);
    let mut single = ArrayWriter::with_capacity(messages.len());
    let mut is_changed = false;
    for message in messages.entries()? {
        let message = messages.part(message);
        let pieces = pieces(&message)?;
        is_changed |= pieces.is_some();
        for message in pieces.unwrap_or_else(|| vec![message.clone()]) {
            single.raw(&message);
        }
    }
    if !is_changed {
        return Ok(params.clone());
    }
    let single = single.finish();
    let params = with_member(params, "messages", single.as_str())?;
    Ok(Json::trusted(params.into())?)
}

/// One message for each piece of content; `None` if the message has a single one.
fn pieces(message: &Json) -> Result<Option<Vec<Json>>, Unaskable> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Piece {
        #[serde(rename = "type")]
        kind: String,
    }
    let read: Message<'_> = message.read()?;
    let content = message.part(read.content);
    let is_list = content.is_array();
    let pieces = if is_list {
        content.entries()?
    } else {
        vec![read.content]
    };
    let mut messages = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let read: Piece = serde_json::from_str(piece.get())
            .map_err(|_| JsonError::Shape("content without a type".to_owned()))?;
        if !matches!(read.kind.as_str(), "text" | "image" | "audio") {
            return Err(Unaskable::Unknown("sampling with tools"));
        }
        let single = with_member(message, "content", piece.get())?;
        messages.push(Json::trusted(single.into())?);
    }
    Ok(is_list.then_some(messages))
}

/// The tools that a model may use are defined as those of a list.
fn sampling_tools(params: &Json, tools: &Json, version: Version) -> Result<Json, Unaskable> {
    let mut converted = ArrayWriter::with_capacity(tools.len());
    let mut is_changed = false;
    for tool in tools.entries()? {
        let tool = tools.part(tool);
        let tool = convert::tool(&tool, version)?;
        is_changed |= matches!(tool, Cow::Owned(_));
        converted.raw(&tool);
    }
    if !is_changed {
        return Ok(params.clone());
    }
    let converted = converted.finish();
    let params = with_member(params, "tools", converted.as_str())?;
    Ok(Json::trusted(params.into())?)
}

#[cfg(test)]
mod tests;
