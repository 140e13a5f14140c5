mod lists;
mod tools;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::close::CloseCode;
use crate::message;
use crate::prompt::PromptIndex;
use crate::resource::ResourceIndex;
use crate::texts;
use crate::tool::{RestContent, ToolIndex};

fn offer(message: &Value) -> Result<Offer, MessageError> {
    read(&Json::of(message))
}

/// A register with these members beside the identity.
fn register(members: Value) -> Value {
    let mut message = json!({"type": "register", "instance": "i1", "connection": 1});
    let Value::Object(members) = members else {
        panic!("members")
    };
    message.as_object_mut().unwrap().extend(members);
    message
}

fn accepted(members: Value) -> Offer {
    offer(&register(members)).unwrap()
}

fn content(offer: &Offer, kind: Kind) -> Option<&str> {
    let mut contents = offer.contents.iter().filter(|content| content.0 == kind);
    contents
        .next()
        .map(|content| std::str::from_utf8(&content.2).unwrap())
}

fn rejection(kind: Kind, name: Option<&str>, reason: &str) -> Rejection {
    Rejection {
        kind,
        name: name.map(str::to_owned),
        reason: reason.to_owned().into(),
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

#[test]
fn an_app_may_offer_nothing() {
    let offer = accepted(json!({}));
    assert_eq!(offer.hashes, Hashes::empty());
    assert_eq!(
        (offer.contents, offer.by_hash, offer.rejected),
        (vec![], vec![], vec![])
    );
    assert_eq!(
        (offer.instance.as_str(), offer.connection, offer.resume),
        ("i1", 1, false)
    );
    let empty = accepted(json!({"tools": [], "prompts": [], "resources": [],
        "resourceTemplates": [], "completions": false, "ttlMs": 0, "features": []}));
    assert_eq!(empty.hashes, Hashes::empty());
    assert_eq!(empty.rejected, []);
}

#[test]
fn accepted_content_is_verbatim() {
    let a =
        r#"{"inputSchema" : {"type":"object","max":1.0,"max":100000000000000000001}, "name":"a"}"#;
    let b = r#"{"name":"b","more":"\u00e4\/","inputSchema":{"type":"object"}}"#;
    let text = format!(
        r#"{{"type":"register","instance":"i1","connection":2,"features":["x","resume"],
        "tools": [ {a}
        , {b} ],"instructions":"line\u000a","serverInfo":{{ "version":"1","name":"n" }},
        "ttlMs":5,"toolOptions":{{"a" : {{"timeoutMs" : 7}}}}}}"#
    );
    let offer = read(&Json::parse(text).unwrap()).unwrap();
    assert_eq!((offer.resume, offer.connection), (true, 2));
    assert_eq!(offer.rejected, []);
    assert_eq!(
        content(&offer, Kind::Tools),
        Some(format!("[{a},{b}]").as_str())
    );
    let rest = r#"{"serverInfo":{ "version":"1","name":"n" },"instructions":"line\u000a","toolOptions":{"a":{"timeoutMs" : 7}},"ttlMs":5}"#;
    assert_eq!(content(&offer, Kind::Rest), Some(rest));
    for (kind, hash, content) in &offer.contents {
        assert_eq!(*hash, ContentHash::of(*kind, content));
        assert_eq!(*hash, offer.hashes.get(*kind));
    }
}

#[test]
fn a_message_that_cannot_be_attributed_or_understood_is_refused_whole() {
    let problem = |message: Value| {
        let error = offer(&message).unwrap_err();
        assert_eq!(error.closing().code(), CloseCode::NotUnderstood);
        error.to_string()
    };
    let with = |member: &str, value: Value| {
        let mut message = register(json!({}));
        message[member] = value;
        problem(message)
    };
    for instance in [
        json!(null),
        json!(""),
        json!("a b"),
        json!(7),
        json!("x".repeat(129)),
    ] {
        assert!(with("instance", instance).starts_with("register: instance must be"));
    }
    for connection in [json!(null), json!(0), json!(-1), json!(1.5), json!("1")] {
        assert!(with("connection", connection).starts_with("register: connection must be"));
    }
    assert!(with("tools", json!({})).contains("a kind by its hash"));
    assert!(with("tools", json!({"hash": "x"})).contains("a kind by its hash"));
    assert!(with("tools", json!("all")).contains("tools must be a list"));
    assert!(with("prompts", json!(true)).contains("prompts must be a list"));
    assert!(with("resources", json!("static")).contains("resources must be a list"));
    assert!(with("resourceTemplates", json!({"hash": "x"})).contains("templates a list"));
    assert!(with("features", json!(["resume", 1])).contains("features must be a list"));
    assert!(with("rest", json!([])).contains("a kind by its hash"));
    let twice = r#"{"type":"register","instance":"i","connection":1,"tools":[],"t\u006fols":[]}"#;
    let error = read(&Json::parse(twice).unwrap()).unwrap_err();
    assert!(error.to_string().contains("duplicate field `tools`"));
}

#[test]
fn kinds_may_be_named_by_hash() {
    let tools = ContentHash::of(Kind::Tools, b"x");
    let rest = ContentHash::of(Kind::Rest, b"x");
    let by_hash = json!({"tools": {"hash": tools.to_string()}, "rest": {"hash": rest.to_string()},
        "prompts": {"hash": Kind::Prompts.empty_hash().to_string()}});
    let offer = accepted(by_hash.clone());
    assert_eq!((offer.hashes.tools, offer.hashes.rest), (tools, rest));
    assert_eq!(offer.by_hash, [(Kind::Tools, tools), (Kind::Rest, rest)]);
    assert!(offer.contents.is_empty());
    let mut both = by_hash;
    both["ttlMs"] = json!(5);
    let error = read(&Json::of(&register(both))).unwrap_err();
    assert!(error.to_string().contains("must be left out"));
}

#[test]
fn members_of_the_rest_are_refused_one_by_one() {
    let offer = accepted(json!({
        "serverInfo": {"name": "n"}, "instructions": 7, "completions": 1, "ttlMs": -5,
        "toolOptions": {
            "good": {"timeoutMs": 900000, "requires": {"sampling": {}}},
            "bad": {"timeoutMs": 0}, "a b": {}, "worse": [],
        },
    }));
    let options = r#"{"toolOptions":{"good":{"requires":{"sampling":{}},"timeoutMs":900000}}}"#;
    assert_eq!(content(&offer, Kind::Rest), Some(options));
    let names: Vec<_> = offer
        .rejected
        .iter()
        .map(|r| (r.kind, r.name.as_deref()))
        .collect();
    let expected = [
        "serverInfo",
        "instructions",
        "completions",
        "a b",
        "bad",
        "worse",
        "ttlMs",
    ];
    assert_eq!(names, expected.map(|name| (Kind::Rest, Some(name))));
    assert!(offer.rejected[0].reason.ends_with("; a default is used"));
    let offer = accepted(json!({"toolOptions": [], "serverInfo": null}));
    assert_eq!(offer.rejected.len(), 2);
    assert_eq!(offer.hashes, Hashes::empty());
}

#[test]
fn server_info_is_held_to_what_strict_agents_parse() {
    for good in [
        json!({"name": "n", "version": "1"}),
        json!({"name": "", "version": "", "title": "t", "websiteUrl": "x", "more": [1],
            "icons": [{"src": "x", "sizes": ["any"], "theme": "dark"}]}),
    ] {
        assert_eq!(accepted(json!({"serverInfo": good})).rejected, []);
    }
    for bad in [
        json!({"name": "n", "version": 1}),
        json!({"name": "n", "version": "1", "title": null}),
        json!({"name": "n", "version": "1", "icons": {}}),
        json!(["n", "1"]),
    ] {
        assert_eq!(
            accepted(json!({"serverInfo": bad})).rejected.len(),
            1,
            "{bad}"
        );
    }
}

#[test]
fn what_an_sdk_writes_is_accepted_and_what_is_accepted_is_indexed() {
    let fixture: Value =
        serde_json::from_str(include_str!("../../../../e2e/fixture/catalogue.json")).unwrap();
    let tools = fixture["tools"].as_array().unwrap();
    let message = message::Register {
        instance: InstanceId::parse("i1").unwrap(),
        connection: 1,
        moving: true,
        resume: true,
        tools: message::ByHash::Full(tools.iter().map(Json::of).collect()),
        prompts: message::ByHash::Full(Vec::new()),
        resources: message::ByHash::Full(message::Resources {
            list: message::ResourceList::Listed(Vec::new()),
            templates: Vec::new(),
        }),
        rest: message::ByHash::Full(message::Rest {
            server_info: Some(Json::of(&fixture["serverInfo"])),
            instructions: fixture["instructions"].as_str().map(str::to_owned),
            tool_options: fixture.get("toolOptions").map(Json::of),
            completions: false,
            ttl_ms: Some(1_000),
        }),
    };
    let offer = read(&message.to_json()).unwrap();
    assert_eq!(offer.rejected, []);
    assert!(offer.resume && offer.moving);
    let content = |kind| {
        let content = offer
            .contents
            .iter()
            .find(|content| content.0 == kind)
            .unwrap();
        assert_eq!(content.1, ContentHash::of(kind, &content.2));
        assert_eq!(content.1, offer.hashes.get(kind));
        content.2.clone()
    };
    let rest = RestContent::read(content(Kind::Rest)).unwrap();
    let index = ToolIndex::read(content(Kind::Tools), &rest).unwrap();
    assert_eq!(index.tools().len(), tools.len());
    assert_eq!(rest.ttl_ms, 1_000);
    let mirrored = &index.get("test_x_mcp_header").unwrap().header_params;
    assert_eq!(mirrored[0].name, "region");
}

proptest! {
    /// Whatever an app registers, what is stored of it can be read again.
    #[test]
    fn accepted_content_can_always_be_read(
        schema in texts::value(),
        more in texts::value(),
        options in texts::value(),
        info in texts::value(),
    ) {
        let text = format!(
            r#"{{"instance":"i","connection":1,"serverInfo":{info},"instructions":{more},
                "toolOptions":{options},"ttlMs":{more},"tools":[
                {{"name":"a","inputSchema":{{"type":"object","x":{schema}}},"more":{more}}},
                {{"name":"b","inputSchema":{schema},"annotations":{more}}},{more}],
                "prompts":[{{"name":"p","arguments":{more},"x":{schema}}},{more}],
                "resources":[{{"uri":"x:1","name":"r","annotations":{more},"x":{schema}}},{info}],
                "resourceTemplates":[{{"uriTemplate":"x:{{y}}","name":"t","x":{more}}},{more}]}}"#
        );
        let offer = read(&Json::parse(text).unwrap());
        let Ok(offer) = offer else { return Ok(()) };
        let mut rest = RestContent::default();
        let mut tools = ToolIndex::default();
        let mut listed = 0;
        for (kind, _, content) in offer.contents.into_iter().rev() {
            match kind {
                Kind::Rest => rest = RestContent::read(content).unwrap(),
                Kind::Tools => tools = ToolIndex::read(content, &rest).unwrap(),
                Kind::Prompts => listed += PromptIndex::read(content).unwrap().definitions().len(),
                Kind::Resources => {
                    let index = ResourceIndex::read(content).unwrap();
                    listed += index.listed().len() + index.templates().len();
                }
            }
        }
        prop_assert!(tools.tools().len() + listed + offer.rejected.len() >= 9);
    }
}
