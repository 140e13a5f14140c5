//! What the agent's side says is valid in the revision that it says it in, by MCP's own schemas.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use boon::{Compiler, SchemaIndex, Schemas};
use bytes::Bytes;
use clientmcp_core::ids::{ClientId, Subject};
use clientmcp_core::json::Json;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::inbound::{self, Inbound};
use clientmcp_core::mcp::listen::Filter;
use clientmcp_core::mcp::message::RequestId;
use clientmcp_core::mcp::offer::Offer;
use clientmcp_core::mcp::outcome::{Failure, Reply};
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::session::SessionKeys;
use clientmcp_core::mcp::version::Version;
use clientmcp_core::mcp::{body, call, local, notification, result};
use clientmcp_core::message::{Log, LogLevel, Progress};
use clientmcp_core::registration::{Hashes, Kind};
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{CallGrant, Claims, Verifier, mint};
use clientmcp_core::tool::{RestContent, ToolIndex};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

/// The schema of one revision.
struct Revision {
    version: Version,
    url: String,
    schemas: Schemas,
    compiler: Compiler,
}

impl Revision {
    fn load(version: Version) -> Revision {
        let name = format!("../e2e/schemas/{}.json", version.as_str());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let url = format!("https://schemas.invalid/{}.json", version.as_str());
        let mut compiler = Compiler::new();
        let schema = serde_json::from_str(&text).unwrap();
        compiler.add_resource(&url, schema).unwrap();
        Revision {
            version,
            url,
            schemas: Schemas::new(),
            compiler,
        }
    }

    fn definition(&mut self, name: &str) -> SchemaIndex {
        let definitions = match self.version {
            Version::V2025_03_26 | Version::V2025_06_18 => "definitions",
            Version::V2025_11_25 | Version::V2026_07_28 => "$defs",
        };
        let location = format!("{}#/{definitions}/{name}", self.url);
        self.compiler.compile(&location, &mut self.schemas).unwrap()
    }

    /// Fails unless the value is valid as this definition.
    fn validate(&mut self, name: &str, value: &Value) {
        let index = self.definition(name);
        if let Err(error) = self.schemas.validate(value, index) {
            panic!("{:?} {name}: {error:#}\n{value}", self.version);
        }
    }

    /// A response with a result of this kind.
    fn result(&mut self, name: &str, response: &[u8]) {
        let response: Value = serde_json::from_slice(response).unwrap();
        let envelope = match self.version {
            Version::V2025_03_26 | Version::V2025_06_18 => "JSONRPCResponse",
            Version::V2025_11_25 | Version::V2026_07_28 => "JSONRPCResultResponse",
        };
        self.validate(envelope, &response);
        self.validate(name, &response["result"]);
    }

    fn error(&mut self, name: Option<&str>, error: &RpcError) {
        let response: Value = serde_json::from_slice(&error.to_body()).unwrap();
        let envelope = match self.version {
            Version::V2025_03_26 | Version::V2025_06_18 => "JSONRPCError",
            Version::V2025_11_25 | Version::V2026_07_28 => "JSONRPCErrorResponse",
        };
        self.validate(name.unwrap_or(envelope), &response);
    }

    fn notification(&mut self, name: &str, message: &[u8]) {
        let message: Value = serde_json::from_slice(message).unwrap();
        self.validate(name, &message);
        self.validate("ServerNotification", &message);
        self.validate("JSONRPCNotification", &message);
    }
}

fn secrets() -> Secrets {
    Secrets::new(["0123456789abcdef0123456789abcdef"]).unwrap()
}

fn grant() -> CallGrant {
    let claims = Claims {
        client_id: ClientId::parse("c").unwrap(),
        agent: Some(Subject::parse("a").unwrap()),
        serve: false,
        call: true,
        expires_at: 1_000,
        not_before: None,
    };
    let token = mint(&secrets(), &claims);
    let grant = Verifier::new(&secrets()).verify(&token, 500).unwrap();
    grant.call().unwrap()
}

/// What an app offers that tries the older revisions.
fn offer() -> Offer {
    let tools = json!([
        {
            "name": "plain",
            "title": "Plain",
            "inputSchema": {"type": "object", "properties": {"a": {}}},
            "outputSchema": {"type": "array", "items": {"type": "string"}},
            "annotations": {"readOnlyHint": true},
        },
        {"name": "samples", "inputSchema": {"type": "object"}},
    ]);
    let rest = json!({
        "serverInfo": {"name": "n", "version": "1", "title": "N"},
        "instructions": "Be kind.",
        "toolOptions": {"samples": {"requires": {"sampling": {"tools": {}}}}},
        "ttlMs": 5,
    });
    let rest = RestContent::read(rest.to_string().into()).unwrap();
    let tools = Bytes::from(tools.to_string());
    Offer {
        hashes: Hashes::empty(),
        tools: Arc::new(ToolIndex::read(tools, &rest).unwrap()),
        rest: Arc::new(rest),
    }
}

/// A request of this revision that passed every check, or why it did not.
fn receive(version: Version, method: &str, mut params: Value) -> Result<Request, RpcError> {
    let keys = SessionKeys::new(&secrets());
    let mut headers = HeaderMap::new();
    let header = |text: &str| HeaderValue::from_str(text).unwrap();
    if version == Version::MODERN {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        headers.insert("mcp-protocol-version", header(version.as_str()));
        headers.insert("mcp-method", header(method));
        if let Some(name) = params["name"].as_str() {
            headers.insert("mcp-name", header(name));
        }
    } else {
        let asked = json!({"protocolVersion": version.as_str(), "capabilities": {}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked});
        let begun = inbound::receive(&headers, body.to_string().into(), &keys, &grant(), 600);
        let Inbound::Initialize(begun) = begun.unwrap() else {
            panic!("it is initialize");
        };
        let session = keys.mint(&grant(), &begun.negotiated, [1; 16]);
        headers.insert("mcp-session-id", header(&session));
    }
    let body = json!({"jsonrpc": "2.0", "id": "i", "method": method, "params": params});
    match inbound::receive(&headers, body.to_string().into(), &keys, &grant(), 600)? {
        Inbound::Request(request) => Ok(*request),
        other => panic!("it is a request: {other:?}"),
    }
}

fn respond(request: &Request, result: impl Into<Bytes>) -> Bytes {
    result::respond(result, request, &offer().rest).unwrap()
}

#[test]
fn local_answers_are_valid() {
    for version in Version::ALL {
        let mut revision = Revision::load(version);
        let answers = match version {
            Version::V2026_07_28 => &[
                ("server/discover", "DiscoverResult"),
                ("tools/list", "ListToolsResult"),
            ][..],
            _ => &[
                ("ping", "EmptyResult"),
                ("tools/list", "ListToolsResult"),
                ("prompts/list", "ListPromptsResult"),
                ("resources/list", "ListResourcesResult"),
                ("resources/templates/list", "ListResourceTemplatesResult"),
                ("completion/complete", "CompleteResult"),
            ],
        };
        for (method, name) in answers {
            let request = receive(version, method, json!({})).unwrap();
            let result = local::answer(&request, &offer()).unwrap().unwrap();
            revision.result(name, &respond(&request, result));
        }
    }
}

#[test]
fn initialize_is_valid() {
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let mut revision = Revision::load(version);
        let keys = SessionKeys::new(&secrets());
        let asked = json!({"protocolVersion": version.as_str(), "capabilities": {}});
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked});
        let headers = HeaderMap::new();
        let begun = inbound::receive(&headers, asked.to_string().into(), &keys, &grant(), 600);
        let Inbound::Initialize(begun) = begun.unwrap() else {
            panic!("it is initialize");
        };
        for offer in [offer(), Offer::unknown()] {
            let result = local::initialize(&begun.negotiated, &offer);
            let response = body::result(&begun.id, result.as_str());
            revision.result("InitializeResult", &response);
        }
    }
}

#[test]
fn results_of_tools_are_valid() {
    let results = [
        json!({"content": []}),
        json!({"content": [{"type": "text", "text": "t"}], "isError": true}),
        json!({"content": [], "structuredContent": [1]}),
        json!({"content": [], "structuredContent": null, "_meta": {"k": 1}}),
        json!({"content": [{"type": "resource_link", "uri": "a:b", "name": "n"}]}),
    ];
    let failures = [
        Failure::offline(Some("Notes")),
        Failure::away(None, 1_000),
        Failure::busy(1_000),
        Failure::timeout(5_000),
        Failure::unknown(),
    ];
    for version in Version::ALL {
        let mut revision = Revision::load(version);
        let request = receive(version, "tools/call", json!({"name": "plain"})).unwrap();
        for result in &results {
            let response = respond(&request, result.to_string());
            revision.result("CallToolResult", &response);
        }
        for failure in &failures {
            let Reply::Result(result) = failure.to_answer(request.method) else {
                panic!("tools/call has isError");
            };
            revision.result("CallToolResult", &respond(&request, result));
        }
    }
}

#[test]
fn errors_are_valid() {
    for version in Version::ALL {
        let mut revision = Revision::load(version);
        let unknown = receive(version, "no/such", json!({})).unwrap_err();
        revision.error(None, &unknown);
        let request = receive(version, "tools/call", json!({"name": "none"})).unwrap();
        let Err(Reply::Error(error)) = call::check(&request, &HeaderMap::new(), &offer()) else {
            panic!("there is no such tool");
        };
        revision.error(None, &error);
    }
    let mut modern = Revision::load(Version::MODERN);
    for refused in [
        RpcError::parse_error("no"),
        RpcError::unauthorized("no"),
        RpcError::path_not_found(),
        RpcError::internal(),
    ] {
        modern.error(None, &refused);
    }
    let version = RpcError::unsupported_version("v999");
    modern.error(Some("UnsupportedProtocolVersionError"), &version);
    let mismatch = RpcError::header_mismatch("no");
    modern.error(Some("HeaderMismatchError"), &mismatch);
    let request = receive(Version::MODERN, "tools/call", json!({"name": "samples"})).unwrap();
    let Err(Reply::Error(missing)) = call::check(&request, &HeaderMap::new(), &offer()) else {
        panic!("a capability is missing");
    };
    modern.error(Some("MissingRequiredClientCapabilityError"), &missing);
}

#[test]
fn notifications_are_valid() {
    let id = RequestId::parse("\"s\"").unwrap();
    let number = |text: &str| Json::parse(text.to_owned()).unwrap();
    let progress = Progress {
        progress: number("1"),
        total: Some(number("2.5")),
        message: Some(number("\"m\"")),
    };
    let log = Log {
        level: LogLevel::Info,
        logger: Some(number("\"l\"")),
        data: number("[1]"),
    };
    for version in Version::ALL {
        let mut revision = Revision::load(version);
        let message = notification::progress(&id, &progress);
        revision.notification("ProgressNotification", &message);
        let message = notification::log(&log, Some(LogLevel::Debug)).unwrap();
        revision.notification("LoggingMessageNotification", &message);
        let modern = version == Version::MODERN;
        for (kind, name) in [
            (Kind::Tools, "ToolListChangedNotification"),
            (Kind::Prompts, "PromptListChangedNotification"),
            (Kind::Resources, "ResourceListChangedNotification"),
        ] {
            let message = notification::list_changed(kind, modern.then_some(&id)).unwrap();
            revision.notification(name, &message);
        }
        if modern {
            let message = notification::acknowledged(&id, Filter::ALL);
            revision.notification("SubscriptionsAcknowledgedNotification", &message);
            let info = &offer().rest.server_info;
            let response = notification::subscription_ended(&id, info);
            revision.result("SubscriptionsListenResult", &response);
        }
    }
}
