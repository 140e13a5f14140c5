//! The params of a call that follows on a request for input (MCP 2026-07-28 "Multi Round-Trip
//! Requests").

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Json};
use crate::mcp::convert::object;
use crate::mcp::error::RpcError;
use crate::mcp::message::refused;
use crate::mcp::splice::Splice;

const INPUT_RESPONSES: &str = "inputResponses";
const REQUEST_STATE: &str = "requestState";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    request_state: Option<&'a RawValue>,
}

/// Params with `inputResponses` and `requestState`, which are those of one round alone: what stood
/// in their places is left out. Without answers there is no `inputResponses`, without a state no
/// `requestState`.
///
/// # Errors
/// -32600 if the params cannot be read.
pub fn with_input<'a>(
    params: &Json,
    answers: impl Iterator<Item = (&'a str, &'a Json)>,
    state: Option<&Json>,
) -> Result<Json, RpcError> {
    let refused = |error| refused(&error);
    let members: Members<'_> = params.read().map_err(refused)?;
    let kept;
    let base = if members.input_responses.is_none() && members.request_state.is_none() {
        params
    } else {
        kept = without_input(params)?;
        &kept
    };
    let mut answers = answers
        .map(|(key, answer)| (Cow::Borrowed(key), Cow::Borrowed(answer.as_str())))
        .peekable();
    let mut splice = Splice::new(base.as_str());
    if let Some(state) = state {
        splice.add(REQUEST_STATE, state.as_str());
    }
    if answers.peek().is_some() {
        splice.add(INPUT_RESPONSES, &object(answers));
    }
    let mut text = String::with_capacity(base.len() + splice.growth());
    splice.write(&mut text);
    Json::trusted(text.into()).map_err(refused)
}

fn without_input(params: &Json) -> Result<Json, RpcError> {
    let refused = |error| refused(&error);
    let kept = params.members().map_err(refused)?.into_iter();
    let kept = kept.filter(|(key, _)| key != INPUT_RESPONSES && key != REQUEST_STATE);
    let kept = object(kept.map(|(key, value)| (key, Cow::Borrowed(value.get()))));
    Json::trusted(kept.into()).map_err(refused)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn retried(
        params: &'static str,
        answers: &[(&str, &'static str)],
        state: Option<&'static str>,
    ) -> String {
        let answers: Vec<_> = answers
            .iter()
            .map(|(key, answer)| (*key, Json::constant(answer)))
            .collect();
        let answers = answers.iter().map(|(key, answer)| (*key, answer));
        let state = state.map(Json::constant);
        let params = Json::parse(params).unwrap();
        with_input(&params, answers, state.as_ref())
            .unwrap()
            .as_str()
            .to_owned()
    }

    #[test]
    fn what_the_agent_sent_stays_as_it_is() {
        for (params, answers, state, expected) in [
            (
                r#"{"name":"t", "x":1e400}"#,
                &[("a", r#"{"action" : "accept"}"#), ("b\"", "{}")][..],
                Some(r#""\ud83d\ude00\n""#),
                r#"{"inputResponses":{"a":{"action" : "accept"},"b\"":{}},"requestState":"\ud83d\ude00\n","name":"t", "x":1e400}"#,
            ),
            ("{}", &[("a", "{}")], None, r#"{"inputResponses":{"a":{}}}"#),
            ("{}", &[], Some("\"s\""), r#"{"requestState":"s"}"#),
            (r#"{"name":"t"}"#, &[], None, r#"{"name":"t"}"#),
        ] {
            assert_eq!(retried(params, answers, state), expected);
        }
    }

    #[test]
    fn an_earlier_rounds_input_does_not_come_again() {
        let params = r#"{"inputResponses":{"old":{}},"name":"t","requestState":"old"}"#;
        for (answers, state, expected) in [
            (&[][..], None, json!({"name": "t"})),
            (
                &[],
                Some("\"s\""),
                json!({"name": "t", "requestState": "s"}),
            ),
            (
                &[("a", "1")],
                None,
                json!({"name": "t", "inputResponses": {"a": 1}}),
            ),
        ] {
            let retried: Value = serde_json::from_str(&retried(params, answers, state)).unwrap();
            assert_eq!(retried, expected);
        }
    }
}
