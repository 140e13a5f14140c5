use http::HeaderValue;
use serde_json::{Value, json};

use super::*;
use crate::mcp::fixture::offer;

fn check_call(headers: &[(&'static str, &str)], arguments: &str) -> i64 {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "level": {"type": "integer", "x-mcp-header": "Level"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "at": {
                "type": "object",
                "properties": {"x": {"type": "string", "x-mcp-header": "At-X"}},
            },
            "other": {"type": "string"},
        },
    });
    let tools = json!([{"name": "t", "inputSchema": schema}]).to_string();
    let offer = offer(&tools, &json!({}));
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        map.append(HeaderName::from_static(name), value);
    }
    let arguments = Json::parse(arguments.to_owned()).unwrap();
    let params = &offer.tools.get("t").unwrap().header_params;
    match check(&map, params, Some(&arguments)) {
        Ok(()) => 0,
        Err(error) => {
            assert_eq!(error.status, 400);
            error.code
        }
    }
}

const REGION: &str = "mcp-param-region";
const LEVEL: &str = "mcp-param-level";
const DRY: &str = "mcp-param-dry";
const AT_X: &str = "mcp-param-at-x";

#[test]
fn headers_repeat_arguments() {
    for (headers, arguments, expected) in [
        (&[][..], "{}", 0),
        (&[(REGION, "eu")], r#"{"region":"eu"}"#, 0),
        (&[(REGION, " eu\t")], r#"{"region":"eu"}"#, 0),
        (&[(REGION, "eu"), (REGION, "eu")], r#"{"region":"eu"}"#, 0),
        (&[(REGION, "=?base64?ZXU=?=")], r#"{"region":"eu"}"#, 0),
        (&[(REGION, "eu")], r#"{"region":"e\u0075"}"#, 0),
        (&[(REGION, "")], r#"{"region":""}"#, 0),
        (&[(DRY, "true")], r#"{"dry":true}"#, 0),
        (&[(AT_X, "1")], r#"{"at":{"x":"1"}}"#, 0),
        (&[("mcp-param-unknown", "1")], "{}", 0),
        (&[("mcp-param-other", "1")], r#"{"other":"2"}"#, 0),
        // Missing, without argument, or another value.
        (&[], r#"{"region":"eu"}"#, -32_020),
        (&[], r#"{"at":{"x":"1"}}"#, -32_020),
        (&[(REGION, "eu")], "{}", -32_020),
        (&[(REGION, "eu")], r#"{"region":null}"#, -32_020),
        (&[(AT_X, "1")], r#"{"at":5}"#, -32_020),
        (&[], r#"{"region":null,"at":null}"#, 0),
        (&[(REGION, "us")], r#"{"region":"eu"}"#, -32_020),
        (&[(REGION, "EU")], r#"{"region":"eu"}"#, -32_020),
        (&[(DRY, "TRUE")], r#"{"dry":true}"#, -32_020),
        (&[(DRY, "false")], r#"{"dry":true}"#, -32_020),
        (
            &[(REGION, "eu"), (REGION, "us")],
            r#"{"region":"eu"}"#,
            -32_020,
        ),
        (&[(REGION, "\u{e4}")], r#"{"region":"ä"}"#, -32_020),
        (&[(REGION, "=?base64?ZXU?=")], r#"{"region":"eu"}"#, -32_020),
        (
            &[(REGION, "=?base64?ZXU=")],
            r#"{"region":"=?base64?ZXU="}"#,
            0,
        ),
        // What is looked at twice must not be read in two ways.
        (
            &[(REGION, "eu")],
            r#"{"region":"eu","region":"us"}"#,
            -32_600,
        ),
        (&[(REGION, "eu")], r#"{"region":"eu","x":1,"x":2}"#, 0),
    ] {
        let found = check_call(headers, arguments);
        assert_eq!(found, expected, "{headers:?} {arguments}");
    }
}

#[test]
fn integers_are_compared_as_numbers() {
    for (header, argument, agree) in [
        ("42", "42", true),
        ("42.0", "42", true),
        ("42", "42.0", true),
        ("4.2e1", "42", true),
        ("-0", "0", true),
        ("0.0", "-0", true),
        ("-7", "-7", true),
        ("9007199254740993", "9007199254740993", true),
        ("9007199254740993", "9007199254740992", false),
        ("042", "42", true),
        ("43", "42", false),
        ("-42", "42", false),
        ("4200", "42", false),
        ("0.42", "42", false),
        ("", "42", false),
        ("0x2a", "42", false),
        ("42 ", "42", true),
        ("4 2", "42", false),
        ("1e400", "1e400", true),
        ("1e9999999999999", "1", false),
        // The argument's own type counts.
        ("42", "\"42\"", true),
        ("42.0", "\"42\"", false),
        ("1", "true", false),
        ("x", "[]", false),
    ] {
        let arguments = format!(r#"{{"level":{argument}}}"#);
        let found = check_call(&[(LEVEL, header)], &arguments);
        assert_eq!(found == 0, agree, "{header} {argument}");
    }
}

#[test]
fn a_tool_without_headers_has_its_arguments_left_alone() {
    let arguments = Json::of(&Value::String("whatever".to_owned()));
    assert!(check(&HeaderMap::new(), &[], Some(&arguments)).is_ok());
    assert!(check(&HeaderMap::new(), &[], None).is_ok());
}
