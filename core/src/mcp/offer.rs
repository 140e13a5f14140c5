//! What an app offers, as routers know it.

use std::sync::Arc;

use bytes::Bytes;

use super::method::Method;
use crate::prompt::PromptIndex;
use crate::registration::{ContentError, Hashes, Kind};
use crate::resource::ResourceIndex;
use crate::tool::{RestContent, ToolIndex};

/// The last registration of an app: what lists, discovery and the checks of calls go by.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The hashes of its content, kind by kind.
    pub hashes: Hashes,
    /// Its tools.
    pub tools: Arc<ToolIndex>,
    /// Its prompts.
    pub prompts: Arc<PromptIndex>,
    /// Its resources and templates.
    pub resources: Arc<ResourceIndex>,
    /// What else it says of itself.
    pub rest: Arc<RestContent>,
}

impl Offer {
    /// Reads an offer; `content` gives the text of each kind.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn read(hashes: Hashes, content: impl Fn(Kind) -> Bytes) -> Result<Offer, ContentError> {
        let rest = RestContent::read(content(Kind::Rest))?;
        let tools = ToolIndex::read(content(Kind::Tools), &rest)?;
        Ok(Offer {
            hashes,
            tools: Arc::new(tools),
            prompts: Arc::new(PromptIndex::read(content(Kind::Prompts))?),
            resources: Arc::new(ResourceIndex::read(content(Kind::Resources))?),
            rest: Arc::new(rest),
        })
    }

    /// What is known of an app that never registered, or whose registration is forgotten.
    #[must_use]
    pub fn unknown() -> Offer {
        Offer {
            hashes: Hashes::empty(),
            tools: Arc::default(),
            prompts: Arc::default(),
            resources: Arc::default(),
            rest: Arc::default(),
        }
    }

    /// Whether the app offers anything of a kind. Tools count always: they are declared before
    /// the first is there.
    #[must_use]
    pub fn has(&self, kind: Kind) -> bool {
        kind == Kind::Tools || self.hashes.get(kind) != kind.empty_hash()
    }

    /// Whether a modern agent may use a method: the capability that it belongs to is declared.
    #[must_use]
    pub fn serves(&self, method: Method) -> bool {
        match method {
            Method::ListPrompts | Method::GetPrompt => self.has(Kind::Prompts),
            Method::ListResources | Method::ListResourceTemplates | Method::ReadResource => {
                self.has(Kind::Resources)
            }
            Method::Complete => self.rest.completions,
            _ => true,
        }
    }
}
