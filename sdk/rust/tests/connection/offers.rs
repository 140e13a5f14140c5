//! Prompts, resources, completion, tasks: what is registered, and how it is called.

use std::collections::HashMap;
use std::time::Duration;

use clientmcp_sdk::{
    Argument, CallError, Content, Context, Prompt, PromptResult, Resource, ResourceContents,
    ResourceTemplate, Resources, TaskOptions, TaskSupport, Tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builder;
use crate::server::{CALL, Call, Server, call_id, soon};

#[derive(Deserialize)]
struct Review {
    text: String,
    tone: Option<String>,
}

async fn review(review: Review, _: Context) -> Result<PromptResult, CallError> {
    let tone = review.tone.unwrap_or_else(|| "kindly".to_owned());
    let image = Content::image("QQ==", "image/png");
    let result = PromptResult::new().user(format!("Review {tone}: {}", review.text));
    Ok(result.assistant(image).description("A review"))
}

fn prompt() -> Prompt {
    Prompt::new("review", "Reviews a text")
        .argument(Argument::new("text", "What to review").required())
        .argument(
            Argument::new("tone", "How").complete(|request, _| async move {
                let given = request.arguments.get("text").cloned();
                let candidates = ["kindly".to_owned(), "keenly".to_owned()];
                Ok(request.matching(candidates.into_iter().chain(given)))
            }),
        )
}

#[tokio::test]
async fn prompts_are_registered_and_got() {
    let server = Server::start().await;
    let app = builder(&server).prompt(prompt(), review).connect();
    let mut peer = server.accept().await;
    let register = peer.expect_register().await;
    assert_eq!(register["prompts"][0]["arguments"][0]["name"], "text");
    assert_eq!(register["completions"], true);
    peer.send_registered(60_000).await;

    let table = [
        (
            json!({"name": "review", "arguments": {"text": "it"}}),
            json!({"result": {"description": "A review", "messages": [
                {"role": "user", "content": {"type": "text", "text": "Review kindly: it"}},
                {"role": "assistant", "content": {"type": "image", "data": "QQ==", "mimeType": "image/png"}},
            ]}}),
        ),
        (
            json!({"name": "review"}),
            json!({"error": {"code": -32602, "message": "missing arguments: text"}}),
        ),
        (
            json!({"name": "absent"}),
            json!({"error": {"code": -32602, "message": "Unknown prompt: absent"}}),
        ),
    ];
    for (n, (params, expected)) in (0..).zip(table) {
        let id = call_id(n);
        let mut answer = peer
            .answer(&Call::of("prompts/get", params).under(&id))
            .await;
        let answer = answer.as_object_mut().unwrap();
        answer.retain(|key, _| key == "result" || key == "error");
        assert_eq!(Value::Object(answer.clone()), expected);
    }
    app.set_prompts(clientmcp_sdk::Prompts::new())
        .now_sent(&mut peer)
        .await;
}

/// A change of what is offered, and the register that follows.
trait NowSent {
    async fn now_sent(self, peer: &mut crate::server::Peer);
}

impl<F: Future<Output = Result<Vec<clientmcp_sdk::Rejected>, clientmcp_sdk::OfferError>>> NowSent
    for F
{
    async fn now_sent(self, peer: &mut crate::server::Peer) {
        let accept = async {
            let register = peer.expect_register().await;
            assert!(register.get("prompts").is_none(), "{register}");
            peer.send_registered(60_000).await;
        };
        let (rejected, ()) = tokio::join!(self, accept);
        assert_eq!(rejected.unwrap(), []);
    }
}

async fn complete(peer: &mut crate::server::Peer, n: u32, params: Value) -> Value {
    let id = call_id(n);
    let call = Call::of("completion/complete", params).under(&id);
    peer.answer(&call).await
}

#[tokio::test]
async fn arguments_and_variables_are_completed() {
    let server = Server::start().await;
    let template = ResourceTemplate::new("app://doc/{id}", "doc")
        .complete("id", async |_, _| Ok(vec!["one", "two"]));
    let _app = builder(&server)
        .prompt(prompt(), review)
        .resource_template(template, async |_: Value, _| Ok(""))
        .connect();
    let mut peer = server.accept_registered().await;
    let of_prompt = json!({"type": "ref/prompt", "name": "review"});
    let of_template = json!({"type": "ref/resource", "uri": "app://doc/{id}"});
    let none = json!({"values": [], "total": 0, "hasMore": false});
    let table = [
        (
            json!({"ref": of_prompt, "argument": {"name": "tone", "value": "k"}}),
            json!({"values": ["kindly", "keenly"], "total": 2, "hasMore": false}),
        ),
        (
            json!({
                "ref": of_prompt, "argument": {"name": "tone", "value": "ki"},
                "context": {"arguments": {"text": "Kitten"}},
            }),
            json!({"values": ["kindly", "Kitten"], "total": 2, "hasMore": false}),
        ),
        (
            json!({"ref": of_prompt, "argument": {"name": "text", "value": ""}}),
            none.clone(),
        ),
        (
            json!({"ref": of_template, "argument": {"name": "id", "value": ""}}),
            json!({"values": ["one", "two"], "total": 2, "hasMore": false}),
        ),
    ];
    let mut number = 0;
    for (params, expected) in table {
        number += 1;
        let answer = complete(&mut peer, number, params).await;
        assert_eq!(answer["result"]["completion"], expected, "{answer}");
    }
    for unknown in [
        json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}),
        json!({"ref": {"type": "ref/resource", "uri": "x"}, "argument": {"name": "a", "value": ""}}),
        json!({"ref": of_prompt}),
    ] {
        number += 1;
        let answer = complete(&mut peer, number, unknown).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

async fn document(variables: HashMap<String, String>, call: Context) -> Result<String, CallError> {
    if variables["id"] == "0" {
        return Err(call.resource_not_found());
    }
    Ok(format!("document {}", variables["id"]))
}

#[tokio::test]
async fn resources_are_read() {
    let server = Server::start().await;
    let template = ResourceTemplate::new("app://doc/{id}", "doc").mime_type("text/plain");
    let _app = builder(&server)
        .resource(
            Resource::new("app://icon", "icon").mime_type("image/png"),
            async |_| Ok(ResourceContents::blob([0, 1])),
        )
        .resource_template(template, document)
        .connect();
    let mut peer = server.accept().await;
    let register = peer.expect_register().await;
    assert_eq!(register["resources"][0]["uri"], "app://icon");
    assert_eq!(
        register["resourceTemplates"][0]["uriTemplate"],
        "app://doc/{id}"
    );
    peer.send_registered(60_000).await;

    let contents = |contents: Value| json!({"contents": [contents]});
    let table = [
        (
            "app://icon",
            "2026-07-28",
            Ok(contents(
                json!({"uri": "app://icon", "mimeType": "image/png", "blob": "AAE="}),
            )),
        ),
        (
            "app://doc/a%20b",
            "2026-07-28",
            Ok(contents(
                json!({"uri": "app://doc/a%20b", "mimeType": "text/plain", "text": "document a b"}),
            )),
        ),
        ("app://doc/0", "2026-07-28", Err(-32602)),
        ("app://doc/0", "2025-11-25", Err(-32002)),
        ("app://other", "2026-07-28", Err(-32602)),
        ("app://other", "2025-06-18", Err(-32002)),
    ];
    for (n, (uri, version, expected)) in (0..).zip(table) {
        let id = call_id(n);
        let call = Call {
            version,
            ..Call::of("resources/read", json!({"uri": uri})).under(&id)
        };
        let answer = peer.answer(&call).await;
        match expected {
            Ok(result) => assert_eq!(answer["result"], result),
            Err(code) => {
                assert_eq!(answer["error"]["code"], code, "{answer}");
                assert_eq!(answer["error"]["data"], json!({"uri": uri}));
            }
        }
    }
}

#[tokio::test]
async fn a_dynamic_list_is_made_each_time() {
    let server = Server::start().await;
    let template = ResourceTemplate::new("app://doc/{id}", "doc")
        .list(async |_| Ok(vec![Resource::new("app://doc/1", "one")]));
    let resources = Resources::new()
        .resource(Resource::new("app://fixed", "fixed"), async |_| Ok("f"))
        .template(template, document)
        .dynamic(
            async |_| Ok(vec![Resource::new("any:thing", "thing")]),
            async |uri: String, _| Ok(format!("read {uri}")),
        );
    let _app = builder(&server).resources(resources).connect();
    let mut peer = server.accept().await;
    assert_eq!(peer.expect_register().await["resources"], "dynamic");
    peer.send_registered(60_000).await;
    let answer = peer.answer(&Call::of("resources/list", json!({}))).await;
    let listed: Vec<&str> = answer["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["app://fixed", "app://doc/1", "any:thing"]);
    let id = call_id(2);
    let read = Call::of("resources/read", json!({"uri": "what:ever"})).under(&id);
    let answer = peer.answer(&read).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "read what:ever");
}

#[tokio::test]
async fn updates_and_what_is_watched_are_told() {
    let server = Server::start().await;
    let app = builder(&server).connect();
    let mut peer = server.accept_registered().await;
    app.online().await.unwrap();
    let mut watched = app.watched_resources();
    peer.send(r#"{"type":"subscriptions","uris":["b","a","b"]}"#)
        .await;
    soon(watched.changed()).await.unwrap();
    assert_eq!(*watched.borrow_and_update(), ["a", "b"]);
    app.resource_updated("a").await;
    let notify = json!({"type": "notify", "method": "notifications/resources/updated", "params": {"uri": "a"}});
    assert_eq!(peer.json().await, notify);

    // What changes while nothing is connected is told later, once.
    peer.close(1012, "restart").await;
    let mut status = app.status();
    let offline = status.wait_for(|status| matches!(status, clientmcp_sdk::Status::Offline { .. }));
    drop(soon(offline).await.unwrap());
    app.resource_updated("a").await;
    app.resource_updated("a").await;
    let mut peer = server.accept_registered().await;
    assert_eq!(peer.json().await, notify);
    app.resource_updated("c").await;
    assert_eq!(peer.json().await["params"]["uri"], "c");
}

#[tokio::test]
async fn a_call_becomes_a_task_where_that_is_known() {
    let server = Server::start().await;
    let _app = builder(&server)
        .tool(
            Tool::new("slow", "").task(TaskSupport::Optional),
            async |_: Value, call: Context| {
                let options = TaskOptions {
                    ttl: Some(Duration::from_secs(60)),
                    poll_interval: None,
                    status_message: Some("on it".to_owned()),
                };
                Ok(format!("task: {}", call.become_task(options).await))
            },
        )
        .connect();
    let mut peer = server.accept().await;
    let register = peer.expect_register().await;
    assert_eq!(
        register["toolOptions"],
        json!({"slow": {"task": "optional"}})
    );
    peer.send_registered(60_000).await;
    peer.deliver(&Call::of("tools/call", json!({"name": "slow"})))
        .await;
    assert_eq!(
        peer.json().await,
        json!({"type": "task", "id": CALL, "ttlMs": 60_000, "statusMessage": "on it"})
    );
    let answer = peer.json().await;
    assert_eq!(answer["result"]["content"][0]["text"], "task: true");
    // `call` says that the agent knows no tasks.
    let other = call_id(1);
    peer.call(&other, 0, r#"{"name":"slow"}"#).await;
    let answer = peer.json().await;
    assert_eq!(answer["result"]["content"][0]["text"], "task: false");
}
