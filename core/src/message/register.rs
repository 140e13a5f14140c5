//! `register` as SDKs write it (SPEC.md §4.4). How the cluster reads and checks it is
//! [`crate::register`].

use crate::ids::InstanceId;
use crate::json::{ArrayWriter, Json, ObjectWriter};
use crate::registration::ContentHash;

/// A kind of a registration in full, or by the hash that `registered` named for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByHash<T> {
    /// In full.
    Full(T),
    /// By the hash of the same content.
    Hash(ContentHash),
}

/// The resources of an app, with their templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resources {
    /// MCP's `Resource` objects.
    pub list: ResourceList,
    /// MCP's `ResourceTemplate` objects.
    pub templates: Vec<Json>,
}

/// Who lists the resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceList {
    /// The cluster: these.
    Listed(Vec<Json>),
    /// The app, each time it is asked.
    Dynamic,
}

/// What else an app says of itself, beside what it offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    /// MCP's `Implementation`: an object with `name` and `version`.
    pub server_info: Option<Json>,
    /// What the agent's model is told about the app.
    pub instructions: Option<String>,
    /// An object: by tool name `requires`, `timeoutMs`, `task`.
    pub tool_options: Option<Json>,
    /// Whether it completes arguments.
    pub completions: bool,
    /// How long agents may cache lists, in milliseconds.
    pub ttl_ms: Option<u64>,
}

/// A `register`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// This run of the app.
    pub instance: InstanceId,
    /// Counts this instance's connections, from 1.
    pub connection: u64,
    /// Whether an earlier connection of the instance still stands that this one is to take over
    /// from: it takes over from no other instance then.
    pub moving: bool,
    /// Whether the app remembers call IDs (the feature `resume`).
    pub resume: bool,
    /// MCP's `Tool` objects.
    pub tools: ByHash<Vec<Json>>,
    /// MCP's `Prompt` objects.
    pub prompts: ByHash<Vec<Json>>,
    /// Resources and their templates.
    pub resources: ByHash<Resources>,
    /// The rest.
    pub rest: ByHash<Rest>,
}

impl Register {
    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::new();
        object
            .name("type", "register")
            .name("instance", &self.instance)
            .plain("connection", self.connection);
        if self.moving {
            object.plain("moving", true);
        }
        if self.resume {
            object.raw("features", &Json::of(&["resume"]));
        }
        match &self.rest {
            ByHash::Hash(hash) => {
                object.raw("rest", &by_hash(hash));
            }
            ByHash::Full(rest) => write_rest(&mut object, rest),
        }
        match &self.tools {
            ByHash::Hash(hash) => object.raw("tools", &by_hash(hash)),
            ByHash::Full(tools) => object.raw("tools", &list(tools)),
        };
        match &self.prompts {
            ByHash::Hash(hash) => {
                object.raw("prompts", &by_hash(hash));
            }
            ByHash::Full(prompts) => write_list(&mut object, "prompts", prompts),
        }
        match &self.resources {
            ByHash::Hash(hash) => {
                object.raw("resources", &by_hash(hash));
            }
            ByHash::Full(resources) => write_resources(&mut object, resources),
        }
        object.finish()
    }
}

fn write_rest(object: &mut ObjectWriter, rest: &Rest) {
    object
        .raw_if("serverInfo", rest.server_info.as_ref())
        .string_if("instructions", rest.instructions.as_deref())
        .raw_if("toolOptions", rest.tool_options.as_ref());
    if rest.completions {
        object.plain("completions", true);
    }
    if let Some(ttl_ms) = rest.ttl_ms {
        object.plain("ttlMs", ttl_ms);
    }
}

fn write_resources(object: &mut ObjectWriter, resources: &Resources) {
    match &resources.list {
        ResourceList::Dynamic => {
            object.name("resources", "dynamic");
        }
        ResourceList::Listed(resources) => write_list(object, "resources", resources),
    }
    write_list(object, "resourceTemplates", &resources.templates);
}

/// A list; none is as good as an empty one.
fn write_list(object: &mut ObjectWriter, key: &str, entries: &[Json]) {
    if !entries.is_empty() {
        object.raw(key, &list(entries));
    }
}

fn list(entries: &[Json]) -> Json {
    let mut array = ArrayWriter::new();
    for entry in entries {
        array.raw(entry);
    }
    array.finish()
}

fn by_hash(hash: &ContentHash) -> Json {
    let mut object = ObjectWriter::new();
    object.name("hash", hash);
    object.finish()
}
