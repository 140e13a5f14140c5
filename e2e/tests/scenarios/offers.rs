//! What an app offers beside tools: prompts, resources, templates, completions, in both eras.

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::raw_app::{Message, RawApp, Serving, registration_of};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use serde_json::{Value, json};

const LEGACY: [Version; 3] = [
    Version::V2025_03_26,
    Version::V2025_06_18,
    Version::V2025_11_25,
];

const PROMPT: &str = r#"{"name":"greet", "title":"Greet","arguments":[{"name":"who","required":true}],"_meta":{"n":9007199254740993}}"#;
const RESOURCE: &str = r#"{"uri":"x://notes/1","name":"one", "mimeType":"text/plain","annotations":{"audience":["user"]}}"#;
const TEMPLATE: &str = r#"{"uriTemplate":"x://notes/{id}", "name":"note"}"#;

fn everything() -> String {
    let more = format!(
        r#","prompts":[{PROMPT}],"resources":[{RESOURCE}],"resourceTemplates":[{TEMPLATE}],"completions":true,"instructions":"Ask.","ttlMs":1500"#
    );
    registration_of("app", 1, "[]", &more)
}

async fn connect(scenario: &Scenario, registration: impl Into<String>) -> RawApp {
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let registered = app.register(registration).await;
    assert_eq!(registered["rejected"], json!([]));
    app
}

/// An app that answers each call with what it was asked, in the shape of its method.
async fn answering(scenario: &Scenario) -> Serving {
    let app = connect(scenario, everything()).await;
    app.serve(|call| vec![answer(call)])
}

fn answer(call: &Message) -> String {
    let params: Value = serde_json::from_str(&call.raw("params")).unwrap();
    match call.raw("method").trim_matches('"') {
        "prompts/get" => call.result(&format!(
            r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"Hello {}"}}}}], "more":1e400}}"#,
            params["arguments"]["who"].as_str().unwrap()
        )),
        "resources/read" if params["uri"] == "x://notes/none" => call.error(
            r#"{"code":-32602,"message":"Resource not found","data":{"uri":"x://notes/none"}}"#,
        ),
        "resources/read" => call.result(
            &json!({
                "contents": [{"uri": params["uri"], "text": "t"}], "ttlMs": 1.5, "cacheScope": "public",
            })
            .to_string(),
        ),
        "completion/complete" => call.result(
            &json!({"completion": {"values": [params["argument"]["value"]], "hasMore": false}})
                .to_string(),
        ),
        other => call.error(&json!({"code": -32601, "message": other}).to_string()),
    }
}

#[tokio::test]
async fn lists_pass_as_they_were_registered_in_every_revision() {
    let scenario = Scenario::start().await;
    let _app = connect(&scenario, everything()).await;
    let lists = [
        ("prompts/list", format!(r#""prompts":[{PROMPT}]"#)),
        ("resources/list", format!(r#""resources":[{RESOURCE}]"#)),
        (
            "resources/templates/list",
            format!(r#""resourceTemplates":[{TEMPLATE}]"#),
        ),
    ];
    for (method, list) in &lists {
        let answer = scenario
            .modern()
            .ask(scenario.router(1), method, "{}")
            .await;
        let raw = String::from_utf8(answer.raw.to_vec()).unwrap();
        assert!(raw.contains(list), "{raw}");
        let result = answer.result();
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&json!(1500), &json!("private"))
        );
        for version in LEGACY {
            let session = scenario.session(version).await;
            let answer = session.ask(scenario.router(2), method, "{}").await;
            let raw = answer.raw_member("result");
            assert_eq!(raw, Some(format!("{{{list}}}")), "{version:?}");
        }
    }
}

#[tokio::test]
async fn what_is_registered_is_declared() {
    let scenario = Scenario::start().await;
    let _app = connect(&scenario, everything()).await;
    let router = scenario.router(1);
    let discovered = scenario.modern().ask(router, "server/discover", "{}").await;
    let result = discovered.result();
    assert_eq!(result["instructions"], "Ask.");
    for (capability, members) in [
        ("tools", json!({"listChanged": true})),
        ("prompts", json!({"listChanged": true})),
        ("completions", json!({})),
        ("logging", json!({})),
    ] {
        assert_eq!(result["capabilities"][capability], members, "{capability}");
    }
    assert_eq!(result["capabilities"]["resources"]["listChanged"], true);
}

#[tokio::test]
async fn prompts_resources_and_completions_come_from_the_app() {
    let scenario = Scenario::start().await;
    let _app = answering(&scenario).await;
    let modern = scenario.modern();
    let get = r#"{"name":"greet","arguments":{"who":"Ada"}}"#;
    let read = r#"{"uri":"x://notes/7"}"#;
    let complete =
        r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}"#;
    let router = scenario.router(1);

    // 1e400 is more than this test's parser takes: the raw text says that it passed.
    let prompt = modern.request("1", "prompts/get", get).send(router).await;
    let prompt = Answer::read(prompt).await;
    let text = r#""messages":[{"role":"user","content":{"type":"text","text":"Hello Ada"}}], "more":1e400"#;
    let result = prompt.raw_member("result").unwrap();
    assert!(
        result.contains(text) && result.contains(r#""resultType":"complete""#),
        "{result}"
    );
    assert!(!result.contains("ttlMs"), "{result}");
    let resource = modern.ask(router, "resources/read", read).await;
    let result = resource.result();
    assert_eq!(
        result["contents"],
        json!([{"uri": "x://notes/7", "text": "t"}])
    );
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let completion = modern.ask(router, "completion/complete", complete).await;
    assert_eq!(
        completion.result()["completion"],
        json!({"values": ["A"], "hasMore": false})
    );

    for version in LEGACY {
        let session = scenario.session(version).await;
        let prompt = session.request("1", "prompts/get", get).send(router).await;
        let prompt = Answer::read(prompt).await.raw_member("result");
        assert_eq!(prompt, Some(format!("{{{text}}}")));
        let resource = session.ask(router, "resources/read", read).await;
        assert_eq!(resource.result()["contents"][0]["uri"], "x://notes/7");
        let completion = session.ask(router, "completion/complete", complete).await;
        assert_eq!(completion.result()["completion"]["values"], json!(["A"]));
    }
}

#[tokio::test]
async fn what_does_not_exist_is_told_in_the_words_of_the_era() {
    let scenario = Scenario::start().await;
    let _app = answering(&scenario).await;
    let router = scenario.router(2);
    // The app has templates: it alone knows that this resource does not exist.
    let missing = r#"{"uri":"x://notes/none"}"#;
    let answer = scenario
        .modern()
        .ask(router, "resources/read", missing)
        .await;
    assert_eq!(answer.error(), (200, -32602));
    assert_eq!(answer.message["error"]["data"]["uri"], "x://notes/none");
    let unknown = r#"{"name":"scold"}"#;
    let answer = scenario.modern().ask(router, "prompts/get", unknown).await;
    assert_eq!(answer.error(), (200, -32602));
    for version in LEGACY {
        let session = scenario.session(version).await;
        let answer = session.ask(router, "resources/read", missing).await;
        assert_eq!(answer.error(), (200, -32002));
        let answer = session.ask(router, "prompts/get", unknown).await;
        assert_eq!(answer.error(), (200, -32602));
    }
}

#[tokio::test]
async fn a_resource_that_was_not_listed_is_unknown_without_templates() {
    let scenario = Scenario::start().await;
    let more = format!(r#","resources":[{RESOURCE}]"#);
    let app = connect(&scenario, registration_of("app", 1, "[]", &more)).await;
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    let _app = app.serve(move |call| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        vec![answer(call)]
    });
    let router = scenario.router(1);
    let session = scenario.session(Version::V2025_11_25).await;
    let unknown = r#"{"uri":"x://notes/2"}"#;
    let answer = scenario
        .modern()
        .ask(router, "resources/read", unknown)
        .await;
    assert_eq!(answer.error(), (200, -32602));
    assert_eq!(
        answer.message["error"]["data"],
        json!({"uri": "x://notes/2"})
    );
    let answer = session.ask(router, "resources/read", unknown).await;
    assert_eq!(answer.error(), (200, -32002));
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 0);
    let known = r#"{"uri":"x://notes/1"}"#;
    let answer = scenario.modern().ask(router, "resources/read", known).await;
    assert_eq!(answer.result()["contents"][0]["text"], "t");
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_headers_repeat_the_prompt_and_the_resource() {
    let scenario = Scenario::start().await;
    let _app = answering(&scenario).await;
    let modern = scenario.modern();
    for (method, params, name) in [
        (
            "prompts/get",
            r#"{"name":"greet","arguments":{"who":"A"}}"#,
            "scold",
        ),
        ("resources/read", r#"{"uri":"x://notes/1"}"#, "x://notes/2"),
    ] {
        let request = modern.request("1", method, params);
        let right = Answer::read(request.send(scenario.router(0)).await).await;
        assert_eq!(right.status, 200, "{method}");
        for wrong in [
            request.clone().with("Mcp-Name", name),
            request.without("Mcp-Name"),
        ] {
            let answer = Answer::read(wrong.send(scenario.router(0)).await).await;
            assert_eq!(answer.error(), (400, -32020), "{method}");
        }
    }
}

#[tokio::test]
async fn a_dynamic_list_is_asked_of_the_app_each_time() {
    let scenario = Scenario::start().await;
    let more = r#","resources":"dynamic","ttlMs":1500"#;
    let app = connect(&scenario, registration_of("app", 1, "[]", more)).await;
    let mut asked = 0;
    let _app = app.serve(move |call| {
        asked += 1;
        let cursor = serde_json::from_str::<Value>(&call.raw("params")).unwrap()["cursor"].clone();
        let page = json!({
            "resources": [{"uri": format!("x:{asked}"), "name": cursor.to_string()}],
            "nextCursor": "theirs",
        });
        vec![call.result(&page.to_string())]
    });
    let router = scenario.router(1);
    let page = scenario.modern().ask(router, "resources/list", "{}").await;
    let result = page.result();
    assert_eq!(result["resources"], json!([{"uri": "x:1", "name": "null"}]));
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(1500), &json!("private"))
    );
    let session = scenario.session(Version::V2025_06_18).await;
    let cursor = r#"{"cursor":"theirs"}"#;
    let page = session.ask(router, "resources/list", cursor).await;
    assert_eq!(
        page.result()["resources"],
        json!([{"uri": "x:2", "name": "\"theirs\""}])
    );
    let templates = session.ask(router, "resources/templates/list", "{}").await;
    assert_eq!(templates.result(), &json!({"resourceTemplates": []}));
}

#[tokio::test]
async fn an_app_that_has_left_is_told_of_in_each_methods_words() {
    let scenario = Scenario::start().await;
    let app = connect(&scenario, everything()).await;
    let (modern, router) = (scenario.modern(), scenario.router(1));
    app.leave().await;
    let session = scenario.session(Version::V2025_11_25).await;
    // Lists stay, for they are known.
    let listed = modern.ask(router, "prompts/list", "{}").await;
    assert_eq!(listed.result()["prompts"][0]["name"], "greet");
    let get = r#"{"name":"greet"}"#;
    let read = r#"{"uri":"x://notes/1"}"#;
    let complete =
        r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}"#;
    for (method, params) in [("prompts/get", get), ("resources/read", read)] {
        for answer in [
            modern.ask(router, method, params).await,
            session.ask(router, method, params).await,
        ] {
            assert_eq!(answer.error(), (200, 50301), "{method}");
            assert_eq!(
                answer.message["error"]["data"],
                json!({"outcome": "offline"})
            );
        }
    }
    for answer in [
        modern.ask(router, "completion/complete", complete).await,
        session.ask(router, "completion/complete", complete).await,
    ] {
        assert_eq!(answer.result()["completion"], json!({"values": []}));
        assert_eq!(answer.result()["_meta"]["dev.clientmcp/outcome"], "offline");
    }
}

/// An app that remembers calls, with a connection number.
fn remembering(connection: u64) -> String {
    let more = format!(
        r#","features":["resume"],"prompts":[{PROMPT}],"resources":"dynamic","completions":true"#
    );
    registration_of("app", connection, "[]", &more)
}

/// Every call survives the loss of the app's connection, whatever its method: the same call comes
/// again, and its answer arrives.
#[tokio::test]
async fn calls_of_every_method_are_delivered_again() {
    let scenario = Scenario::start().await;
    let session = scenario.session(Version::V2025_11_25).await;
    let mut app = connect(&scenario, remembering(1)).await;
    let calls = [
        ("prompts/get", r#"{"name":"greet"}"#, r#"{"messages":[]}"#),
        ("resources/read", r#"{"uri":"x:1"}"#, r#"{"contents":[]}"#),
        ("resources/list", "{}", r#"{"resources":[]}"#),
        (
            "completion/complete",
            "{}",
            r#"{"completion":{"values":[]}}"#,
        ),
    ];
    for (connection, (method, params, result)) in (2_u64..).zip(calls) {
        let requests = [
            (
                Version::MODERN,
                scenario.modern().request("7", method, params),
            ),
            (session.version(), session.request("7", method, params)),
        ];
        let router = scenario.router(1);
        let asked = requests.map(|(version, request)| {
            let asked = tokio::spawn(async move { Answer::read(request.send(router).await).await });
            (version, asked)
        });
        let mut first = [id_of(&app.call().await, 0), id_of(&app.call().await, 0)];
        // The socket breaks; the app comes back through another router.
        drop(app);
        app = RawApp::connect(scenario.router(2), &scenario.tokens.app(CLIENT)).await;
        app.register(remembering(connection)).await;
        let again = [app.call().await, app.call().await];
        let mut second = again.each_ref().map(|call| id_of(call, 1));
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, second, "{method}");
        for call in again {
            app.result(&call, result).await;
        }
        for (version, asked) in asked {
            let answer = asked.await.unwrap().checked(version, method, "7");
            assert!(
                answer.message["error"].is_null(),
                "{method}: {}",
                answer.message
            );
        }
        for _ in 0..2 {
            // Both answers arrived, and the app is told so.
            if app.awaited("settled").await.value()["ids"]
                .as_array()
                .unwrap()
                .len()
                == 2
            {
                break;
            }
        }
    }
}

/// The ID of a call that is delivered for the n-th time, counted from 0.
fn id_of(call: &Message, attempt: u64) -> String {
    assert_eq!(call.value()["attempt"], attempt);
    call.raw("id")
}
