//! What routers know of an app's prompts, read from stored content (SPEC.md §4.4, §8.1).

use std::collections::HashSet;

use bytes::Bytes;
use serde::Deserialize;

use crate::json::Json;
use crate::registration::ContentError;

/// The prompts of an app, in its order.
#[derive(Debug, Clone, Default)]
pub struct PromptIndex {
    definitions: Vec<Json>,
    names: HashSet<String>,
}

impl PromptIndex {
    /// Reads the content of the kind `prompts`.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn read(prompts: Bytes) -> Result<Self, ContentError> {
        #[derive(Deserialize)]
        struct View {
            name: String,
        }
        let content = Json::parse(prompts)?;
        let mut index = Self::default();
        for entry in content.entries()? {
            let definition = content.part(entry);
            index.names.insert(definition.read::<View>()?.name);
            index.definitions.push(definition);
        }
        Ok(index)
    }

    /// MCP's `Prompt` objects, verbatim.
    #[must_use]
    pub fn definitions(&self) -> &[Json] {
        &self.definitions
    }

    /// Whether there is a prompt with this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}
