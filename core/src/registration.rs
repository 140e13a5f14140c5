//! Registrations: what an app offers, kind by kind, each named by the hash of its content.

use std::fmt;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::json::JsonError;

/// The parts of a registration that are stored and compared apart (SPEC.md §4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Tool definitions.
    Tools,
    /// Prompt definitions.
    Prompts,
    /// Resources and resource templates.
    Resources,
    /// Everything else: serverInfo, instructions, completions, toolOptions, ttlMs.
    Rest,
}

impl Kind {
    /// All kinds, in their order on the wire.
    pub const ALL: [Kind; 4] = [Kind::Tools, Kind::Prompts, Kind::Resources, Kind::Rest];

    /// The kind's name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Prompts => "prompts",
            Kind::Resources => "resources",
            Kind::Rest => "rest",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The content of this kind when the app offers none.
    #[must_use]
    pub fn empty_content(self) -> Bytes {
        Bytes::from_static(match self {
            Kind::Tools | Kind::Prompts => b"[]",
            Kind::Resources | Kind::Rest => b"{}",
        })
    }

    /// The hash of [`Kind::empty_content`].
    #[must_use]
    pub fn empty_hash(self) -> ContentHash {
        ContentHash::of(self, &self.empty_content())
    }
}

/// Stored content that cannot be read: of a release that is too new, or damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stored content cannot be read: {0}")]
pub struct ContentError(pub(crate) String);

impl From<JsonError> for ContentError {
    fn from(error: JsonError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// SHA-256 over kind and content. Two registrations with the same hash are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of one kind's content.
    #[must_use]
    pub fn of(kind: Kind, content: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(kind.as_str().as_bytes());
        hasher.update(b"\n");
        hasher.update(content);
        Self(hasher.finalize().into())
    }

    /// Reads the text form (base64url, 43 characters); `None` if it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(text)
            .ok()?;
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use base64::Engine as _;
        f.write_str(&base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The hashes of one registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hashes {
    /// Hash of the tools.
    pub tools: ContentHash,
    /// Hash of the prompts.
    pub prompts: ContentHash,
    /// Hash of the resources and templates.
    pub resources: ContentHash,
    /// Hash of the rest.
    pub rest: ContentHash,
}

impl Hashes {
    /// The hashes of an app that offers nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::each(Kind::empty_hash)
    }

    /// One hash for each kind.
    #[must_use]
    pub fn each(mut hash: impl FnMut(Kind) -> ContentHash) -> Self {
        Self {
            tools: hash(Kind::Tools),
            prompts: hash(Kind::Prompts),
            resources: hash(Kind::Resources),
            rest: hash(Kind::Rest),
        }
    }

    /// The hash of one kind.
    #[must_use]
    pub fn get(&self, kind: Kind) -> ContentHash {
        match kind {
            Kind::Tools => self.tools,
            Kind::Prompts => self.prompts,
            Kind::Resources => self.resources,
            Kind::Rest => self.rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_survive_their_text_form_and_tell_kinds_apart() {
        let hash = ContentHash::of(Kind::Tools, b"[]");
        assert_eq!(ContentHash::parse(&hash.to_string()), Some(hash));
        assert_ne!(hash, ContentHash::of(Kind::Prompts, b"[]"));
        assert_eq!(ContentHash::parse("short"), None);
    }
}
