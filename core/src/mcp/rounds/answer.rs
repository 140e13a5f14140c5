//! What a legacy agent answers to a request for input.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::asked::Kind;
use crate::json::{self, Json, ObjectWriter};
use crate::mcp::error::shorten;
use crate::mcp::message::{Response, decode_string};

/// Why an answer is of no use, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

/// An agent's response as it is handed to whoever carries the call: its result or its error, and
/// nothing else.
#[must_use]
pub fn text(response: &Response) -> Json {
    let mut text = ObjectWriter::new();
    match &response.outcome {
        Ok(result) => text.raw("result", result),
        Err(error) => text.raw("error", error),
    };
    text.finish()
}

/// The id of our request that a response names; `None` if we give no such ids.
#[must_use]
pub fn id(response: &Response) -> Option<String> {
    let id = decode_string(response.id.as_json())?;
    super::question::is_id(&id).then(|| id.into_owned())
}

/// The result in an answer's [`text`], if an app that asked for this can use it: what it lacks
/// would be invalid in each revision. That the user declined, or turned away, is a result.
///
/// # Errors
/// [`Refusal`].
pub(super) fn read(answer: &Json, kind: Kind) -> Result<Json, Refusal> {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(borrow, default, deserialize_with = "json::present")]
        result: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "json::present")]
        error: Option<&'a RawValue>,
    }
    let members: Members<'_> = answer.read().map_err(|error| Refusal(error.to_string()))?;
    match (members.result, members.error) {
        (Some(result), None) => {
            let result = answer.part(result);
            check(&result, kind)
                .map_err(|what| Refusal(format!("its answer is not valid: {what}")))?;
            Ok(result)
        }
        (_, error) => Err(Refusal(in_words(error))),
    }
}

fn check(result: &Json, kind: Kind) -> Result<(), &'static str> {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(default)]
        action: Option<String>,
        #[serde(borrow, default)]
        content: Option<&'a RawValue>,
        #[serde(default)]
        role: Option<String>,
        #[serde(default)]
        model: Option<String>,
        #[serde(borrow, default)]
        roots: Option<&'a RawValue>,
    }
    let members: Members<'_> = result.read().map_err(|_| "it cannot be read")?;
    let begins =
        |raw: Option<&RawValue>, with: &[char]| raw.is_some_and(|raw| raw.get().starts_with(with));
    match kind {
        Kind::Form | Kind::Url => {
            let action = members.action.as_deref();
            if !matches!(action, Some("accept" | "decline" | "cancel")) {
                return Err("action is none of accept, decline, cancel");
            }
            if members.content.is_some() && !begins(members.content, &['{']) {
                return Err("content is no object");
            }
        }
        Kind::Sampling { .. } => {
            if !matches!(members.role.as_deref(), Some("assistant" | "user")) {
                return Err("role is none of assistant, user");
            }
            if members.model.is_none() || !begins(members.content, &['{', '[']) {
                return Err("model or content is missing");
            }
        }
        Kind::Roots => {
            if !begins(members.roots, &['[']) {
                return Err("roots is no list");
            }
        }
    }
    Ok(())
}

/// An agent's error, for a model to read.
fn in_words(error: Option<&RawValue>) -> String {
    let error: Value = error
        .and_then(|error| serde_json::from_str(error.get()).ok())
        .unwrap_or_default();
    let message = error["message"].as_str().unwrap_or_default();
    let message = message.replace(|c: char| c.is_control() || c == '"', " ");
    let code = error["code"].as_i64();
    let code = code.map_or_else(String::new, |code| format!(" {code}"));
    match message.trim() {
        "" => format!("it answered with the error{code}"),
        message => format!("it answered with the error{code}: \"{}\"", shorten(message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(kind: Kind, answer: &'static str) -> Result<String, String> {
        match read(&Json::constant(answer), kind) {
            Ok(result) => Ok(result.as_str().to_owned()),
            Err(Refusal(why)) => Err(why),
        }
    }

    #[test]
    fn results_pass_as_they_are() {
        for (kind, result) in [
            (
                Kind::Form,
                r#"{"action":"accept","content":{"n":1e400}, "x":1}"#,
            ),
            (Kind::Form, r#"{"action":"decline"}"#),
            (Kind::Url, r#"{"action":"cancel"}"#),
            (
                Kind::Sampling { tools: false },
                r#"{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}"#,
            ),
            (
                Kind::Sampling { tools: true },
                r#"{"role":"assistant","content":[],"model":"m","stopReason":"toolUse"}"#,
            ),
            (Kind::Roots, r#"{"roots":[]}"#),
        ] {
            let answer = Json::parse(format!(r#"{{"result":{result}}}"#)).unwrap();
            assert_eq!(read(&answer, kind).unwrap().as_str(), result);
        }
    }

    #[test]
    fn an_answer_without_use_says_why() {
        for (kind, answer, words) in [
            (Kind::Form, r#"{"result":{}}"#, "action"),
            (Kind::Form, r#"{"result":{"action":"yes"}}"#, "action"),
            (Kind::Form, r#"{"result":{"action":5}}"#, "cannot be read"),
            (
                Kind::Form,
                r#"{"result":{"action":"accept","content":[]}}"#,
                "content",
            ),
            (Kind::Form, r#"{"result":5}"#, "cannot be read"),
            (
                Kind::Sampling { tools: false },
                r#"{"result":{"action":"accept"}}"#,
                "role",
            ),
            (
                Kind::Sampling { tools: false },
                r#"{"result":{"role":"assistant","content":"t","model":"m"}}"#,
                "content",
            ),
            (Kind::Roots, r#"{"result":{"roots":{}}}"#, "roots"),
            (
                Kind::Roots,
                r#"{"error":{"code":-32601,"message":"Method\n\"not\" found"}}"#,
                "the error -32601: \"Method  not  found\"",
            ),
            (Kind::Roots, r#"{"error":{}}"#, "the error"),
            (Kind::Roots, r#"{"error":null}"#, "the error"),
            (Kind::Roots, "{}", "the error"),
        ] {
            let why = read_as(kind, answer).unwrap_err();
            assert!(why.contains(words), "{why} {answer}");
        }
    }
}
