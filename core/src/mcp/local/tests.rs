use super::*;
use crate::mcp::fixture::{bare_offer, offer_of, request, value};
use crate::mcp::session::tests::negotiated;

fn said(version: Version, method: Method, params: &Value) -> String {
    match answer(&request(version, method, params), &bare_offer()) {
        None => "not here".to_owned(),
        Some(Ok(result)) => result.as_str().to_owned(),
        Some(Err(error)) => {
            assert_eq!(error.id.unwrap().as_json(), "7");
            format!("{} {}", error.status.as_u16(), error.code)
        }
    }
}

#[test]
fn legacy_agents_find_nothing_where_there_is_nothing() {
    let legacy = Version::V2025_11_25;
    for (method, params, expected) in [
        (Method::Ping, json!({}), "{}"),
        (Method::SetLevel, json!({"level": "debug"}), "not here"),
        (Method::Subscribe, json!({"uri": "x:1"}), "not here"),
        (Method::ListTools, json!({}), r#"{"tools":[]}"#),
        (Method::ListPrompts, json!({}), r#"{"prompts":[]}"#),
        (Method::ListResources, json!({}), r#"{"resources":[]}"#),
        (
            Method::ListResourceTemplates,
            json!({}),
            r#"{"resourceTemplates":[]}"#,
        ),
        (Method::ListPrompts, json!({"cursor": "x"}), "200 -32602"),
        (Method::GetPrompt, json!({"name": "p"}), "not here"),
        (Method::ReadResource, json!({"uri": "a:b"}), "not here"),
        (Method::Complete, json!({}), "not here"),
        (Method::CallTool, json!({"name": "t"}), "not here"),
    ] {
        assert_eq!(said(legacy, method, &params), expected, "{method:?}");
    }
}

#[test]
fn modern_agents_find_what_is_registered_alone() {
    let modern = Version::V2026_07_28;
    for (method, expected) in [
        (Method::ListTools, r#"{"tools":[]}"#),
        (Method::ListPrompts, "404 -32601"),
        (Method::GetPrompt, "404 -32601"),
        (Method::ListResources, "404 -32601"),
        (Method::ListResourceTemplates, "404 -32601"),
        (Method::ReadResource, "404 -32601"),
        (Method::Complete, "404 -32601"),
        (Method::CallTool, "not here"),
        (Method::Listen, "not here"),
    ] {
        let params = json!({"name": "n", "uri": "a:b"});
        assert_eq!(said(modern, method, &params), expected, "{method:?}");
    }
}

#[test]
fn discovery_follows_the_registration() {
    let discovered = |offer: &Offer| {
        let request = request(Version::V2026_07_28, Method::Discover, &json!({}));
        value(answer(&request, offer).unwrap().unwrap().bytes())
    };
    assert_eq!(
        discovered(&Offer::unknown()),
        json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"logging": {}, "tools": {"listChanged": true}},
        })
    );
    let full = offer_of(
        "[]",
        r#"[{"name":"p"}]"#,
        r#"{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"t"}]}"#,
        r#"{"completions":true,"instructions":"Be kind."}"#,
    );
    assert_eq!(
        discovered(&full),
        json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {
                "completions": {},
                "logging": {},
                "prompts": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true},
                "tools": {"listChanged": true},
            },
            "instructions": "Be kind.",
        })
    );
}

#[test]
fn lists_are_what_was_registered() {
    let prompt = r#"{"name":"p", "arguments":[{"name":"a"}]}"#;
    let resource = r#"{"uri":"x:1","name":"r","size":9007199254740993}"#;
    let template = r#"{"uriTemplate":"x:{y}", "name":"t"}"#;
    let resources = format!(r#"{{"resources":[{resource}],"resourceTemplates":[{template}]}}"#);
    let offer = offer_of("[]", &format!("[{prompt}]"), &resources, "{}");
    for version in Version::ALL {
        for (method, expected) in [
            (Method::ListPrompts, format!(r#"{{"prompts":[{prompt}]}}"#)),
            (
                Method::ListResources,
                format!(r#"{{"resources":[{resource}]}}"#),
            ),
            (
                Method::ListResourceTemplates,
                format!(r#"{{"resourceTemplates":[{template}]}}"#),
            ),
        ] {
            let request = request(version, method, &json!({}));
            let list = answer(&request, &offer).unwrap().unwrap();
            assert_eq!(list.as_str(), expected, "{version:?}");
        }
    }
}

#[test]
fn a_dynamic_list_is_the_apps_to_give() {
    let offer = offer_of("[]", "[]", r#"{"resources":"dynamic"}"#, "{}");
    for version in Version::ALL {
        let list = request(version, Method::ListResources, &json!({"cursor": "theirs"}));
        assert_eq!(answer(&list, &offer), None);
        let templates = request(version, Method::ListResourceTemplates, &json!({}));
        let templates = answer(&templates, &offer).unwrap().unwrap();
        assert_eq!(templates.as_str(), r#"{"resourceTemplates":[]}"#);
    }
}

#[test]
fn initialize_is_answered_before_there_is_an_app() {
    let negotiated = negotiated(Version::V2025_06_18);
    let result = value(initialize(&negotiated, &Offer::unknown()).bytes());
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert!(result["serverInfo"]["name"].is_string());
    assert_eq!(
        result["capabilities"],
        json!({
            "completions": {},
            "logging": {},
            "prompts": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true},
            "tools": {"listChanged": true},
        })
    );
    assert!(result.get("instructions").is_none());
    let known = value(initialize(&negotiated, &bare_offer()).bytes());
    assert_eq!(known["serverInfo"]["name"], "n");
}
