//! What routers know of an app's resources, read from stored content (SPEC.md §4.4, §8.1).

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Json;
use crate::registration::ContentError;

/// The resources and resource templates of an app, in its order.
#[derive(Debug, Clone, Default)]
pub struct ResourceIndex {
    listed: Vec<Json>,
    uris: HashSet<String>,
    dynamic: bool,
    templates: Vec<Json>,
}

impl ResourceIndex {
    /// Reads the content of the kind `resources`.
    ///
    /// # Errors
    /// [`ContentError`].
    pub fn read(resources: Bytes) -> Result<Self, ContentError> {
        #[derive(Deserialize)]
        struct Entry {
            uri: String,
        }
        let content = Json::parse(resources)?;
        let view: View<'_> = content.read()?;
        let mut index = Self::default();
        if let Some(resources) = view.resources.map(|part| content.part(part)) {
            if resources.is_string() {
                index.dynamic = resources.value::<Cow<'_, str>>()? == "dynamic";
            } else {
                for entry in resources.entries()? {
                    let definition = resources.part(entry);
                    index.uris.insert(definition.read::<Entry>()?.uri);
                    index.listed.push(definition);
                }
            }
        }
        if let Some(templates) = view.resource_templates.map(|part| content.part(part)) {
            let entries = templates.entries()?.into_iter();
            index.templates = entries.map(|entry| templates.part(entry)).collect();
        }
        Ok(index)
    }

    /// MCP's `Resource` objects, verbatim; none if the list is the app's to give.
    #[must_use]
    pub fn listed(&self) -> &[Json] {
        &self.listed
    }

    /// Whether the app gives the list itself, each time anew.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        self.dynamic
    }

    /// MCP's `ResourceTemplate` objects, verbatim.
    #[must_use]
    pub fn templates(&self) -> &[Json] {
        &self.templates
    }

    /// Whether the app may have a resource with this URI. Templates are not matched: where there
    /// are any, only the app knows.
    #[must_use]
    pub fn may_have(&self, uri: &str) -> bool {
        self.dynamic || !self.templates.is_empty() || self.uris.contains(uri)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(borrow, default)]
    resources: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resource_templates: Option<&'a RawValue>,
}
