//! Which era a message belongs to (SPEC.md §5.3).
//!
//! Decided for each request by itself: nothing is remembered, and `Mcp-Method` does not count,
//! for legacy agents may send it too.

use http::HeaderMap;

use super::message::Message;
use super::meta;
use super::params::Params;
use super::version::{Era, VersionHeader};

/// The era of a message.
#[must_use]
pub fn of(message: &Message, headers: &HeaderMap) -> Era {
    let params = match message {
        Message::Request(request) => Some((&request.params, request.method == "initialize")),
        Message::Notification(notification) => Some((&notification.params, false)),
        Message::Response(_) => None,
    };
    let names_version = params.is_some_and(|(params, _)| has_version(params));
    let initializes = params.is_some_and(|(_, initializes)| initializes);
    if names_version {
        Era::Modern
    } else if initializes || !VersionHeader::read(headers).is_modern() {
        Era::Legacy
    } else {
        Era::Modern
    }
}

/// Whether `_meta` has a protocol version. One that cannot be read counts, so that it is the
/// modern checks that refuse it.
fn has_version(params: &Params) -> bool {
    match meta::Members::read(params) {
        Ok(members) => members.protocol_version.is_some(),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderValue;

    use super::*;
    use crate::mcp::message::Incoming;

    fn era(header: Option<&str>, body: &str) -> Era {
        let mut headers = HeaderMap::new();
        if let Some(version) = header {
            let version = HeaderValue::from_str(version).unwrap();
            headers.insert("mcp-protocol-version", version);
        }
        headers.insert("mcp-session-id", HeaderValue::from_static("x"));
        headers.insert("mcp-method", HeaderValue::from_static("initialize"));
        match Incoming::parse(Bytes::copy_from_slice(body.as_bytes())).unwrap() {
            Incoming::One(message) => of(&message, &headers),
            Incoming::Batch(_) => unreachable!(),
        }
    }

    #[test]
    fn body_and_version_header_decide() {
        let request = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
        };
        let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let odd = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}"#;
        let asks = r#"{"protocolVersion":"2026-07-28"}"#;
        for (header, method, params, expected) in [
            (None, "initialize", asks, Era::Legacy),
            (Some("2025-11-25"), "initialize", asks, Era::Legacy),
            (Some("2026-07-28"), "initialize", asks, Era::Legacy),
            (Some("2099-01-01"), "initialize", asks, Era::Legacy),
            (None, "initialize", meta, Era::Modern),
            (None, "tools/list", meta, Era::Modern),
            (Some("2025-11-25"), "tools/list", meta, Era::Modern),
            (None, "tools/list", odd, Era::Modern),
            (Some("2026-07-28"), "tools/list", "{}", Era::Modern),
            (Some("v999.0.0"), "tools/list", "{}", Era::Modern),
            (Some("2025-06-18"), "tools/list", "{}", Era::Legacy),
            (Some("2020-01-01"), "tools/list", "{}", Era::Legacy),
            (None, "tools/list", "{}", Era::Legacy),
            (
                None,
                "tools/list",
                r#"{"_meta":{"progressToken":1}}"#,
                Era::Legacy,
            ),
            (None, "tools/list", r#"{"_meta":null}"#, Era::Legacy),
        ] {
            let found = era(header, &request(method, params));
            assert_eq!(found, expected, "{header:?} {method} {params}");
        }
    }

    #[test]
    fn notifications_and_responses_have_an_era_too() {
        let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
        let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        for body in [cancelled, response] {
            assert_eq!(era(Some("2026-07-28"), body), Era::Modern);
            assert_eq!(era(Some("2025-11-25"), body), Era::Legacy);
            assert_eq!(era(None, body), Era::Legacy);
        }
    }
}
