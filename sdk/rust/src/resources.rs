//! The resources of an application: definitions and the handlers behind them.

use std::fmt;
use std::sync::Arc;

use clientmcp_core::json::{ArrayWriter, Json, ObjectWriter};
use clientmcp_core::message::{self, ResourceList};
use futures_util::future::FutureExt as _;
use serde::de::DeserializeOwned;

use crate::completion::Completers;
use crate::context::Context;
use crate::handler::{Handler, read_params};
use crate::reply::{Answer, Reply};
use crate::resource::{Lister, Resource, ResourceResult, ResourceTemplate};
use crate::result::CallError;
use crate::uri_template::UriTemplate;

/// The resources of an application and their templates, in the order in which agents see them.
#[derive(Clone, Default)]
pub struct Resources {
    resources: Vec<(Resource, Handler)>,
    templates: Vec<Template>,
    dynamic: Option<(Lister, Handler)>,
}

#[derive(Clone)]
struct Template {
    definition: ResourceTemplate,
    /// What its URIs look like; none follows one that could not be read.
    uris: Option<UriTemplate>,
    handler: Handler,
}

impl Resources {
    /// No resources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a resource. A resource of the same URI is replaced in its place.
    #[must_use]
    pub fn resource<R, F, Fut>(mut self, resource: Resource, handler: F) -> Self
    where
        R: Reply<ResourceResult>,
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        let mime_type = resource.declared_mime_type();
        let read = reading(mime_type, move |_, context| Ok(handler(context)));
        let entry = (resource, read);
        let uri = entry.0.uri();
        match self.resources.iter_mut().find(|(old, _)| old.uri() == uri) {
            Some(old) => *old = entry,
            None => self.resources.push(entry),
        }
        self
    }

    /// Adds resources whose URIs follow a template. The same template is replaced in its place.
    ///
    /// The handler's first parameter is what the template's variables are read into: any type that
    /// serde can read from an object of texts, a `HashMap<String, String>` among them. Of several
    /// templates that a URI follows, the first counts.
    #[must_use]
    pub fn template<V, R, F, Fut>(mut self, template: ResourceTemplate, handler: F) -> Self
    where
        V: DeserializeOwned + Send + 'static,
        R: Reply<ResourceResult>,
        F: Fn(V, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        let uris = UriTemplate::parse(template.uri_template());
        if let Err(problem) = &uris {
            let template = template.uri_template();
            tracing::warn!(template, "no URI will follow this template: {problem}");
        }
        let mime_type = template.declared_mime_type();
        let read = reading(mime_type, move |_, context: Context| {
            Ok(handler(read_params(context.arguments())?, context))
        });
        let entry = Template {
            definition: template,
            uris: uris.ok(),
            handler: read,
        };
        let key = entry.definition.uri_template();
        let mut templates = self.templates.iter_mut();
        match templates.find(|old| old.definition.uri_template() == key) {
            Some(old) => *old = entry,
            None => self.templates.push(entry),
        }
        self
    }

    /// Resources that come and go: `list` says which there are each time that an agent asks, and
    /// `read` reads one by its URI. It is asked for each URI that is neither a resource of its own
    /// nor follows a template; [`Context::resource_not_found`] is its answer to those that it does
    /// not know.
    #[must_use]
    pub fn dynamic<R, L, ListFut, F, Fut>(mut self, list: L, read: F) -> Self
    where
        L: Fn(Context) -> ListFut + Send + Sync + 'static,
        ListFut: Future<Output = Result<Vec<Resource>, CallError>> + Send + 'static,
        R: Reply<ResourceResult>,
        F: Fn(String, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        let read = reading(None, move |uri, context| Ok(read(uri, context)));
        self.dynamic = Some((Lister::new(list), read));
        self
    }

    /// Takes a resource away.
    #[must_use]
    pub fn without(mut self, uri: &str) -> Self {
        self.resources.retain(|(resource, _)| resource.uri() != uri);
        self
    }

    /// The URIs of the resources that are always listed, in their order.
    pub fn uris(&self) -> impl Iterator<Item = &str> {
        self.resources.iter().map(|(resource, _)| resource.uri())
    }

    /// Whether any variable can be completed.
    pub(crate) fn completes(&self) -> bool {
        let mut templates = self.templates.iter();
        templates.any(|template| !template.definition.completers().is_empty())
    }

    /// What is registered.
    pub(crate) fn content(&self) -> message::Resources {
        let resources = self.resources.iter();
        let list = if self.is_dynamic() {
            ResourceList::Dynamic
        } else {
            ResourceList::Listed(
                resources
                    .map(|(resource, _)| resource.definition())
                    .collect(),
            )
        };
        let templates = self.templates.iter();
        message::Resources {
            list,
            templates: templates
                .map(|template| template.definition.definition())
                .collect(),
        }
    }

    /// What reads a URI, and the variables in it.
    pub(crate) fn find(&self, uri: &str) -> Option<(&Handler, Json)> {
        let fixed = self
            .resources
            .iter()
            .find(|(resource, _)| resource.uri() == uri);
        if let Some((_, handler)) = fixed {
            return Some((handler, Json::EMPTY_OBJECT));
        }
        let mut templates = self.templates.iter();
        let found = templates.find_map(|template| {
            let variables = template.uris.as_ref()?.matches(uri)?;
            Some((&template.handler, Json::of(&variables)))
        });
        found.or_else(|| {
            let (_, handler) = self.dynamic.as_ref()?;
            Some((handler, Json::EMPTY_OBJECT))
        })
    }

    /// The completers of a template.
    pub(crate) fn completers(&self, uri_template: &str) -> Option<&Completers> {
        let mut templates = self.templates.iter();
        let found = templates.find(|entry| entry.definition.uri_template() == uri_template);
        found.map(|entry| entry.definition.completers())
    }

    /// What answers `resources/list`, which only reaches applications whose list is dynamic.
    pub(crate) fn list_handler(&self) -> Option<Handler> {
        if !self.is_dynamic() {
            return None;
        }
        let all = Arc::new(self.clone());
        Some(Arc::new(move |context| {
            let all = Arc::clone(&all);
            async move { all.list(context).await }.boxed()
        }))
    }

    fn is_dynamic(&self) -> bool {
        self.dynamic.is_some() || self.listers().next().is_some()
    }

    fn listers(&self) -> impl Iterator<Item = &Lister> {
        let templates = self.templates.iter();
        let listers = templates.filter_map(|template| template.definition.lister());
        listers.chain(self.dynamic.as_ref().map(|(lister, _)| lister))
    }

    /// All resources that there are.
    async fn list(&self, context: Context) -> Result<Answer<Json>, CallError> {
        let mut list = ArrayWriter::new();
        for (resource, _) in &self.resources {
            list.raw(&resource.definition());
        }
        for lister in self.listers() {
            for resource in lister.list(context.clone()).await? {
                list.raw(&resource.definition());
            }
        }
        let mut result = ObjectWriter::new();
        result.raw("resources", &list.finish());
        Ok(result.finish().into())
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let templates = self.templates.iter();
        let templates = templates.map(|template| template.definition.uri_template());
        f.debug_list()
            .entries(self.uris().chain(templates))
            .finish()
    }
}

/// A handler that reads a resource, by what yields the future of its contents.
fn reading<R, F, Fut>(mime_type: Option<String>, read: F) -> Handler
where
    R: Reply<ResourceResult>,
    F: Fn(String, Context) -> Result<Fut, CallError> + Send + Sync + 'static,
    Fut: Future<Output = Result<R, CallError>> + Send + 'static,
{
    Arc::new(move |context: Context| {
        let uri = context.uri().unwrap_or_default().to_owned();
        let contents = read(uri.clone(), context);
        let mime_type = mime_type.clone();
        async move {
            let answer = contents?.await?.into_answer();
            Ok(answer.map(|result| result.to_json(&uri, mime_type.as_deref())))
        }
        .boxed()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    async fn fixed(_: Context) -> Result<&'static str, CallError> {
        Ok("")
    }

    async fn any(_: HashMap<String, String>, _: Context) -> Result<&'static str, CallError> {
        Ok("")
    }

    fn variables(resources: &Resources, uri: &str) -> Option<String> {
        let (_, variables) = resources.find(uri)?;
        Some(variables.as_str().to_owned())
    }

    #[test]
    fn resources_are_found_before_templates_and_these_in_their_order() {
        let resources = Resources::new()
            .template(ResourceTemplate::new("app://{x}", "x"), any)
            .template(ResourceTemplate::new("app://{y}", "y"), any)
            .template(ResourceTemplate::new("{broken", "z"), any)
            .resource(Resource::new("app://a", "a"), fixed)
            .resource(Resource::new("app://a", "again"), fixed);
        assert_eq!(resources.uris().collect::<Vec<_>>(), ["app://a"]);
        assert_eq!(variables(&resources, "app://a").unwrap(), "{}");
        assert_eq!(variables(&resources, "app://b").unwrap(), r#"{"x":"b"}"#);
        assert_eq!(variables(&resources, "other:b"), None);
        let content = resources.content();
        assert_eq!(content.templates.len(), 3);
        let ResourceList::Listed(list) = content.list else {
            panic!("nothing is dynamic");
        };
        assert_eq!(list.len(), 1);
        assert!(list[0].as_str().contains("again"));
        assert!(resources.list_handler().is_none());
        assert_eq!(resources.without("app://a").uris().count(), 0);
    }

    #[test]
    fn a_list_that_is_made_each_time_is_dynamic() {
        let template = ResourceTemplate::new("app://{x}", "x");
        let listed = template.clone().list(async |_| Ok(Vec::new()));
        let by_template = Resources::new().template(listed, any);
        let own = Resources::new().dynamic(async |_| Ok(Vec::new()), async |_, _| Ok(""));
        for resources in [by_template, own] {
            assert_eq!(resources.content().list, ResourceList::Dynamic);
            assert!(resources.list_handler().is_some());
            assert!(resources.find("app://x").is_some());
        }
        let resources = Resources::new().template(template, any);
        assert!(resources.list_handler().is_none());
        assert!(resources.completers("app://{x}").is_some());
        assert!(resources.completers("app://{y}").is_none());
    }
}
