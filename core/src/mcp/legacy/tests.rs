use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::*;
use crate::mcp::message::{Incoming, Message};
use crate::mcp::session::tests::{grant, keys, negotiated};

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let value = HeaderValue::from_str(value).unwrap();
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

fn message(body: &str) -> Message {
    match Incoming::parse(Bytes::copy_from_slice(body.as_bytes())).unwrap() {
        Incoming::One(message) => *message,
        Incoming::Batch(_) => panic!("it is one message"),
    }
}

fn request(body: &str) -> RawRequest {
    match message(body) {
        Message::Request(request) => request,
        _ => panic!("it is a request"),
    }
}

fn session_text() -> String {
    keys().mint(&grant("c", "a"), &negotiated(Version::V2025_06_18), [3; 16])
}

#[test]
fn a_session_and_a_legacy_version_are_required() {
    let text = session_text();
    for (pairs, expected) in [
        (&[("mcp-session-id", text.as_str())][..], 200),
        (
            &[
                ("mcp-session-id", &text),
                ("mcp-protocol-version", "2025-06-18"),
            ],
            200,
        ),
        (
            &[
                ("mcp-session-id", &text),
                ("mcp-protocol-version", "2025-11-25"),
            ],
            200,
        ),
        (
            &[
                ("mcp-session-id", &text),
                ("mcp-protocol-version", "2020-01-01"),
            ],
            400,
        ),
        (
            &[("mcp-session-id", &text), ("mcp-protocol-version", "x")],
            400,
        ),
        (
            &[
                ("mcp-session-id", &text),
                ("mcp-protocol-version", "2025-06-18"),
                ("mcp-protocol-version", "2025-11-25"),
            ],
            400,
        ),
        (&[], 400),
        (&[("mcp-session-id", "unknown")], 404),
        (&[("mcp-session-id", "")], 404),
        (&[("mcp-session-id", &text), ("mcp-session-id", "b")], 400),
    ] {
        let found = session(&headers(pairs), &keys(), &grant("c", "a"), 600);
        let status = found.map_or_else(|error| error.status.as_u16(), |_| 200);
        assert_eq!(status, expected, "{pairs:?}");
    }
    let foreign = headers(&[("mcp-session-id", &text)]);
    let error = session(&foreign, &keys(), &grant("c2", "a"), 600).unwrap_err();
    assert_eq!(error.status, 404);
}

#[test]
fn streams_are_for_sessions() {
    let text = session_text();
    let session_id = ("mcp-session-id", text.as_str());
    for (pairs, opens, ends) in [
        (&[session_id, ("accept", "text/event-stream")][..], 200, 200),
        (&[session_id], 200, 200),
        (&[session_id, ("accept", "*/*")], 200, 200),
        (&[session_id, ("accept", "application/json")], 406, 200),
        (&[("accept", "text/event-stream")], 405, 405),
        (
            &[session_id, ("mcp-protocol-version", "2026-07-28")],
            405,
            405,
        ),
        (
            &[session_id, ("mcp-protocol-version", "2025-11-25")],
            200,
            200,
        ),
        (
            &[session_id, ("mcp-protocol-version", "2020-01-01")],
            400,
            400,
        ),
        (&[("mcp-session-id", "unknown")], 404, 404),
    ] {
        let headers = headers(pairs);
        let status = |found: Result<Session, RpcError>| {
            found.map_or_else(|error| error.status.as_u16(), |_| 200)
        };
        let grant = grant("c", "a");
        let opened = status(open_stream(&headers, &keys(), &grant, 600));
        let ended = status(end(&headers, &keys(), &grant, 600));
        assert_eq!((opened, ended), (opens, ends), "{pairs:?}");
    }
}

#[test]
fn initialize_takes_what_it_gets() {
    let read = |params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
        initialize(request(&body)).negotiated
    };
    let full = read(
        r#"{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},
            "clientInfo":{"name":"a","version":"1"}}"#,
    );
    assert_eq!(full.version, Version::V2025_03_26);
    assert_eq!(full.capabilities.to_json().as_str(), r#"{"roots":{}}"#);
    assert_eq!(
        full.client_info.unwrap().as_str(),
        r#"{"name":"a","version":"1"}"#
    );
    for odd in [
        "{}",
        r#"{"protocolVersion":5,"capabilities":null,"clientInfo":"me"}"#,
        r#"{"protocolVersion":"2026-07-28","capabilities":[]}"#,
    ] {
        let negotiated = read(odd);
        assert_eq!(negotiated.version, Version::V2025_11_25, "{odd}");
        assert_eq!(negotiated.capabilities.to_json().as_str(), "{}", "{odd}");
        assert_eq!(negotiated.client_info, None, "{odd}");
    }
}

#[test]
fn requests_take_their_agent_from_the_session() {
    let session = keys()
        .verify(&session_text(), &grant("c", "a"), 600)
        .unwrap();
    let raw = request(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call",
            "params":{"name":"t","_meta":{"progressToken":0}}}"#,
    );
    let checked = check(&HeaderMap::new(), &session, raw).unwrap();
    assert_eq!(checked.version, Version::V2025_06_18);
    assert_eq!(checked.progress_token.as_ref().unwrap().as_json(), "0");
    let context = checked.context(grant("c", "a").subject(), false);
    assert_eq!(
        context.to_json().as_str(),
        r#"{"protocolVersion":"2025-06-18","clientInfo":{"name":"agent","version":"1"},"clientCapabilities":{"elicitation":{"form":{}},"sampling":{}},"subject":"a","logLevel":"info","progress":true,"tasks":false}"#
    );
    for (method, status, code) in [
        ("server/discover", 200, -32_601),
        ("subscriptions/listen", 200, -32_601),
        ("unknown/method", 200, -32_601),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
        let error = check(&HeaderMap::new(), &session, request(&body)).unwrap_err();
        assert_eq!((error.status.as_u16(), error.code), (status, code));
        assert_eq!(error.id.unwrap().as_json(), "7");
    }
}

#[test]
fn a_cancellation_names_a_request_by_its_typed_id() {
    let notice = |params: &str| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
        match message(&body) {
            Message::Notification(notification) => Notice::of(&notification),
            _ => panic!("it is a notification"),
        }
    };
    let cancelled = |id: &str, reason: Option<&str>| Notice::Cancelled {
        request_id: RequestId::parse(id).unwrap(),
        reason: reason.map(str::to_owned),
    };
    assert_eq!(
        notice(r#"{"requestId":1,"reason":"why"}"#),
        cancelled("1", Some("why"))
    );
    assert_eq!(notice(r#"{"requestId":"1"}"#), cancelled("\"1\"", None));
    for odd in ["{}", r#"{"requestId":null}"#, r#"{"requestId":1.5}"#] {
        assert_eq!(notice(odd), Notice::Other);
    }
}

#[test]
fn a_session_changes_by_what_its_requests_say() {
    let change = |method, params: serde_json::Value| {
        let request = crate::mcp::fixture::request(Version::V2025_11_25, method, &params);
        let change = session_change(&request).unwrap();
        change.map_err(|error| {
            assert_eq!(error.id.unwrap().as_json(), "7");
            (error.status.as_u16(), error.code)
        })
    };
    let uri = || "x:1".to_owned();
    for (method, params, expected) in [
        (
            Method::SetLevel,
            json!({"level": "debug"}),
            SessionChange::LogLevel(LogLevel::Debug),
        ),
        (
            Method::Subscribe,
            json!({"uri": "x:1"}),
            SessionChange::Subscribe(uri()),
        ),
        (
            Method::Unsubscribe,
            json!({"uri": "x:1"}),
            SessionChange::Unsubscribe(uri()),
        ),
    ] {
        assert_eq!(change(method, params), Ok(expected));
    }
    let long = "x".repeat(limits::URI_BYTES + 1);
    for (method, params) in [
        (Method::SetLevel, json!({})),
        (Method::SetLevel, json!({"level": "loud"})),
        (Method::SetLevel, json!({"level": 3})),
        (Method::Subscribe, json!({})),
        (Method::Subscribe, json!({"uri": 5})),
        (Method::Unsubscribe, json!({"uri": null})),
        (Method::Subscribe, json!({"uri": long})),
    ] {
        assert_eq!(change(method, params), Err((200, -32_602)));
    }
    let list = crate::mcp::fixture::request(Version::V2025_11_25, Method::Ping, &json!({}));
    assert_eq!(session_change(&list), None);
}
