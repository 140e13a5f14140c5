use serde_json::{Value, json};

use super::*;
use crate::mcp::fixture::{offer, offer_of, request, value};
use crate::mcp::method::Method;
use crate::mcp::version::Version;

fn page_of_tools(
    offer: &Offer,
    cursor: Option<&str>,
) -> Result<(Vec<String>, Option<String>), i64> {
    let params = match cursor {
        None => json!({}),
        Some(cursor) => json!({ "cursor": cursor }),
    };
    let request = request(Version::V2026_07_28, Method::ListTools, &params);
    let page = tools(&request, offer).map_err(|error| {
        assert_eq!(error.status, 200);
        error.code
    })?;
    let page = value(page.bytes());
    let names = page["tools"].as_array().unwrap().iter();
    let names = names.map(|tool| tool["name"].as_str().unwrap().to_owned());
    let next = page["nextCursor"].as_str().map(str::to_owned);
    Ok((names.collect(), next))
}

fn many(count: usize, description_bytes: usize) -> Offer {
    let tools: Vec<Value> = (0..count)
        .map(|n| {
            json!({
                "name": format!("t{n}"),
                "description": "d".repeat(description_bytes),
                "inputSchema": {"type": "object"},
            })
        })
        .collect();
    offer(&Value::Array(tools).to_string(), &json!({}))
}

#[test]
fn all_pages_together_are_the_list_in_its_order() {
    for (count, bytes, pages) in [
        (0, 0, 1),
        (1, 0, 1),
        (1_000, 0, 1),
        (1_001, 0, 2),
        (2_500, 0, 3),
        (30, 100_000, 3),
        (3, 1_200_000, 3),
    ] {
        let offer = many(count, bytes);
        let mut names = Vec::new();
        let mut cursor = None;
        let mut seen = 0;
        loop {
            let (page, next) = page_of_tools(&offer, cursor.as_deref()).unwrap();
            names.extend(page);
            seen += 1;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        let expected: Vec<String> = (0..count).map(|n| format!("t{n}")).collect();
        assert_eq!((names, seen), (expected, pages), "{count} of {bytes}");
    }
}

#[test]
fn a_cursor_is_of_one_list() {
    let (_, cursor) = page_of_tools(&many(1_001, 0), None).unwrap();
    let cursor = cursor.unwrap();
    assert!(page_of_tools(&many(1_001, 0), Some(&cursor)).is_ok());
    assert_eq!(page_of_tools(&many(1_002, 0), Some(&cursor)), Err(-32_602));
    for cursor in ["", "nonsense", "MTAwMA", "\u{0}"] {
        assert_eq!(page_of_tools(&many(1_001, 0), Some(cursor)), Err(-32_602));
    }
    let of = |member| List {
        member,
        hash: many(1_001, 0).hashes.tools,
    };
    for foreign in [
        of("tools").cursor(1_001),
        of("tools").cursor(0),
        of("prompts").cursor(1_000),
    ] {
        assert_eq!(page_of_tools(&many(1_001, 0), Some(&foreign)), Err(-32_602));
    }
}

#[test]
fn definitions_pass_as_they_are() {
    let tool = r#"{"name":"t", "x" : 1e400,"inputSchema":{"type":"object","$defs":{"a":{"$anchor":"b"}}}}"#;
    let offer = offer(&format!("[{tool}]"), &json!({}));
    for version in Version::ALL {
        let request = request(version, Method::ListTools, &json!({}));
        let page = tools(&request, &offer).unwrap();
        assert_eq!(
            page.as_str(),
            format!(r#"{{"tools":[{tool}]}}"#),
            "{version:?}"
        );
    }
}

#[test]
fn every_list_has_pages() {
    let entries = |entry: Value| {
        let entry = |n| {
            let mut entry = entry.clone();
            for member in entry.as_object_mut().unwrap().values_mut() {
                *member = format!("x:{}{n}", member.as_str().unwrap()).into();
            }
            entry
        };
        (0..1_500).map(entry).collect::<Vec<Value>>()
    };
    let resources = json!({
        "resources": entries(json!({"uri": "r", "name": "r"})),
        "resourceTemplates": entries(json!({"uriTemplate": "t", "name": "t"})),
    });
    let prompts = Value::Array(entries(json!({"name": "p"})));
    let offer = offer_of("[]", &prompts.to_string(), &resources.to_string(), "{}");
    type Page = fn(&Request, &Offer) -> Result<Json, RpcError>;
    let lists: [(Page, Method, &str, &str); 3] = [
        (super::prompts, Method::ListPrompts, "prompts", "x:p"),
        (super::resources, Method::ListResources, "resources", "x:r"),
        (
            templates,
            Method::ListResourceTemplates,
            "resourceTemplates",
            "x:t",
        ),
    ];
    let mut cursors = Vec::new();
    for (list, method, member, name) in lists {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let request = request(Version::V2025_06_18, method, &params);
            let page = value(list(&request, &offer).unwrap().bytes());
            let found = page[member].as_array().unwrap().iter();
            names.extend(found.map(|entry| entry["name"].as_str().unwrap().to_owned()));
            let Some(cursor) = page["nextCursor"].as_str() else {
                break;
            };
            cursors.push(cursor.to_owned());
            params = json!({"cursor": cursor});
        }
        let expected: Vec<String> = (0..1_500).map(|n| format!("{name}{n}")).collect();
        assert_eq!(names, expected);
    }
    // The two lists of one kind have cursors of their own.
    assert_eq!(cursors.len(), 3);
    let foreign = json!({"cursor": cursors[1]});
    let request = request(
        Version::V2025_06_18,
        Method::ListResourceTemplates,
        &foreign,
    );
    assert_eq!(templates(&request, &offer).unwrap_err().code, -32_602);
}
