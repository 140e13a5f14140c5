//! Calls whose app asks the agent for input (SPEC.md §7.7).

use std::net::SocketAddr;

use clientmcp_core::mcp::version::Version;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::events::Events;
use crate::exchange::{Request, Response};
use crate::schema;
use crate::session::Session;

/// What the test agents can do.
pub const CAPABLE: &str =
    r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

/// A form that asks for a name.
pub const FORM: &str = r#"{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}"#;
/// An elicitation by URL.
pub const LINK: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"Sign in","url":"https://a.example/sign-in"}}"#;
/// A request for a model's words.
pub const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":100}}"#;
/// A request for roots.
pub const ROOTS: &str = r#"{"method":"roots/list"}"#;

/// An accepted form.
pub const NAME: &str = r#"{"action":"accept","content":{"name":"Ada"}}"#;
/// A model's words.
pub const WORDS: &str =
    r#"{"role":"assistant","content":{"type":"text","text":"Hello"},"model":"m"}"#;
/// A list of roots.
pub const LIST: &str = r#"{"roots":[{"uri":"file:///a","name":"a"}]}"#;

/// An app's result that asks for these, by their keys.
#[must_use]
pub fn asks(requests: &[(&str, &str)], state: Option<&str>) -> String {
    let requests = requests.iter();
    let requests: Vec<_> = requests
        .map(|(key, asked)| format!("\"{key}\":{asked}"))
        .collect();
    let state = state.map_or(String::new(), |state| format!(r#","requestState":{state}"#));
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}}}{state}}}"#,
        requests.join(",")
    )
}

/// A call that is under way: its stream begins with the first request for input.
#[must_use]
pub fn begin(request: &Request, router: SocketAddr) -> JoinHandle<Response> {
    let request = request.clone();
    tokio::spawn(async move { request.send(router).await })
}

/// The next request of the server on a call's stream, which is valid in its revision; after
/// whatever comments.
///
/// # Panics
/// If something else comes.
pub async fn question(events: &mut Events, version: Version) -> Question {
    let message = events.message().await;
    schema::check(version, "tools/call", &message);
    let id = &message["id"];
    assert!(id.is_string(), "no request: {message}");
    assert!(
        id.as_str().is_some_and(|id| id.len() >= 22),
        "128 random bits: {id}"
    );
    Question(message)
}

/// A request of the server.
#[derive(Debug, Clone)]
pub struct Question(pub Value);

impl Question {
    /// Its id as JSON text.
    #[must_use]
    pub fn id(&self) -> String {
        self.0["id"].to_string()
    }

    /// Its method.
    ///
    /// # Panics
    /// If it has none.
    #[must_use]
    pub fn method(&self) -> &str {
        self.0["method"].as_str().expect("a request has a method")
    }

    /// Answers it with a result through a router.
    pub async fn answer(&self, session: &Session, router: SocketAddr, result: &str) {
        let outcome = format!(r#""result":{result}"#);
        session.respond(router, &self.id(), &outcome).await;
    }
}

/// The next message, which takes these requests back, in any order.
///
/// # Panics
/// If another comes.
pub async fn withdrawn(events: &mut Events, version: Version, questions: &[&Question]) {
    let mut left: Vec<_> = questions.iter().map(|it| it.0["id"].clone()).collect();
    while !left.is_empty() {
        let message = events.message().await;
        schema::check(version, "tools/call", &message);
        assert_eq!(message["method"], "notifications/cancelled", "{message}");
        let at = left
            .iter()
            .position(|id| *id == message["params"]["requestId"]);
        left.remove(at.unwrap_or_else(|| panic!("none of these: {message}")));
    }
}
