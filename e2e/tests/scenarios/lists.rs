//! What agents are told is there (SPEC.md §5.4, §5.5, §8).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::raw_app::{RawApp, registration, registration_of, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use serde_json::{Value, json};

#[tokio::test]
async fn tools_are_listed_in_the_apps_order_word_for_word() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let definitions = [
        r#"{"name":"zebra","inputSchema":{"type":"object","properties":{"z":{"const":1.0},"a":{"const":9007199254740993}}}}"#.to_owned(),
        r#"{"description":"first in the alphabet", "name":"aardvark","inputSchema":{"type":"object","$defs":{"x":{"$anchor":"y"}}},"_meta":{"com.example/k":-0},"unknown":[ 1 ]}"#.to_owned(),
        tool("middle"),
    ];
    app.register(registration(
        "app",
        &format!("[{}]", definitions.join(",\n")),
    ))
    .await;

    let expected = format!("[{}]", definitions.join(","));
    let mut bodies = Vec::new();
    for index in 0..3 {
        let answer = scenario
            .modern()
            .ask(scenario.router(index), "tools/list", "{}")
            .await;
        assert_eq!(answer.result()["ttlMs"], 0);
        assert_eq!(answer.result()["cacheScope"], "private");
        bodies.push(answer);
        for version in [
            Version::V2025_03_26,
            Version::V2025_06_18,
            Version::V2025_11_25,
        ] {
            bodies.push(
                scenario
                    .session(version)
                    .await
                    .ask(scenario.router(index), "tools/list", "{}")
                    .await,
            );
        }
    }
    for answer in bodies {
        let result = answer.raw_member("result").unwrap();
        let tools = clientmcp_e2e::raw_json::member(&result, "tools").unwrap();
        assert_eq!(tools.replace(", {", ",{"), expected);
    }
}

#[tokio::test]
async fn discover_says_what_there_is() {
    let scenario = Scenario::start().await;
    let router = scenario.router(1);
    // Before there is an app, a name is made up for what is not known.
    let unknown = scenario.modern().ask(router, "server/discover", "{}").await;
    assert_eq!(unknown.result()["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(
        unknown.result()["capabilities"]["tools"],
        json!({"listChanged": true})
    );

    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let more = r#","instructions":"Use it well.","ttlMs":1500"#;
    app.register(registration_of(
        "app",
        1,
        &format!("[{}]", tool("echo")),
        more,
    ))
    .await;
    let known = scenario.modern().ask(router, "server/discover", "{}").await;
    let result = known.result();
    assert_eq!(result["instructions"], "Use it well.");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(1500), &json!("private"))
    );
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info, &json!({"name": "raw app", "version": "1"}));
    // What is not declared does not exist.
    assert_eq!(
        result["capabilities"],
        json!({"logging": {}, "tools": {"listChanged": true}})
    );
    for method in [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
    ] {
        let params = r#"{"name":"n","uri":"x:1"}"#;
        let answer = scenario.modern().ask(router, method, params).await;
        assert_eq!(answer.error(), (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn sessions_find_empty_lists_where_they_were_promised_some() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let router = scenario.router(2);
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let session = scenario.session(version).await;
        for (method, member) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let answer = session.ask(router, method, "{}").await;
            assert_eq!(answer.result(), &json!({ member: [] }));
        }
        assert_eq!(session.ask(router, "ping", "{}").await.result(), &json!({}));
        let unknown = Answer::read(
            session
                .request("1", "tools/conjure", "{}")
                .send(router)
                .await,
        )
        .await;
        assert_eq!(unknown.error(), (200, -32601));
        assert_eq!(unknown.message["id"], 1);
    }
}

#[tokio::test]
async fn the_list_stays_while_the_app_is_away() {
    let scenario = Scenario::start().await;
    let app = scenario.app(&["one", "two"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    app.leave().await;
    // A node that is asked for the first time knows too: the registration is in the store.
    for index in 0..3 {
        for answer in [
            scenario
                .modern()
                .ask(scenario.router(index), "tools/list", "{}")
                .await,
            session
                .ask(scenario.router(index), "tools/list", "{}")
                .await,
        ] {
            let names: Vec<_> = answer.result()["tools"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| &tool["name"])
                .collect();
            assert_eq!(names, ["one", "two"]);
        }
    }
}

#[tokio::test]
async fn long_lists_come_in_pages_whose_cursors_go_stale() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    let tools = |count: usize| {
        let tools: Vec<String> = (0..count).map(|n| tool(&format!("t{n}"))).collect();
        registration("app", &format!("[{}]", tools.join(",")))
    };
    app.register(tools(2_500)).await;
    let modern = scenario.modern();
    let mut sizes = Vec::new();
    let mut names = Vec::new();
    let mut params = "{}".to_owned();
    let mut cursor = Value::Null;
    for index in 0..3 {
        let page = modern
            .ask(scenario.router(index), "tools/list", &params)
            .await;
        let tools = page.result()["tools"].as_array().unwrap();
        sizes.push(tools.len());
        names.extend(
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        if index < 2 {
            cursor = page.result()["nextCursor"].clone();
            params = json!({ "cursor": cursor }).to_string();
        } else {
            assert_eq!(page.result().get("nextCursor"), None);
        }
    }
    assert_eq!(sizes, [1_000, 1_000, 500]);
    let expected: Vec<String> = (0..2_500).map(|n| format!("t{n}")).collect();
    assert_eq!(names, expected);

    app.register(tools(2_400)).await;
    let stale = modern
        .ask(
            scenario.router(1),
            "tools/list",
            &json!({ "cursor": cursor }).to_string(),
        )
        .await;
    assert_eq!(stale.error(), (200, -32602));
    let made_up = modern
        .ask(
            scenario.router(1),
            "tools/list",
            r#"{"cursor":"page two, please"}"#,
        )
        .await;
    assert_eq!(made_up.error(), (200, -32602));
}

#[tokio::test]
async fn caching_hints_of_an_app_are_made_safe() {
    let scenario = Scenario::start().await;
    let mut app = RawApp::connect(scenario.router(0), &scenario.tokens.app(CLIENT)).await;
    for (number, (given, expected)) in [
        ("5000", 5_000),
        ("0", 0),
        ("-1", 0),
        ("1.5", 0),
        ("\"5\"", 0),
        ("null", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let tools = format!("[{}]", tool("t"));
        app.register(registration_of(
            "app",
            1,
            &tools,
            &format!(r#","ttlMs":{given},"instructions":"{number}""#),
        ))
        .await;
        let answer = Modern::new(scenario.tokens.agent(CLIENT))
            .ask(scenario.router(1), "tools/list", "{}")
            .await;
        assert_eq!(answer.result()["ttlMs"], expected, "{given}");
        assert_eq!(answer.result()["cacheScope"], "private");
    }
}
