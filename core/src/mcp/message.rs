//! JSON-RPC messages as an agent sends them (SPEC.md §5.6 to §5.8).
//!
//! A body is parsed once, here. What is read of it is read from its parts; what goes on to the
//! app goes on as it came.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::RpcError;
use super::params::Params;
use crate::json::{self, Json, JsonError, Text};
use crate::limits;

/// The body of a POST.
#[derive(Debug, Clone)]
pub enum Incoming {
    /// One message.
    One(Box<Message>),
    /// An array of them: 2025-03-26 alone, which whoever knows the session has to check.
    Batch(Vec<Message>),
}

/// One JSON-RPC message.
#[derive(Debug, Clone)]
pub enum Message {
    /// It has a method and an id.
    Request(RawRequest),
    /// It has a method and no id.
    Notification(Notification),
    /// The answer to a request of ours.
    Response(Response),
}

/// A request whose method and params are not checked yet.
#[derive(Debug, Clone)]
pub struct RawRequest {
    /// Its id.
    pub id: RequestId,
    /// The method's name.
    pub method: String,
    /// Its params.
    pub params: Params,
}

/// A notification.
#[derive(Debug, Clone)]
pub struct Notification {
    /// The method's name.
    pub method: String,
    /// Its params.
    pub params: Params,
}

/// The answer to a request of ours.
#[derive(Debug, Clone)]
pub struct Response {
    /// The id of our request.
    pub id: RequestId,
    /// `result`, or else `error`.
    pub outcome: Result<Json, Json>,
}

/// The id of a request, as the agent wrote it: a string or an integer (SPEC.md §5.7).
///
/// Compared as text, so `1` and `"1"` are different ids.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Takes the JSON text of an id; `None` if it is neither a string nor an integer without
    /// fraction and exponent, or longer than [`limits::REQUEST_ID_BYTES`].
    #[must_use]
    pub fn parse(json: &str) -> Option<RequestId> {
        let digits = json.strip_prefix('-').unwrap_or(json);
        let integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let string = json.len() >= 2 && json.starts_with('"') && json.ends_with('"');
        ((integer || string) && json.len() <= limits::REQUEST_ID_BYTES)
            .then(|| RequestId(json.into()))
    }

    /// The id as JSON text, as it was sent.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Incoming {
    /// Parses a body.
    ///
    /// # Errors
    /// 400 with -32700 if it is not JSON (nothing at all, two values, another encoding, a byte
    /// order mark), with -32600 if it is JSON but no message, nested too deeply, or has a member
    /// twice that is read. The error has the request's id where that could be read.
    pub fn parse(body: Bytes) -> Result<Incoming, RpcError> {
        let text = Text::new(body).map_err(|error| refused(&error))?;
        if text.as_str().trim_ascii_start().starts_with('[') {
            let batch = text.parse().map_err(|error| refused(&error))?;
            return parse_batch(&batch).map(Incoming::Batch);
        }
        let envelope: Envelope<'_> = text.read().map_err(|error| refused(&error))?;
        let message = envelope.message(|part| text.part(part))?;
        Ok(Incoming::One(Box::new(message)))
    }
}

fn parse_batch(batch: &Json) -> Result<Vec<Message>, RpcError> {
    let entries: Vec<&RawValue> = batch.value().map_err(|error| refused(&error))?;
    if entries.is_empty() || entries.len() > limits::BATCH_REQUESTS {
        let message = format!("A batch has 1 to {} messages", limits::BATCH_REQUESTS);
        return Err(RpcError::invalid_request(message));
    }
    entries
        .into_iter()
        .map(|entry| {
            let entry = batch.part(entry);
            let envelope: Envelope<'_> = entry.read().map_err(|error| refused(&error))?;
            envelope.message(|part| entry.part(part))
        })
        .collect()
}

/// The error for a text that was not read.
pub(super) fn refused(error: &JsonError) -> RpcError {
    match error {
        JsonError::NotUtf8 | JsonError::Unparsable(_) => {
            RpcError::parse_error(format!("Parse error: {error}"))
        }
        JsonError::TooDeep | JsonError::Duplicate(_) | JsonError::Shape(_) => {
            RpcError::invalid_request(format!("Invalid request: {error}"))
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    fn message(self, part: impl Fn(&RawValue) -> Json) -> Result<Message, RpcError> {
        let id = match self.id {
            None => None,
            Some(raw) => Some(RequestId::parse(raw.get()).ok_or_else(|| {
                RpcError::invalid_request("The id must be a string or an integer")
            })?),
        };
        let refuse = |message: &'static str| RpcError {
            id: id.clone(),
            ..RpcError::invalid_request(message)
        };
        if self.jsonrpc.and_then(string).as_deref() != Some("2.0") {
            return Err(refuse("jsonrpc must be \"2.0\""));
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let method = string(method).ok_or_else(|| refuse("The method must be a string"))?;
                let params = Params::read(self.params.map(&part)).map_err(|mut error| {
                    error.id.clone_from(&id);
                    error
                })?;
                let method = method.into_owned();
                Ok(match id {
                    Some(id) => Message::Request(RawRequest { id, method, params }),
                    None => Message::Notification(Notification { method, params }),
                })
            }
            (None, Some(_), None) | (None, None, Some(_)) => {
                let outcome = match (self.result, self.error) {
                    (Some(result), _) => Ok(part(result)),
                    (None, error) => Err(error.map_or(Json::NULL, part)),
                };
                let id = id.ok_or_else(|| RpcError::invalid_request("A response needs an id"))?;
                Ok(Message::Response(Response { id, outcome }))
            }
            _ => Err(refuse("A message has a method, or a result, or an error")),
        }
    }
}

/// The text of a JSON string; `None` if it is another value.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    decode_string(raw.get())
}

pub(super) fn decode_string(json: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Borrowed<'_>>(json)
        .ok()
        .map(|borrowed| borrowed.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(body: &[u8]) -> String {
        let one = |message: &Message| match message {
            Message::Request(request) => {
                format!(
                    "request {:?} {} {}",
                    request.id,
                    request.method,
                    request.params.raw.as_str()
                )
            }
            Message::Notification(notification) => format!("notification {}", notification.method),
            Message::Response(response) => match &response.outcome {
                Ok(result) => format!("result {:?} {}", response.id, result.as_str()),
                Err(error) => format!("error {:?} {}", response.id, error.as_str()),
            },
        };
        match Incoming::parse(Bytes::copy_from_slice(body)) {
            Ok(Incoming::One(message)) => one(&message),
            Ok(Incoming::Batch(batch)) => batch.iter().map(one).collect::<Vec<_>>().join(" | "),
            Err(error) => {
                assert_eq!(error.status, 400);
                let id = error.id.map_or(String::new(), |id| format!(" id {id:?}"));
                format!("{}{id}", error.code)
            }
        }
    }

    #[test]
    fn what_is_no_json_is_a_parse_error() {
        for body in [
            &b""[..],
            b" \n",
            b"{",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} {}",
            b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            b"{\0\"\0j\0",
            b"{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"ping\"}",
            b"[1,",
            b"nonsense",
        ] {
            assert_eq!(
                describe(body),
                "-32700",
                "{:?}",
                String::from_utf8_lossy(body)
            );
        }
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        for body in [
            "null",
            "\"x\"",
            "5",
            "true",
            "{}",
            "[]",
            "[{}]",
            "[1]",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}"#,
            r#"{"jsonrpc":"1.0","method":"ping"}"#,
        ] {
            assert_eq!(describe(body.as_bytes()), "-32600", "{body}");
        }
        for body in [
            r#"{"id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":null}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":null}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":"x"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"name":"x","name":"y"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"a","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
        ] {
            assert_eq!(describe(body.as_bytes()), "-32600 id 7", "{body}");
        }
    }

    #[test]
    fn ids_are_strings_or_integers_and_stay_as_they_are() {
        for (id, expected) in [
            ("0", Some("0")),
            ("\"\"", Some("\"\"")),
            ("-1", Some("-1")),
            ("\"1\"", Some("\"1\"")),
            ("9007199254740993", Some("9007199254740993")),
            ("\"\\u0041\"", Some("\"\\u0041\"")),
            ("null", None),
            ("1.5", None),
            ("1.0", None),
            ("1e3", None),
            ("true", None),
            ("{}", None),
            ("[1]", None),
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let expected =
                expected.map_or("-32600".to_owned(), |id| format!("request {id} ping {{}}"));
            assert_eq!(describe(body.as_bytes()), expected);
        }
        let long = format!("\"{}\"", "x".repeat(limits::REQUEST_ID_BYTES));
        assert_eq!(RequestId::parse(&long), None);
    }

    #[test]
    fn a_missing_id_makes_a_notification() {
        assert_eq!(
            describe(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}"#),
            "notification tools/call"
        );
    }

    #[test]
    fn params_stay_as_they_are_but_for_line_ends() {
        let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\r\n\
                    \"name\":\"x\",\n\"arguments\":{\"a\":1e400,\"a\":9007199254740993,\
                    \"b\":\"\\ud800\\n\"}}}";
        assert_eq!(
            describe(body.as_bytes()),
            r#"request 1 tools/call {  "name":"x", "arguments":{"a":1e400,"a":9007199254740993,"b":"\ud800\n"}}"#
        );
    }

    #[test]
    fn responses_are_recognised() {
        for (body, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":"a","result":{"x":1}}"#,
                "result \"a\" {\"x\":1}",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
                "error 1 {\"code\":1}",
            ),
        ] {
            assert_eq!(describe(body.as_bytes()), expected);
        }
    }

    #[test]
    fn batches_are_read_whole_or_not_at_all() {
        let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        assert_eq!(
            describe(format!("\n[{one},{note}]").as_bytes()),
            "request 1 ping {} | notification notifications/x"
        );
        assert_eq!(describe(format!("[{one},{{}}]").as_bytes()), "-32600");
        let many = |n: usize| format!("[{}]", vec![one; n].join(","));
        assert_eq!(describe(many(51).as_bytes()), "-32600");
        assert!(describe(many(50).as_bytes()).starts_with("request"));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":{}{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        assert_eq!(describe(deep.as_bytes()), "-32600");
    }
}
