use serde_json::json;

use super::*;
use crate::mcp::fixture::{capable, offer, request};
use crate::mcp::method::Method;
use crate::mcp::outcome::OUTCOME_KEY;
use crate::mcp::version::Version;

fn app() -> Offer {
    let schema = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    });
    let tools = json!([
        {"name": "plain", "inputSchema": {"type": "object"}},
        {"name": "mirrored", "inputSchema": schema},
        {"name": "samples", "inputSchema": schema},
    ]);
    let options = json!({"samples": {"requires": {"sampling": {}}}});
    offer(&tools.to_string(), &json!({ "toolOptions": options }))
}

fn checked(version: Version, declared: Value, params: &Value) -> String {
    let request = capable(request(version, Method::CallTool, params), declared);
    match check(&request, &HeaderMap::new(), &app()) {
        Ok(tool) => tool.name.to_string(),
        Err(Reply::Error(error)) => {
            assert_eq!(error.id.as_ref(), Some(&request.id));
            format!("{} {}", error.status.as_u16(), error.code)
        }
        Err(Reply::Result(result)) => {
            let result: Value = result.value().unwrap();
            format!("isError {}", result["_meta"][OUTCOME_KEY])
        }
    }
}

#[test]
fn a_call_is_checked_against_its_tool() {
    let modern = Version::V2026_07_28;
    let legacy = Version::V2025_11_25;
    let none = json!({});
    for (version, declared, params, expected) in [
        (modern, &none, json!({"name": "plain"}), "plain"),
        (
            modern,
            &none,
            json!({"name": "plain", "arguments": null}),
            "plain",
        ),
        (
            modern,
            &none,
            json!({"name": "plain", "arguments": []}),
            "400 -32602",
        ),
        (
            legacy,
            &none,
            json!({"name": "plain", "arguments": "x"}),
            "400 -32602",
        ),
        (legacy, &none, json!({}), "400 -32602"),
        (legacy, &none, json!({"name": 5}), "400 -32602"),
        (modern, &none, json!({"name": "none"}), "200 -32602"),
        (legacy, &none, json!({"name": "none"}), "200 -32602"),
        (modern, &none, json!({"name": "mirrored"}), "mirrored"),
        (
            modern,
            &none,
            json!({"name": "mirrored", "arguments": {"region": "eu"}}),
            "400 -32020",
        ),
        (
            legacy,
            &none,
            json!({"name": "mirrored", "arguments": {"region": "eu"}}),
            "mirrored",
        ),
        (modern, &none, json!({"name": "samples"}), "400 -32021"),
        (
            modern,
            &none,
            json!({"name": "samples", "arguments": {"region": "eu"}}),
            "400 -32020",
        ),
        (
            modern,
            &json!({"sampling": {}}),
            json!({"name": "samples"}),
            "samples",
        ),
        (
            legacy,
            &none,
            json!({"name": "samples"}),
            "isError \"missing_capability\"",
        ),
        (
            legacy,
            &json!({"sampling": {}}),
            json!({"name": "samples"}),
            "samples",
        ),
    ] {
        let found = checked(version, declared.clone(), &params);
        assert_eq!(found, expected, "{version:?} {declared} {params}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let request = request(
        Version::V2026_07_28,
        Method::CallTool,
        &json!({"name": "samples"}),
    );
    let Err(Reply::Error(error)) = check(&request, &HeaderMap::new(), &app()) else {
        panic!("sampling is missing");
    };
    assert_eq!(
        error.data.unwrap(),
        json!({"requiredCapabilities": {"sampling": {}}})
    );
}
