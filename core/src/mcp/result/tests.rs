use serde_json::json;

use super::*;
use crate::mcp::error::code;
use crate::mcp::fixture::{bare_offer, capable, request, value};
use crate::mcp::method::Method;
use crate::mcp::outcome::OUTCOME_KEY;
use crate::mcp::version::Version;

const MODERN: Version = Version::V2026_07_28;
const LEGACY: Version = Version::V2025_11_25;
const INFO: &str = r#""io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}"#;

fn responded(version: Version, method: Method, result: &str) -> Result<String, (u16, i64)> {
    asked_by(json!({}), version, method, result)
}

fn asked_by(
    declared: Value,
    version: Version,
    method: Method,
    result: &str,
) -> Result<String, (u16, i64)> {
    let request = capable(request(version, method, &json!({})), declared);
    match respond(result.to_owned(), &request, &bare_offer().rest) {
        Ok(body) => {
            let body = String::from_utf8(body.to_vec()).unwrap();
            let result = body.strip_prefix(r#"{"jsonrpc":"2.0","id":7,"result":"#);
            Ok(result.unwrap().strip_suffix('}').unwrap().to_owned())
        }
        Err(error) => {
            assert_eq!(error.id.unwrap().as_json(), "7");
            Err((error.status.as_u16(), error.code))
        }
    }
}

#[test]
fn modern_results_gain_what_the_app_left_out_and_nothing_else() {
    for (result, expected) in [
        (
            "{}",
            format!(r#"{{"resultType":"complete","_meta":{{{INFO}}}}}"#),
        ),
        (
            r#" {"content":[], "x" : 1e400} "#,
            format!(r#"{{"resultType":"complete","_meta":{{{INFO}}},"content":[], "x" : 1e400}}"#),
        ),
        (
            r#"{"resultType":"complete","_meta":{"k":1}}"#,
            format!(r#"{{"resultType":"complete","_meta":{{{INFO},"k":1}}}}"#),
        ),
        (
            r#"{"_meta":{},"resultType":"never_heard_of"}"#,
            format!(r#"{{"_meta":{{{INFO}}},"resultType":"never_heard_of"}}"#),
        ),
        (
            r#"{"resultType":null,"_meta":{"io.modelcontextprotocol/serverInfo":5}}"#,
            r#"{"resultType":null,"_meta":{"io.modelcontextprotocol/serverInfo":5}}"#.to_owned(),
        ),
        (
            r#"{"resultType":"complete","_meta":null}"#,
            r#"{"resultType":"complete","_meta":null}"#.to_owned(),
        ),
    ] {
        assert_eq!(responded(MODERN, Method::CallTool, result), Ok(expected));
    }
}

#[test]
fn legacy_results_gain_nothing() {
    for result in ["{}", r#"{"content":[],"structuredContent":{"a":1e400}}"#] {
        assert_eq!(
            responded(LEGACY, Method::CallTool, result).as_deref(),
            Ok(result)
        );
    }
}

#[test]
fn only_tool_results_are_converted() {
    let result = r#"{"structuredContent":[1],"messages":[]}"#;
    let call = responded(LEGACY, Method::CallTool, result).unwrap();
    assert!(!call.contains("structuredContent"), "{call}");
    assert_eq!(
        responded(LEGACY, Method::GetPrompt, result).as_deref(),
        Ok(result)
    );
    assert!(
        responded(MODERN, Method::CallTool, result)
            .unwrap()
            .contains(r#""structuredContent":[1]"#)
    );
}

#[test]
fn links_in_prompts_become_texts_where_there_are_no_links() {
    let link = r#"{"type":"resource_link","uri":"x:1","name":"n"}"#;
    let prompt = |content: &str| {
        format!(
            r#" {{"messages":[{{"role":"user","content":{{"type":"text","text":"t"}}}}, {{"content" : {content} ,"role":"user","n":1e400}}],"x":1}} "#
        )
    };
    let linked = prompt(link);
    let oldest = responded(Version::V2025_03_26, Method::GetPrompt, &linked);
    let text = prompt(r#"{"text":"n: x:1","type":"text"}"#);
    assert_eq!(oldest.as_deref(), Ok(text.trim()));
    for version in [Version::V2025_06_18, LEGACY] {
        let found = responded(version, Method::GetPrompt, &linked);
        assert_eq!(found.as_deref(), Ok(linked.trim()), "{version:?}");
    }
    for odd in [
        r#"{"messages":5}"#,
        r#"{"messages":[{"role":"user"}]}"#,
        "{}",
    ] {
        let found = responded(Version::V2025_03_26, Method::GetPrompt, odd);
        assert_eq!(found.as_deref(), Ok(odd));
    }
}

#[test]
fn what_the_app_says_of_lists_holds_for_lists() {
    let rest = RestContent::read(r#"{"ttlMs":5}"#.into()).unwrap();
    for (method, ttl) in [(Method::ListPrompts, 5), (Method::ReadResource, 0)] {
        let request = request(MODERN, method, &json!({}));
        let stamped = respond("{}", &request, &rest).unwrap();
        assert_eq!(value(&stamped)["result"]["ttlMs"], ttl, "{method:?}");
    }
}

#[test]
fn cache_hints_are_there_private_and_sound() {
    for (hints, ttl, scope) in [
        ("", "0", "\"private\""),
        (r#""ttlMs":500,"#, "500", "\"private\""),
        (r#""ttlMs":-1,"cacheScope":"public","#, "0", "\"private\""),
        (r#""ttlMs":1.5,"cacheScope":5,"#, "0", "\"private\""),
        (r#""ttlMs":"5","cacheScope":"private","#, "0", "\"private\""),
        (r#""ttlMs":1e12,"#, "0", "\"private\""),
    ] {
        let result = format!(r#"{{{hints}"contents":[]}}"#);
        for method in [Method::ReadResource, Method::ListTools, Method::Discover] {
            let stamped = responded(MODERN, method, &result).unwrap();
            let stamped: Value = serde_json::from_str(&stamped).unwrap();
            assert_eq!(stamped["ttlMs"].to_string(), ttl, "{hints}");
            assert_eq!(stamped["cacheScope"].to_string(), scope, "{hints}");
        }
        let legacy = responded(LEGACY, Method::ReadResource, &result);
        assert_eq!(legacy, Ok(result.clone()));
    }
    let call = responded(MODERN, Method::CallTool, "{}").unwrap();
    assert!(!call.contains("ttlMs"));
}

#[test]
fn a_result_that_is_none_is_the_apps_fault() {
    for result in [
        "5",
        "null",
        "[]",
        "\"x\"",
        "{",
        r#"{"resultType":"complete","resultType":"input_required"}"#,
        r#"{"_meta":{},"_meta":{}}"#,
    ] {
        for version in [MODERN, LEGACY] {
            let found = responded(version, Method::CallTool, result);
            assert_eq!(found, Err((200, -32_603)), "{version:?} {result}");
        }
    }
}

const ELICIT: &str = r#"{"method":"elicitation/create","params":{"message":"m"}}"#;
const BY_URL: &str = r#"{"method":"elicitation/create","params":{"mode":"url"}}"#;
const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"messages":[]}}"#;
const SAMPLE_TOOLS: &str = r#"{"method":"sampling/createMessage","params":{"tools":[]}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;

fn asks(requests: &[&str]) -> String {
    let requests = requests.iter().enumerate();
    let requests: Vec<String> = requests.map(|(n, r)| format!("\"r{n}\":{r}")).collect();
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}}},"requestState":"\ud83d\ude00\n"}}"#,
        requests.join(",")
    )
}

#[test]
fn an_app_asks_for_what_the_agent_declared() {
    let missing = Err((400, -32_021));
    let fault = Err((200, -32_603));
    for (declared, requests, expected) in [
        (json!({}), &[][..], Ok(())),
        (json!({}), &[ELICIT], missing),
        (json!({"elicitation": {}}), &[ELICIT], Ok(())),
        (json!({"elicitation": {}}), &[BY_URL], missing),
        (json!({"elicitation": {"url": {}}}), &[BY_URL], Ok(())),
        (
            json!({"elicitation": {"url": {}}}),
            &[ELICIT, BY_URL],
            missing,
        ),
        (json!({"sampling": {}}), &[SAMPLE], Ok(())),
        (json!({"sampling": {}}), &[SAMPLE_TOOLS], missing),
        (json!({"sampling": {"tools": {}}}), &[SAMPLE_TOOLS], Ok(())),
        (json!({"sampling": {}}), &[SAMPLE, ELICIT], missing),
        (json!({"roots": {}}), &[ROOTS], Ok(())),
        (json!({}), &[r#"{"method":"tools/call"}"#], fault),
        (json!({}), &["5"], fault),
    ] {
        let result = asks(requests);
        let found = asked_by(declared.clone(), MODERN, Method::CallTool, &result);
        if let Ok(stamped) = &found {
            assert!(stamped.ends_with(&result[1..]), "{stamped}");
            assert!(!stamped.contains("ttlMs"));
        }
        assert_eq!(found.map(|_| ()), expected, "{declared} {requests:?}");
    }
    let request = request(MODERN, Method::CallTool, &json!({}));
    let error = respond(
        asks(&[ELICIT, SAMPLE_TOOLS, ROOTS]),
        &request,
        &bare_offer().rest,
    );
    assert_eq!(
        error.unwrap_err().data.unwrap(),
        json!({"requiredCapabilities": {
            "elicitation": {"form": {}}, "sampling": {"tools": {}}, "roots": {},
        }})
    );
}

#[test]
fn only_some_methods_may_ask() {
    let declared = json!({"elicitation": {}});
    for (method, allowed) in [
        (Method::CallTool, true),
        (Method::GetPrompt, true),
        (Method::ReadResource, true),
        (Method::ListResources, false),
        (Method::Complete, false),
    ] {
        let found = asked_by(declared.clone(), MODERN, method, &asks(&[ELICIT]));
        assert_eq!(found.is_ok(), allowed, "{method:?}");
    }
}

#[test]
fn a_legacy_agent_is_told_that_it_cannot_be_asked() {
    let declared = json!({"elicitation": {}});
    let found = asked_by(declared, LEGACY, Method::CallTool, &asks(&[ELICIT])).unwrap();
    let found = value(found.as_bytes());
    assert_eq!(found["isError"], true);
    assert_eq!(found["_meta"][OUTCOME_KEY], "missing_capability");
    let found = responded(LEGACY, Method::GetPrompt, &asks(&[ELICIT]));
    assert_eq!(found, Err((200, code::CAPABILITY_ABSENT)));
}
