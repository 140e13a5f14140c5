//! Events of a `text/event-stream` response (SPEC.md §9.6).
//!
//! One event is one message on one data line. There are no event ids: streams are not resumed.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};

/// What keeps a stream alive, and tells proxies that it is one.
pub const COMMENT: &[u8] = b":\n\n";

const START: &[u8] = b"event: message\ndata: ";
const END: &[u8] = b"\n\n";

/// The event that carries one JSON-RPC message.
#[must_use]
pub fn event(message: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(START.len() + message.len() + END.len());
    event.extend_from_slice(START);
    event.extend_from_slice(message);
    // Line ends stand between tokens only, where a blank means the same. What enters the cluster
    // has none; this keeps a message that did not come that way from splitting the event.
    let mut rest = &mut event[START.len()..];
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
    event.extend_from_slice(END);
    event.into()
}

/// Sets the headers of a stream.
pub fn apply_headers(headers: &mut HeaderMap) {
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_data_line() {
        assert_eq!(event(b"{}"), "event: message\ndata: {}\n\n");
        assert_eq!(
            event(b"{\r\n\"a\":\n1}\r"),
            "event: message\ndata: {  \"a\": 1} \n\n"
        );
    }
}
