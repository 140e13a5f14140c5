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

/// What else an app says of itself, beside its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    /// MCP's `Implementation`: an object with `name` and `version`.
    pub server_info: Option<Json>,
    /// What the agent's model is told about the app.
    pub instructions: Option<String>,
    /// An object: by tool name `requires`, `timeoutMs`, `task`.
    pub tool_options: Option<Json>,
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
    /// Whether the app remembers call IDs (the feature `resume`).
    pub resume: bool,
    /// MCP's `Tool` objects.
    pub tools: ByHash<Vec<Json>>,
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
            ByHash::Full(tools) => {
                let mut array = ArrayWriter::new();
                for tool in tools {
                    array.raw(tool);
                }
                object.raw("tools", &array.finish())
            }
        };
        object.finish()
    }
}

fn write_rest(object: &mut ObjectWriter, rest: &Rest) {
    object
        .raw_if("serverInfo", rest.server_info.as_ref())
        .string_if("instructions", rest.instructions.as_deref())
        .raw_if("toolOptions", rest.tool_options.as_ref());
    if let Some(ttl_ms) = rest.ttl_ms {
        object.plain("ttlMs", ttl_ms);
    }
}

fn by_hash(hash: &ContentHash) -> Json {
    let mut object = ObjectWriter::new();
    object.name("hash", hash);
    object.finish()
}
