use serde_json::{Value, json};

use super::*;
use crate::mcp::fixture::{offer, request, value};
use crate::mcp::method::Method;
use crate::mcp::version::Version;

fn page(offer: &Offer, cursor: Option<&str>) -> Result<(Vec<String>, Option<String>), i64> {
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
            let (page, next) = page(&offer, cursor.as_deref()).unwrap();
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
    let (_, cursor) = page(&many(1_001, 0), None).unwrap();
    let cursor = cursor.unwrap();
    assert!(page(&many(1_001, 0), Some(&cursor)).is_ok());
    assert_eq!(page(&many(1_002, 0), Some(&cursor)), Err(-32_602));
    for cursor in ["", "nonsense", "MTAwMA", "\u{0}"] {
        assert_eq!(page(&many(1_001, 0), Some(cursor)), Err(-32_602));
    }
    let beyond = write_cursor(1_001, &many(1_001, 0).hashes.tools);
    assert_eq!(page(&many(1_001, 0), Some(&beyond)), Err(-32_602));
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
