use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::*;
use crate::mcp::message::{Incoming, Message, RequestId};

const PREFIX: &str = "io.modelcontextprotocol/";

/// A good `tools/call`, to be spoiled.
struct Post {
    headers: Vec<(&'static str, String)>,
    body: Value,
}

impl Post {
    fn new() -> Post {
        Post::of("tools/call", json!({"name": "t", "arguments": {}}))
    }

    fn of(method: &str, mut params: Value) -> Post {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
        });
        let mut post = Post {
            headers: vec![
                ("mcp-protocol-version", "2026-07-28".to_owned()),
                ("mcp-method", method.to_owned()),
            ],
            body: json!({"jsonrpc": "2.0", "id": "i", "method": method, "params": params}),
        };
        for member in ["name", "uri"] {
            if let Some(name) = post.body["params"][member].as_str() {
                let name = name.to_owned();
                post.headers.push(("mcp-name", name));
            }
        }
        post
    }

    fn set(mut self, header: &'static str, value: &str) -> Post {
        self.headers.retain(|(name, _)| *name != header);
        self.add(header, value)
    }

    fn add(mut self, header: &'static str, value: &str) -> Post {
        self.headers.push((header, value.to_owned()));
        self
    }

    fn without(mut self, header: &'static str) -> Post {
        self.headers.retain(|(name, _)| *name != header);
        self
    }

    fn meta(mut self, member: &str, value: Value) -> Post {
        let key = match member {
            "progressToken" => member.to_owned(),
            _ => format!("{PREFIX}{member}"),
        };
        let meta = self.body["params"]["_meta"].as_object_mut().unwrap();
        match value {
            Value::Null => meta.remove(&key),
            value => meta.insert(key, value),
        };
        self
    }

    fn param(mut self, member: &str, value: Value) -> Post {
        let params = self.body["params"].as_object_mut().unwrap();
        match value {
            Value::Null => params.remove(member),
            value => params.insert(member.to_owned(), value),
        };
        self
    }

    fn check(&self) -> Result<Request, RpcError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        let body = Bytes::from(self.body.to_string());
        let Incoming::One(message) = Incoming::parse(body).unwrap() else {
            panic!("it is one message");
        };
        let Message::Request(request) = *message else {
            panic!("it is a request");
        };
        check(&headers, request)
    }

    /// Code and HTTP status, 0 if the request is good.
    fn code(&self) -> (i64, u16) {
        match self.check() {
            Ok(_) => (0, 200),
            Err(error) => {
                assert_eq!(error.id.as_ref().map(RequestId::as_json), Some("\"i\""));
                (error.code, error.status.as_u16())
            }
        }
    }
}

const GOOD: (i64, u16) = (0, 200);
const MISMATCH: (i64, u16) = (-32_020, 400);
const INVALID: (i64, u16) = (-32_602, 400);
const UNSUPPORTED: (i64, u16) = (-32_022, 400);
const UNKNOWN: (i64, u16) = (-32_601, 404);

#[test]
fn a_good_request_says_all_that_is_needed() {
    let info = json!({"name": "a", "version": "1"});
    let request = Post::new()
        .meta("clientInfo", info.clone())
        .meta("logLevel", json!("warning"))
        .meta("progressToken", json!("p"))
        .check()
        .unwrap();
    assert_eq!(request.method, Method::CallTool);
    assert_eq!(request.version, Version::V2026_07_28);
    assert_eq!(request.target().unwrap(), "t");
    assert_eq!(request.log_level, Some(LogLevel::Warning));
    assert_eq!(request.progress_token.unwrap().as_json(), "\"p\"");
    assert_eq!(request.client_info.unwrap().as_str(), info.to_string());
    assert_eq!(request.capabilities_json.as_str(), r#"{"sampling":{}}"#);
}

#[test]
fn meta_is_required_first() {
    for (post, expected) in [
        (Post::new(), GOOD),
        (Post::new().param("_meta", Value::Null), INVALID),
        (Post::new().param("_meta", json!([])), INVALID),
        (Post::new().meta("protocolVersion", Value::Null), INVALID),
        (Post::new().meta("protocolVersion", json!(2026)), INVALID),
        (Post::new().meta("clientCapabilities", Value::Null), INVALID),
        (Post::new().meta("clientCapabilities", json!([])), INVALID),
        (Post::new().meta("clientInfo", json!("me")), INVALID),
        (Post::new().meta("logLevel", json!("loud")), INVALID),
        (Post::new().meta("logLevel", json!("WARNING")), INVALID),
        (Post::new().meta("progressToken", json!(1.5)), INVALID),
        // More than one fault: the first check decides.
        (
            Post::new()
                .param("_meta", Value::Null)
                .without("mcp-protocol-version")
                .without("mcp-method"),
            INVALID,
        ),
        (
            Post::new()
                .meta("clientCapabilities", Value::Null)
                .without("mcp-protocol-version"),
            MISMATCH,
        ),
        (
            Post::new()
                .meta("clientCapabilities", Value::Null)
                .without("mcp-method"),
            INVALID,
        ),
    ] {
        assert_eq!(post.code(), expected, "{} {:?}", post.body, post.headers);
    }
}

#[test]
fn versions_must_agree_and_be_served() {
    let unknown = "v999.0.0";
    let both = |version: &str| {
        Post::new()
            .meta("protocolVersion", json!(version))
            .set("mcp-protocol-version", version)
    };
    for (post, expected) in [
        (Post::new().without("mcp-protocol-version"), MISMATCH),
        (
            Post::new().set("mcp-protocol-version", "2025-11-25"),
            MISMATCH,
        ),
        (Post::new().set("mcp-protocol-version", ""), MISMATCH),
        (
            Post::new().meta("protocolVersion", json!(unknown)),
            MISMATCH,
        ),
        (
            Post::new().add("mcp-protocol-version", "2025-11-25"),
            MISMATCH,
        ),
        (Post::new().add("mcp-protocol-version", "2026-07-28"), GOOD),
        (
            Post::new().set("mcp-protocol-version", " 2026-07-28\t"),
            GOOD,
        ),
        (both(unknown), UNSUPPORTED),
        (both("2025-11-25"), UNSUPPORTED),
        (both(""), UNSUPPORTED),
        (
            both(unknown).meta("clientCapabilities", Value::Null),
            UNSUPPORTED,
        ),
    ] {
        assert_eq!(post.code(), expected, "{} {:?}", post.body, post.headers);
    }
    let data = both(unknown).check().unwrap_err().data.unwrap();
    assert_eq!(
        data,
        json!({"supported": ["2026-07-28"], "requested": unknown})
    );
}

#[test]
fn mirrored_headers_must_agree_with_the_body() {
    let named = |name: &str, header: &str| {
        Post::new()
            .param("name", json!(name))
            .set("mcp-name", header)
    };
    for (post, expected) in [
        (Post::new().without("mcp-method"), MISMATCH),
        (Post::new().set("mcp-method", "tools/list"), MISMATCH),
        (Post::new().set("mcp-method", "TOOLS/CALL"), MISMATCH),
        (Post::new().set("mcp-method", "  tools/call "), GOOD),
        (Post::new().add("mcp-method", "tools/list"), MISMATCH),
        (Post::new().without("mcp-name"), MISMATCH),
        (Post::new().set("mcp-name", "T"), MISMATCH),
        (Post::new().set("mcp-name", ""), MISMATCH),
        (Post::new().set("mcp-name", " t "), GOOD),
        (Post::new().add("mcp-name", "u"), MISMATCH),
        (Post::new().set("mcp-name", "t\u{e4}"), MISMATCH),
        (named("t", "=?base64?dA==?="), GOOD),
        (named("t", "=?base64?dA?="), MISMATCH),
        (named("t", "=?base64?d!==?="), MISMATCH),
        (named("t", "=?BASE64?dA==?="), MISMATCH),
        (named("=?base64?x?=", "=?base64?x?="), MISMATCH),
        (named("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="), GOOD),
        (named("\u{e4}", "=?base64?w6Q=?="), GOOD),
        (
            Post::new().param("name", Value::Null).without("mcp-name"),
            MISMATCH,
        ),
        (Post::new().param("name", Value::Null), INVALID),
        (Post::new().param("name", json!(5)), INVALID),
        (
            Post::of("resources/read", json!({"uri": "file:///a"})),
            GOOD,
        ),
        (
            Post::of("resources/read", json!({"uri": "file:///a"})).set("mcp-name", "file:///b"),
            MISMATCH,
        ),
        (Post::of("prompts/get", json!({"name": "p"})), GOOD),
        (Post::of("tools/list", json!({})), GOOD),
        (
            Post::of("tools/list", json!({})).set("mcp-name", "whatever"),
            GOOD,
        ),
    ] {
        assert_eq!(post.code(), expected, "{} {:?}", post.body, post.headers);
    }
}

#[test]
fn methods_of_the_other_era_are_unknown() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "unknown/method",
    ] {
        assert_eq!(Post::of(method, json!({})).code(), UNKNOWN, "{method}");
        let mismatched = Post::of(method, json!({})).set("mcp-method", "tools/list");
        assert_eq!(mismatched.code(), MISMATCH, "{method}");
    }
    for method in ["server/discover", "tools/list", "subscriptions/listen"] {
        assert_eq!(Post::of(method, json!({})).code(), GOOD, "{method}");
    }
}
