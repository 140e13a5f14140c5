use serde_json::json;

use super::*;
use crate::mcp::error::code;

fn asked(result: &str) -> Result<Option<Asked>, i64> {
    let result = Bytes::copy_from_slice(result.as_bytes());
    Asked::in_result(&result).map_err(|error| error.code)
}

#[test]
fn what_is_asked_for_is_read_in_order_and_verbatim() {
    let result = r#"{"resultType":"input_required","requestState":"\ud83d\ude00\n","inputRequests":{
        "z":{"method":"elicitation/create","params":{"message" : "m"}},
        "\u0061":{"method":"elicitation/create","params":{"mode":"url"}},
        "s":{"method":"sampling/createMessage","params":{"maxTokens":1e400}},
        "t":{"method":"sampling/createMessage","params":{"toolChoice":{}}},
        "r":{"method":"roots/list"}}}"#;
    let asked = asked(result).unwrap().unwrap();
    assert_eq!(
        asked.state.as_ref().unwrap().as_str(),
        r#""\ud83d\ude00\n""#
    );
    let found: Vec<_> = asked
        .requests
        .iter()
        .map(|it| {
            (
                it.key.as_str(),
                it.kind,
                it.params.as_ref().map(Json::as_str),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("z", Kind::Form, Some(r#"{"message" : "m"}"#)),
            ("a", Kind::Url, Some(r#"{"mode":"url"}"#)),
            (
                "s",
                Kind::Sampling { tools: false },
                Some(r#"{"maxTokens":1e400}"#)
            ),
            (
                "t",
                Kind::Sampling { tools: true },
                Some(r#"{"toolChoice":{}}"#)
            ),
            ("r", Kind::Roots, None),
        ]
    );
    assert_eq!(
        Value::Object(asked.required()),
        json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
    );
}

#[test]
fn other_results_ask_for_nothing() {
    for result in [
        "{}",
        r#"{"content":[{"type":"text","text":"input_required"}]}"#,
        r#"{"resultType":"complete","inputRequests":{"a":{"method":"x"}}}"#,
        r#"{"resultType":5,"text":"input_required"}"#,
    ] {
        assert_eq!(asked(result), Ok(None), "{result}");
    }
    let escaped = r#"{"resultType":"input\u005frequired","requestState":""}"#;
    assert!(asked(escaped).unwrap().is_some());
}

#[test]
fn what_mcp_does_not_have_is_the_apps_fault() {
    for members in [
        "",
        r#","requestState":5"#,
        r#","requestState":null"#,
        r#","inputRequests":[]"#,
        r#","inputRequests":null"#,
        r#","inputRequests":{"a":5}"#,
        r#","inputRequests":{"a":{}}"#,
        r#","inputRequests":{"a":{"method":"ping"}}"#,
        r#","inputRequests":{"a":{"method":"roots/list","params":[]}}"#,
        r#","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"mail"}}}"#,
        r#","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":5}}}"#,
        r#","inputRequests":{"a":{"method":"roots/list"},"a":{"method":"roots/list"}}"#,
        r#","inputRequests":{"a":{"method":"roots/list","method":"ping"}}"#,
        r#","requestState":"a","requestState":"b""#,
    ] {
        let result = format!(r#"{{"resultType":"input_required"{members}}}"#);
        assert_eq!(asked(&result), Err(code::INTERNAL_ERROR), "{result}");
    }
}
