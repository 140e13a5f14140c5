use serde_json::json;

use super::*;
use crate::mcp::fixture::{capable, offer, offer_of, request};
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
        Ok(admitted) => {
            assert_eq!(admitted.against, [Kind::Tools, Kind::Rest]);
            params["name"].as_str().unwrap().to_owned()
        }
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

/// What becomes of a call of another method, to an app that has a prompt, a resource, and more.
fn said(version: Version, method: Method, params: &Value, offer: &Offer) -> String {
    let request = request(version, method, params);
    match check(&request, &HeaderMap::new(), offer) {
        Ok(admitted) => format!("{:?}", admitted.against),
        Err(Reply::Error(error)) => {
            assert_eq!(error.id.as_ref(), Some(&request.id));
            let data = error.data.map_or(String::new(), |data| format!(" {data}"));
            format!("{} {}{data}", error.status.as_u16(), error.code)
        }
        Err(Reply::Result(result)) => result.as_str().to_owned(),
    }
}

#[test]
fn calls_of_other_methods_are_checked_against_their_kind() {
    let resources = r#"{"resources":[{"uri":"x:1","name":"r"}]}"#;
    let static_app = offer_of(
        "[]",
        r#"[{"name":"p"}]"#,
        resources,
        r#"{"completions":true}"#,
    );
    let templates = r#"{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"t"}]}"#;
    let templated = offer_of("[]", "[]", templates, "{}");
    let dynamic = offer_of("[]", "[]", r#"{"resources":"dynamic"}"#, "{}");
    let bare = offer("[]", &json!({}));
    let (modern, legacy) = (Version::V2026_07_28, Version::V2025_11_25);
    let (p, q) = (json!({"name": "p"}), json!({"name": "q"}));
    let (one, two) = (json!({"uri": "x:1"}), json!({"uri": "x:2"}));
    let get = Method::GetPrompt;
    let read = Method::ReadResource;
    let none = r#"{"completion":{"values":[]}}"#;
    for (version, method, params, offer, expected) in [
        (modern, get, &p, &static_app, "[Prompts]"),
        (legacy, get, &p, &static_app, "[Prompts]"),
        (modern, get, &q, &static_app, "200 -32602"),
        (legacy, get, &q, &static_app, "200 -32602"),
        (legacy, get, &q, &bare, "200 -32602"),
        (modern, get, &p, &bare, "404 -32601"),
        (legacy, get, &one, &static_app, "400 -32602"),
        (modern, read, &one, &static_app, "[Resources]"),
        (
            modern,
            read,
            &two,
            &static_app,
            r#"200 -32602 {"uri":"x:2"}"#,
        ),
        (
            legacy,
            read,
            &two,
            &static_app,
            r#"200 -32002 {"uri":"x:2"}"#,
        ),
        (modern, read, &two, &templated, "[Resources]"),
        (legacy, read, &two, &dynamic, "[Resources]"),
        (legacy, read, &two, &bare, r#"200 -32002 {"uri":"x:2"}"#),
        (modern, read, &two, &bare, "404 -32601"),
        (modern, Method::Complete, &p, &static_app, "[Rest]"),
        (legacy, Method::Complete, &p, &static_app, "[Rest]"),
        (legacy, Method::Complete, &p, &bare, none),
        (modern, Method::Complete, &p, &bare, "404 -32601"),
        (legacy, Method::ListResources, &p, &dynamic, "[Resources]"),
        (
            legacy,
            Method::ListResources,
            &p,
            &bare,
            r#"{"resources":[]}"#,
        ),
    ] {
        let found = said(version, method, params, offer);
        assert_eq!(found, expected, "{version:?} {method:?} {params}");
    }
    let bad = json!({"name": "p", "arguments": []});
    assert_eq!(said(modern, get, &bad, &static_app), "400 -32602");
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
