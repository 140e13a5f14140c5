//! Faults that bridges of others had: each test fails on one of them.

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::exchange::Request;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::raw_app::{RawApp, registration_of, text_result};
use clientmcp_e2e::raw_json::member;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use serde_json::{Value, json};

async fn connect(scenario: &Scenario, registration: String) -> RawApp {
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let registered = app.register(registration).await;
    assert_eq!(registered["rejected"], json!([]));
    app
}

fn ask(request: Request, to: std::net::SocketAddr) -> tokio::task::JoinHandle<Answer> {
    tokio::spawn(async move { Answer::read(request.send(to).await).await })
}

/// Progress that goes on after the answer, falls back, or comes in thousands, of two agents that
/// use the same token: each sees its own, growing, and nothing after its answer.
#[tokio::test]
async fn progress_ends_with_its_call_and_is_bounded() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["work"]).await;
    let modern = scenario.modern().with_meta(r#""progressToken":"0""#);
    let session = scenario.session(Version::V2025_11_25).await;
    let params = r#"{"name":"work","_meta":{"progressToken":"0"}}"#;
    let first = ask(modern.call("1", "work", "{}"), scenario.router(0));
    let first_call = app.call().await;
    let second = ask(
        session.request("1", "tools/call", params),
        scenario.router(1),
    );
    let second_call = app.call().await;
    for n in 0..5_000 {
        app.send(first_call.progress(&n.to_string(), "")).await;
        app.send(first_call.progress(&(n / 2).to_string(), ""))
            .await;
        app.send(second_call.progress(&format!("{n}.5"), "")).await;
    }
    app.result(&first_call, &text_result("first")).await;
    for n in 5_000..5_100 {
        app.send(first_call.progress(&n.to_string(), "")).await;
    }
    app.result(&second_call, &text_result("second")).await;
    for (asked, text, half) in [(first, "first", false), (second, "second", true)] {
        // Whatever followed the answer on its stream would fail here.
        let answer = asked.await.unwrap();
        assert_eq!(answer.text(), text);
        let seen = answer.notifications.iter().map(|it| {
            assert_eq!(it["method"], "notifications/progress");
            assert_eq!(it["params"]["progressToken"], "0");
            it["params"]["progress"].as_f64().unwrap()
        });
        let seen: Vec<f64> = seen.collect();
        assert!(
            !seen.is_empty() && seen.is_sorted_by(|a, b| a < b),
            "{seen:?}"
        );
        assert!(
            seen.iter()
                .all(|it| (it.fract() > 0.0) == half && *it < 5_000.0)
        );
    }
    // A later call hears nothing of the earlier ones.
    let third = ask(modern.call("1", "work", "{}"), scenario.router(0));
    let third_call = app.call().await;
    app.send(first_call.progress("9000", "")).await;
    app.result(&third_call, &text_result("third")).await;
    let answer = third.await.unwrap();
    assert_eq!((answer.text(), answer.notifications.len()), ("third", 0));
}

/// Structured results of a tool with an `outputSchema`: whatever the app says passes, whether it
/// fits the schema or not.
#[tokio::test]
async fn structured_results_pass_as_they_are() {
    let scenario = Scenario::start().await;
    let schema = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#;
    let tool =
        format!(r#"[{{"name":"t","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}]"#);
    let mut app = connect(&scenario, registration_of("app", 1, &tool, "")).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let image = format!(
        r#"{{"type":"image","mimeType":"image/png","data":"{}"}}"#,
        "A".repeat(40_000)
    );
    let images = format!(r#"{{"content":[{}]}}"#, vec![image.as_str(); 30].join(","));
    let (text, unknown) = (
        r#"{"type":"text","text":"1"}"#,
        r#"{"type":"hologram","x":[1.0]}"#,
    );
    for result in [
        format!(r#"{{"content":[{text}],"structuredContent":{{"n":1}}}}"#),
        format!(r#"{{"structuredContent":{{"n" : 9007199254740993}}, "content":[{text}]}}"#),
        r#"{"structuredContent":{"n":1}}"#.to_owned(),
        format!(r#"{{"isError":true,"content":[{text}]}}"#),
        format!(r#"{{"isError":true,"content":[{text}],"structuredContent":{{"wrong":true}}}}"#),
        format!(r#"{{"content":[{unknown}, {text}],"more":{{"a":[null]}}}}"#),
        "{}".to_owned(),
        r#"{"content":[]}"#.to_owned(),
        images,
    ] {
        for (request, added) in [
            (scenario.modern().call("1", "t", "{}"), true),
            (session.call("1", "t", "{}"), false),
        ] {
            let asked = ask(request, scenario.router(1));
            let call = app.call().await;
            app.result(&call, &result).await;
            let mut found = asked.await.unwrap().raw_member("result").unwrap();
            if added {
                let info =
                    r#"{"io.modelcontextprotocol/serverInfo":{"name":"raw app","version":"1"}}"#;
                for stamp in [
                    r#""resultType":"complete""#.to_owned(),
                    format!(r#""_meta":{info}"#),
                ] {
                    let before = found.len();
                    found = found.replace(&format!("{stamp},"), "").replace(&stamp, "");
                    assert!(found.len() < before, "no {stamp}");
                }
            }
            assert_eq!(found, result);
        }
    }
    // A modern agent gets any value; only objects are structured content before.
    for structured in ["[1, 2]", "\"s\"", "null", "5"] {
        let result = format!(r#"{{"content":[{text}],"structuredContent":{structured}}}"#);
        let asked = ask(scenario.modern().call("1", "t", "{}"), scenario.router(2));
        let call = app.call().await;
        app.result(&call, &result).await;
        let found = asked.await.unwrap().raw_member("result").unwrap();
        assert_eq!(
            member(&found, "structuredContent").as_deref(),
            Some(structured)
        );
    }
    // And the definition is shown as it is, with its schema.
    let listed = scenario
        .modern()
        .ask(scenario.router(1), "tools/list", "{}")
        .await;
    let listed = listed.raw_member("result").unwrap();
    assert!(listed.contains(&format!("\"tools\":{tool}")), "{listed}");
}

const MULTI_ROUND: [(&str, &str, &str); 3] = [
    ("tools/call", r#""name":"t""#, r#"{"content":[]}"#),
    ("prompts/get", r#""name":"p""#, r#"{"messages":[]}"#),
    ("resources/read", r#""uri":"x:1""#, r#"{"contents":[]}"#),
];

/// A request for input goes out, and its answer comes back through another router, to an app that
/// has moved meanwhile; the state is the app's, byte by byte.
#[tokio::test]
async fn rounds_pass_through_any_router_and_over_moves() {
    let scenario = Scenario::start().await;
    let offers = |connection| {
        let more =
            r#","prompts":[{"name":"p"}],"resources":[{"uri":"x:1","name":"r"}],"ttlMs":5000"#;
        let tools = r#"[{"name":"t","inputSchema":{"type":"object"}}]"#;
        registration_of("app", connection, tools, more)
    };
    let agent =
        || Modern::new(scenario.tokens.agent(CLIENT)).with_capabilities(r#"{"elicitation":{}}"#);
    let part = r#"\"\\\n\u0001😀\ud83d\ude00 {}"#;
    let state = format!("\"{}\"", part.repeat(64 * 1024 / part.len()));
    let asks = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"who?":{{"method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}}}}}}}}, "requestState":{state}}}"#
    );
    let mut app = connect(&scenario, offers(1)).await;
    for (round, (method, target, done)) in (0_u64..).zip(MULTI_ROUND) {
        let first = agent().request("1", method, &format!("{{{target}}}"));
        let asked = ask(first, scenario.router(0));
        let call = app.call().await;
        app.result(&call, &asks).await;
        let answer = asked.await.unwrap().checked(Version::MODERN, method, "1");
        let result = answer.raw_member("result").unwrap();
        assert_eq!(member(&result, "requestState").as_ref(), Some(&state));
        // It is not to be kept by anybody.
        assert!(
            !result.contains("ttlMs") && !result.contains("cacheScope"),
            "{method}"
        );

        // The next connection of the app goes to another router, and takes over.
        app = connect(&scenario, offers(2 + round)).await;
        let responses = r#"{"who?":{"action":"accept","content":{"n":1.50}}}"#;
        let params = format!(r#"{{{target},"inputResponses":{responses},"requestState":{state}}}"#);
        let again = agent().request("\"two\"", method, &params);
        let asked = ask(again, scenario.router(1));
        let call = app.call().await;
        let params = call.raw("params");
        assert_eq!(member(&params, "requestState").as_ref(), Some(&state));
        assert_eq!(
            member(&params, "inputResponses").as_deref(),
            Some(responses)
        );
        app.result(&call, done).await;
        let answer = asked
            .await
            .unwrap()
            .checked(Version::MODERN, method, "\"two\"");
        assert_eq!(answer.result()["resultType"], "complete");
    }
}

/// An app must not ask for what the agent has not declared, nor in answer to a method that has no
/// rounds: the agent is told what is wrong, and does not hang.
#[tokio::test]
async fn rounds_that_cannot_be_are_refused() {
    let scenario = Scenario::start().await;
    let more = r#","prompts":[{"name":"p"}],"resources":"dynamic","completions":true"#;
    let tools = r#"[{"name":"t","inputSchema":{"type":"object"}}]"#;
    let app = connect(&scenario, registration_of("app", 1, tools, more)).await;
    let _app = app.serve(|call| {
        vec![call.result(
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}"#,
        )]
    });
    let router = scenario.router(1);
    for (method, target, _) in MULTI_ROUND {
        let params = format!("{{{target}}}");
        let answer = scenario.modern().ask(router, method, &params).await;
        assert_eq!(answer.error(), (400, -32021), "{method}");
        let required = &answer.message["error"]["data"]["requiredCapabilities"];
        assert_eq!(required, &json!({"elicitation": {"form": {}}}));
    }
    let able = scenario.modern().with_capabilities(r#"{"elicitation":{}}"#);
    for method in ["resources/list", "completion/complete"] {
        let answer = able.ask(router, method, "{}").await;
        assert_eq!(answer.error(), (200, -32603), "{method}");
    }
}

/// Cache hints stand on everything that may be cached, are sound whatever the app says, and never
/// let one caller see what is another's.
#[tokio::test]
async fn cache_hints_are_sound_everywhere() {
    let scenario = Scenario::start().await;
    let prompts: Vec<Value> = (0..1_001)
        .map(|n| json!({"name": format!("p{n}")}))
        .collect();
    let more = format!(
        r#","prompts":{},"resourceTemplates":[{{"uriTemplate":"x:{{y}}","name":"t"}}],"resources":"dynamic","ttlMs":250"#,
        Value::Array(prompts)
    );
    let app = connect(&scenario, registration_of("app", 1, "[]", &more)).await;
    let hints = [
        "",
        r#""ttlMs":-1,"#,
        r#""ttlMs":1.5,"cacheScope":"public","#,
        r#""ttlMs":"5","cacheScope":5,"#,
        r#""ttlMs":1e12,"#,
        r#""ttlMs":7,"cacheScope":"private","#,
    ];
    let mut said = hints.into_iter().cycle();
    let _app = app.serve(move |call| {
        let hints = said.next().unwrap();
        vec![call.result(&format!(r#"{{{hints}"contents":[],"resources":[]}}"#))]
    });
    let agents = [
        Modern::new(scenario.tokens.agent_named(CLIENT, "alice")),
        Modern::new(scenario.tokens.agent_named(CLIENT, "bob")),
    ];
    for agent in &agents {
        let router = scenario.router(1);
        for method in [
            "server/discover",
            "tools/list",
            "prompts/list",
            "resources/templates/list",
        ] {
            let answer = agent.ask(router, method, "{}").await;
            assert_hints(&answer, &[250]);
        }
        let first = agent.ask(router, "prompts/list", "{}").await;
        let cursor = json!({"cursor": first.result()["nextCursor"]}).to_string();
        assert_hints(&agent.ask(router, "prompts/list", &cursor).await, &[250]);
        for _ in 0..hints.len() {
            assert_hints(
                &agent
                    .ask(router, "resources/read", r#"{"uri":"x:1"}"#)
                    .await,
                &[0, 7],
            );
            assert_hints(
                &agent.ask(router, "resources/list", "{}").await,
                &[250, 0, 7],
            );
        }
    }
    // Legacy answers are not broken by what an app says for others.
    let session = scenario.session(Version::V2025_03_26).await;
    for _ in 0..hints.len() {
        let uri = r#"{"uri":"x:1"}"#;
        let read = session.ask(scenario.router(2), "resources/read", uri).await;
        assert_eq!(read.result()["contents"], json!([]));
    }
}

fn assert_hints(answer: &Answer, ttls: &[u64]) {
    let result = answer.result();
    assert_eq!(result["cacheScope"], "private", "{result}");
    let ttl = result["ttlMs"].as_u64();
    assert!(ttl.is_some_and(|ttl| ttls.contains(&ttl)), "{result}");
}
