//! The prompts of an application: definitions and the handlers behind them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use clientmcp_core::json::Json;
use futures_util::future::FutureExt as _;
use serde::de::DeserializeOwned;

use crate::completion::Completers;
use crate::context::Context;
use crate::handler::{Handler, read_params};
use crate::prompt::{Prompt, PromptResult};
use crate::reply::Reply;
use crate::result::{CallError, RpcError};

/// The prompts of an application, in the order in which agents see them.
#[derive(Clone, Default)]
pub struct Prompts {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    prompt: Prompt,
    handler: Handler,
}

impl Prompts {
    /// No prompts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a prompt. A prompt of the same name is replaced in its place.
    ///
    /// The handler's first parameter is what the arguments are read into: any type that serde can
    /// read from an object of texts, a `HashMap<String, String>` among them. Arguments that are
    /// missing, or cannot be read, are refused.
    #[must_use]
    pub fn prompt<A, R, F, Fut>(mut self, prompt: Prompt, handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Reply<PromptResult>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        let required = prompt.required();
        let handler = move |context: Context| {
            let read = check(&required, context.arguments()).and_then(|()| {
                let arguments = read_params(context.arguments())?;
                Ok(handler(arguments, context))
            });
            async move {
                let answer = read?.await?.into_answer();
                Ok(answer.map(|result| result.to_json()))
            }
            .boxed()
        };
        let entry = Entry {
            prompt,
            handler: Arc::new(handler),
        };
        let name = entry.prompt.name();
        match self
            .entries
            .iter_mut()
            .find(|old| old.prompt.name() == name)
        {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        self
    }

    /// Takes a prompt away.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.entries.retain(|entry| entry.prompt.name() != name);
        self
    }

    /// The names of the prompts, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.prompt.name())
    }

    /// Whether any argument can be completed.
    pub(crate) fn completes(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| !entry.prompt.completers().is_empty())
    }

    /// The definitions as they are registered.
    pub(crate) fn definitions(&self) -> Vec<Json> {
        let entries = self.entries.iter();
        entries.map(|entry| entry.prompt.definition()).collect()
    }

    /// By name.
    pub(crate) fn handlers(&self) -> HashMap<String, (Handler, Completers)> {
        let entries = self.entries.iter();
        entries
            .map(|Entry { prompt, handler }| {
                let completers = prompt.completers().clone();
                (prompt.name().to_owned(), (Arc::clone(handler), completers))
            })
            .collect()
    }
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Whether all arguments are there that may not be left out.
fn check(required: &[String], arguments: &Json) -> Result<(), CallError> {
    if required.is_empty() {
        return Ok(());
    }
    let given = arguments.members().unwrap_or_default();
    let missing: Vec<&str> = required
        .iter()
        .filter(|name| !given.iter().any(|(given, _)| given == name.as_str()))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("missing arguments: {}", missing.join(", "));
    Err(RpcError::invalid_params(message).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Argument;

    async fn nothing(_: HashMap<String, String>, _: Context) -> Result<&'static str, CallError> {
        Ok("")
    }

    #[test]
    fn prompts_keep_their_order_and_a_name_is_unique() {
        let prompts = Prompts::new()
            .prompt(Prompt::new("b", "1"), nothing)
            .prompt(Prompt::new("a", "2"), nothing);
        assert!(!prompts.completes());
        let argument = Argument::new("x", "")
            .complete(|request, _| async move { Ok(request.matching(["one", "two"])) });
        let prompts = prompts.prompt(Prompt::new("b", "3").argument(argument), nothing);
        assert_eq!(prompts.names().collect::<Vec<_>>(), ["b", "a"]);
        assert!(prompts.completes());
        assert!(prompts.definitions()[0].as_str().contains("\"3\""));
        assert!(prompts.handlers()["b"].1.get("x").is_some());
        assert_eq!(prompts.without("b").names().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn missing_arguments_are_named() {
        let required = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let arguments = Json::parse(r#"{"b":"1","d":"2"}"#).unwrap();
        let error = check(&required, &arguments).unwrap_err();
        assert_eq!(error.to_string(), "missing arguments: a, c (-32602)");
        assert_eq!(check(&required[1..2], &arguments), Ok(()));
        assert_eq!(check(&[], &Json::EMPTY_OBJECT), Ok(()));
    }
}
