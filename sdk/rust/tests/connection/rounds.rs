//! Handlers that ask the agent: those that wait for the answer, and those that begin anew with it.

use clientmcp_sdk::{
    Answer, AskError, CallError, Context, Elicited, InputRequests, PromptResult, Sampling, Tool,
    ToolResult,
};
use serde_json::{Value, json};

use crate::builder;
use crate::server::{Call, Peer, Server, call_id};

/// How to send it.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[schemars(crate = "clientmcp_sdk::schemars")]
struct Delivery {
    /// Where to
    address: String,
    express: Option<bool>,
}

async fn send(_: Value, call: Context) -> Result<String, CallError> {
    Ok(match call.elicit::<Delivery>("Where to?").await? {
        Elicited::Accepted(to) => format!("to {}, {:?}", to.address, to.express),
        Elicited::Declined => "declined".to_owned(),
        Elicited::Cancelled => "cancelled".to_owned(),
    })
}

/// An application of these tools, online.
async fn app(
    server: &Server,
    tools: impl FnOnce(clientmcp_sdk::Builder) -> clientmcp_sdk::Builder,
) -> (clientmcp_sdk::App, Peer) {
    let app = tools(builder(server)).connect();
    let peer = server.accept_registered().await;
    (app, peer)
}

fn call(params: Value) -> Call<'static> {
    Call::of("tools/call", params)
}

/// The params of the next round.
fn retry(params: &Value, asked: &Value, responses: Value) -> Value {
    let mut params = params.clone();
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = responses;
    params
}

/// The key of the only request.
fn key(asked: &Value) -> String {
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1, "{asked}");
    requests.keys().next().unwrap().clone()
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn a_handler_waits_for_the_answer_and_goes_on() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| app.tool(Tool::new("send", ""), send)).await;
    let params = json!({"name": "send", "arguments": {"a": 1, "b": 2}});
    let table = [
        (
            json!({"action": "accept", "content": {"address": "here", "express": true}}),
            "to here, Some(true)",
        ),
        (json!({"action": "decline"}), "declined"),
        (json!({"action": "cancel"}), "cancelled"),
    ];
    for (n, (response, expected)) in (0..).zip(table) {
        let (first, second) = (call_id(2 * n), call_id(2 * n + 1));
        let asked = peer.answer(&call(params.clone()).under(&first)).await;
        let key = key(&asked);
        assert_eq!(
            asked["result"]["inputRequests"][&key],
            json!({"method": "elicitation/create", "params": {
                "mode": "form",
                "message": "Where to?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "address": {"type": "string", "description": "Where to"},
                        "express": {"type": "boolean"},
                    },
                    "required": ["address"],
                },
            }})
        );
        let retry = retry(&params, &asked, json!({key: response, "more": {}}));
        let answer = peer.answer(&call(retry).under(&second)).await;
        assert_eq!(text(&answer), expected);
    }
}

#[tokio::test]
async fn what_does_not_fit_is_asked_again_and_at_last_told() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| app.tool(Tool::new("send", ""), send)).await;
    let params = json!({"name": "send"});
    let mut asked = peer.answer(&call(params.clone())).await;
    let key = key(&asked);
    let unfit = [
        json!({"other": {"action": "accept"}}),
        json!({&key: {"action": "accept", "content": {"address": 7}}}),
    ];
    for (n, responses) in (1..).zip(unfit) {
        let state = asked["result"]["requestState"].clone();
        let id = call_id(n);
        let retry = call(retry(&params, &asked, responses)).under(&id);
        asked = peer.answer(&retry).await;
        assert_eq!(self::key(&asked), key);
        assert_ne!(asked["result"]["requestState"], state, "of use once");
    }
    let id = call_id(3);
    let retry = call(retry(&params, &asked, json!({&key: 12345}))).under(&id);
    let answer = peer.answer(&retry).await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).starts_with("the answer does not fit what was asked"));
}

#[tokio::test]
async fn an_answer_that_comes_with_the_first_call_is_taken_if_it_fits() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| {
        app.tool(Tool::new("name", ""), async |_: Value, call: Context| {
            let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
            let requests = InputRequests::new().elicit("user_name", "Who?", schema);
            let answers = call.ask(requests).await?;
            let answer = answers.elicited::<Value>("user_name")?;
            Ok(format!("{:?}", answer.and_then(Elicited::accepted)))
        })
    })
    .await;
    let with = |content: Value| {
        let answer = json!({"user_name": {"action": "accept", "content": content}});
        json!({"name": "name", "inputResponses": answer})
    };
    let answer = peer.answer(&call(with(json!({"name": "A"})))).await;
    assert_eq!(text(&answer), r#"Some(Object {"name": String("A")})"#);
    let unfit = [
        with(json!({"name": 1})),
        json!({"name": "name", "inputResponses": null}),
    ];
    for (n, params) in (1..).zip(unfit) {
        let id = call_id(n);
        let asked = peer.answer(&call(params).under(&id)).await;
        assert_eq!(key(&asked), "user_name");
    }
}

#[tokio::test]
async fn only_the_same_call_resumes_a_handler_and_only_once() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| {
        let app = app.tool(Tool::new("send", ""), send);
        app.tool(Tool::new("other", ""), send)
    })
    .await;
    let params = json!({"name": "send", "arguments": {"a": 1, "b": {"c": 2, "d": 3}}});
    let asked = peer.answer(&call(params.clone())).await;
    let responses = json!({key(&asked): {"action": "decline"}});
    let right = retry(&params, &asked, responses);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut params = right.clone();
        change(&mut params);
        params
    };
    let state = asked["result"]["requestState"].as_str().unwrap();
    let foreign = [
        with(&|params| params["name"] = json!("other")),
        with(&|params| params["arguments"]["a"] = json!(2)),
        with(&|params| params["requestState"] = json!(format!("{state}-TAMPERED"))),
        with(&|params| params["requestState"] = json!(state.replace('~', ""))),
        with(&|params| params["requestState"] = json!("")),
    ];
    let mut number = 0;
    for params in foreign {
        number += 1;
        let id = call_id(number);
        let answer = peer.answer(&call(params).under(&id)).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let id = call_id(20);
    let somebody_else = Call {
        subject: "somebody else",
        ..call(right.clone()).under(&id)
    };
    let answer = peer.answer(&somebody_else).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");

    // The order of members does not count.
    let mut reordered = right.clone();
    reordered["arguments"] = serde_json::from_str(r#"{"b":{"d":3,"c":2},"a":1}"#).unwrap();
    let id = call_id(21);
    let answer = peer.answer(&call(reordered).under(&id)).await;
    assert_eq!(text(&answer), "declined");
    let id = call_id(22);
    let answer = peer.answer(&call(right).under(&id)).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// Asks all that there is, at once and one after the other.
async fn everything(_: Value, call: Context) -> Result<String, CallError> {
    let sampling = Sampling::new(10).user("Well?");
    let (roots, sampled) = tokio::join!(call.list_roots(), call.sample(&sampling));
    let visited = call.elicit_url("Pay", "https://example.com").await?;
    let (roots, sampled) = (roots?, sampled?);
    let round = call.round();
    Ok(format!(
        "{} {} {visited:?} {round}",
        roots[0].uri,
        sampled.text()
    ))
}

#[tokio::test]
async fn what_is_asked_at_once_goes_out_together() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| app.tool(Tool::new("all", ""), everything)).await;
    let params = json!({"name": "all"});
    let asked = peer.answer(&call(params.clone())).await;
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    let methods: Vec<&Value> = requests
        .values()
        .map(|request| &request["method"])
        .collect();
    assert_eq!(methods, ["roots/list", "sampling/createMessage"]);
    assert_eq!(
        requests["input-2"]["params"],
        json!({"maxTokens": 10, "messages": [{"role": "user", "content": {"type": "text", "text": "Well?"}}]})
    );
    let message =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "so"}});
    // One answer is left out at first.
    let id = call_id(1);
    let some = retry(&params, &asked, json!({"input-2": message}));
    let asked = peer.answer(&call(some).under(&id)).await;
    assert_eq!(key(&asked), "input-1");
    let id = call_id(2);
    let roots = json!({"input-1": {"roots": [{"uri": "file:///a"}]}});
    let rest = retry(&params, &asked, roots);
    let asked = peer.answer(&call(rest).under(&id)).await;
    let key = key(&asked);
    assert_eq!(
        asked["result"]["inputRequests"][&key]["params"],
        json!({"mode": "url", "message": "Pay", "url": "https://example.com"})
    );
    let id = call_id(3);
    let last = retry(&params, &asked, json!({key: {"action": "accept"}}));
    let answer = peer.answer(&call(last).under(&id)).await;
    assert_eq!(text(&answer), "file:///a so Accepted(()) 0");
}

#[tokio::test]
async fn a_model_can_read_what_its_client_lacks() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| app.tool(Tool::new("send", ""), send)).await;
    let able = [r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#];
    let unable = ["{}", r#"{"sampling":{}}"#, r#"{"elicitation":{"url":{}}}"#];
    for (n, capabilities) in (0..).zip(able.into_iter().chain(unable)) {
        let id = call_id(n);
        let call = Call {
            capabilities,
            ..call(json!({"name": "send"})).under(&id)
        };
        let answer = peer.answer(&call).await;
        if able.contains(&capabilities) {
            key(&answer);
        } else {
            assert_eq!(answer["result"]["isError"], true, "{capabilities}");
            assert!(text(&answer).contains("`elicitation`"), "{answer}");
        }
    }
}

#[tokio::test]
async fn older_agents_get_a_name_for_each_page_to_visit() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| {
        app.tool(Tool::new("pay", ""), async |_: Value, call: Context| {
            call.elicit_url("Pay", "https://example.com").await?;
            Ok(())
        })
    })
    .await;
    let call = Call {
        version: "2025-11-25",
        ..call(json!({"name": "pay"}))
    };
    let asked = peer.answer(&call).await;
    let key = key(&asked);
    let params = &asked["result"]["inputRequests"][&key]["params"];
    assert_eq!(params["elicitationId"].as_str().unwrap().len(), 32);
}

#[tokio::test]
async fn not_more_handlers_wait_than_there_are_places() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| app.tool(Tool::new("send", ""), send)).await;
    let params = json!({"name": "send"});
    let mut last = Value::Null;
    for n in 0..64 {
        let id = call_id(n);
        last = peer.answer(&call(params.clone()).under(&id)).await;
        key(&last);
    }
    let id = call_id(64);
    let answer = peer.answer(&call(params.clone()).under(&id)).await;
    assert!(text(&answer).starts_with("too many questions"), "{answer}");
    // One that is answered makes room.
    let id = call_id(65);
    let responses = json!({key(&last): {"action": "cancel"}});
    let answer = peer
        .answer(&call(retry(&params, &last, responses)).under(&id))
        .await;
    assert_eq!(text(&answer), "cancelled");
    let id = call_id(66);
    key(&peer.answer(&call(params).under(&id)).await);
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_may_be() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| {
        app.dynamic_resources(
            async |call| {
                let error = call.list_roots().await.unwrap_err();
                assert!(matches!(error, AskError::NotHere { .. }));
                Ok(Vec::new())
            },
            async |_, _| Ok(""),
        )
    })
    .await;
    let answer = peer.answer(&Call::of("resources/list", json!({}))).await;
    assert_eq!(answer["result"], json!({"resources": []}));
}

/// Takes three rounds, and remembers in the state alone.
async fn rounds(_: Value, call: Context) -> Result<Answer<ToolResult>, CallError> {
    let mut names: Vec<String> = call.state()?.unwrap_or_default();
    if let Some(Elicited::Accepted(content)) = call.input_responses().elicited::<Value>("name")? {
        names.push(content["name"].as_str().unwrap_or_default().to_owned());
    }
    if names.len() == 2 {
        return Ok(ToolResult::text(names.join(" and ")).into());
    }
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let requests = InputRequests::new().elicit("name", "Who?", schema);
    Answer::input_required(requests, names)
}

#[tokio::test]
async fn a_state_comes_back_sealed() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| app.tool(Tool::new("rounds", ""), rounds)).await;
    let params = json!({"name": "rounds"});
    let said = |name| json!({"name": {"action": "accept", "content": {"name": name}}});
    let first = peer.answer(&call(params.clone())).await;
    let id = call_id(1);
    let second = call(retry(&params, &first, said("secret"))).under(&id);
    let second = peer.answer(&second).await;
    assert_eq!(key(&second), "name");
    assert_ne!(
        second["result"]["requestState"],
        first["result"]["requestState"]
    );
    assert!(!second.to_string().contains("secret"));
    let id = call_id(2);
    let third = retry(&params, &second, said("b"));
    let answer = peer.answer(&call(third.clone()).under(&id)).await;
    assert_eq!(text(&answer), "secret and b");

    let mut altered = third;
    let state = altered["requestState"].as_str().unwrap();
    altered["requestState"] = json!(format!("{state}-TAMPERED"));
    let id = call_id(3);
    let answer = peer.answer(&call(altered).under(&id)).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let id = call_id(4);
    let lacking = Call {
        capabilities: "{}",
        ..call(params).under(&id)
    };
    let answer = peer.answer(&lacking).await;
    assert!(text(&answer).contains("`elicitation`"), "{answer}");
}

#[tokio::test]
async fn prompts_and_resources_ask_as_well() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| {
        let prompt = clientmcp_sdk::Prompt::new("p", "");
        app.prompt(prompt, async |_: Value, call: Context| {
            let roots = call.list_roots().await?;
            Ok(PromptResult::from(roots[0].uri.as_str()))
        })
        .resource(clientmcp_sdk::Resource::new("app://r", "r"), async |call| {
            Ok(call.list_roots().await?[0].uri.clone())
        })
    })
    .await;
    let answers = [
        (
            "prompts/get",
            json!({"name": "p"}),
            "/messages/0/content/text",
        ),
        (
            "resources/read",
            json!({"uri": "app://r"}),
            "/contents/0/text",
        ),
    ];
    for (n, (method, params, place)) in (0..).zip(answers) {
        let (first, second) = (call_id(2 * n), call_id(2 * n + 1));
        let asked = peer
            .answer(&Call::of(method, params.clone()).under(&first))
            .await;
        let roots = json!({key(&asked): {"roots": [{"uri": "file:///r"}]}});
        let retry = retry(&params, &asked, roots);
        let answer = peer.answer(&Call::of(method, retry).under(&second)).await;
        assert_eq!(answer["result"].pointer(place).unwrap(), "file:///r");
    }
}

#[tokio::test]
async fn a_handler_that_ends_while_it_is_waited_for_answers_the_next_round() {
    let server = Server::start().await;
    let (_app, mut peer) = app(&server, |app| {
        app.tool(Tool::new("either", ""), async |_: Value, call: Context| {
            let asked = call.list_roots();
            tokio::select! {
                roots = asked => Ok(format!("{roots:?}")),
                () = tokio::time::sleep(std::time::Duration::from_millis(20)) => Ok("gave up".to_owned()),
            }
        })
    })
    .await;
    let params = json!({"name": "either"});
    let asked = peer.answer(&call(params.clone())).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let id = call_id(1);
    let late = retry(&params, &asked, json!({key(&asked): {"roots": []}}));
    let answer = peer.answer(&call(late).under(&id)).await;
    assert_eq!(text(&answer), "gave up");
}

#[tokio::test]
async fn closing_gives_up_those_that_wait() {
    let server = Server::start().await;
    let (ended, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (app, mut peer) = app(&server, |app| {
        app.tool(Tool::new("wait", ""), move |_: Value, call: Context| {
            let ended = ended.clone();
            async move {
                let error = call.list_roots().await.unwrap_err();
                ended.send(error).unwrap();
                Ok(())
            }
        })
    })
    .await;
    key(&peer.answer(&call(json!({"name": "wait"}))).await);
    app.close().await;
    let reason = clientmcp_sdk::CancelReason::Closed;
    assert_eq!(told.recv().await, Some(AskError::Cancelled(reason)));
}
