//! The JSON schemas of MCP, one per revision (`e2e/schemas/`, published with the specification):
//! what the cluster says must be valid in the revision that the agent speaks.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use boon::{Compiler, SchemaIndex, Schemas};
use clientmcp_core::mcp::version::{Era, Version};
use serde_json::Value;

/// Checks a message of the cluster in a revision; `method` is that of the request it answers.
///
/// # Panics
/// If the message is not valid.
pub fn check(version: Version, method: &str, message: &Value) {
    let names = Names::of(version);
    if message.get("method").is_some() {
        let is_request = message.get("id").is_some();
        let definition = if is_request {
            "ServerRequest"
        } else {
            "ServerNotification"
        };
        validate(version, definition, message);
    } else if let Some(result) = message.get("result") {
        validate(version, names.response, message);
        validate(version, names.result(method, result), result);
    } else {
        validate(version, names.error, message);
        if let Some(definition) = names.error_of(&message["error"]["code"]) {
            validate(version, definition, message);
        }
    }
}

/// Where the revisions name things differently.
struct Names {
    modern: bool,
    response: &'static str,
    error: &'static str,
}

impl Names {
    fn of(version: Version) -> Self {
        let (response, error) = match version {
            Version::V2025_03_26 | Version::V2025_06_18 => ("JSONRPCResponse", "JSONRPCError"),
            Version::V2025_11_25 | Version::V2026_07_28 => {
                ("JSONRPCResultResponse", "JSONRPCErrorResponse")
            }
        };
        Self {
            modern: version.era() == Era::Modern,
            response,
            error,
        }
    }

    fn result(&self, method: &str, result: &Value) -> &'static str {
        if self.modern && result["resultType"] == "input_required" {
            return "InputRequiredResult";
        }
        if self.modern && result["resultType"] == "task" {
            return "CreateTaskResult";
        }
        match method {
            "tasks/get" => "GetTaskResult",
            "tasks/update" => "UpdateTaskResult",
            "tasks/cancel" => "CancelTaskResult",
            "initialize" => "InitializeResult",
            "server/discover" => "DiscoverResult",
            "tools/list" => "ListToolsResult",
            "tools/call" => "CallToolResult",
            "prompts/list" => "ListPromptsResult",
            "prompts/get" => "GetPromptResult",
            "resources/list" => "ListResourcesResult",
            "resources/read" => "ReadResourceResult",
            "resources/templates/list" => "ListResourceTemplatesResult",
            "subscriptions/listen" => "SubscriptionsListenResult",
            "completion/complete" => "CompleteResult",
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                "EmptyResult"
            }
            other => panic!("no schema is known for the result of {other}"),
        }
    }

    fn error_of(&self, code: &Value) -> Option<&'static str> {
        match code.as_i64() {
            Some(-32_020) if self.modern => Some("HeaderMismatchError"),
            Some(-32_021) if self.modern => Some("MissingRequiredClientCapabilityError"),
            Some(-32_022) if self.modern => Some("UnsupportedProtocolVersionError"),
            _ => None,
        }
    }
}

fn validate(version: Version, definition: &'static str, instance: &Value) {
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let index = made.definition(version, definition);
    if let Err(error) = made.schemas.validate(instance, index) {
        // Not under the lock: other tests of the process go on.
        let error = format!("{error:#}");
        drop(made);
        panic!(
            "no valid {definition} of {}: {error}\n{instance:#}",
            version.as_str()
        );
    }
}

/// What was compiled: that takes longer than validating.
#[derive(Default)]
struct Made {
    schemas: Schemas,
    indices: BTreeMap<(&'static str, &'static str), SchemaIndex>,
}

impl Made {
    fn definition(&mut self, version: Version, definition: &'static str) -> SchemaIndex {
        let schemas = &mut self.schemas;
        let key = (version.as_str(), definition);
        *self
            .indices
            .entry(key)
            .or_insert_with(|| compile(version, definition, schemas))
    }
}

/// What the tasks extension defines.
const OF_TASKS: [&str; 4] = [
    "CreateTaskResult",
    "GetTaskResult",
    "UpdateTaskResult",
    "CancelTaskResult",
];

fn compile(version: Version, definition: &str, schemas: &mut Schemas) -> SchemaIndex {
    let (text, definitions) = match version {
        // The extension's schema has names of its own for what it adds.
        Version::V2026_07_28 if OF_TASKS.contains(&definition) => {
            (include_str!("../schemas/ext-tasks.json"), "$defs")
        }
        Version::V2025_03_26 => (include_str!("../schemas/2025-03-26.json"), "definitions"),
        Version::V2025_06_18 => (include_str!("../schemas/2025-06-18.json"), "definitions"),
        Version::V2025_11_25 => (include_str!("../schemas/2025-11-25.json"), "$defs"),
        Version::V2026_07_28 => (include_str!("../schemas/2026-07-28.json"), "$defs"),
    };
    let document = serde_json::from_str(text).expect("the published schemas are JSON");
    let url = format!(
        "https://schemas.invalid/{}/{definition}.json",
        version.as_str()
    );
    let mut compiler = Compiler::new();
    compiler
        .add_resource(&url, document)
        .expect("the URL is one");
    let location = format!("{url}#/{definitions}/{definition}");
    compiler
        .compile(&location, schemas)
        .unwrap_or_else(|error| panic!("{location}: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_valid_message_passes_and_another_does_not() {
        let message = |content: Value| json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "resultType": "complete"}});
        let good = message(json!([{"type": "text", "text": "x"}]));
        let bad = message(json!([{"type": "text"}]));
        for version in Version::ALL {
            check(version, "tools/call", &good);
            let refused = std::panic::catch_unwind(|| check(version, "tools/call", &bad));
            assert!(refused.is_err(), "{}", version.as_str());
        }
    }
}
