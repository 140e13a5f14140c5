//! From a `register` message to a checked registration (SPEC.md §4.4).
//!
//! Entries are checked one by one: a bad one is left out, with a reason, and hides no other. What
//! is accepted passes verbatim; a kind's content is the JSON text of its accepted entries, and
//! its hash names it. Only a message that cannot be attributed or understood as a whole (no
//! instance, tools that are no list) is refused altogether.

mod definition;
mod entries;
mod prompts;
mod rejected;
mod resources;
mod rest;
mod tools;

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ids::InstanceId;
use crate::json::{self, Json, JsonError};
use crate::message::{MessageError, Rejection};
use crate::registration::{ContentHash, Hashes, Kind};

use rejected::Rejected;

/// What an app offers, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The app's instance.
    pub instance: InstanceId,
    /// Its connection number.
    pub connection: u64,
    /// Whether an earlier connection of the instance still stands: then no other instance is
    /// displaced.
    pub moving: bool,
    /// Whether it remembers call IDs.
    pub resume: bool,
    /// Hashes of all kinds, those that were named by hash among them.
    pub hashes: Hashes,
    /// The content of the kinds that came in full; kinds that are empty have none.
    pub contents: Vec<(Kind, ContentHash, Bytes)>,
    /// Kinds that were named by a hash, other than that of the empty kind: their content must be
    /// known already.
    pub by_hash: Vec<(Kind, ContentHash)>,
    /// What was refused.
    pub rejected: Vec<Rejection>,
}

/// Reads and checks a `register` message.
///
/// # Errors
/// [`MessageError`] if it is refused as a whole: 4400.
pub fn read(message: &Json) -> Result<Offer, MessageError> {
    let view: View<'_> = message.read().map_err(|error| match error {
        JsonError::Shape(_) => invalid("connection must be an integer of 1 or more"),
        error => MessageError::Unreadable(error),
    })?;
    let instance = view.instance.and_then(string);
    let instance = instance.and_then(|text| InstanceId::parse(&text).ok());
    let instance = instance.ok_or(invalid("instance must be 1 to 128 of A-Z a-z 0-9 _ -"))?;
    let connection = view.connection.filter(|number| *number > 0);
    let connection = connection.ok_or(invalid("connection must be an integer of 1 or more"))?;
    let mut reader = Reader {
        message,
        rejected: Rejected::default(),
        contents: Vec::new(),
        by_hash: Vec::new(),
    };
    let moving = match view.moving.map(RawValue::get) {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(invalid("moving must be a boolean")),
    };
    let resume = reader.resume(&view)?;
    let hashes = reader.kinds(&view)?;
    Ok(Offer {
        instance,
        connection,
        moving,
        resume,
        hashes,
        contents: reader.contents,
        by_hash: reader.by_hash,
        rejected: reader.rejected.into_list(),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow, default)]
    instance: Option<&'a RawValue>,
    #[serde(default)]
    connection: Option<u64>,
    #[serde(borrow, default)]
    moving: Option<&'a RawValue>,
    #[serde(borrow, default)]
    features: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    prompts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resources: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resource_templates: Option<&'a RawValue>,
    #[serde(borrow, default)]
    rest: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_options: Option<&'a RawValue>,
    #[serde(borrow, default)]
    completions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ttl_ms: Option<&'a RawValue>,
}

struct Reader<'a> {
    message: &'a Json,
    rejected: Rejected,
    contents: Vec<(Kind, ContentHash, Bytes)>,
    by_hash: Vec<(Kind, ContentHash)>,
}

impl Reader<'_> {
    fn kinds(&mut self, view: &View<'_>) -> Result<Hashes, MessageError> {
        Ok(Hashes {
            tools: self.tools(view)?,
            prompts: self.prompts(view)?,
            resources: self.resources(view)?,
            rest: self.rest(view)?,
        })
    }

    fn resume(&self, view: &View<'_>) -> Result<bool, MessageError> {
        let Some(features) = self.part(view.features) else {
            return Ok(false);
        };
        let features = features.value::<Vec<Cow<'_, str>>>();
        let features = features.map_err(|_| invalid("features must be a list of strings"))?;
        Ok(features.iter().any(|feature| feature == "resume"))
    }

    fn tools(&mut self, view: &View<'_>) -> Result<ContentHash, MessageError> {
        let Some(tools) = self.part(view.tools) else {
            return Ok(Kind::Tools.empty_hash());
        };
        if tools.is_object() {
            return self.named(Kind::Tools, &tools);
        }
        let content = tools::accept(&tools, &mut self.rejected);
        let content = content.map_err(|_| invalid("tools must be a list, or {\"hash\"}"))?;
        Ok(self.full(Kind::Tools, content))
    }

    fn prompts(&mut self, view: &View<'_>) -> Result<ContentHash, MessageError> {
        let Some(prompts) = self.part(view.prompts) else {
            return Ok(Kind::Prompts.empty_hash());
        };
        if prompts.is_object() {
            return self.named(Kind::Prompts, &prompts);
        }
        let content = prompts::accept(&prompts, &mut self.rejected);
        let content = content.map_err(|_| invalid("prompts must be a list, or {\"hash\"}"))?;
        Ok(self.full(Kind::Prompts, content))
    }

    /// Resources and templates are one kind: a hash in place of `resources` stands for both.
    fn resources(&mut self, view: &View<'_>) -> Result<ContentHash, MessageError> {
        let resources = self.part(view.resources);
        let templates = self.part(view.resource_templates);
        if let Some(named) = resources.as_ref().filter(|it| it.is_object()) {
            if templates.is_some() {
                return Err(invalid(
                    "resourceTemplates must be left out beside a hash of the resources",
                ));
            }
            return self.named(Kind::Resources, named);
        }
        let (resources, templates) = (resources.as_ref(), templates.as_ref());
        let content = resources::accept(resources, templates, &mut self.rejected);
        let content = content.map_err(|_| {
            invalid("resources must be a list, \"dynamic\", or {\"hash\"}; templates a list")
        })?;
        Ok(self.full(Kind::Resources, content))
    }

    fn rest(&mut self, view: &View<'_>) -> Result<ContentHash, MessageError> {
        let members = [
            view.server_info,
            view.instructions,
            view.tool_options,
            view.completions,
            view.ttl_ms,
        ];
        if let Some(rest) = self.part(view.rest) {
            if members.iter().any(Option::is_some) {
                return Err(invalid("what rest stands for must be left out beside it"));
            }
            return self.named(Kind::Rest, &rest);
        }
        let content = rest::accept(self.message, view, &mut self.rejected);
        Ok(self.full(Kind::Rest, content))
    }

    fn full(&mut self, kind: Kind, content: Json) -> ContentHash {
        let hash = ContentHash::of(kind, content.bytes());
        if hash != kind.empty_hash() {
            self.contents.push((kind, hash, content.into_bytes()));
        }
        hash
    }

    fn named(&mut self, kind: Kind, named: &Json) -> Result<ContentHash, MessageError> {
        #[derive(Deserialize)]
        struct ByHash<'a> {
            #[serde(borrow)]
            hash: Cow<'a, str>,
        }
        let hash = named.read::<ByHash<'_>>().ok();
        let hash = hash.and_then(|named| ContentHash::parse(&named.hash));
        let hash = hash.ok_or(invalid(
            "a kind by its hash is {\"hash\": \"<43 characters>\"}",
        ))?;
        if hash != kind.empty_hash() {
            self.by_hash.push((kind, hash));
        }
        Ok(hash)
    }

    fn part(&self, part: Option<&RawValue>) -> Option<Json> {
        part.map(|part| self.message.part(part))
    }
}

fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

fn invalid(problem: &'static str) -> MessageError {
    MessageError::Invalid {
        kind: "register",
        problem,
    }
}

#[cfg(test)]
mod tests;
