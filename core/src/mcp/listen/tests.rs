use serde_json::json;

use super::*;
use crate::mcp::fixture::{bare_offer, request};
use crate::mcp::method::Method;
use crate::mcp::version::Version;

#[test]
fn what_the_app_lacks_is_not_honoured() {
    let honoured = |params, offer: &Offer| {
        let request = request(Version::V2026_07_28, Method::Listen, &params);
        Filter::honoured(&request, offer).map_err(|error| {
            assert_eq!(error.id.unwrap().as_json(), "7");
            (error.status.as_u16(), error.code)
        })
    };
    let all = json!({"notifications": {
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["a:b"],
    }});
    let tools = Filter {
        tools: true,
        ..Filter::default()
    };
    assert_eq!(honoured(all.clone(), &bare_offer()), Ok(tools));
    let mut full = bare_offer();
    full.hashes.prompts = full.hashes.tools;
    full.hashes.resources = full.hashes.tools;
    let everything = Filter {
        uris: vec!["a:b".to_owned()],
        ..Filter::all_lists()
    };
    assert_eq!(honoured(all, &full), Ok(everything));
    let long = format!("a:{}", "b".repeat(limits::URI_BYTES));
    let many: Vec<String> = (0..=limits::WATCHED_PER_STREAM)
        .map(|n| format!("x:{n}"))
        .collect();
    let asked = |uris: &[String]| {
        let params = json!({"notifications": {"resourceSubscriptions": uris}});
        honoured(params, &full).unwrap().uris
    };
    assert_eq!(asked(&["a:b".to_owned(), long, "a:b".to_owned()]), ["a:b"]);
    assert_eq!(asked(&many), many[..limits::WATCHED_PER_STREAM]);
    let none = json!({"notifications": {"promptsListChanged": true, "x": 1}});
    assert_eq!(honoured(none, &bare_offer()), Ok(Filter::default()));
    for odd in [
        json!({}),
        json!({"notifications": null}),
        json!({"notifications": []}),
        json!({"notifications": {"toolsListChanged": "yes"}}),
        json!({"notifications": {"resourceSubscriptions": "a:b"}}),
    ] {
        assert_eq!(honoured(odd, &bare_offer()), Err((400, -32_602)));
    }
}

#[test]
fn a_filter_tells_kinds_apart() {
    let tools = Filter {
        tools: true,
        ..Filter::default()
    };
    assert_eq!(
        Kind::ALL.map(|kind| tools.wants(kind)),
        [true, false, false, false]
    );
    assert_eq!(
        Kind::ALL.map(|kind| Filter::all_lists().wants(kind)),
        [true, true, true, false]
    );
}
