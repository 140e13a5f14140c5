use http::{HeaderName, HeaderValue};

use super::*;
use crate::mcp::session::tests::{grant, keys, negotiated};

fn post(version: Option<Version>, extra: &[(&'static str, &str)], body: &str) -> String {
    let mut headers = HeaderMap::new();
    if let Some(version) = version {
        let text = keys().mint(&grant("c", "a"), &negotiated(version), [3; 16]);
        headers.insert("mcp-session-id", HeaderValue::from_str(&text).unwrap());
    }
    for (name, value) in extra {
        let value = HeaderValue::from_str(value).unwrap();
        headers.append(HeaderName::from_static(name), value);
    }
    let body = Bytes::copy_from_slice(body.as_bytes());
    match receive(&headers, body, &keys(), &grant("c", "a"), 600) {
        Ok(inbound) => describe(&inbound),
        Err(error) => {
            let id = error.id.map_or(String::new(), |id| format!(" id {id:?}"));
            format!("{} {}{id}", error.status.as_u16(), error.code)
        }
    }
}

fn describe(inbound: &Inbound) -> String {
    let notice = |notice: &Notice| match notice {
        Notice::Cancelled { request_id, .. } => format!("cancel {request_id:?}"),
        Notice::Other => "notice".to_owned(),
    };
    match inbound {
        Inbound::Request(request) => {
            format!("{:?} {:?} {:?}", request.era(), request.method, request.id)
        }
        Inbound::Initialize(initialize) => {
            format!("initialize {}", initialize.negotiated.version.as_str())
        }
        Inbound::Notice(session, said) => {
            format!("{} session={}", notice(said), session.is_some())
        }
        Inbound::Response(_, response) => format!("response {:?}", response.id),
        Inbound::Batch(_, entries) => {
            let entries = entries.iter().map(|entry| match entry {
                Entry::Request(request) => format!("{:?}", request.method),
                Entry::Refused(error) => format!("{}", error.code),
                Entry::Notice(said) => notice(said),
                Entry::Response(response) => format!("response {:?}", response.id),
            });
            format!("batch {}", entries.collect::<Vec<_>>().join(" | "))
        }
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}"#;
const MADE_UP: &str = r#"{"jsonrpc":"2.0","method":"notifications/made_up"}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28",
    "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize",
    "params":{"protocolVersion":"2026-07-28"}}"#;
const MODERN: [(&str, &str); 2] = [
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "server/discover"),
];

#[test]
fn each_era_is_served_on_the_one_endpoint() {
    let newest = Some(Version::V2025_11_25);
    for (session, headers, body, expected) in [
        (newest, &[][..], PING, "Legacy Ping 1"),
        (None, &[], PING, "400 -32600 id 1"),
        (None, &MODERN, DISCOVER, "Modern Discover 1"),
        // A stray session header does not make a modern request legacy.
        (newest, &MODERN, DISCOVER, "Modern Discover 1"),
        (None, &[("mcp-session-id", "?")], PING, "404 40401 id 1"),
        (None, &MODERN, PING, "400 -32602 id 1"),
        (None, &[], DISCOVER, "400 -32020 id 1"),
        (None, &[], INITIALIZE, "initialize 2025-11-25"),
        (None, &MODERN, INITIALIZE, "initialize 2025-11-25"),
        (
            None,
            &[("mcp-protocol-version", "2099-01-01")],
            INITIALIZE,
            "initialize 2025-11-25",
        ),
    ] {
        assert_eq!(post(session, headers, body), expected, "{headers:?} {body}");
    }
}

#[test]
fn notifications_and_responses_are_accepted_or_refused() {
    let newest = Some(Version::V2025_11_25);
    for (session, headers, body, expected) in [
        (newest, &[][..], CANCEL, "cancel \"1\" session=true"),
        (newest, &[], MADE_UP, "notice session=true"),
        (newest, &[], ANSWER, "response 1"),
        (None, &MODERN, CANCEL, "notice session=false"),
        (None, &MODERN, MADE_UP, "notice session=false"),
        (None, &MODERN, ANSWER, "400 -32600"),
        (None, &[], MADE_UP, "400 -32600"),
        (None, &[("mcp-session-id", "?")], MADE_UP, "404 40401"),
        (None, &[("mcp-session-id", "?")], ANSWER, "404 40401"),
    ] {
        assert_eq!(post(session, headers, body), expected, "{headers:?} {body}");
    }
}

#[test]
fn batches_are_for_the_oldest_sessions() {
    let oldest = Some(Version::V2025_03_26);
    let mixed =
        format!(r#"[{PING},{CANCEL},{ANSWER},{{"jsonrpc":"2.0","id":2,"method":"no/such"}}]"#);
    assert_eq!(
        post(oldest, &[], &mixed),
        "batch Ping | cancel \"1\" | response 1 | -32601"
    );
    for (session, headers, body, expected) in [
        (
            Some(Version::V2025_06_18),
            &[][..],
            mixed.clone(),
            "400 -32600",
        ),
        (Some(Version::V2025_11_25), &[], mixed.clone(), "400 -32600"),
        (oldest, &MODERN, mixed.clone(), "400 -32600"),
        (None, &[], mixed, "400 -32600"),
        (oldest, &[], format!("[{PING},{INITIALIZE}]"), "400 -32600"),
        (oldest, &[], format!("[{PING},{DISCOVER}]"), "400 -32600"),
        (oldest, &[], "[]".to_owned(), "400 -32600"),
        (oldest, &[], format!("[{PING},{{}}]"), "400 -32600"),
    ] {
        assert_eq!(
            post(session, headers, &body),
            expected,
            "{headers:?} {body}"
        );
    }
}
