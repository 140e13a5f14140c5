//! Tasks: calls that outlive the request that began them (SPEC.md §12).

use std::time::Duration;

use clientmcp_cluster::store::faulty::Fault;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::raw_app::{Message, RawApp, registration_of, text_result};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::waiting::poll;
use serde_json::{Value, json};

const TAKES_TASKS: &str =
    r#"{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;

/// An app that remembers calls, on its nth connection, with a tool of each kind.
async fn app(scenario: &Scenario, router: usize, connection: u64) -> RawApp {
    let tools = ["never", "optional", "required"].map(clientmcp_e2e::raw_app::tool);
    let tools = format!("[{}]", tools.join(","));
    let more = r#","features":["resume"],"toolOptions":{"optional":{"task":"optional"},"required":{"task":"required"}}"#;
    let token = scenario.tokens.app(CLIENT);
    let mut app = RawApp::connect(scenario.router(router), &token).await;
    app.register(registration_of("app", connection, &tools, more))
        .await;
    app
}

fn agent(scenario: &Scenario) -> Modern {
    scenario.modern().with_capabilities(TAKES_TASKS)
}

async fn of_task(
    agent: &Modern,
    router: std::net::SocketAddr,
    method: &str,
    task: &Value,
) -> Answer {
    let params = json!({ "taskId": task["taskId"] }).to_string();
    agent.ask(router, method, &params).await
}

/// How a task stands, as a router says it.
async fn get(agent: &Modern, router: std::net::SocketAddr, task: &Value) -> Value {
    of_task(agent, router, "tasks/get", task)
        .await
        .result()
        .clone()
}

/// How a task stands when it stands so.
async fn becomes(
    agent: &Modern,
    router: std::net::SocketAddr,
    task: &Value,
    status: &str,
) -> Value {
    poll(&format!("the task is {status}"), async || {
        let stands = get(agent, router, task).await;
        (stands["status"] == status).then_some(stands)
    })
    .await
}

/// A call that is running at the app, and the task that it has become.
async fn begun(scenario: &Scenario, agent: &Modern, app: &mut RawApp) -> (Message, Value) {
    let router = scenario.router(0);
    let (answer, call) = tokio::join!(agent.use_tool(router, "optional", "{}"), app.call());
    assert_eq!(answer.result()["resultType"], "task");
    assert_eq!(answer.result()["status"], "working");
    (call, answer.result().clone())
}

/// Whatever the app hears next is that this call's answer has arrived.
async fn settled(app: &mut RawApp, call: &Message) {
    let settled = app.awaited("settled").await.value();
    assert_eq!(settled["ids"], json!([call.value()["id"]]));
}

#[tokio::test]
async fn a_slow_call_becomes_a_task_that_any_router_tells_of() {
    let scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let (call, task) = begun(&scenario, &agent, &mut app).await;
    assert_eq!(call.value()["context"]["tasks"], true);
    assert_eq!(
        get(&agent, scenario.router(2), &task).await["status"],
        "working"
    );
    app.result(&call, &text_result("done")).await;
    let done = becomes(&agent, scenario.router(2), &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "done");
    settled(&mut app, &call).await;
    assert_eq!(scenario.of_routers("clientmcp_tasks_driven").await, 0.0);
}

#[tokio::test]
async fn quick_answers_and_agents_without_the_extension_are_as_ever() {
    let scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    for (tool, result_type) in [
        ("optional", "complete"),
        ("never", "complete"),
        ("required", "task"),
    ] {
        let (answer, ()) = tokio::join!(agent.use_tool(scenario.router(0), tool, "{}"), async {
            let call = app.call().await;
            assert_eq!(call.value()["context"]["tasks"], tool != "never");
            app.result(&call, &text_result("quick")).await;
            settled(&mut app, &call).await;
        });
        assert_eq!(answer.result()["resultType"], result_type, "{tool}");
        if tool == "required" {
            let done = becomes(&agent, scenario.router(1), answer.result(), "completed").await;
            assert_eq!(done["result"]["content"][0]["text"], "quick");
        }
    }
    // It may take any time that it needs, and is answered.
    let plain = scenario.modern();
    let (answer, ()) = tokio::join!(
        plain.use_tool(scenario.router(0), "optional", "{}"),
        async {
            let call = app.call().await;
            assert_eq!(call.value()["context"]["tasks"], false);
            tokio::time::sleep(Duration::from_millis(500)).await;
            app.result(&call, &text_result("slow")).await;
        }
    );
    assert_eq!(answer.text(), "slow");
    let refused = plain.use_tool(scenario.router(0), "required", "{}").await;
    assert_eq!(refused.error(), (400, -32021));
    let required = &refused.message["error"]["data"]["requiredCapabilities"];
    assert_eq!(
        required["extensions"],
        json!({"io.modelcontextprotocol/tasks": {}})
    );
}

#[tokio::test]
async fn the_app_may_wish_for_a_task_and_say_how_it_gets_on() {
    let scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let wish = |call: &Message, message: &str| {
        let id = call.raw("id");
        format!(r#"{{"type":"task","id":{id},"ttlMs":60000,"statusMessage":"{message}"}}"#)
    };
    let (answer, call) = tokio::join!(
        agent.use_tool(scenario.router(0), "optional", "{}"),
        async {
            let call = app.call().await;
            app.send(wish(&call, "begun")).await;
            call
        }
    );
    let task = answer.result();
    assert_eq!(
        (&task["ttlMs"], &task["statusMessage"]),
        (&json!(60000), &json!("begun"))
    );
    app.send(wish(&call, "half way")).await;
    poll("it is half way", async || {
        let stands = get(&agent, scenario.router(1), task).await;
        (stands["statusMessage"] == "half way").then_some(())
    })
    .await;
    app.send(call.error(r#"{"code":-32000,"message":"broken"}"#))
        .await;
    let failed = becomes(&agent, scenario.router(1), task, "failed").await;
    assert_eq!(
        failed["error"],
        json!({"code": -32000, "message": "broken"})
    );
}

#[tokio::test]
async fn a_cancelled_task_stays_cancelled_and_its_app_is_told() {
    let scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let (call, task) = begun(&scenario, &agent, &mut app).await;
    let cancelled = of_task(&agent, scenario.router(2), "tasks/cancel", &task).await;
    assert_eq!(cancelled.result()["resultType"], "complete");
    let told = app.awaited("cancel").await.value();
    assert_eq!(
        (&told["id"], &told["reason"]),
        (&call.value()["id"], &json!("agent"))
    );
    app.result(&call, &text_result("too late")).await;
    poll("nobody drives it", async || {
        (scenario.of_routers("clientmcp_tasks_driven").await == 0.0).then_some(())
    })
    .await;
    assert_eq!(
        get(&agent, scenario.router(0), &task).await["status"],
        "cancelled"
    );
    let again = of_task(&agent, scenario.router(1), "tasks/cancel", &task).await;
    assert_eq!(again.result()["resultType"], "complete");
}

/// What a task still waits for.
fn keys(stands: &Value) -> Vec<String> {
    let asked = stands["inputRequests"].as_object().unwrap();
    asked.keys().cloned().collect()
}

#[tokio::test]
async fn input_on_the_way_is_asked_for_through_the_task() {
    let scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let (first, task) = begun(&scenario, &agent, &mut app).await;
    let asks = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"a":{FORM},"b":{FORM}}},"requestState":"s1"}}"#
    );
    app.result(&first, &asks).await;
    let stands = becomes(&agent, scenario.router(2), &task, "input_required").await;
    settled(&mut app, &first).await;
    assert_eq!(
        stands["inputRequests"]["a"],
        serde_json::from_str::<Value>(FORM).unwrap()
    );
    let answer = async |router, answers: Value| {
        let params = json!({"taskId": task["taskId"], "inputResponses": answers}).to_string();
        let updated = agent.ask(router, "tasks/update", &params).await;
        assert_eq!(updated.result()["resultType"], "complete");
    };
    let accept = json!({"action": "accept", "content": {}});
    answer(scenario.router(1), json!({"a": accept, "unknown": accept})).await;
    let stands = get(&agent, scenario.router(0), &task).await;
    let left = keys(&stands);
    assert_eq!(
        (&stands["status"], left),
        (&json!("input_required"), vec!["b".to_owned()])
    );
    answer(
        scenario.router(2),
        json!({"b": {"action": "decline"}, "a": {"action": "cancel"}}),
    )
    .await;
    let second = app.call().await;
    let value = second.value();
    assert_eq!(
        (&value["round"], &value["rootId"]),
        (&json!(1), &first.value()["id"])
    );
    assert_ne!(value["id"], first.value()["id"]);
    assert_eq!(value["params"]["requestState"], "s1");
    assert_eq!(
        value["params"]["inputResponses"],
        json!({"a": accept, "b": {"action": "decline"}})
    );
    // The same key again is another one for the agent.
    let asks = asks
        .replace(&format!(r#""b":{FORM}"#), "")
        .replace(",}", "}");
    app.result(&second, &asks).await;
    let stands = becomes(&agent, scenario.router(0), &task, "input_required").await;
    settled(&mut app, &second).await;
    let keys = keys(&stands);
    assert_eq!(keys.len(), 1);
    assert_ne!(keys[0], "a");
    answer(scenario.router(0), json!({keys[0].as_str(): accept})).await;
    let third = app.call().await;
    assert_eq!(
        third.value()["params"]["inputResponses"],
        json!({"a": accept})
    );
    app.result(&third, &text_result("done")).await;
    becomes(&agent, scenario.router(1), &task, "completed").await;
}

#[tokio::test]
async fn nobody_else_learns_of_a_task() {
    let scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let (_call, task) = begun(&scenario, &agent, &mut app).await;
    let other =
        Modern::new(scenario.tokens.agent_named(CLIENT, "somebody")).with_capabilities(TAKES_TASKS);
    let foreign = Modern::new(scenario.tokens.agent("another")).with_capabilities(TAKES_TASKS);
    for method in ["tasks/get", "tasks/cancel"] {
        for stranger in [&other, &foreign] {
            let refused = of_task(stranger, scenario.router(0), method, &task).await;
            assert_eq!(refused.error(), (200, -32602), "{method}");
        }
    }
    let unable = of_task(&scenario.modern(), scenario.router(0), "tasks/get", &task).await;
    assert_eq!(unable.error(), (400, -32021));
    assert_eq!(
        get(&agent, scenario.router(0), &task).await["status"],
        "working"
    );
}

/// The call is delivered again under its ID, and its app answers for the run that it has made.
#[tokio::test]
async fn a_task_whose_router_is_lost_is_driven_by_another() {
    let mut scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let (call, task) = begun(&scenario, &agent, &mut app).await;
    drop(scenario.cluster.take_router(0));
    poll("another drives it", async || {
        (scenario
            .of_routers("clientmcp_tasks_taken_over_total")
            .await
            == 1.0)
            .then_some(())
    })
    .await;
    assert_eq!(
        get(&agent, scenario.router(0), &task).await["status"],
        "working"
    );
    app.result(&call, &text_result("once")).await;
    let done = becomes(&agent, scenario.router(1), &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "once");
    settled(&mut app, &call).await;
}

#[tokio::test]
async fn a_task_whose_router_stops_is_handed_on() {
    let mut scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let (call, task) = begun(&scenario, &agent, &mut app).await;
    scenario.cluster.take_router(0).stop().await;
    poll("another drives it", async || {
        (scenario
            .of_routers("clientmcp_tasks_taken_over_total")
            .await
            == 1.0)
            .then_some(())
    })
    .await;
    app.result(&call, &text_result("once")).await;
    becomes(&agent, scenario.router(1), &task, "completed").await;
    settled(&mut app, &call).await;
}

/// Without the store no task begins; one that has begun keeps its result until the store is back.
#[tokio::test]
async fn tasks_wait_for_the_store() {
    let scenario = Scenario::start().await;
    let mut app = app(&scenario, 1, 1).await;
    let agent = agent(&scenario);
    let (call, task) = begun(&scenario, &agent, &mut app).await;
    scenario.store.break_down(Fault::Unreachable);
    app.result(&call, &text_result("kept")).await;
    let refused = of_task(&agent, scenario.router(1), "tasks/get", &task).await;
    assert_eq!(refused.status.as_u16(), 503);
    let (answer, ()) = tokio::join!(
        agent.use_tool(scenario.router(0), "required", "{}"),
        async {
            let call = app.call().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            app.result(&call, &text_result("answered")).await;
        }
    );
    assert_eq!(answer.text(), "answered");
    scenario.store.heal();
    let done = becomes(&agent, scenario.router(2), &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "kept");
}
