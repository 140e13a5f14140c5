//! Pieces of content: what tool results and the messages of prompts are made of, and what a
//! resource holds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clientmcp_core::json::{Json, ObjectWriter};

/// One piece of content (MCP's `ContentBlock`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content(Json);

impl Content {
    /// A text.
    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        let mut item = ObjectWriter::new();
        item.name("type", "text").string("text", text.as_ref());
        Self(item.finish())
    }

    /// An image: base64 and its media type.
    #[must_use]
    pub fn image(base64: impl AsRef<str>, mime_type: impl AsRef<str>) -> Self {
        Self::media("image", base64.as_ref(), mime_type.as_ref())
    }

    /// A sound: base64 and its media type.
    #[must_use]
    pub fn audio(base64: impl AsRef<str>, mime_type: impl AsRef<str>) -> Self {
        Self::media("audio", base64.as_ref(), mime_type.as_ref())
    }

    /// A resource, in full, with the URI that it has.
    #[must_use]
    pub fn resource(uri: impl AsRef<str>, contents: &ResourceContents) -> Self {
        let mut item = ObjectWriter::new();
        item.name("type", "resource")
            .raw("resource", &contents.to_json(uri.as_ref(), None));
        Self(item.finish())
    }

    /// A resource by its URI, which the agent may read; `name` is for people.
    #[must_use]
    pub fn link(uri: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        let mut item = ObjectWriter::new();
        item.name("type", "resource_link")
            .string("uri", uri.as_ref())
            .string("name", name.as_ref());
        Self(item.finish())
    }

    /// The piece as it is sent.
    #[must_use]
    pub fn to_json(&self) -> &Json {
        &self.0
    }

    fn media(kind: &str, base64: &str, mime_type: &str) -> Self {
        let mut item = ObjectWriter::with_capacity(base64.len() + 64);
        item.name("type", kind)
            .string("data", base64)
            .string("mimeType", mime_type);
        Self(item.finish())
    }
}

/// A piece of any kind that MCP knows, as it is.
impl From<Json> for Content {
    fn from(item: Json) -> Self {
        Self(item)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// What a resource holds: text or bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContents {
    body: Body,
    uri: Option<String>,
    mime_type: Option<String>,
    meta: Option<Json>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Body {
    Text(String),
    /// As base64.
    Blob(String),
}

impl ResourceContents {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Bytes.
    #[must_use]
    pub fn blob(bytes: impl AsRef<[u8]>) -> Self {
        Self::new(Body::Blob(STANDARD.encode(bytes)))
    }

    /// Its URI, where that is another than the one that was asked for.
    #[must_use]
    pub fn at(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Its media type, where that is another than the definition's.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// `_meta`, as it is.
    #[must_use]
    pub fn meta(mut self, meta: Json) -> Self {
        self.meta = Some(meta);
        self
    }

    /// The contents as they are sent.
    pub(crate) fn to_json(&self, uri: &str, mime_type: Option<&str>) -> Json {
        let mut contents = ObjectWriter::new();
        contents
            .string("uri", self.uri.as_deref().unwrap_or(uri))
            .string_if("mimeType", self.mime_type.as_deref().or(mime_type));
        match &self.body {
            Body::Text(text) => contents.string("text", text),
            Body::Blob(base64) => contents.string("blob", base64),
        };
        contents.raw_if("_meta", self.meta.as_ref());
        contents.finish()
    }

    fn new(body: Body) -> Self {
        Self {
            body,
            uri: None,
            mime_type: None,
            meta: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_their_forms() {
        let table = [
            (Content::from("a\n"), r#"{"type":"text","text":"a\n"}"#),
            (
                Content::image("QQ==", "image/png"),
                r#"{"type":"image","data":"QQ==","mimeType":"image/png"}"#,
            ),
            (
                Content::audio("QQ==", "audio/wav"),
                r#"{"type":"audio","data":"QQ==","mimeType":"audio/wav"}"#,
            ),
            (
                Content::link("app://a", "A"),
                r#"{"type":"resource_link","uri":"app://a","name":"A"}"#,
            ),
            (
                Content::resource("app://a", &ResourceContents::blob([0, 255])),
                r#"{"type":"resource","resource":{"uri":"app://a","blob":"AP8="}}"#,
            ),
            (
                Content::from(Json::parse(r#"{"type": "x"}"#).unwrap()),
                r#"{"type": "x"}"#,
            ),
        ];
        for (content, json) in table {
            assert_eq!(content.to_json().as_str(), json);
        }
    }

    #[test]
    fn contents_take_what_they_do_not_say_from_where_they_stand() {
        let plain = ResourceContents::text("x");
        assert_eq!(
            plain.to_json("app://a", Some("text/plain")).as_str(),
            r#"{"uri":"app://a","mimeType":"text/plain","text":"x"}"#
        );
        let own = plain
            .at("app://b")
            .mime_type("text/html")
            .meta(Json::EMPTY_OBJECT);
        assert_eq!(
            own.to_json("app://a", Some("text/plain")).as_str(),
            r#"{"uri":"app://b","mimeType":"text/html","text":"x","_meta":{}}"#
        );
    }
}
