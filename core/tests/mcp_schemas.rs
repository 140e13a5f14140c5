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
use clientmcp_core::mcp::{app_error, body, call, local, notification, result};
use clientmcp_core::message::{Log, LogLevel, Progress};
use clientmcp_core::registration::{ContentHash, Hashes, Kind};
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{CallGrant, Claims, Verifier, mint};
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
        let response = error.to_body();
        self.error_response(&response);
        if let Some(name) = name {
            self.validate(name, &serde_json::from_slice(&response).unwrap());
        }
    }

    fn error_response(&mut self, response: &[u8]) {
        let response: Value = serde_json::from_slice(response).unwrap();
        let envelope = match self.version {
            Version::V2025_03_26 | Version::V2025_06_18 => "JSONRPCError",
            Version::V2025_11_25 | Version::V2026_07_28 => "JSONRPCErrorResponse",
        };
        self.validate(envelope, &response);
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
        "completions": true,
        "ttlMs": 5,
    });
    let prompts = json!([
        {"name": "plain"},
        {"name": "full", "title": "T", "description": "d", "icons": [{"src": "https://a.b/c"}],
            "arguments": [{"name": "a", "title": "t", "description": "d", "required": true}]},
    ]);
    let annotations =
        json!({"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-31T10:00:00Z"});
    let resources = json!({
        "resources": [{"uri": "x:1", "name": "r", "title": "t", "description": "d",
            "mimeType": "text/plain", "size": 5, "annotations": annotations, "_meta": {"k": 1},
            "icons": [{"src": "https://a.b/c", "sizes": ["48x48"], "theme": "dark"}]}],
        "resourceTemplates": [{"uriTemplate": "x://{y}", "name": "t", "mimeType": "text/plain",
            "annotations": annotations}],
    });
    let content = |kind| {
        let content = match kind {
            Kind::Tools => &tools,
            Kind::Prompts => &prompts,
            Kind::Resources => &resources,
            Kind::Rest => &rest,
        };
        Bytes::from(content.to_string())
    };
    let hashes = Hashes::each(|kind| ContentHash::of(kind, &content(kind)));
    Offer::read(hashes, content).unwrap()
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
        if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
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
                ("prompts/list", "ListPromptsResult"),
                ("resources/list", "ListResourcesResult"),
                ("resources/templates/list", "ListResourceTemplatesResult"),
            ][..],
            _ => &[
                ("ping", "EmptyResult"),
                ("tools/list", "ListToolsResult"),
                ("prompts/list", "ListPromptsResult"),
                ("resources/list", "ListResourcesResult"),
                ("resources/templates/list", "ListResourceTemplatesResult"),
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
fn results_of_other_calls_are_valid() {
    let message = |content: Value| json!({"role": "user", "content": content});
    let prompt = json!({"description": "d", "messages": [
        message(json!({"type": "text", "text": "t"})),
        message(json!({"type": "resource_link", "uri": "a:b", "name": "n"})),
        message(json!({"type": "resource", "resource": {"uri": "a:b", "text": "t"}})),
    ]});
    let contents = json!({"contents": [
        {"uri": "x:1", "mimeType": "text/plain", "text": "t"},
        {"uri": "x:1", "blob": "AAAA"},
    ], "ttlMs": -1, "cacheScope": "public"});
    let completion = json!({"completion": {"values": ["a"], "total": 1, "hasMore": false}});
    let listed = json!({"resources": [{"uri": "x:9", "name": "n"}], "nextCursor": "theirs"});
    for version in Version::ALL {
        let mut revision = Revision::load(version);
        for (method, params, result, name) in [
            (
                "prompts/get",
                json!({"name": "full"}),
                &prompt,
                "GetPromptResult",
            ),
            (
                "resources/read",
                json!({"uri": "x:1"}),
                &contents,
                "ReadResourceResult",
            ),
            (
                "completion/complete",
                json!({}),
                &completion,
                "CompleteResult",
            ),
            ("resources/list", json!({}), &listed, "ListResourcesResult"),
        ] {
            let request = receive(version, method, params).unwrap();
            if method != "resources/list" {
                let admitted = call::check(&request, &HeaderMap::new(), &offer());
                assert!(admitted.is_ok(), "{method}");
            }
            revision.result(name, &respond(&request, result.to_string()));
            match Failure::away(Some("Notes"), 1_000).to_answer(request.method) {
                Reply::Result(result) => revision.result(name, &respond(&request, result)),
                Reply::Error(error) => revision.error(None, &request.refuse(error)),
            }
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
        let request = receive(version, "resources/read", json!({"uri": "x:none"})).unwrap();
        let mut offer = offer();
        offer.resources = Arc::default();
        let Err(Reply::Error(error)) = call::check(&request, &HeaderMap::new(), &offer) else {
            panic!("there is no such resource");
        };
        revision.error(None, &error);
        let error = r#"{"code":-32602,"message":"m","data":{"uri":"x:none"}}"#;
        let error = Json::parse(error.to_owned()).unwrap();
        let (response, _) = app_error::respond(&request, &error);
        revision.error_response(&response);
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
        let params = number(r#"{"uri":"x:1","_meta":{"k":1}}"#);
        let message = notification::resource_updated(&params, modern.then_some(&id));
        revision.notification("ResourceUpdatedNotification", &message);
        if modern {
            let honoured = Filter {
                uris: vec!["x:1".to_owned()],
                ..Filter::all_lists()
            };
            let message = notification::acknowledged(&id, &honoured);
            revision.notification("SubscriptionsAcknowledgedNotification", &message);
            let info = &offer().rest.server_info;
            let response = notification::subscription_ended(&id, info);
            revision.result("SubscriptionsListenResult", &response);
        }
    }
}
