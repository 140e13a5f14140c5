//! What a request was answered with, as JSON or as a stream.

use bytes::Bytes;
use clientmcp_core::mcp::version::Version;
use http::StatusCode;
use serde_json::Value;

use crate::events::Event;
use crate::exchange::Response;
use crate::raw_json::member;
use crate::schema;

/// The `_meta` key that tells programs why a call has no answer (SPEC.md §7.3).
const OUTCOME: &str = "dev.clientmcp/outcome";

/// A JSON-RPC answer, and what came before it on its stream.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// Whether it came as a stream.
    pub streamed: bool,
    /// Messages of the stream before the answer.
    pub notifications: Vec<Value>,
    /// The answer as it came.
    pub raw: Bytes,
    /// The answer, parsed; null if it holds what this parser cannot.
    pub message: Value,
}

impl Answer {
    /// Reads a response to its end. A stream ends with the answer.
    ///
    /// # Panics
    /// If it has neither form.
    pub async fn read(response: Response) -> Self {
        let status = response.status;
        let streamed = response.is_stream();
        let mut notifications = Vec::new();
        let raw = if streamed {
            let mut events = response.events();
            let answer = loop {
                match events
                    .next()
                    .await
                    .expect("an answer before the end of the stream")
                {
                    Event::Comment => {}
                    Event::Message(message) if member(text(&message), "method").is_some() => {
                        notifications.push(
                            serde_json::from_slice(&message).expect("a notification is JSON"),
                        );
                    }
                    Event::Message(message) => break message,
                }
            };
            assert_eq!(events.next().await, None, "nothing follows the answer");
            answer
        } else {
            assert_eq!(
                response.header("content-type"),
                Some("application/json"),
                "{status}"
            );
            assert_eq!(response.header("cache-control"), Some("no-store"));
            response.bytes().await
        };
        Self {
            status,
            streamed,
            notifications,
            message: serde_json::from_slice(&raw).unwrap_or_default(),
            raw,
        }
    }

    /// Checks everything that came against the schema of a revision, and the id.
    ///
    /// # Panics
    /// If it is not valid, or the answer to another request.
    #[must_use]
    pub fn checked(self, version: Version, method: &str, id: &str) -> Self {
        for notification in &self.notifications {
            schema::check(version, method, notification);
        }
        schema::check(version, method, &self.message);
        assert_eq!(self.raw_member("id").as_deref(), Some(id));
        self
    }

    /// The result.
    ///
    /// # Panics
    /// If it is an error.
    #[must_use]
    pub fn result(&self) -> &Value {
        self.message
            .get("result")
            .unwrap_or_else(|| panic!("no result: {} {}", self.status, self.message))
    }

    /// HTTP status and JSON-RPC code of an error.
    ///
    /// # Panics
    /// If it is a result.
    #[must_use]
    pub fn error(&self) -> (u16, i64) {
        let code = self.message["error"]["code"].as_i64();
        (
            self.status.as_u16(),
            code.unwrap_or_else(|| panic!("no error: {} {}", self.status, self.message)),
        )
    }

    /// The first text of a tool's result.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn text(&self) -> &str {
        let text = self.result()["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text: {}", self.message))
    }

    /// The outcome of a call that the app did not answer.
    ///
    /// # Panics
    /// If the app answered, or the result is no error for the model.
    #[must_use]
    pub fn outcome(&self) -> &str {
        let result = self.result();
        assert_eq!(result["isError"], true, "{}", self.message);
        assert!(self.text().len() > 20, "the text says what to do");
        result["_meta"][OUTCOME]
            .as_str()
            .unwrap_or_else(|| panic!("no outcome: {}", self.message))
    }

    /// A member of the answer as raw text.
    #[must_use]
    pub fn raw_member(&self, name: &str) -> Option<String> {
        member(text(&self.raw), name)
    }
}

fn text(message: &[u8]) -> &str {
    std::str::from_utf8(message).expect("messages are UTF-8")
}
