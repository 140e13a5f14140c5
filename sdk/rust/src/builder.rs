//! What an application says before it connects.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::ids::InstanceId;
use clientmcp_core::json::Json;
use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::app::App;
use crate::context::Context;
use crate::dial::Dialer;
use crate::driver::{Driver, TokenProvider, Told};
use crate::offers::Offers;
use crate::prompt::{Prompt, PromptResult};
use crate::prompts::Prompts;
use crate::registration::{About, Registration, random_instance};
use crate::reply::Reply;
use crate::resource::{Resource, ResourceResult, ResourceTemplate};
use crate::resources::Resources;
use crate::result::{CallError, ToolResult};
use crate::session::Session;
use crate::status::{Status, Stopped};
use crate::token::{Token, TokenReason, Tokens};
use crate::tool::Tool;
use crate::tools::Tools;

/// Commands that may wait for the loop.
const COMMANDS: usize = 16;

/// An application that is about to connect. [`App::builder`] makes one.
#[must_use = "an application connects when `connect` is called"]
pub struct Builder {
    url: String,
    token: TokenFrom,
    about: About,
    offers: Offers,
    instance: Option<String>,
    local: Option<IpAddr>,
    extra_roots: Vec<Vec<u8>>,
}

enum TokenFrom {
    Nowhere,
    Text(String),
    Provider(TokenProvider),
}

impl Builder {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            token: TokenFrom::Nowhere,
            about: About::default(),
            offers: Offers::default(),
            instance: None,
            local: None,
            extra_roots: Vec::new(),
        }
    }

    /// The application's token, for good: when it ends the application stops. Where that matters
    /// use [`token_provider`](Self::token_provider).
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = TokenFrom::Text(token.into());
        self
    }

    /// What yields a token. It is asked before the first connection, again when four fifths of the
    /// token's life are over, and once after a refusal. An error is taken for a passing one, and
    /// the provider is asked again later; an empty token says that there is none to be had.
    pub fn token_provider<F, Fut, E>(mut self, provider: F) -> Self
    where
        F: Fn(TokenReason) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, E>> + Send + 'static,
        E: Display,
    {
        self.token = TokenFrom::Provider(Arc::new(move |reason| {
            let answer = provider(reason);
            async move { answer.await.map_err(|error| error.to_string()) }.boxed()
        }));
        self
    }

    /// Name and version of the application, as agents see them.
    pub fn server_info(mut self, name: &str, version: &str) -> Self {
        self.about.server_info = Some(Json::of(&json!({"name": name, "version": version})));
        self
    }

    /// The same with all that MCP's `Implementation` has, as it is.
    pub fn server_info_json(mut self, implementation: Json) -> Self {
        self.about.server_info = Some(implementation);
        self
    }

    /// What a model should know about the application as a whole.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.about.instructions = Some(instructions.into());
        self
    }

    /// How long agents may keep the lists; not at all by default.
    pub fn list_ttl(mut self, ttl: Duration) -> Self {
        let ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        self.about.ttl_ms = Some(ms);
        self
    }

    /// Adds a tool; see [`Tools::tool`].
    pub fn tool<A, R, F, Fut>(mut self, tool: Tool, handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Reply<ToolResult>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        self.offers.tools = self.offers.tools.tool(tool, handler);
        self
    }

    /// Adds a tool whose schema is that of its arguments' type; see [`Tools::typed_tool`].
    pub fn typed_tool<A, R, F, Fut>(mut self, tool: Tool, handler: F) -> Self
    where
        A: JsonSchema + DeserializeOwned + Send + 'static,
        R: Reply<ToolResult>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        self.offers.tools = self.offers.tools.typed_tool(tool, handler);
        self
    }

    /// Adds a tool whose parameters and results pass verbatim; see [`Tools::raw_tool`].
    pub fn raw_tool<F, Fut>(mut self, tool: Tool, handler: F) -> Self
    where
        F: Fn(Json, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, CallError>> + Send + 'static,
    {
        self.offers.tools = self.offers.tools.raw_tool(tool, handler);
        self
    }

    /// Sets all tools at once.
    pub fn tools(mut self, tools: Tools) -> Self {
        self.offers.tools = tools;
        self
    }

    /// Adds a prompt; see [`Prompts::prompt`].
    pub fn prompt<A, R, F, Fut>(mut self, prompt: Prompt, handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Reply<PromptResult>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        self.offers.prompts = self.offers.prompts.prompt(prompt, handler);
        self
    }

    /// Sets all prompts at once.
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.offers.prompts = prompts;
        self
    }

    /// Adds a resource; see [`Resources::resource`].
    pub fn resource<R, F, Fut>(mut self, resource: Resource, handler: F) -> Self
    where
        R: Reply<ResourceResult>,
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        self.offers.resources = self.offers.resources.resource(resource, handler);
        self
    }

    /// Adds resources whose URIs follow a template; see [`Resources::template`].
    pub fn resource_template<V, R, F, Fut>(mut self, template: ResourceTemplate, handler: F) -> Self
    where
        V: DeserializeOwned + Send + 'static,
        R: Reply<ResourceResult>,
        F: Fn(V, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        self.offers.resources = self.offers.resources.template(template, handler);
        self
    }

    /// Adds resources that come and go; see [`Resources::dynamic`].
    pub fn dynamic_resources<R, L, ListFut, F, Fut>(mut self, list: L, read: F) -> Self
    where
        L: Fn(Context) -> ListFut + Send + Sync + 'static,
        ListFut: Future<Output = Result<Vec<Resource>, CallError>> + Send + 'static,
        R: Reply<ResourceResult>,
        F: Fn(String, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, CallError>> + Send + 'static,
    {
        self.offers.resources = self.offers.resources.dynamic(list, read);
        self
    }

    /// Sets all resources and their templates at once.
    pub fn resources(mut self, resources: Resources) -> Self {
        self.offers.resources = resources;
        self
    }

    /// The name of this run of the application, `[A-Za-z0-9_-]{1,128}`; random by default. Two
    /// runs of one name at the same time take each other's connection.
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = Some(instance.into());
        self
    }

    /// The local address to connect from: one address has some 28,000 ports, so load generators
    /// need several.
    pub fn connect_from(mut self, local: IpAddr) -> Self {
        self.local = Some(local);
        self
    }

    /// Trusts one more certificate (DER), beside what the system trusts.
    pub fn trust_certificate(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.extra_roots.push(der.into());
        self
    }

    /// Connects, and stays connected until the [`App`] is closed or dropped. Mistakes in what the
    /// builder was told are reported as [`Status::Stopped`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use = "the application leaves the cluster when its `App` is dropped"]
    pub fn connect(self) -> App {
        let (commands, received) = mpsc::channel(COMMANDS);
        let (status, seen) = watch::channel(Status::Connecting);
        let (watched, uris) = watch::channel(Vec::new());
        let told = Told {
            status: status.clone(),
            watched,
        };
        match self.driver(received, told) {
            Ok(driver) => {
                tokio::spawn(driver.run());
            }
            Err(reason) => {
                tracing::warn!("stopped: {reason}");
                status.send_replace(Status::Stopped(Stopped { code: None, reason }));
            }
        }
        App::new(commands, seen, uris)
    }

    pub(crate) fn driver(
        self,
        commands: mpsc::Receiver<crate::driver::Command>,
        told: Told,
    ) -> Result<Driver, String> {
        let dialer = Dialer::new(&self.url, self.local, self.extra_roots)?;
        let (tokens, provider) = match self.token {
            TokenFrom::Nowhere => return Err("there is no token".to_owned()),
            TokenFrom::Text(text) => (Tokens::fixed(Token::parse(&text)?), None),
            TokenFrom::Provider(provider) => (Tokens::renewable(), Some(provider)),
        };
        let instance = match self.instance {
            Some(text) => InstanceId::parse(&text).map_err(|error| error.to_string())?,
            None => random_instance(),
        };
        let registration = Registration::new(instance, self.about, self.offers.offer());
        let session = Session::new(self.url, registration, tokens, rand::random::<f64>);
        Ok(Driver::new(
            session,
            self.offers,
            dialer,
            provider,
            commands,
            told,
        ))
    }
}
