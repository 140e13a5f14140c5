use std::time::Duration;

use serde_json::json;

use super::*;

fn schema(schema: &serde_json::Value) -> Result<Vec<HeaderParam>, String> {
    header_params(&Json::of(schema)).map_err(|error| error.to_string())
}

fn raw_schema(schema: &'static str) -> Result<Vec<HeaderParam>, String> {
    header_params(&Json::parse(schema).unwrap()).map_err(|error| error.to_string())
}

fn param(name: &str, path: &[&str], kind: ParamKind) -> HeaderParam {
    HeaderParam {
        name: name.to_owned(),
        path: path.iter().map(|&key| key.to_owned()).collect(),
        kind,
    }
}

#[test]
fn annotations_are_found_along_properties() {
    let found = schema(&json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"type": "object", "properties": {
            "zone": {"x-mcp-header": "X-Zone", "type": "integer"},
            "dry": {"type": "boolean", "x-mcp-header": "dry!#$%&'*+-.^_`|~9"},
        }},
    }}));
    let expected = [
        param("region", &["region"], ParamKind::String),
        param("dry!#$%&'*+-.^_`|~9", &["where", "dry"], ParamKind::Boolean),
        param("x-zone", &["where", "zone"], ParamKind::Integer),
    ];
    let mut found = found.unwrap();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(found, expected);
}

#[test]
fn annotations_keep_the_order_of_the_schema() {
    let found = raw_schema(
        r#"{"properties":{"b":{"type":"string","x-mcp-header":"B"},"a":{"type":"string","x-mcp-header":"A"}}}"#,
    );
    let names: Vec<_> = found.unwrap().into_iter().map(|param| param.name).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn an_annotation_that_agents_would_drop_the_tool_for_is_refused() {
    let property = |property: serde_json::Value| schema(&json!({"properties": {"a": property}}));
    let string = |name: &str| property(json!({"type": "string", "x-mcp-header": name}));
    for name in ["", "a b", "a\r\nb", "a:b", "ü", "a/b", "\"a\""] {
        assert_eq!(
            string(name).unwrap_err(),
            "x-mcp-header must be an HTTP token",
            "{name:?}"
        );
    }
    let not_a_string = property(json!({"type": "string", "x-mcp-header": 7}));
    assert_eq!(
        not_a_string.unwrap_err(),
        "x-mcp-header must be an HTTP token"
    );
    for kind in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!(["string", "null"]),
        json!(null),
    ] {
        let error = property(json!({"type": kind, "x-mcp-header": "A"})).unwrap_err();
        assert_eq!(
            error, "x-mcp-header needs the type string, integer or boolean",
            "{kind}"
        );
    }
    let twice = json!({"properties": {
        "a": {"type": "string", "x-mcp-header": "Name"},
        "b": {"type": "string", "x-mcp-header": "nAME"},
    }});
    assert_eq!(
        schema(&twice).unwrap_err(),
        "x-mcp-header occurs twice with one name"
    );
}

#[test]
fn an_annotation_that_properties_alone_do_not_reach_is_refused() {
    let inner = json!({"type": "string", "x-mcp-header": "A"});
    let object = json!({"type": "object", "properties": {"a": inner}});
    for unreachable in [
        inner.clone(),
        json!({"items": inner}),
        json!({"prefixItems": [inner]}),
        json!({"properties": {"list": {"type": "array", "items": inner}}}),
        json!({"properties": {"list": {"items": object}}}),
        json!({"allOf": [object]}),
        json!({"anyOf": [object]}),
        json!({"oneOf": [object]}),
        json!({"not": object}),
        json!({"if": object}),
        json!({"then": object}),
        json!({"else": object}),
        json!({"$defs": {"d": object}}),
        json!({"definitions": {"d": inner}}),
        json!({"additionalProperties": inner}),
        json!({"patternProperties": {"^a": inner}}),
        json!({"dependentSchemas": {"a": object}}),
        json!({"x-vendor": {"deep": [inner]}}),
    ] {
        assert_eq!(
            schema(&unreachable).unwrap_err(),
            "x-mcp-header must be reached through properties alone",
            "{unreachable}"
        );
    }
}

#[test]
fn the_name_in_data_is_no_annotation() {
    for data in [
        json!({"enum": [{"x-mcp-header": "A"}]}),
        json!({"const": {"x-mcp-header": ""}}),
        json!({"default": {"x-mcp-header": 1}}),
        json!({"examples": [{"x-mcp-header": "a b"}]}),
        json!({"description": "x-mcp-header"}),
        json!({"required": ["x-mcp-header"]}),
        json!({"properties": {"x-mcp-header": {"type": "string"}}}),
        json!({"properties": {"type": {"x-other": 1}, "properties": {"type": "object"}}}),
        json!({"properties": true, "items": "x-mcp-header"}),
    ] {
        assert_eq!(schema(&data), Ok(Vec::new()), "{data}");
    }
}

#[test]
fn escapes_hide_nothing() {
    let hidden =
        raw_schema(r#"{"properties":{"a":{"type":"s\u0074ring","x\u002dmcp-header":"A"}}}"#);
    assert_eq!(hidden, Ok(vec![param("a", &["a"], ParamKind::String)]));
    for twice in [
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"A","x\u002dmcp-header":"B"}}}"#,
        r#"{"properties":{"a":{"type":"string","t\u0079pe":"integer","x-mcp-header":"A"}}}"#,
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"\u0061":{}}}"#,
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}},"properties":{}}"#,
    ] {
        assert_eq!(
            raw_schema(twice).unwrap_err(),
            "inputSchema has a duplicate member"
        );
    }
}

const REST: &str = r#"{
    "serverInfo":{"name":"app","version":"2"},
    "instructions":"read \"me\"",
    "toolOptions":{"a":{"requires":{"sampling":{}},"timeoutMs":5000,"task":"optional"}},
    "ttlMs":250}"#;

#[test]
fn tools_are_listed_in_order_and_found_by_name() {
    let rest = RestContent::read(Bytes::from(REST)).unwrap();
    let tools = r#"[{"name":"b","inputSchema":{"type":"object"},"outputSchema":{}},
        {"name":"a","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}},"x":1e400}]"#;
    let index = ToolIndex::read(Bytes::from(tools), &rest).unwrap();
    let names: Vec<_> = index.tools().iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["b", "a"]);
    let tool = index.get("a").unwrap();
    assert!(tool.definition.as_str().ends_with(r#""x":1e400}"#));
    assert_eq!(tool.header_params, [param("r", &["r"], ParamKind::String)]);
    assert!(!tool.has_output_schema);
    assert_eq!(tool.options.timeout, Some(Duration::from_secs(5)));
    assert_eq!(tool.options.task, TaskMode::Optional);
    assert_eq!(
        tool.options.requires.as_ref().unwrap().as_str(),
        r#"{"sampling":{}}"#
    );
    assert!(index.get("b").unwrap().has_output_schema);
    assert_eq!(index.get("b").unwrap().options, ToolOptions::default());
    assert!(index.get("c").is_none());
}

#[test]
fn the_rest_has_defaults() {
    let rest = RestContent::read(Bytes::from(REST)).unwrap();
    assert_eq!(rest.server_info.as_str(), r#"{"name":"app","version":"2"}"#);
    assert_eq!(rest.instructions.unwrap().as_str(), r#""read \"me\"""#);
    assert_eq!((rest.ttl_ms, rest.completions), (250, false));
    let none = RestContent::read(Bytes::from("{}")).unwrap();
    assert!(none.server_info.as_str().contains("\"name\""));
    assert_eq!(none.server_info, RestContent::default().server_info);
    assert_eq!((none.instructions, none.ttl_ms), (None, 0));
}

#[test]
fn damaged_content_is_an_error() {
    let rest = RestContent::default();
    for bad in [
        "",
        "{}",
        "[1]",
        "[{\"name\":\"a\"}]",
        "[",
        "[{\"inputSchema\":{}}]",
    ] {
        let error = ToolIndex::read(Bytes::from(bad), &rest).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("stored content cannot be read"),
            "{bad}"
        );
    }
    assert!(RestContent::read(Bytes::from("[]")).is_err());
    assert!(RestContent::read(Bytes::from(r#"{"toolOptions":{"a":1}}"#)).is_err());
}

#[test]
fn options_of_a_tool_are_checked() {
    let problem = |options: &'static str| {
        let options = Json::parse(options).unwrap();
        read_tool_options(&options).unwrap_err()
    };
    for bad in ["0", "900001", "-1", "1.5", "\"5\"", "null", "1e3"] {
        let options = Json::parse(format!(r#"{{"timeoutMs":{bad}}}"#)).unwrap();
        let error = read_tool_options(&options).unwrap_err();
        assert_eq!(
            error, "timeoutMs must be an integer from 1 to 900000",
            "{bad}"
        );
    }
    for good in ["1", "900000"] {
        let options = Json::parse(format!(r#"{{"timeoutMs":{good},"more":[]}}"#)).unwrap();
        assert!(read_tool_options(&options).is_ok());
    }
    assert!(problem("[]").starts_with("options must be an object"));
    assert!(problem(r#"{"task":"never","task":"never"}"#).contains("duplicate"));
    assert!(problem(r#"{"requires":["sampling"]}"#).starts_with("requires must be"));
    assert!(problem(r#"{"requires":{"sampling":true}}"#).starts_with("requires must be"));
    assert!(problem(r#"{"task":"always"}"#).starts_with("task must be"));
    assert!(problem(r#"{"task":1}"#).starts_with("task must be"));
}
