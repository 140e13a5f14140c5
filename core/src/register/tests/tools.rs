use serde_json::{Value, json};

use super::{accepted, content, rejection, tool};
use crate::json::Json;
use crate::limits;
use crate::message::Rejection;
use crate::register::read;
use crate::registration::Kind;

/// One good tool beside one that has these members instead of its own.
fn refused_beside_a_good_one(members: &Value) -> Rejection {
    let mut bad = tool("bad");
    for (key, value) in members.as_object().unwrap() {
        bad[key] = value.clone();
    }
    let offer = accepted(json!({"tools": [bad, tool("good")]}));
    assert_eq!(
        content(&offer, Kind::Tools),
        Some(format!("[{}]", tool("good")).as_str())
    );
    let [rejection] = &offer.rejected[..] else {
        panic!("one rejection: {:?}", offer.rejected)
    };
    rejection.clone()
}

fn assert_refused(cases: &[(Value, Option<&str>, &str)]) {
    for (members, name, reason) in cases {
        let rejection = refused_beside_a_good_one(members);
        assert_eq!(rejection.name.as_deref(), *name, "{members}");
        assert!(
            rejection.reason.starts_with(reason),
            "{members}: {}",
            rejection.reason
        );
    }
}

#[test]
fn a_bad_name_hides_no_other_tool() {
    assert_refused(&[
        (json!({"name": ""}), Some(""), "name must be"),
        (json!({"name": "a b"}), Some("a b"), "name must be"),
        (json!({"name": "a/b"}), Some("a/b"), "name must be"),
        (json!({"name": "😀"}), Some("😀"), "name must be"),
        (json!({"name": 7}), None, "name must be"),
    ]);
}

#[test]
fn a_bad_input_schema_hides_no_other_tool() {
    assert_refused(&[
        (
            json!({"inputSchema": null}),
            Some("bad"),
            "inputSchema must be an object",
        ),
        (
            json!({"inputSchema": true}),
            Some("bad"),
            "inputSchema must be an object",
        ),
        (
            json!({"inputSchema": {}}),
            Some("bad"),
            "inputSchema must have \"type\": \"object\"",
        ),
        (
            json!({"inputSchema": {"type": "string"}}),
            Some("bad"),
            "inputSchema must have",
        ),
        (
            json!({"inputSchema": {"type": ["object"]}}),
            Some("bad"),
            "inputSchema must have",
        ),
        (
            json!({"inputSchema": {"oneOf": []}}),
            Some("bad"),
            "inputSchema must have",
        ),
        (
            json!({"inputSchema": {"$ref": "http://x/y"}}),
            Some("bad"),
            "inputSchema must have",
        ),
        (
            json!({"inputSchema": {"type": "object", "properties": {"a": true}}}),
            Some("bad"),
            "inputSchema.properties must hold objects",
        ),
        (
            json!({"inputSchema": {"type": "object", "properties": []}}),
            Some("bad"),
            "inputSchema.properties must be an object",
        ),
        (
            json!({"inputSchema": {"type": "object", "required": "a"}}),
            Some("bad"),
            "inputSchema.required must be a list of strings",
        ),
    ]);
}

#[test]
fn a_bad_member_hides_no_other_tool() {
    assert_refused(&[
        (
            json!({"outputSchema": null}),
            Some("bad"),
            "outputSchema must be an object",
        ),
        (
            json!({"description": 7}),
            Some("bad"),
            "description must be a string",
        ),
        (
            json!({"description": null}),
            Some("bad"),
            "description must be a string",
        ),
        (json!({"title": []}), Some("bad"), "title must be a string"),
        (
            json!({"annotations": null}),
            Some("bad"),
            "annotations must be an object",
        ),
        (
            json!({"annotations": {"readOnlyHint": "yes"}}),
            Some("bad"),
            "annotations.readOnlyHint must be a boolean",
        ),
        (json!({"icons": [{}]}), Some("bad"), "icons must be a list"),
        (
            json!({"execution": {"taskSupport": "no"}}),
            Some("bad"),
            "execution.taskSupport",
        ),
        (json!({"_meta": 1}), Some("bad"), "_meta must be an object"),
        (
            json!({"inputSchema": {"type": "object", "properties": {
                "a": {"type": "string", "x-mcp-header": ""}}}}),
            Some("bad"),
            "x-mcp-header must be an HTTP token",
        ),
    ]);
}

#[test]
fn a_member_that_is_read_may_stand_in_a_definition_once() {
    for (tool, reason) in [
        (
            r#"{"name":"a","n\u0061me":"b","inputSchema":{"type":"object"}}"#,
            "duplicate field `name`",
        ),
        (
            r#"{"name":"a","inputSchema":{"type":"object","type":"object"}}"#,
            "inputSchema has type twice",
        ),
        (
            r#"{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":"","title":""}}"#,
            "annotations has title twice",
        ),
    ] {
        let text = format!(r#"{{"instance":"i","connection":1,"tools":[{tool}]}}"#);
        let offer = read(&Json::parse(text).unwrap()).unwrap();
        assert_eq!(offer.rejected[0].reason, reason);
    }
}

#[test]
fn of_two_tools_with_one_name_the_first_stays() {
    let mut second = tool("a");
    second["description"] = json!("another");
    let offer = accepted(json!({"tools": [tool("a"), second]}));
    assert_eq!(
        content(&offer, Kind::Tools),
        Some(format!("[{}]", tool("a")).as_str())
    );
    let reason = "another tool has this name already";
    assert_eq!(offer.rejected, [rejection(Kind::Tools, Some("a"), reason)]);
}

#[test]
fn what_is_no_tool_at_all_has_no_name() {
    let offer = accepted(json!({"tools": [7, [tool("x")], tool("a")]}));
    let reason = "a tool must be an object";
    let expected = [
        rejection(Kind::Tools, None, reason),
        rejection(Kind::Tools, None, reason),
    ];
    assert_eq!(offer.rejected, expected);
    assert!(content(&offer, Kind::Tools).is_some());
}

#[test]
fn good_tools_of_every_shape_are_accepted() {
    let tools = json!([
        tool(&"n".repeat(128)),
        {"name": "full.tool_1-x", "title": "T", "description": "", "icons": [{"src": "data:,"}],
         "annotations": {"title": "x", "readOnlyHint": true, "more": 1}, "_meta": {},
         "inputSchema": {"$schema": "x", "type": "object", "properties": {"a": {"$ref": "#/$defs/a"}},
            "required": ["a"], "$defs": {"a": true}, "additionalProperties": false,
            "allOf": [{"if": {}}], "properties2": [1]},
         "outputSchema": {"type": "array", "items": true}, "execution": {"taskSupport": "optional"}},
        {"name": "ref", "inputSchema": {"type": "object", "$ref": "https://example.com/never-fetched"}},
    ]);
    let offer = accepted(json!({"tools": tools}));
    assert_eq!(offer.rejected, []);
    assert_eq!(
        content(&offer, Kind::Tools),
        Some(tools.to_string().as_str())
    );
}

#[test]
fn what_strict_parsers_cannot_read_is_refused() {
    for value in [r#""\ud800""#, r#"{"\udc00":1}"#, "1e400"] {
        let text = format!(
            r#"{{"instance":"i","connection":1,"tools":[{{"name":"a","inputSchema":{{"type":"object","default":{value}}}}}]}}"#
        );
        let offer = read(&Json::parse(text).unwrap()).unwrap();
        let reason = "it holds a lone surrogate, or a number that no double can hold";
        assert_eq!(offer.rejected, [rejection(Kind::Tools, Some("a"), reason)]);
    }
}

#[test]
fn the_list_of_rejections_is_bounded() {
    let offer = accepted(json!({"tools": vec![json!({"name": "é".repeat(200)}); 150]}));
    assert_eq!(offer.rejected.len(), limits::REJECTIONS_LISTED + 1);
    assert_eq!(offer.rejected[0].name, Some("é".repeat(64)));
    let last = offer.rejected.last().unwrap();
    assert_eq!(
        last,
        &rejection(Kind::Tools, None, "50 more entries were refused")
    );
}

#[test]
fn a_registration_has_a_bounded_number_of_tools() {
    let many = (0..=limits::REGISTRATION_ENTRIES).map(|n| tool(&format!("t{n}")));
    let offer = accepted(json!({"tools": many.collect::<Vec<_>>()}));
    let reason = "a registration has at most 10000 tools";
    assert_eq!(
        offer.rejected,
        [rejection(Kind::Tools, Some("t10000"), reason)]
    );
}
