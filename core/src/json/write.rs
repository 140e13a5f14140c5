//! Envelopes, written by putting raw parts together.

use std::fmt::Display;

use bytes::{BufMut, BytesMut};

use super::Json;

/// Writes an object member by member.
///
/// Keys are ours: plain text that needs no escapes.
#[derive(Debug)]
pub struct ObjectWriter {
    text: BytesMut,
}

impl ObjectWriter {
    /// An empty object, with room for `capacity` bytes of text.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut text = BytesMut::with_capacity(capacity);
        text.put_u8(b'{');
        Self { text }
    }

    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(128)
    }

    /// A member with a value that is JSON already.
    pub fn raw(&mut self, key: &str, value: &Json) -> &mut Self {
        self.key(key);
        self.text.put_slice(value.bytes());
        self
    }

    /// A member with a raw value, if there is one.
    pub fn raw_if(&mut self, key: &str, value: Option<&Json>) -> &mut Self {
        if let Some(value) = value {
            self.raw(key, value);
        }
        self
    }

    /// A member with a string, escaped as needed.
    pub fn string(&mut self, key: &str, value: &str) -> &mut Self {
        self.key(key);
        write_string(&mut self.text, value);
        self
    }

    /// A member with a string, if there is one.
    pub fn string_if(&mut self, key: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.string(key, value);
        }
        self
    }

    /// A member with a value whose text needs neither quotes nor escapes: a number or a boolean.
    pub fn plain(&mut self, key: &str, value: impl Display) -> &mut Self {
        self.key(key);
        write_display(&mut self.text, value);
        self
    }

    /// A member with a string that needs no escapes: an ID, a hash, a name of ours.
    pub fn name(&mut self, key: &str, value: impl Display) -> &mut Self {
        self.key(key);
        self.text.put_u8(b'"');
        write_display(&mut self.text, value);
        self.text.put_u8(b'"');
        self
    }

    /// The text so far, in bytes, without the closing brace.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The object.
    #[must_use]
    pub fn finish(mut self) -> Json {
        self.text.put_u8(b'}');
        Json(self.text.freeze())
    }

    fn key(&mut self, key: &str) {
        debug_assert!(
            !key.bytes().any(|b| b < 0x20 || b == b'"' || b == b'\\'),
            "keys are ours and need no escapes"
        );
        if self.text.len() > 1 {
            self.text.put_u8(b',');
        }
        self.text.put_u8(b'"');
        self.text.put_slice(key.as_bytes());
        self.text.put_slice(b"\":");
    }
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes an array entry by entry.
#[derive(Debug)]
pub struct ArrayWriter {
    text: BytesMut,
}

impl ArrayWriter {
    /// An empty array, with room for `capacity` bytes of text.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut text = BytesMut::with_capacity(capacity);
        text.put_u8(b'[');
        Self { text }
    }

    /// An empty array.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(128)
    }

    /// An entry that is JSON already.
    pub fn raw(&mut self, value: &Json) -> &mut Self {
        self.comma();
        self.text.put_slice(value.bytes());
        self
    }

    /// A string, escaped as needed.
    pub fn string(&mut self, value: &str) -> &mut Self {
        self.comma();
        write_string(&mut self.text, value);
        self
    }

    /// The array.
    #[must_use]
    pub fn finish(mut self) -> Json {
        self.text.put_u8(b']');
        Json(self.text.freeze())
    }

    fn comma(&mut self) {
        if self.text.len() > 1 {
            self.text.put_u8(b',');
        }
    }
}

impl Default for ArrayWriter {
    fn default() -> Self {
        Self::new()
    }
}

fn write_string(text: &mut BytesMut, value: &str) {
    serde_json::to_writer(text.writer(), value).expect("memory takes every string");
}

fn write_display(text: &mut BytesMut, value: impl Display) {
    use std::io::Write as _;
    write!(text.writer(), "{value}").expect("memory takes every text");
}
