//! What an agent is told when its call could not be answered by the app (SPEC.md §7.3).
//!
//! A model reads the text and can act on it; a program reads `_meta`. Protocol mistakes are no
//! outcomes: they are errors ([`super::error`]).

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::error::{RpcError, code, shorten};
use super::method::Method;
use super::version::Version;
use crate::json::Json;

/// The `_meta` key of the outcome.
pub const OUTCOME_KEY: &str = "dev.clientmcp/outcome";
/// The `_meta` key of the time after which trying again makes sense, in milliseconds.
pub const RETRY_AFTER_KEY: &str = "dev.clientmcp/retryAfterMs";

/// Why there is no answer of the app, and what is known of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The app is not connected; the call did not run.
    Offline,
    /// Over a limit, or the bytes never reached the app; the call did not run.
    NotDelivered,
    /// No answer within the deadline; the call may have run.
    Timeout,
    /// The app was lost while the call ran; it may have run.
    Unknown,
    /// The app asks for what the agent did not declare, or cannot be asked for.
    MissingCapability,
    /// The agent did not give what the app asked for; the app ran until then.
    NoInput,
}

impl Outcome {
    /// The outcome's name on the wire, and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Offline => "offline",
            Outcome::NotDelivered => "not_delivered",
            Outcome::Timeout => "timeout",
            Outcome::Unknown => "unknown",
            Outcome::MissingCapability => "missing_capability",
            Outcome::NoInput => "no_input",
        }
    }

    const fn code(self) -> i64 {
        match self {
            Outcome::Offline => code::APP_OFFLINE,
            Outcome::NotDelivered => code::NOT_DELIVERED,
            Outcome::Timeout => code::TIMED_OUT,
            Outcome::Unknown => code::OUTCOME_UNKNOWN,
            Outcome::MissingCapability => code::CAPABILITY_ABSENT,
            Outcome::NoInput => code::NO_INPUT,
        }
    }
}

/// A call that the app did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is known of the call.
    pub outcome: Outcome,
    /// What to do, for the model.
    pub text: Cow<'static, str>,
    /// When trying again makes sense, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// An answer that is not the app's.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A result, without what the modern era adds to every result
    /// ([`super::result::respond`] does that).
    Result(Json),
    /// An error.
    Error(RpcError),
}

impl Failure {
    /// The app is not connected. `app` is the name from its last registration.
    #[must_use]
    pub fn offline(app: Option<&str>) -> Failure {
        let app = named(app);
        Failure::new(
            Outcome::Offline,
            format!(
                "{app} is not connected, so nothing was run. \
                 Ask the user to open it, then try again."
            ),
        )
    }

    /// The app lost its connection a moment ago and is likely to come back.
    #[must_use]
    pub fn away(app: Option<&str>, retry_after_ms: u64) -> Failure {
        let app = named(app);
        Failure::new(
            Outcome::Offline,
            format!(
                "{app} lost its connection a moment ago, so nothing was run. \
                 Try again in a few seconds; if that fails, ask the user to open it."
            ),
        )
        .retry_after(retry_after_ms)
    }

    /// The app works on as many calls as it may, or too much waits for it already.
    #[must_use]
    pub fn busy(retry_after_ms: u64) -> Failure {
        Failure::new(
            Outcome::NotDelivered,
            "The application is busy with too many calls, so nothing was run. \
             Wait for some of them to end, then try again.",
        )
        .retry_after(retry_after_ms)
    }

    /// The call did not reach the app, and provably never will.
    #[must_use]
    pub fn not_delivered(retry_after_ms: u64) -> Failure {
        Failure::new(
            Outcome::NotDelivered,
            "The call could not be delivered to the application, so nothing was run. Try again.",
        )
        .retry_after(retry_after_ms)
    }

    /// No answer within the deadline. The app was told to stop.
    #[must_use]
    pub fn timeout(deadline_ms: u64) -> Failure {
        Failure::new(
            Outcome::Timeout,
            format!(
                "The application did not answer within {} s and was told to stop. The action may \
                 have been carried out in part or whole: check before doing it again.",
                deadline_ms.div_ceil(1000)
            ),
        )
    }

    /// The app's connection, or the way to it, was lost while the call ran.
    #[must_use]
    pub fn unknown() -> Failure {
        Failure::new(
            Outcome::Unknown,
            "The connection to the application was lost while the call ran. The action may have \
             been carried out: check before doing it again.",
        )
    }

    /// The app asks for input of a kind that the agent cannot give.
    #[must_use]
    pub fn missing_capability(required: &Value) -> Failure {
        let names = required.as_object().map_or_else(String::new, |required| {
            let names: Vec<&str> = required.keys().map(String::as_str).collect();
            names.join(", ")
        });
        Failure::new(
            Outcome::MissingCapability,
            format!(
                "The application needs input that this agent cannot give ({}), so the call did \
                 not complete.",
                shorten(&names)
            ),
        )
    }

    /// The revision that the agent speaks has no way to ask for this.
    #[must_use]
    pub fn cannot_be_asked(what: &str, version: Version) -> Failure {
        Failure::new(
            Outcome::MissingCapability,
            format!(
                "The application needs input that this agent cannot be asked for (MCP {} has no \
                 way for {what}), so the call did not complete.",
                version.as_str()
            ),
        )
    }

    /// The answer to the request is no event stream, on which alone a legacy agent can be asked.
    #[must_use]
    pub fn no_stream() -> Failure {
        Failure::new(
            Outcome::MissingCapability,
            "The application needs input, which an agent can be asked for on an event stream \
             alone, so the call did not complete. Call again by itself, not in a batch, and accept \
             text/event-stream.",
        )
    }

    /// The agent did not answer a request for input within its time.
    #[must_use]
    pub fn no_input_within(time: Duration) -> Failure {
        no_input(&format!("no answer came within {} s", time.as_secs()))
    }

    /// The agent's answer to a request for input is an error, or not valid.
    #[must_use]
    pub fn input_refused(method: &str, why: &str) -> Failure {
        no_input(&format!("the agent was asked by {method}, and {why}"))
    }

    /// The agent's answers are larger than a call may be.
    #[must_use]
    pub fn input_too_large() -> Failure {
        no_input("the agent's answers are too large to be handed on")
    }

    /// The app goes on asking.
    #[must_use]
    pub fn too_many_rounds() -> Failure {
        no_input("it asked more often than one call may")
    }

    /// Whoever asked the agent stops, or too many agents are being asked.
    #[must_use]
    pub fn not_asked(retry_after_ms: u64) -> Failure {
        no_input("the agent cannot be asked at the moment").retry_after(retry_after_ms)
    }

    fn new(outcome: Outcome, text: impl Into<Cow<'static, str>>) -> Failure {
        Failure {
            outcome,
            text: text.into(),
            retry_after_ms: None,
        }
    }

    fn retry_after(mut self, ms: u64) -> Failure {
        self.retry_after_ms = Some(ms);
        self
    }

    /// The failure as the answer to a method: a tool result with `isError`, an empty completion,
    /// or an error where results have no way to say it.
    #[must_use]
    pub fn to_answer(&self, method: Method) -> Reply {
        let meta = || self.named(OUTCOME_KEY, RETRY_AFTER_KEY);
        match method {
            Method::CallTool => Reply::Result(Json::of(&json!({
                "content": [{ "type": "text", "text": self.text }],
                "isError": true,
                "_meta": meta(),
            }))),
            Method::Complete => Reply::Result(Json::of(
                &json!({ "completion": { "values": [] }, "_meta": meta() }),
            )),
            _ => Reply::Error(
                RpcError::new(StatusCode::OK, self.outcome.code(), self.text.clone())
                    .with_data(self.named("outcome", "retryAfterMs")),
            ),
        }
    }

    /// What a program is told: under keys of ours in `_meta`, which is everybody's, and by their
    /// plain names in the data of an error.
    fn named(&self, outcome: &str, retry_after: &str) -> Value {
        let mut members = Map::new();
        members.insert(outcome.to_owned(), self.outcome.as_str().into());
        if let Some(ms) = self.retry_after_ms {
            members.insert(retry_after.to_owned(), ms.into());
        }
        Value::Object(members)
    }
}

fn no_input(why: &str) -> Failure {
    Failure::new(
        Outcome::NoInput,
        format!(
            "The application asked for input and did not get it ({why}), so the call did not \
             complete. What it did before it asked may stand: check before calling again."
        ),
    )
}

/// The app as the model may call it. The name comes from the app: it is quoted, without control
/// characters, and not at length.
fn named(app: Option<&str>) -> String {
    match app.map(|name| name.replace(|c: char| c.is_control() || c == '"', " ")) {
        Some(name) if !name.trim().is_empty() => {
            format!("The application \"{}\"", shorten(name.trim()))
        }
        _ => "The application".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(failure: &Failure, outcome: &str, retry: Option<u64>, words: &str) {
        let Reply::Result(result) = failure.to_answer(Method::CallTool) else {
            panic!("tools/call has isError");
        };
        let result: Value = result.value().unwrap();
        assert_eq!(result["isError"], true);
        assert_eq!(result["_meta"][OUTCOME_KEY], outcome);
        assert_eq!(result["_meta"][RETRY_AFTER_KEY].as_u64(), retry);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn a_tool_error_says_what_to_do_and_programs_can_tell_why() {
        for (failure, outcome, retry, words) in [
            (
                Failure::offline(Some("Notes")),
                "offline",
                None,
                "The application \"Notes\" is not connected",
            ),
            (Failure::offline(None), "offline", None, "open it"),
            (
                Failure::away(None, 2_000),
                "offline",
                Some(2_000),
                "Try again",
            ),
            (
                Failure::busy(1_000),
                "not_delivered",
                Some(1_000),
                "too many calls",
            ),
            (
                Failure::not_delivered(500),
                "not_delivered",
                Some(500),
                "nothing was run",
            ),
            (Failure::timeout(119_001), "timeout", None, "within 120 s"),
            (Failure::unknown(), "unknown", None, "check before"),
            (
                Failure::missing_capability(&json!({"sampling": {}, "roots": {}})),
                "missing_capability",
                None,
                "(roots, sampling)",
            ),
        ] {
            expect(&failure, outcome, retry, words);
        }
    }

    #[test]
    fn what_was_not_given_or_cannot_be_asked_for_is_told_as_well() {
        for (failure, outcome, retry, words) in [
            (
                Failure::cannot_be_asked("elicitation", Version::V2025_03_26),
                "missing_capability",
                None,
                "MCP 2025-03-26 has no way for elicitation",
            ),
            (
                Failure::no_stream(),
                "missing_capability",
                None,
                "text/event-stream",
            ),
            (
                Failure::no_input_within(Duration::from_secs(600)),
                "no_input",
                None,
                "within 600 s",
            ),
            (
                Failure::input_refused("roots/list", "it answered with the error -1"),
                "no_input",
                None,
                "by roots/list, and it answered",
            ),
            (
                Failure::not_asked(1_000),
                "no_input",
                Some(1_000),
                "at the moment",
            ),
        ] {
            expect(&failure, outcome, retry, words);
        }
    }

    #[test]
    fn methods_without_is_error_get_a_product_code() {
        let Reply::Error(error) = Failure::offline(None).to_answer(Method::GetPrompt) else {
            panic!("prompts/get has no isError");
        };
        assert_eq!(error.code, code::APP_OFFLINE);
        assert_eq!(error.status, StatusCode::OK);
        assert_eq!(error.data.unwrap()["outcome"], "offline");
    }

    #[test]
    fn a_completion_of_an_absent_app_has_no_values() {
        let Reply::Result(result) = Failure::offline(None).to_answer(Method::Complete) else {
            panic!("completions are answered");
        };
        let result: Value = result.value().unwrap();
        assert_eq!(result["completion"]["values"], json!([]));
    }

    #[test]
    fn the_apps_name_cannot_speak_to_the_model_at_length() {
        let name = format!("a\n\"b\" {}", "x".repeat(500));
        let failure = Failure::offline(Some(&name));
        assert!(failure.text.chars().count() < 300);
        assert!(!failure.text.contains('\n'));
        assert!(
            Failure::offline(Some(" \n"))
                .text
                .starts_with("The application is")
        );
    }
}
