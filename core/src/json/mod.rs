//! Verbatim JSON: text that is checked once, carried as bytes, and sliced without copying
//! (SPEC.md §5.8).
//!
//! [`Text`] is what arrived: UTF-8, not nested too deeply, otherwise unchecked. [`Text::read`]
//! checks all of it while it reads the members that somebody wants; [`Text::part`] and
//! [`Text::parse`] give [`Json`], which is known to be JSON and has no line end outside its
//! strings. So a message is parsed once, however large its payload is.
//!
//! What is read is read with serde's derived structs, which refuse a member that stands there
//! twice, however it is escaped. What is not read passes as it is: numbers of any size, duplicate
//! members, lone surrogates.

mod scan;
mod write;

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::limits;

pub use write::{ArrayWriter, ObjectWriter};

/// Why a text was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is no UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// It is no JSON, or more or less than one value.
    #[error("not JSON: {0}")]
    Unparsable(String),
    /// It is nested deeper than [`limits::JSON_DEPTH`].
    #[error("nested deeper than {} levels", limits::JSON_DEPTH)]
    TooDeep,
    /// A member that is read stands there twice.
    #[error("{0}")]
    Duplicate(String),
    /// It is JSON, but not what is wanted: another type, or a member that is missing.
    #[error("{0}")]
    Shape(String),
}

impl JsonError {
    fn of(error: &serde_json::Error) -> Self {
        let message = without_position(error);
        match error.classify() {
            // serde words this one itself, whatever the format (`serde::de::Error`).
            Category::Data if message.starts_with("duplicate field") => Self::Duplicate(message),
            Category::Data => Self::Shape(message),
            Category::Syntax | Category::Eof | Category::Io => Self::Unparsable(message),
        }
    }
}

/// The message without "at line 1 column 7": positions are of no use in a text of one line, and
/// differ between a text and a part of it.
fn without_position(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    if let Some(at) = message.rfind(" at line ") {
        message.truncate(at);
    }
    message
}

/// A text that arrived and may be JSON.
#[derive(Clone)]
pub struct Text {
    bytes: Bytes,
    line_ends: bool,
}

impl Text {
    /// Takes what arrived, without copying it.
    ///
    /// # Errors
    /// [`JsonError::NotUtf8`], [`JsonError::TooDeep`].
    pub fn new(bytes: Bytes) -> Result<Self, JsonError> {
        std::str::from_utf8(&bytes).map_err(|_| JsonError::NotUtf8)?;
        let found = scan::scan(&bytes);
        if found.depth > limits::JSON_DEPTH {
            return Err(JsonError::TooDeep);
        }
        Ok(Self {
            bytes,
            line_ends: found.line_ends,
        })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        text(&self.bytes)
    }

    /// Reads an object, and checks the whole text on the way.
    ///
    /// # Errors
    /// [`JsonError`]; another value than an object is [`JsonError::Shape`].
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, JsonError> {
        read_object(self.as_str())
    }

    /// A part of this text that [`Text::read`] borrowed.
    ///
    /// # Panics
    /// If `part` was not borrowed from this text.
    #[must_use]
    pub fn part(&self, part: &RawValue) -> Json {
        let part = self.bytes.slice_ref(part.get().as_bytes());
        if self.line_ends {
            Json(scan::without_line_ends(part))
        } else {
            Json(part)
        }
    }

    /// Checks the whole text.
    ///
    /// # Errors
    /// [`JsonError::Unparsable`].
    pub fn parse(self) -> Result<Json, JsonError> {
        serde_json::from_str::<IgnoredAny>(self.as_str()).map_err(|error| JsonError::of(&error))?;
        let trimmed = self.bytes.slice_ref(self.bytes.trim_ascii());
        Ok(Json(if self.line_ends {
            scan::without_line_ends(trimmed)
        } else {
            trimmed
        }))
    }
}

/// The strings that the members of these names have in an object, as far as that can be told of a
/// text that may be no JSON, or be nested too deeply: to whom something is said that cannot be
/// read. `None`: it is not there, is no string, or stands there twice.
#[must_use]
pub fn strings<const N: usize>(text: &[u8], names: [&str; N]) -> [Option<String>; N] {
    scan::strings(text, names)
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} bytes)", self.bytes.len())
    }
}

/// The text of one JSON value, verbatim, without line ends outside its strings. Clones and parts
/// share the bytes.
///
/// Two of them are equal if their texts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Bytes);

impl Json {
    /// `null`.
    pub const NULL: Json = Json(Bytes::from_static(b"null"));
    /// `{}`.
    pub const EMPTY_OBJECT: Json = Json(Bytes::from_static(b"{}"));
    /// `[]`.
    pub const EMPTY_ARRAY: Json = Json(Bytes::from_static(b"[]"));

    /// A text of this crate that is JSON.
    pub(crate) const fn constant(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    /// Checks a text.
    ///
    /// # Errors
    /// [`JsonError::NotUtf8`], [`JsonError::Unparsable`], [`JsonError::TooDeep`].
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, JsonError> {
        Text::new(bytes.into())?.parse()
    }

    /// A text that a process of this cluster has checked already, and that may be read back
    /// without parsing it once more. UTF-8 is checked; all else is that process's word.
    ///
    /// # Errors
    /// [`JsonError::NotUtf8`]; an empty text is [`JsonError::Unparsable`].
    pub fn trusted(bytes: Bytes) -> Result<Self, JsonError> {
        if bytes.is_empty() {
            return Err(JsonError::Unparsable("the text is empty".to_owned()));
        }
        std::str::from_utf8(&bytes).map_err(|_| JsonError::NotUtf8)?;
        Ok(Self(bytes))
    }

    /// The JSON text of a value of ours.
    ///
    /// # Panics
    /// If the value cannot be written as JSON: a map with other keys than strings, or an
    /// implementation of `Serialize` that fails.
    #[must_use]
    pub fn of<T: serde::Serialize + ?Sized>(value: &T) -> Self {
        let text = serde_json::to_vec(value).expect("our own values have only string keys");
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        text(&self.0)
    }

    /// The text as bytes that share this value's memory.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The text as bytes.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Length of the text in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: a JSON value has at least one character.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether it is an array.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Whether it is a string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self.0.first(), Some(b'-' | b'0'..=b'9'))
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.first() == Some(&b'n')
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`JsonError::Duplicate`], [`JsonError::Shape`]; a string among the members that are read,
    /// or any key beside them, with a lone surrogate is [`JsonError::Unparsable`].
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, JsonError> {
        read_object(self.as_str())
    }

    /// Reads a value of any type. Derived structs take arrays here; use [`Json::read`] for them.
    ///
    /// # Errors
    /// As for [`Json::read`].
    pub fn value<'a, T: Deserialize<'a>>(&'a self) -> Result<T, JsonError> {
        serde_json::from_str(self.as_str()).map_err(|error| JsonError::of(&error))
    }

    /// The members of an object in their order, with keys unescaped; a key that stands there
    /// twice is there twice.
    ///
    /// # Errors
    /// [`JsonError::Shape`] if it is none; [`JsonError::Unparsable`] for a key with a lone
    /// surrogate.
    pub fn members(&self) -> Result<Vec<(Cow<'_, str>, &RawValue)>, JsonError> {
        self.value::<Members<'_>>().map(|members| members.0)
    }

    /// The entries of an array in their order.
    ///
    /// # Errors
    /// [`JsonError::Shape`] if it is none.
    pub fn entries(&self) -> Result<Vec<&RawValue>, JsonError> {
        self.value()
    }

    /// A part of this value that [`Json::read`] borrowed, sharing its memory.
    ///
    /// # Panics
    /// If `part` was not borrowed from this value.
    #[must_use]
    pub fn part(&self, part: &RawValue) -> Json {
        Json(self.0.slice_ref(part.get().as_bytes()))
    }
}

impl From<Json> for Bytes {
    fn from(json: Json) -> Self {
        json.0
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.0.len())
    }
}

/// Deserializes a member that may be absent, and keeps `null` apart from that:
/// `#[serde(borrow, default, deserialize_with = "json::present")]`.
///
/// # Errors
/// The deserializer's.
pub fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Self)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Key(key), value)) = map.next_entry()? {
            members.push((key, value));
        }
        Ok(members)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Derived structs also take arrays, which JSON's readers must not.
fn read_object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, JsonError> {
    if !text.trim_ascii_start().starts_with('{') {
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| JsonError::of(&error))?;
        return Err(JsonError::Shape("expected an object".to_owned()));
    }
    serde_json::from_str(text).map_err(|error| JsonError::of(&error))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("checked when it was made")
}

#[cfg(test)]
mod tests;
