use super::*;
use crate::json::present;

const LEGACY: [Version; 3] = [
    Version::V2025_03_26,
    Version::V2025_06_18,
    Version::V2025_11_25,
];

fn converted(version: Version, text: &str) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Members<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        content: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "present")]
        structured_content: Option<&'a RawValue>,
    }
    let text = Text::new(text.to_owned().into()).unwrap();
    let members: Members<'_> = text.read().unwrap();
    let result = ToolResult {
        text: &text,
        content: members.content,
        structured: members.structured_content,
    };
    tool_result(&result, version).unwrap().into_owned()
}

#[test]
fn results_that_can_stay_stay_as_they_are() {
    for text in [
        "{}",
        r#"{ "content" : [ {"type":"text","text":"a"} ], "x":1e400 }"#,
        r#"{"content":[],"structuredContent":{"a":1}}"#,
        r#"{"content":[{"type":"never_heard_of"}],"isError":true,"_meta":{"k":1}}"#,
        r#"{"content":"odd"}"#,
    ] {
        for version in LEGACY {
            assert_eq!(converted(version, text), text);
        }
    }
}

#[test]
fn structured_content_is_an_object_or_a_text() {
    for (text, expected) in [
        (
            r#"{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1], "x":1e400}"#,
            r#"{"content":[{"type":"text","text":"[1]"}],"x":1e400}"#,
        ),
        (
            r#"{"structuredContent":[1,"a"],"content":[]}"#,
            r#"{"content":[{"text":"[1,\"a\"]","type":"text"}]}"#,
        ),
        (
            r#"{"structuredContent":null,"content":[]}"#,
            r#"{"content":[{"text":"null","type":"text"}]}"#,
        ),
        (
            r#"{"structuredContent":5,"k\"ey":1}"#,
            r#"{"content":[{"text":"5","type":"text"}],"k\"ey":1}"#,
        ),
    ] {
        for version in LEGACY {
            assert_eq!(converted(version, text), expected);
        }
    }
}

#[test]
fn links_are_texts_in_the_oldest_revision() {
    let link = r#"{"type":"resource_link","uri":"file:///a","name":"a","description":"d","annotations":{"priority":1.0}}"#;
    let bare = r#"{"type":"resource_link","uri":"file:///a","title":"A"}"#;
    let text = format!(r#"{{"content":[{link},{{"type":"text","text":"t"}},{bare}]}}"#);
    assert_eq!(
        converted(Version::V2025_03_26, &text),
        r#"{"content":[{"annotations":{"priority":1.0},"text":"a: file:///a\nd","type":"text"},{"type":"text","text":"t"},{"text":"A: file:///a","type":"text"}]}"#
    );
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        assert_eq!(converted(version, &text), text);
    }
}

#[test]
fn schemas_are_those_of_older_revisions() {
    let input = r#""inputSchema":{"type":"object"}"#;
    for (definition, expected) in [
        (format!(r#"{{"name":"t",{input}}}"#), None),
        (
            format!(r#"{{"name":"t",{input},"outputSchema":{{"type":"object"}}}}"#),
            None,
        ),
        (
            format!(r#"{{"name":"t","outputSchema":{{"type":"array"}},{input},"x":1e400}}"#),
            Some(format!(r#"{{"name":"t",{input},"x":1e400}}"#)),
        ),
        (
            format!(r#"{{"name":"t",{input},"outputSchema":{{}}}}"#),
            Some(format!(r#"{{"name":"t",{input}}}"#)),
        ),
    ] {
        let json = Json::parse(definition.clone()).unwrap();
        for version in LEGACY {
            let found = tool(&json, version).unwrap();
            assert_eq!(found.as_str(), expected.as_ref().unwrap_or(&definition));
        }
        let modern = tool(&json, Version::V2026_07_28).unwrap();
        assert_eq!(modern.as_str(), definition);
    }
}
