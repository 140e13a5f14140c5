//! Completing arguments of prompts and variables of resource templates.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use clientmcp_core::json::{Json, ObjectWriter};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde::Deserialize;

use crate::context::Context;
use crate::result::CallError;

/// Values that one answer may have (MCP's `CompleteResult`).
const VALUES: usize = 100;

/// What is to be completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionRequest {
    /// What stands there so far.
    pub value: String,
    /// The other arguments, as far as they are known.
    pub arguments: HashMap<String, String>,
}

impl CompletionRequest {
    /// Those of the candidates that begin with what stands there so far, whatever their case.
    pub fn matching<S: Into<String>>(&self, candidates: impl IntoIterator<Item = S>) -> Completion {
        let typed = self.value.to_lowercase();
        let candidates = candidates.into_iter().map(Into::into);
        let matching = candidates.filter(|text| text.to_lowercase().starts_with(&typed));
        Completion::from(matching.collect::<Vec<_>>())
    }
}

/// Completions, the best first. Agents get the first 100, and are told how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    values: Vec<String>,
    total: Option<u64>,
}

impl Completion {
    /// How many there are altogether, if these are but the best.
    #[must_use]
    pub fn total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    pub(crate) fn to_json(&self) -> Json {
        let values = &self.values[..self.values.len().min(VALUES)];
        let own = self.values.len() as u64;
        let total = self.total.unwrap_or(own).max(own);
        let mut completion = ObjectWriter::new();
        completion
            .raw("values", &Json::of(values))
            .plain("total", total)
            .plain("hasMore", total > values.len() as u64);
        let mut result = ObjectWriter::new();
        result.raw("completion", &completion.finish());
        result.finish()
    }
}

impl<S: Into<String>> From<Vec<S>> for Completion {
    fn from(values: Vec<S>) -> Self {
        Self {
            values: values.into_iter().map(Into::into).collect(),
            total: None,
        }
    }
}

type Complete = dyn Fn(CompletionRequest, Context) -> BoxFuture<'static, Result<Completion, CallError>>
    + Send
    + Sync;

/// Completes one argument.
#[derive(Clone)]
pub(crate) struct Completer(Arc<Complete>);

impl Completer {
    pub(crate) fn new<C, F, Fut>(complete: F) -> Self
    where
        C: Into<Completion>,
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, CallError>> + Send + 'static,
    {
        Self(Arc::new(move |request, context| {
            let values = complete(request, context);
            async move { Ok(values.await?.into()) }.boxed()
        }))
    }

    pub(crate) async fn complete(
        &self,
        request: CompletionRequest,
        context: Context,
    ) -> Result<Completion, CallError> {
        (self.0)(request, context).await
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completer")
    }
}

/// Completers by the name of the argument.
#[derive(Debug, Clone, Default)]
pub(crate) struct Completers(Vec<(String, Completer)>);

impl Completers {
    /// Adds one; a later one of the same name counts.
    pub(crate) fn add(&mut self, argument: String, completer: Completer) {
        self.0.retain(|(name, _)| *name != argument);
        self.0.push((argument, completer));
    }

    pub(crate) fn get(&self, argument: &str) -> Option<&Completer> {
        let found = self.0.iter().find(|(name, _)| name == argument);
        found.map(|(_, completer)| completer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The params of `completion/complete`.
#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    #[serde(rename = "ref")]
    pub(crate) reference: Reference,
    argument: Argument,
    #[serde(default)]
    context: Option<Known>,
}

/// What the argument belongs to.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Debug, Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Debug, Default, Deserialize)]
struct Known {
    #[serde(default)]
    arguments: Option<HashMap<String, String>>,
}

impl Params {
    /// The argument's name, and what is to be completed.
    pub(crate) fn into_request(self) -> (String, CompletionRequest) {
        let known = self.context.unwrap_or_default().arguments;
        let request = CompletionRequest {
            value: self.argument.value,
            arguments: known.unwrap_or_default(),
        };
        (self.argument.name, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_get_a_hundred_and_are_told_of_the_rest() {
        let few = Completion::from(vec!["a", "b"]);
        assert_eq!(
            few.to_json().as_str(),
            r#"{"completion":{"values":["a","b"],"total":2,"hasMore":false}}"#
        );
        let more = few.total(7).to_json();
        assert!(more.as_str().ends_with(r#""total":7,"hasMore":true}}"#));
        let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
        let many = Completion::from(many).to_json();
        assert!(
            many.as_str()
                .ends_with(r#""99"],"total":101,"hasMore":true}}"#)
        );
    }

    #[test]
    fn candidates_are_matched_by_their_beginning() {
        let request = CompletionRequest {
            value: "Re".to_owned(),
            ..CompletionRequest::default()
        };
        assert_eq!(
            request.matching(["red", "Green", "REAL"]),
            Completion::from(vec!["red", "REAL"])
        );
    }
}
