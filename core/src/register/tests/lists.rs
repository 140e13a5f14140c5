use serde_json::{Value, json};

use super::{accepted, content, register, rejection};
use crate::json::Json;
use crate::prompt::PromptIndex;
use crate::register::{Offer, read};
use crate::registration::{ContentHash, Hashes, Kind};
use crate::resource::ResourceIndex;

/// One good entry beside one that is `bad`: the reason for which that one is refused.
fn reason(member: &str, good: &Value, bad: &Value) -> String {
    let offer = accepted(json!({ member: [bad, good] }));
    let [rejection] = &offer.rejected[..] else {
        panic!("{member} {bad}: {:?}", offer.rejected);
    };
    let kept = content(&offer, rejection.kind).unwrap();
    assert!(kept.contains(&good.to_string()), "{kept}");
    rejection.reason.to_string()
}

#[test]
fn prompts_are_held_to_what_strict_agents_parse() {
    let full = json!({"name": "a.b-c_1", "title": "", "description": "d",
        "arguments": [{"name": "a", "title": "t", "description": "d", "required": true, "x": 1}],
        "icons": [{"src": "data:,"}], "_meta": {"k": 1}, "more": [1]});
    for good in [
        json!({"name": "p"}),
        json!({"name": "p", "arguments": []}),
        full,
    ] {
        assert_eq!(accepted(json!({"prompts": [good]})).rejected, []);
    }
    let good = json!({"name": "good"});
    for (bad, expected) in [
        (json!(7), "prompt must be an object"),
        (json!({}), "prompt.name is missing"),
        (json!({"name": 7}), "prompt.name must be a string"),
        (json!({"name": "a b"}), "name must be 1 to 128"),
        (json!({"name": ""}), "name must be 1 to 128"),
        (
            json!({"name": "p", "title": null}),
            "prompt.title must be a string",
        ),
        (json!({"name": "p", "description": 1}), "prompt.description"),
        (
            json!({"name": "p", "arguments": {}}),
            "prompt.arguments must be a list",
        ),
        (
            json!({"name": "p", "arguments": ["a"]}),
            "prompt.arguments[] must be an object",
        ),
        (
            json!({"name": "p", "arguments": [{}]}),
            "prompt.arguments[].name is missing",
        ),
        (
            json!({"name": "p", "arguments": [{"name": "a", "required": 1}]}),
            "prompt.arguments[].required must be a boolean",
        ),
        (json!({"name": "p", "icons": [{}]}), "icons must be a list"),
        (json!({"name": "p", "_meta": []}), "_meta must be an object"),
    ] {
        let found = reason("prompts", &good, &bad);
        assert!(found.starts_with(expected), "{bad}: {found}");
    }
    let twice = accepted(json!({"prompts": [{"name": "p"}, {"name": "p", "title": "t"}]}));
    let reason = "another prompt has this name already";
    assert_eq!(
        twice.rejected,
        [rejection(Kind::Prompts, Some("p"), reason)]
    );
}

#[test]
fn resources_are_held_to_what_strict_agents_parse() {
    let full = json!({"uri": "file:///ä?x=1#y", "name": "n", "title": "t", "description": "d",
        "mimeType": "text/plain", "size": 9_007_199_254_740_993_u64, "icons": [],
        "annotations": {"audience": ["user", "assistant"], "priority": 0.5,
            "lastModified": "2026-01-31T10:00:00.25+01:00", "more": 1},
        "_meta": {}});
    let moments = ["2026-01-31T10:00:00Z", "2026-01-31T10:00:00-08:30"];
    let moments =
        moments.map(|at| json!({"uri": "x:1", "name": "", "annotations": {"lastModified": at}}));
    for good in moments.into_iter().chain([
        full,
        json!({"uri": "test://static-text", "name": "r"}),
        json!({"uri": "urn:x:1", "name": "r", "annotations": {"audience": [], "priority": 1}}),
    ]) {
        assert_eq!(
            accepted(json!({"resources": [good]})).rejected,
            [],
            "{good}"
        );
    }
}

#[test]
fn resources_that_strict_agents_refuse_hide_no_others() {
    let long = format!("x:{}", "y".repeat(8 * 1024));
    let good = json!({"uri": "x:good", "name": "good"});
    for (bad, expected) in [
        (json!([]), "resource must be an object"),
        (json!({"name": "r"}), "resource.uri is missing"),
        (
            json!({"uri": 1, "name": "r"}),
            "resource.uri must be a string",
        ),
        (json!({"uri": "x:1"}), "resource.name is missing"),
        (
            json!({"uri": long, "name": "r"}),
            "uri has at most 8192 bytes",
        ),
        (
            json!({"uri": "no-scheme", "name": "r"}),
            "uri must begin with a scheme",
        ),
        (
            json!({"uri": "1x:y", "name": "r"}),
            "uri must begin with a scheme",
        ),
        (
            json!({"uri": "x:", "name": "r"}),
            "uri must begin with a scheme",
        ),
        (
            json!({"uri": "x:a b", "name": "r"}),
            "uri must begin with a scheme",
        ),
        (
            json!({"uri": "x:1", "name": "r", "mimeType": 1}),
            "resource.mimeType",
        ),
        (
            json!({"uri": "x:1", "name": "r", "size": -1}),
            "resource.size",
        ),
        (
            json!({"uri": "x:1", "name": "r", "size": "1"}),
            "resource.size",
        ),
        (
            json!({"uri": "x:1", "name": "r", "size": 1.5}),
            "resource.size",
        ),
    ] {
        let found = reason("resources", &good, &bad);
        assert!(found.starts_with(expected), "{bad}: {found}");
    }
    let twice = json!([{"uri": "x:1", "name": "a"}, {"uri": "x:1", "name": "b"}, {"uri": "x:2", "name": "a"}]);
    let offer = accepted(json!({"resources": twice}));
    let reason = "another resource has this uri already";
    assert_eq!(
        offer.rejected,
        [rejection(Kind::Resources, Some("b"), reason)]
    );
}

#[test]
fn annotations_that_strict_agents_refuse_cost_their_resource() {
    let annotated =
        |annotations: Value| json!({"uri": "x:1", "name": "r", "annotations": annotations});
    let good = json!({"uri": "x:good", "name": "good"});
    for (bad, expected) in [
        (annotated(json!([])), "annotations must be an object"),
        (
            annotated(json!({"audience": "user"})),
            "annotations.audience",
        ),
        (
            annotated(json!({"audience": ["robot"]})),
            "annotations.audience",
        ),
        (annotated(json!({"priority": 2})), "annotations.priority"),
        (annotated(json!({"priority": "1"})), "annotations.priority"),
        (
            annotated(json!({"lastModified": 5})),
            "annotations.lastModified must be a string",
        ),
        (
            annotated(json!({"lastModified": "yesterday"})),
            "annotations.lastModified must be like",
        ),
        (
            annotated(json!({"lastModified": "2026-01-31"})),
            "annotations.lastModified must be like",
        ),
        (
            annotated(json!({"lastModified": "2026-01-31T10:00:00.Z"})),
            "annotations.lastModified",
        ),
        (
            annotated(json!({"lastModified": "2026-01-31T10:00:00"})),
            "annotations.lastModified",
        ),
    ] {
        let found = reason("resources", &good, &bad);
        assert!(found.starts_with(expected), "{bad}: {found}");
    }
}

#[test]
fn templates_are_held_to_what_strict_agents_parse() {
    let good = json!({"uriTemplate": "x://{good}", "name": "good"});
    for (bad, expected) in [
        (
            json!({"name": "t"}),
            "resource template.uriTemplate is missing",
        ),
        (
            json!({"uriTemplate": "x:{y}"}),
            "resource template.name is missing",
        ),
        (
            json!({"uriTemplate": ["x"], "name": "t"}),
            "resource template.uriTemplate must be",
        ),
        (
            json!({"uriTemplate": "x".repeat(8 * 1024 + 1), "name": "t"}),
            "uriTemplate has at most",
        ),
        (
            json!({"uriTemplate": "x:{y}", "name": "t", "icons": 5}),
            "icons must be",
        ),
    ] {
        let found = reason("resourceTemplates", &good, &bad);
        assert!(found.starts_with(expected), "{bad}: {found}");
    }
    let unnamed = accepted(json!({"resourceTemplates": [{"uriTemplate": "x:{y}"}]}));
    assert_eq!(unnamed.rejected[0].name.as_deref(), Some("x:{y}"));
    assert_eq!(unnamed.hashes, Hashes::empty());
}

#[test]
fn resources_and_templates_are_one_kind() {
    let resources = |offer: &Offer| content(offer, Kind::Resources).map(str::to_owned);
    let resource = json!({"uri": "x:1", "name": "r"});
    let template = json!({"uriTemplate": "x:{y}", "name": "t"});
    for (members, expected) in [
        (
            json!({"resources": [resource]}),
            format!(r#"{{"resources":[{resource}]}}"#),
        ),
        (
            json!({"resources": [], "resourceTemplates": [template]}),
            format!(r#"{{"resourceTemplates":[{template}]}}"#),
        ),
        (
            json!({"resources": [resource], "resourceTemplates": [template]}),
            format!(r#"{{"resources":[{resource}],"resourceTemplates":[{template}]}}"#),
        ),
        (
            json!({"resources": "dynamic"}),
            r#"{"resources":"dynamic"}"#.to_owned(),
        ),
    ] {
        let offer = accepted(members);
        assert_eq!(resources(&offer).as_deref(), Some(expected.as_str()));
        let hash = ContentHash::of(Kind::Resources, expected.as_bytes());
        assert_eq!(offer.hashes.resources, hash);
    }
    let hash = ContentHash::of(Kind::Resources, b"x");
    let named = json!({"hash": hash.to_string()});
    let offer = accepted(json!({"resources": named}));
    assert_eq!(offer.by_hash, [(Kind::Resources, hash)]);
    let both = register(json!({"resources": named, "resourceTemplates": []}));
    let error = read(&Json::of(&both)).unwrap_err();
    assert!(error.to_string().contains("must be left out"), "{error}");
}

#[test]
fn what_is_accepted_is_indexed() {
    let offer = accepted(json!({
        "prompts": [{"name": "p"}, {"name": "q"}],
        "resources": [{"uri": "x:1", "name": "r"}],
        "resourceTemplates": [{"uriTemplate": "y:{z}", "name": "t"}],
        "completions": true,
    }));
    assert_eq!(offer.rejected, []);
    assert_eq!(content(&offer, Kind::Rest), Some(r#"{"completions":true}"#));
    let of = |kind| content(&offer, kind).unwrap().to_owned().into();
    let prompts = PromptIndex::read(of(Kind::Prompts)).unwrap();
    assert!(prompts.has("p") && prompts.has("q") && !prompts.has("r"));
    assert_eq!(prompts.definitions().len(), 2);
    let resources = ResourceIndex::read(of(Kind::Resources)).unwrap();
    assert_eq!(
        (resources.listed().len(), resources.templates().len()),
        (1, 1)
    );
    assert!(!resources.is_dynamic() && resources.may_have("anything"));
    let only_listed = accepted(json!({"resources": [{"uri": "x:1", "name": "r"}]}));
    let only_listed = content(&only_listed, Kind::Resources).unwrap().to_owned();
    let only_listed = ResourceIndex::read(only_listed.into()).unwrap();
    assert!(only_listed.may_have("x:1") && !only_listed.may_have("x:2"));
    let nothing = PromptIndex::read(Kind::Prompts.empty_content()).unwrap();
    assert!(nothing.definitions().is_empty());
    let nothing = ResourceIndex::read(Kind::Resources.empty_content()).unwrap();
    assert!(!nothing.may_have("x:1"));
}
