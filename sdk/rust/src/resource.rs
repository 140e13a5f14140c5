//! What a resource, or a template of resources, says about itself, and what it holds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::json::{ArrayWriter, Json, JsonError, ObjectWriter};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::Deserialize;
use serde_json::Value;

use crate::completion::{Completer, Completers, Completion, CompletionRequest};
use crate::content::ResourceContents;
use crate::context::Context;
use crate::definition::{Definition, described};
use crate::result::CallError;

/// A resource's definition, as agents see it (MCP's `Resource`).
#[derive(Debug, Clone)]
pub struct Resource {
    uri: String,
    definition: Definition,
}

/// The definition of resources whose URIs follow a template (MCP's `ResourceTemplate`).
#[derive(Debug, Clone)]
pub struct ResourceTemplate {
    uri_template: String,
    definition: Definition,
    completers: Completers,
    lister: Option<Lister>,
}

type List = dyn Fn(Context) -> BoxFuture<'static, Result<Vec<Resource>, CallError>> + Send + Sync;

/// Lists resources each time that an agent asks.
#[derive(Clone)]
pub(crate) struct Lister(Arc<List>);

impl Lister {
    pub(crate) fn new<F, Fut>(list: F) -> Self
    where
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Resource>, CallError>> + Send + 'static,
    {
        Self(Arc::new(move |context| list(context).boxed()))
    }

    pub(crate) async fn list(&self, context: Context) -> Result<Vec<Resource>, CallError> {
        (self.0)(context).await
    }
}

impl fmt::Debug for Lister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lister")
    }
}

impl Resource {
    /// A resource with this URI; `name` is for people and programs.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        let uri = uri.into();
        let members = vec![("uri", Json::of(&uri)), ("name", Json::of(&name.into()))];
        Self {
            uri,
            definition: Definition::Members(members),
        }
    }

    /// A resource whose definition is passed on as it is, to the byte.
    ///
    /// # Errors
    /// [`JsonError`] if it is no JSON object with a `uri`.
    pub fn from_definition(definition: Json) -> Result<Self, JsonError> {
        #[derive(Deserialize)]
        struct Located {
            uri: String,
        }
        let Located { uri } = definition.read()?;
        Ok(Self {
            uri,
            definition: Definition::Verbatim(definition),
        })
    }

    /// Its size in bytes, if that is known.
    #[must_use]
    pub fn size(self, bytes: u64) -> Self {
        self.member("size", Value::from(bytes))
    }

    /// The resource's URI.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }
}

impl ResourceTemplate {
    /// Resources whose URIs follow this template (RFC 6570).
    #[must_use]
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        let uri_template = uri_template.into();
        let members = vec![
            ("uriTemplate", Json::of(&uri_template)),
            ("name", Json::of(&name.into())),
        ];
        Self {
            uri_template,
            definition: Definition::Members(members),
            completers: Completers::default(),
            lister: None,
        }
    }

    /// A template whose definition is passed on as it is, to the byte.
    ///
    /// # Errors
    /// [`JsonError`] if it is no JSON object with a `uriTemplate`.
    pub fn from_definition(definition: Json) -> Result<Self, JsonError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Located {
            uri_template: String,
        }
        let Located { uri_template } = definition.read()?;
        Ok(Self {
            uri_template,
            definition: Definition::Verbatim(definition),
            completers: Completers::default(),
            lister: None,
        })
    }

    /// Completes a variable.
    #[must_use]
    pub fn complete<C, F, Fut>(mut self, variable: impl Into<String>, complete: F) -> Self
    where
        C: Into<Completion>,
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, CallError>> + Send + 'static,
    {
        self.completers
            .add(variable.into(), Completer::new(complete));
        self
    }

    /// Lists the resources that there are, each time that an agent asks. Without it, agents make
    /// URIs by themselves.
    #[must_use]
    pub fn list<F, Fut>(mut self, list: F) -> Self
    where
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Resource>, CallError>> + Send + 'static,
    {
        self.lister = Some(Lister::new(list));
        self
    }

    /// The template.
    #[must_use]
    pub fn uri_template(&self) -> &str {
        &self.uri_template
    }

    pub(crate) fn completers(&self) -> &Completers {
        &self.completers
    }

    pub(crate) fn lister(&self) -> Option<&Lister> {
        self.lister.as_ref()
    }
}

macro_rules! located {
    ($definition:ty) => {
        described!($definition);

        impl $definition {
            /// What it is, for the model.
            #[must_use]
            pub fn description(self, text: impl Into<String>) -> Self {
                self.member("description", Value::String(text.into()))
            }

            /// Its media type.
            #[must_use]
            pub fn mime_type(self, mime_type: impl Into<String>) -> Self {
                self.member("mimeType", Value::String(mime_type.into()))
            }

            /// Hints for agents, such as `{"audience": ["user"], "priority": 0.5}`.
            #[must_use]
            pub fn annotations(self, annotations: Value) -> Self {
                self.member("annotations", annotations)
            }

            /// Its media type, if it has one.
            pub(crate) fn declared_mime_type(&self) -> Option<String> {
                self.definition.get("mimeType")
            }
        }
    };
}

located!(Resource);
located!(ResourceTemplate);

/// What reading a resource gives (MCP's `ReadResourceResult`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceResult {
    contents: Vec<ResourceContents>,
    ttl: Option<Duration>,
    verbatim: Option<Json>,
}

impl ResourceResult {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The whole result, as it is.
    #[must_use]
    pub fn verbatim(result: Json) -> Self {
        Self {
            verbatim: Some(result),
            ..Self::default()
        }
    }

    /// Adds contents: a resource that stands for several has more than one.
    #[must_use]
    pub fn with(mut self, contents: ResourceContents) -> Self {
        self.contents.push(contents);
        self
    }

    /// How long agents may keep it; not at all by default.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// The result as it is sent, for the resource that was asked for.
    pub(crate) fn to_json(&self, uri: &str, mime_type: Option<&str>) -> Json {
        if let Some(result) = &self.verbatim {
            return result.clone();
        }
        let mut contents = ArrayWriter::new();
        for item in &self.contents {
            contents.raw(&item.to_json(uri, mime_type));
        }
        let mut result = ObjectWriter::new();
        result.raw("contents", &contents.finish());
        if let Some(ttl) = self.ttl {
            result.plain("ttlMs", ttl.as_millis());
        }
        result.finish()
    }
}

impl From<ResourceContents> for ResourceResult {
    fn from(contents: ResourceContents) -> Self {
        Self::new().with(contents)
    }
}

impl From<&str> for ResourceResult {
    fn from(text: &str) -> Self {
        ResourceContents::text(text).into()
    }
}

impl From<String> for ResourceResult {
    fn from(text: String) -> Self {
        ResourceContents::text(text).into()
    }
}

impl From<Vec<u8>> for ResourceResult {
    fn from(bytes: Vec<u8>) -> Self {
        ResourceContents::blob(bytes).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_have_what_was_said() {
        let resource = Resource::new("app://a", "a")
            .description("d")
            .mime_type("text/plain")
            .size(3)
            .annotations(json!({"priority": 1}))
            .title("A");
        assert_eq!(
            resource.definition().as_str(),
            r#"{"uri":"app://a","name":"a","description":"d","mimeType":"text/plain","size":3,"annotations":{"priority":1},"title":"A"}"#
        );
        assert_eq!(resource.declared_mime_type().unwrap(), "text/plain");
        let template = ResourceTemplate::new("app://{x}", "x").meta(json!({}));
        assert_eq!(
            template.definition().as_str(),
            r#"{"uriTemplate":"app://{x}","name":"x","_meta":{}}"#
        );
        assert_eq!(template.declared_mime_type(), None);
        assert!(Resource::from_definition(Json::EMPTY_OBJECT).is_err());
        assert!(ResourceTemplate::from_definition(Json::EMPTY_OBJECT).is_err());
    }

    #[test]
    fn results_name_the_resource_that_was_asked_for() {
        let table = [
            (
                ResourceResult::from("x"),
                r#"{"contents":[{"uri":"app://a","mimeType":"m","text":"x"}]}"#,
            ),
            (
                ResourceResult::from(vec![1]).ttl(Duration::from_secs(2)),
                r#"{"contents":[{"uri":"app://a","mimeType":"m","blob":"AQ=="}],"ttlMs":2000}"#,
            ),
            (ResourceResult::new(), r#"{"contents":[]}"#),
            (ResourceResult::verbatim(Json::parse("{ }").unwrap()), "{ }"),
        ];
        for (result, json) in table {
            assert_eq!(result.to_json("app://a", Some("m")).as_str(), json);
        }
    }
}
