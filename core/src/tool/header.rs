//! `x-mcp-header`: arguments that agents mirror into `Mcp-Param-*` headers (MCP 2026-07-28,
//! Streamable HTTP, "Custom Headers from Tool Parameters").
//!
//! An annotation counts where a chain of `properties` alone leads from the schema's root to it.
//! Anywhere else, or on another type than string, integer and boolean, or under a name that is no
//! token or occurs twice, it makes the tool invalid: agents drop such tools, so the registration
//! refuses them.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Json;

const ANNOTATION: &str = "x-mcp-header";

/// What an argument must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParamKind {
    /// A string.
    String,
    /// An integer.
    Integer,
    /// A boolean.
    Boolean,
}

/// An argument that agents mirror into a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParam {
    /// The header's name after `Mcp-Param-`, in lower case.
    pub name: String,
    /// The keys that lead to the argument.
    pub path: Vec<String>,
    /// What it must be.
    pub kind: ParamKind,
}

/// Finds the annotated arguments of an `inputSchema`.
///
/// # Errors
/// Why an annotation is invalid, or why the schema could not be read for them.
pub(crate) fn header_params(schema: &Json) -> Result<Vec<HeaderParam>, HeaderError> {
    // Nearly all schemas have none, and need not be read. A key can hide from this search behind
    // an escape alone.
    if !schema.as_str().contains(ANNOTATION) && !schema.as_str().contains("\\u") {
        return Ok(Vec::new());
    }
    let mut walk = Walk::default();
    let mut deserializer = serde_json::Deserializer::from_str(schema.as_str());
    let read = Schema {
        walk: &mut walk,
        reachable: true,
    }
    .deserialize(&mut deserializer);
    match (walk.problem, read) {
        (Some(problem), _) => Err(HeaderError(problem)),
        (None, Err(_)) => Err(HeaderError(
            "inputSchema has a key or a type that cannot be read",
        )),
        (None, Ok(())) => Ok(walk.found),
    }
}

/// Why a schema's annotations are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct HeaderError(&'static str);

#[derive(Default)]
struct Walk {
    path: Vec<String>,
    found: Vec<HeaderParam>,
    problem: Option<&'static str>,
}

impl Walk {
    /// Ends the walk; the error itself carries nothing.
    fn refuse<E: serde::de::Error>(&mut self, problem: &'static str) -> E {
        self.problem.get_or_insert(problem);
        E::custom(problem)
    }

    fn add(
        &mut self,
        name: &str,
        kind: Option<ParamKind>,
        reachable: bool,
    ) -> Result<(), &'static str> {
        if !reachable || self.path.is_empty() {
            return Err("x-mcp-header must be reached through properties alone");
        }
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err("x-mcp-header must be an HTTP token");
        }
        let kind = kind.ok_or("x-mcp-header needs the type string, integer or boolean")?;
        let name = name.to_ascii_lowercase();
        if self.found.iter().any(|param| param.name == name) {
            return Err("x-mcp-header occurs twice with one name");
        }
        self.found.push(HeaderParam {
            name,
            path: self.path.clone(),
            kind,
        });
        Ok(())
    }
}

/// RFC 9110, 5.6.2: `tchar`.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// What is neither an object nor an array has no annotation.
macro_rules! scalars {
    () => {
        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }
        fn visit_bool<E>(self, _: bool) -> Result<(), E> {
            Ok(())
        }
        fn visit_i64<E>(self, _: i64) -> Result<(), E> {
            Ok(())
        }
        fn visit_u64<E>(self, _: u64) -> Result<(), E> {
            Ok(())
        }
        fn visit_f64<E>(self, _: f64) -> Result<(), E> {
            Ok(())
        }
        fn visit_str<E>(self, _: &str) -> Result<(), E> {
            Ok(())
        }
    };
}

/// A value where a schema may stand.
struct Schema<'w> {
    walk: &'w mut Walk,
    /// Whether `properties` alone lead here.
    reachable: bool,
}

impl<'de> DeserializeSeed<'de> for Schema<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Schema<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a schema")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Schema { walk, reachable } = self;
        let mut kind = Once::default();
        let mut annotation = Once::default();
        let mut properties = Once::default();
        while let Some(key) = map.next_key::<String>()? {
            let duplicate = match key.as_str() {
                "type" => kind.set(map.next_value::<&RawValue>()?),
                ANNOTATION => annotation.set(map.next_value::<&RawValue>()?),
                "properties" => {
                    map.next_value_seed(Named { walk, reachable })?;
                    properties.set(())
                }
                "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
                | "definitions" => {
                    map.next_value_seed(Named {
                        walk,
                        reachable: false,
                    })?;
                    false
                }
                key if holds_no_schema(key) => {
                    map.next_value::<IgnoredAny>()?;
                    false
                }
                _ => {
                    map.next_value_seed(Schema {
                        walk,
                        reachable: false,
                    })?;
                    false
                }
            };
            if duplicate {
                return Err(walk.refuse("inputSchema has a duplicate member"));
            }
        }
        if let Some(annotation) = annotation.0 {
            let name = string(annotation).unwrap_or_default();
            let kind = kind.0.and_then(string).and_then(|kind| param_kind(&kind));
            walk.add(&name, kind, reachable)
                .map_err(|problem| walk.refuse(problem))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Schema { walk, .. } = self;
        while entries
            .next_element_seed(Schema {
                walk,
                reachable: false,
            })?
            .is_some()
        {}
        Ok(())
    }

    scalars!();
}

/// An object whose keys are names of properties or definitions, and whose values are schemas.
struct Named<'w> {
    walk: &'w mut Walk,
    reachable: bool,
}

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Named<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("schemas by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Named { walk, reachable } = self;
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(walk.refuse("inputSchema has a duplicate member"));
            }
            walk.path.push(name);
            map.next_value_seed(Schema { walk, reachable })?;
            walk.path.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        let Named { walk, .. } = self;
        let reachable = false;
        Schema { walk, reachable }.visit_seq(entries)
    }

    scalars!();
}

/// A member that may stand there once.
struct Once<T>(Option<T>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Once<T> {
    /// Whether it stood there before.
    fn set(&mut self, value: T) -> bool {
        self.0.replace(value).is_some()
    }
}

/// Keywords whose values are data or plain text, in which an annotation's name means nothing.
fn holds_no_schema(key: &str) -> bool {
    matches!(
        key,
        "enum"
            | "const"
            | "default"
            | "examples"
            | "required"
            | "dependentRequired"
            | "title"
            | "description"
            | "$comment"
            | "$id"
            | "$schema"
            | "$ref"
            | "$anchor"
            | "$dynamicRef"
            | "$dynamicAnchor"
            | "$vocabulary"
            | "pattern"
            | "format"
            | "contentEncoding"
            | "contentMediaType"
            | "multipleOf"
            | "maximum"
            | "minimum"
            | "exclusiveMaximum"
            | "exclusiveMinimum"
    )
}

fn param_kind(name: &str) -> Option<ParamKind> {
    match name {
        "string" => Some(ParamKind::String),
        "integer" => Some(ParamKind::Integer),
        "boolean" => Some(ParamKind::Boolean),
        _ => None,
    }
}

fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}
