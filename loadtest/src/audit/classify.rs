//! What an answer says (SPEC.md §7.3), and whether it is the answer to this call at all.

use std::fmt;

use clientmcp_core::mcp::outcome::OUTCOME_KEY;
use serde_json::Value;

use crate::agents::Exchange;
use crate::apps::Answer;

/// How a call ended, as its agent saw it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The app answered, and it was the right app and the right call.
    Ok,
    /// The cluster does not know whether the call ran.
    Unknown,
    /// The cluster says that the app is not connected.
    Offline,
    /// The cluster says that the call did not reach the app.
    NotDelivered,
    /// The cluster gave the call up.
    Timeout,
    /// Another error that the model can read.
    ToolError(String),
    /// A JSON-RPC error, by its code.
    RpcError(i64),
    /// An HTTP status that carries no JSON-RPC error.
    HttpError(u16),
    /// No answer: the connection broke, or there was none in time.
    NoAnswer(String),
    /// No answer, because the router that carried the call was killed on purpose.
    RouterKilled,
    /// More than one answer.
    SeveralAnswers(usize),
    /// An answer of another app, or to another call.
    CrossDelivery(String),
    /// Something that is no answer.
    Malformed(String),
}

impl Outcome {
    /// Its kind, for tables.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Unknown => "unknown",
            Outcome::Offline => "offline",
            Outcome::NotDelivered => "not delivered",
            Outcome::Timeout => "timeout",
            Outcome::ToolError(_) => "tool error",
            Outcome::RpcError(_) => "JSON-RPC error",
            Outcome::HttpError(_) => "HTTP error",
            Outcome::NoAnswer(_) => "no answer",
            Outcome::RouterKilled => "broken by a killed router",
            Outcome::SeveralAnswers(_) => "several answers",
            Outcome::CrossDelivery(_) => "cross-delivery",
            Outcome::Malformed(_) => "malformed answer",
        }
    }

    /// Whether it counts as a failure of the cluster. `unknown` is counted apart.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Unknown | Outcome::RouterKilled)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Outcome::ToolError(text)
            | Outcome::NoAnswer(text)
            | Outcome::CrossDelivery(text)
            | Outcome::Malformed(text) => write!(f, ": {text}"),
            Outcome::RpcError(code) => write!(f, " {code}"),
            Outcome::HttpError(status) => write!(f, " {status}"),
            Outcome::SeveralAnswers(count) => write!(f, ": {count}"),
            _ => Ok(()),
        }
    }
}

/// What a call's agent was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// How the call ended.
    pub outcome: Outcome,
    /// The instance that answered, where one did.
    pub instance: Option<String>,
}

/// Reads what came back of the call with this tag to this client ID.
#[must_use]
pub fn classify(tag: u64, client_id: &str, exchange: Exchange) -> Said {
    let outcome = match read(tag, client_id, exchange) {
        Ok(instance) => {
            return Said {
                outcome: Outcome::Ok,
                instance: Some(instance),
            };
        }
        Err(outcome) => outcome,
    };
    Said {
        outcome,
        instance: None,
    }
}

/// The instance that answered; the outcome where that is not what happened.
fn read(tag: u64, client_id: &str, exchange: Exchange) -> Result<String, Outcome> {
    let answer = exchange.answer.map_err(Outcome::NoAnswer)?;
    let text = String::from_utf8_lossy(&answer.body);
    let messages: Vec<Value> = if answer.events {
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(parse).collect::<Result<_, _>>()?
    } else {
        let status = Outcome::HttpError(answer.status.as_u16());
        vec![serde_json::from_str(&text).map_err(|_| status)?]
    };
    let is_answer = |message: &&Value| message.get("id").is_some();
    let answers: Vec<&Value> = messages.iter().filter(is_answer).collect();
    let message = match answers[..] {
        [message] => message,
        [] if messages.is_empty() => return Err(Outcome::NoAnswer("an empty stream".to_owned())),
        [] => messages.last().unwrap_or(&Value::Null),
        _ => return Err(Outcome::SeveralAnswers(answers.len())),
    };
    if let Some(error) = message.get("error") {
        return Err(Outcome::RpcError(
            error["code"].as_i64().unwrap_or_default(),
        ));
    }
    if message["id"] != tag {
        let id = &message["id"];
        return Err(Outcome::CrossDelivery(format!("JSON-RPC id {id}")));
    }
    read_result(tag, client_id, &message["result"])
}

fn read_result(tag: u64, client_id: &str, result: &Value) -> Result<String, Outcome> {
    match result["_meta"][OUTCOME_KEY].as_str() {
        Some("unknown") => return Err(Outcome::Unknown),
        Some("offline") => return Err(Outcome::Offline),
        Some("not_delivered") => return Err(Outcome::NotDelivered),
        Some("timeout") => return Err(Outcome::Timeout),
        Some(other) => return Err(Outcome::ToolError(other.to_owned())),
        None => {}
    }
    if result["isError"] == true {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        return Err(Outcome::ToolError(text.to_owned()));
    }
    let read = serde_json::from_value(result["structuredContent"].clone());
    let answer: Answer = read.map_err(|error| Outcome::Malformed(error.to_string()))?;
    if answer.tag != tag || answer.client != client_id {
        let told = format!("call {} of {}", answer.tag, answer.client);
        return Err(Outcome::CrossDelivery(told));
    }
    Ok(answer.instance)
}

fn parse(text: &str) -> Result<Value, Outcome> {
    serde_json::from_str(text).map_err(|error| Outcome::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::StatusCode;

    use super::*;
    use crate::agents::Response;

    fn told(status: u16, events: bool, body: &str) -> Outcome {
        let answer = Response {
            status: StatusCode::from_u16(status).unwrap(),
            events,
            session: None,
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        let exchange = Exchange {
            local: None,
            answer: Ok(answer),
        };
        classify(7, "app-1", exchange).outcome
    }

    fn result(tag: u64, client: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],"structuredContent":{{"tag":{tag},"client":"{client}","instance":"i"}}}}}}"#
        )
    }

    fn outcome(name: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"isError":true,"content":[{{"type":"text","text":"x"}}],"_meta":{{"dev.clientmcp/outcome":"{name}"}}}}}}"#
        )
    }

    #[test]
    fn each_answer_is_what_it_says() {
        let event = |data: &str| format!(": wait\n\nevent: message\ndata: {data}\n\n");
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
        let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"x"}}"#;
        let anonymous = r#"{"jsonrpc":"2.0","error":{"code":50300,"message":"x"}}"#;
        let plain = r#"{"jsonrpc":"2.0","id":7,"result":{"isError":true,"content":[{"type":"text","text":"boom"}]}}"#;
        let ok = result(7, "app-1");
        let streamed = event(progress) + &event(&ok);
        let table = [
            (told(200, false, &ok), Outcome::Ok),
            (told(200, true, &streamed), Outcome::Ok),
            (told(200, false, &outcome("unknown")), Outcome::Unknown),
            (
                told(200, true, &event(&outcome("offline"))),
                Outcome::Offline,
            ),
            (
                told(200, false, &outcome("not_delivered")),
                Outcome::NotDelivered,
            ),
            (told(200, false, &outcome("timeout")), Outcome::Timeout),
            (
                told(200, false, plain),
                Outcome::ToolError("boom".to_owned()),
            ),
            (told(200, false, error), Outcome::RpcError(-32602)),
            (told(503, false, anonymous), Outcome::RpcError(50300)),
            (told(502, false, "<html>"), Outcome::HttpError(502)),
            (
                told(200, true, ""),
                Outcome::NoAnswer("an empty stream".to_owned()),
            ),
            (
                told(200, true, &event(&ok).repeat(2)),
                Outcome::SeveralAnswers(2),
            ),
        ];
        for (got, expected) in table {
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn an_answer_to_somebody_else_is_noticed() {
        for body in [
            result(8, "app-1"),
            result(7, "app-2"),
            result(7, "app-1").replace("\"id\":7", "\"id\":8"),
        ] {
            let got = told(200, false, &body);
            assert_eq!(got.kind(), "cross-delivery", "{body}");
        }
        let malformed = told(200, false, r#"{"id":7,"result":{"content":[]}}"#);
        assert_eq!(malformed.kind(), "malformed answer");
    }

    #[test]
    fn what_counts_as_a_failure() {
        for fine in [Outcome::Ok, Outcome::Unknown, Outcome::RouterKilled] {
            assert!(!fine.is_failure());
        }
        for failure in [Outcome::Offline, Outcome::Timeout, Outcome::RpcError(-1)] {
            assert!(failure.is_failure());
        }
    }
}
