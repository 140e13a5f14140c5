//! Whatever agents and apps send: nothing panics, and what passes is verbatim (SPEC.md §5.8).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../testing/json.rs"]
mod json_texts;

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::json::Json;
use clientmcp_core::mcp::accept::{Accept, check_content_type};
use clientmcp_core::mcp::inbound::{self, Inbound};
use clientmcp_core::mcp::origin::OriginPolicy;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::session::SessionKeys;
use clientmcp_core::mcp::version::Version;
use clientmcp_core::mcp::{result, sse};
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{CallGrant, Claims, Verifier, mint};
use clientmcp_core::tool::RestContent;
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;

fn secrets() -> Secrets {
    Secrets::new(["0123456789abcdef0123456789abcdef"]).unwrap()
}

fn grant() -> CallGrant {
    let claims = Claims {
        client_id: ClientId::parse("c").unwrap(),
        agent: None,
        serve: false,
        call: true,
        expires_at: 1_000,
        not_before: None,
    };
    let token = mint(&secrets(), &claims);
    let grant = Verifier::new(&secrets()).verify(&token, 500).unwrap();
    grant.call().unwrap()
}

fn modern_headers(method: &str, name: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (header, value) in [
        ("mcp-protocol-version", Version::MODERN.as_str()),
        ("mcp-method", method),
        ("mcp-name", name),
    ] {
        headers.insert(header, HeaderValue::from_str(value).unwrap());
    }
    headers
}

/// A modern call with these arguments, as text.
fn call(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// What is read of an error's body. The rest may be what serde makes no value of: an id is sent
/// back as it came, halves of surrogate pairs and all.
#[derive(serde::Deserialize)]
struct ErrorBody {
    error: ErrorCode,
}

#[derive(serde::Deserialize)]
struct ErrorCode {
    code: i64,
}

fn receive(headers: &HeaderMap, body: impl Into<Bytes>) -> Option<Request> {
    let keys = SessionKeys::new(&secrets());
    match inbound::receive(headers, body.into(), &keys, &grant(), 600) {
        Ok(Inbound::Request(request)) => Some(*request),
        Ok(_) => None,
        Err(error) => {
            assert!(error.status.is_client_error() || error.status == 200);
            let body: ErrorBody = serde_json::from_slice(&error.to_body()).unwrap();
            assert_eq!(body.error.code, error.code);
            None
        }
    }
}

/// The text as it is after entry, by the definition of it: line ends outside strings are spaces.
fn at_entry(text: &str) -> String {
    let mut inside = false;
    let mut escaped = false;
    text.chars()
        .map(|letter| {
            let quote = letter == '"' && !escaped;
            escaped = inside && letter == '\\' && !escaped;
            inside ^= quote;
            match letter {
                '\r' | '\n' if !inside => ' ',
                letter => letter,
            }
        })
        .collect()
}

proptest! {
    #[test]
    fn any_body_is_answered(body in vec(any::<u8>(), 0..200)) {
        receive(&HeaderMap::new(), body.clone());
        receive(&modern_headers("tools/call", "t"), body);
    }

    #[test]
    fn any_json_is_answered(body in json_texts::value(), in_batch in any::<bool>()) {
        let body = if in_batch { format!("[{body}]") } else { body };
        receive(&HeaderMap::new(), body.clone());
        receive(&modern_headers("tools/call", "t"), body);
    }

    #[test]
    fn arguments_reach_the_app_verbatim(arguments in json_texts::value()) {
        let request = receive(&modern_headers("tools/call", "t"), call(&arguments));
        let request = request.expect("arguments of any shape pass this far");
        let sent = request.params.arguments.expect("they are there");
        let whole = request.params.raw;
        prop_assert_eq!(sent.as_str(), at_entry(arguments.trim_ascii()));
        prop_assert!(whole.as_str().contains(sent.as_str()));
    }

    #[test]
    fn results_reach_the_agent_verbatim(app in json_texts::object()) {
        let request = receive(&modern_headers("tools/call", "t"), call("{}")).unwrap();
        let text = app.trim_ascii();
        match result::respond(app.clone(), &request, &RestContent::default()) {
            Ok(body) => {
                let body = std::str::from_utf8(&body).unwrap();
                prop_assert!(Json::parse(body.to_owned()).is_ok());
                prop_assert!(body.ends_with(&format!("{}}}", &text[1..])), "{}", body);
            }
            // A key that no string can hold.
            Err(error) => prop_assert_eq!((error.status.as_u16(), error.code), (200, -32_603)),
        }
    }

    #[test]
    fn an_event_is_one_line_of_the_same_json(message in json_texts::value()) {
        let event = sse::event(message.as_bytes());
        let event = std::str::from_utf8(&event).unwrap();
        let data = event.strip_prefix("event: message\ndata: ").unwrap();
        let data = data.strip_suffix("\n\n").unwrap();
        prop_assert!(!data.contains(['\r', '\n']));
        prop_assert_eq!(data, at_entry(&message));
    }

    #[test]
    fn any_header_is_read(value in vec(32_u8..=255, 0..60), name in 0_usize..9) {
        let names = [
            "host", "origin", "accept", "content-type", "mcp-protocol-version", "mcp-session-id",
            "mcp-method", "mcp-name", "traceparent",
        ];
        let Ok(value) = HeaderValue::from_bytes(&value) else {
            return Ok(());
        };
        let mut headers = modern_headers("tools/call", "t");
        headers.insert(HeaderName::from_static(names[name]), value);
        let policy = OriginPolicy::new(true, &[], &[]).unwrap();
        let _allowed = policy.check(None, &headers);
        let _accepted = Accept::read(&headers);
        let _declared = check_content_type(&headers);
        receive(&headers, call("{}"));
        receive(&headers, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    }

    #[test]
    fn no_session_id_but_ours_is_known(text in "[!-~]{0,300}") {
        let keys = SessionKeys::new(&secrets());
        prop_assert!(keys.verify(&text, &grant(), 600).is_err());
    }
}
