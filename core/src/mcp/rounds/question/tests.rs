use serde_json::json;

use super::super::asked::Asked;
use super::*;

const LEGACY: [Version; 3] = [
    Version::V2025_03_26,
    Version::V2025_06_18,
    Version::V2025_11_25,
];

/// The params of a request as it goes out in a revision, as text.
fn asked(version: Version, request: &str) -> Result<Option<String>, Unaskable> {
    let result = format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{request}}}}}"#);
    let asked = Asked::in_result(&result.into()).unwrap().unwrap();
    let question = Question::new(&asked.requests[0], version, "an-id", Some("visit"))?;
    #[derive(Deserialize)]
    struct Message<'a> {
        id: &'a str,
        method: &'a str,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }
    let message: Message<'_> = serde_json::from_slice(&question.message).unwrap();
    assert_eq!(
        (message.id, message.method),
        ("an-id", asked.requests[0].kind.as_str())
    );
    Ok(message.params.map(|params| params.get().to_owned()))
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"method":"{method}","params":{params}}}"#)
}

fn value(params: Result<Option<String>, Unaskable>) -> Value {
    serde_json::from_str(&params.unwrap().unwrap()).unwrap()
}

#[test]
fn ids_are_recognised() {
    assert!(is_id(&id([0; 16])) && is_id(&id([255; 16])));
    for other in [
        "",
        "1",
        "an-id",
        "AAAAAAAAAAAAAAAAAAAAA=",
        "AAAAAAAAAAAAAAAAAAAAAAA",
    ] {
        assert!(!is_id(other), "{other}");
    }
}

#[test]
fn the_newest_revision_gets_a_form_as_it_is() {
    let params = r#"{"mode":"form", "message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}},"n":{"type":"number","default":1e400}}},"x":1}"#;
    let found = asked(Version::V2025_11_25, &request("elicitation/create", params));
    assert_eq!(found.unwrap().unwrap(), params);
}

#[test]
fn a_form_of_2025_06_18_has_names_for_choices_and_no_mode() {
    let params = json!({"mode": "form", "message": "m", "x": 1, "requestedSchema": {
    "type": "object", "required": ["b"], "properties": {
        "a": {"type": "string", "title": "T", "default": "v", "oneOf": [
            {"const": "v", "title": "V"}, {"const": "w", "title": "W"}]},
        "b": {"type": "integer", "minimum": 3, "default": 4},
    }}});
    let request = request("elicitation/create", &params.to_string());
    assert_eq!(
        value(asked(Version::V2025_06_18, &request)),
        json!({"message": "m", "x": 1, "requestedSchema": {
        "type": "object", "required": ["b"], "properties": {
            "a": {"type": "string", "title": "T", "default": "v",
                "enum": ["v", "w"], "enumNames": ["V", "W"]},
            "b": {"type": "integer", "minimum": 3, "default": 4},
        }}})
    );
}

#[test]
fn what_a_revision_has_no_way_for_is_not_asked() {
    let form = |property: &str| {
        let params = format!(
            r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{"a":{property}}}}}}}"#
        );
        request("elicitation/create", &params)
    };
    let text = form(r#"{"type":"string"}"#);
    let several = form(r#"{"type":"array","items":{"type":"string","enum":["x"]}}"#);
    let sampled = request(
        "sampling/createMessage",
        r#"{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
    );
    for (version, request, known) in [
        (Version::V2025_03_26, &text, false),
        (Version::V2025_06_18, &text, true),
        (Version::V2025_06_18, &several, false),
        (Version::V2025_11_25, &several, true),
        (Version::V2025_06_18, &sampled, false),
        (Version::V2025_11_25, &sampled, true),
    ] {
        match asked(version, request) {
            Ok(_) => assert!(known, "{version:?} {request}"),
            Err(Unaskable::Unknown(_)) => assert!(!known, "{version:?} {request}"),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_elicitation_by_url_has_the_name_that_it_is_given() {
    for params in [
        r#"{"mode":"url","message":"m","url":"https://a.example/"}"#,
        r#"{"mode":"url","elicitationId":5,"message":"m","url":"https://a.example/"}"#,
    ] {
        let found = asked(Version::V2025_11_25, &request("elicitation/create", params));
        assert_eq!(
            found.unwrap().unwrap(),
            r#"{"mode":"url","message":"m","url":"https://a.example/","elicitationId":"visit"}"#
        );
        let params = Json::constant(params);
        assert_eq!(
            url(Some(&params)).unwrap(),
            ("https://a.example/".to_owned(), None)
        );
    }
    let own = Json::constant(r#"{"message":"m","url":"u","elicitationId":"e\u0031"}"#);
    assert_eq!(
        url(Some(&own)).unwrap(),
        ("u".to_owned(), Some("e1".to_owned()))
    );
}

#[test]
fn older_revisions_have_one_piece_of_content_in_a_message() {
    let params = r#"{"maxTokens":1e400,"messages":[
        {"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"i"}],"x":1},
        {"role":"assistant","content":{"type":"text","text":"b"}},{"role":"user","content":[]}]}"#;
    let request = request("sampling/createMessage", params);
    for version in [Version::V2025_03_26, Version::V2025_06_18] {
        assert_eq!(
            asked(version, &request).unwrap().unwrap(),
            r#"{"maxTokens":1e400,"messages":[{"role":"user","content":{"type":"text","text":"a"},"x":1},{"role":"user","content":{"type":"image","data":"","mimeType":"i"},"x":1},{"role":"assistant","content":{"type":"text","text":"b"}}]}"#
        );
    }
    let newest = asked(Version::V2025_11_25, &request).unwrap().unwrap();
    assert!(newest.contains(r#""content":[{"type":"text""#));
}

#[test]
fn tools_of_a_model_are_defined_as_the_revision_has_it() {
    let params = r#"{"maxTokens":1,"messages":[],"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}]}"#;
    let found = asked(
        Version::V2025_11_25,
        &request("sampling/createMessage", params),
    );
    assert_eq!(
        found.unwrap().unwrap(),
        r#"{"maxTokens":1,"messages":[],"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#
    );
}

#[test]
fn roots_are_asked_for_as_they_are() {
    for version in LEGACY {
        assert_eq!(asked(version, r#"{"method":"roots/list"}"#).unwrap(), None);
        let found = asked(
            version,
            r#"{"method":"roots/list","params":{"_meta":{"a":1}}}"#,
        );
        assert_eq!(found.unwrap().unwrap(), r#"{"_meta":{"a":1}}"#);
    }
}

#[test]
fn a_request_that_no_revision_has_is_the_apps_fault() {
    for (method, params) in [
        (
            "elicitation/create",
            r#"{"requestedSchema":{"type":"object","properties":{}}}"#,
        ),
        ("elicitation/create", r#"{"message":"m"}"#),
        (
            "elicitation/create",
            r#"{"message":"m","requestedSchema":{}}"#,
        ),
        (
            "elicitation/create",
            r#"{"message":"m","requestedSchema":{"type":"array","properties":{}}}"#,
        ),
        (
            "elicitation/create",
            r#"{"message":"m","requestedSchema":{"type":"object","properties":[]}}"#,
        ),
        ("sampling/createMessage", r#"{"messages":[]}"#),
        ("sampling/createMessage", r#"{"maxTokens":1}"#),
    ] {
        for version in LEGACY {
            let found = asked(version, &request(method, params));
            assert!(
                matches!(found, Err(Unaskable::Fault(_))),
                "{params} {found:?}"
            );
        }
    }
    assert!(matches!(url(None), Err(Unaskable::Fault(_))));
    let without = asked(Version::V2025_11_25, r#"{"method":"elicitation/create"}"#);
    assert!(matches!(without, Err(Unaskable::Fault(_))));
}
