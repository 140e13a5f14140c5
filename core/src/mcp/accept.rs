//! `Accept` and `Content-Type` of an agent's request (SPEC.md §5.2).
//!
//! MCP wants both `application/json` and `text/event-stream` in Accept. Gateways and simple
//! clients rewrite or leave it out, so anything that can be answered is served: only a request
//! that accepts neither is refused.

use http::{HeaderMap, StatusCode, header};

use super::error::{RpcError, code};

/// The kinds of response that the agent takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// `application/json`.
    pub json: bool,
    /// `text/event-stream`.
    pub events: bool,
}

impl Accept {
    /// Reads the header. Absent or empty means everything.
    ///
    /// # Errors
    /// 406 if neither kind of response is acceptable.
    pub fn read(headers: &HeaderMap) -> Result<Accept, RpcError> {
        let mut ranges = Vec::new();
        for value in headers.get_all(header::ACCEPT) {
            let text = String::from_utf8_lossy(value.as_bytes());
            ranges.extend(text.split(',').filter_map(Range::parse));
        }
        if ranges.is_empty() {
            return Ok(Accept {
                json: true,
                events: true,
            });
        }
        let accept = Accept {
            json: accepts(&ranges, "application", "json"),
            events: accepts(&ranges, "text", "event-stream"),
        };
        if accept.json || accept.events {
            Ok(accept)
        } else {
            Err(not_acceptable(
                "Accept must allow application/json or text/event-stream",
            ))
        }
    }

    /// Demands that event streams are accepted: for the GET stream and `subscriptions/listen`.
    ///
    /// # Errors
    /// 406 if they are not.
    pub fn require_events(self) -> Result<(), RpcError> {
        if self.events {
            Ok(())
        } else {
            Err(not_acceptable("Accept must allow text/event-stream"))
        }
    }
}

fn not_acceptable(message: &'static str) -> RpcError {
    RpcError::new(StatusCode::NOT_ACCEPTABLE, code::NOT_ACCEPTABLE, message)
}

/// Demands that the body is declared as JSON; parameters (charset) do not matter.
///
/// # Errors
/// 415 if it is declared as something else, or as nothing.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), RpcError> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter().peekable();
    let declared = values.peek().is_some()
        && values.all(|value| {
            value.to_str().is_ok_and(|text| {
                let essence = text.split(';').next().unwrap_or_default().trim();
                essence.eq_ignore_ascii_case("application/json")
            })
        });
    if declared {
        Ok(())
    } else {
        Err(RpcError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            code::UNSUPPORTED_MEDIA_TYPE,
            "Content-Type must be application/json",
        ))
    }
}

/// One media range of an Accept header, in lower case.
struct Range {
    kind: String,
    subtype: String,
    refused: bool,
}

impl Range {
    fn parse(text: &str) -> Option<Range> {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next()?.to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        let refused = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
            .is_some_and(|(_, weight)| weight.trim().parse::<f32>().is_ok_and(|q| q <= 0.0));
        Some(Range {
            kind: kind.to_owned(),
            subtype: subtype.to_owned(),
            refused,
        })
    }

    /// How exactly the range names the type: 2 exactly, 1 its kind, 0 everything.
    fn precision(&self, kind: &str, subtype: &str) -> Option<u8> {
        match (self.kind.as_str(), self.subtype.as_str()) {
            (k, s) if k == kind && s == subtype => Some(2),
            (k, "*") if k == kind => Some(1),
            ("*", "*") => Some(0),
            _ => None,
        }
    }
}

/// The most precise range that matches decides (RFC 9110, 12.5.1).
fn accepts(ranges: &[Range], kind: &str, subtype: &str) -> bool {
    ranges
        .iter()
        .filter_map(|range| Some((range.precision(kind, subtype)?, !range.refused)))
        .max()
        .is_some_and(|(_, accepted)| accepted)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: &http::HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn whatever_can_be_answered_is_accepted() {
        for (values, expected) in [
            (&[][..], Some((true, true))),
            (&[""], Some((true, true))),
            (&["application/json, text/event-stream"], Some((true, true))),
            (&["text/event-stream,application/json"], Some((true, true))),
            (
                &["application/json;q=0.9, text/event-stream; q=0.1"],
                Some((true, true)),
            ),
            (&["APPLICATION/JSON, Text/Event-Stream"], Some((true, true))),
            (
                &["application/json", "text/event-stream"],
                Some((true, true)),
            ),
            (&["*/*"], Some((true, true))),
            (&["application/*"], Some((true, false))),
            (&["text/*"], Some((false, true))),
            (&["application/json"], Some((true, false))),
            (&["text/event-stream"], Some((false, true))),
            (&["*/*, text/event-stream;q=0"], Some((true, false))),
            (
                &["text/event-stream;q=0.0, application/json"],
                Some((true, false)),
            ),
            (&["text/html"], None),
            (&["text/html, image/png"], None),
            (&["application/json;q=0"], None),
        ] {
            let accept = Accept::read(&headers(&header::ACCEPT, values)).ok();
            assert_eq!(accept.map(|a| (a.json, a.events)), expected, "{values:?}");
        }
    }

    #[test]
    fn the_body_must_be_declared_as_json() {
        for (values, ok) in [
            (&["application/json"][..], true),
            (&["application/json; charset=utf-8"], true),
            (&["APPLICATION/JSON;charset=UTF-8"], true),
            (&["text/plain"], false),
            (&["application/json-seq"], false),
            (&[""], false),
            (&[], false),
            (&["application/json", "text/plain"], false),
        ] {
            let checked = check_content_type(&headers(&header::CONTENT_TYPE, values));
            assert_eq!(checked.is_ok(), ok, "{values:?}");
        }
    }
}
