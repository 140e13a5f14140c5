//! A call reaches the app through any router, and its answer comes back (SPEC.md §4.7, §5, §7).

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::modern::Modern;
use clientmcp_e2e::raw_app::text_result;
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::session::Session;
use serde_json::{Value, json};

#[tokio::test]
async fn a_tool_is_called_through_each_router_in_each_revision() {
    let scenario = Scenario::start().await;
    let _app = scenario.echo().await;
    let modern = scenario.modern();
    for index in 0..3 {
        let router = scenario.router(index);
        let answer = modern.use_tool(router, "echo", r#"{"n":1}"#).await;
        assert_eq!(answer.text(), r#"{"n":1}"#);
        assert_eq!(answer.result()["resultType"], "complete");
        for version in Version::ALL
            .into_iter()
            .filter(|version| *version != Version::MODERN)
        {
            let session = scenario.session(version).await;
            let answer = session.use_tool(router, "echo", r#"{"n":2}"#).await;
            assert_eq!(answer.text(), r#"{"n":2}"#);
        }
    }
}

#[tokio::test]
async fn the_app_is_told_who_asks_and_how() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["look"]).await;
    let router = scenario.router(1);

    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let meta = r#""io.modelcontextprotocol/clientInfo":{"name":"probe","version":"3"},"io.modelcontextprotocol/logLevel":"warning","progressToken":"p""#;
    let agent = Modern::new(scenario.tokens.agent_named(CLIENT, "alice"))
        .with_capabilities(r#"{"sampling":{},"experimental":{"x":{"y":1.50}}}"#)
        .with_meta(meta);
    let request = agent
        .call("1", "look", "{}")
        .with("traceparent", parent)
        .with("tracestate", "v=1");
    let asked = tokio::spawn(async move { request.send(router).await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("seen")).await;
    assert_eq!(asked.await.unwrap().status, 200);

    let value = call.value();
    assert_eq!(value["method"], "tools/call");
    assert_eq!((&value["round"], &value["attempt"]), (&json!(0), &json!(0)));
    assert_eq!(value["id"], value["rootId"]);
    assert!(
        value["deadlineMs"]
            .as_u64()
            .is_some_and(|ms| (100_000..=120_000).contains(&ms)),
        "{value}"
    );
    assert_eq!(
        (&value["traceparent"], &value["tracestate"]),
        (&json!(parent), &json!("v=1"))
    );
    let context = &value["context"];
    assert_eq!(context["protocolVersion"], "2026-07-28");
    assert_eq!(
        context["clientInfo"],
        json!({"name": "probe", "version": "3"})
    );
    assert_eq!(context["subject"], "alice");
    assert_eq!(context["logLevel"], "warning");
    assert_eq!(
        (&context["progress"], &context["tasks"]),
        (&json!(true), &json!(false))
    );
    assert!(
        call.raw("context")
            .contains(r#"{"sampling":{},"experimental":{"x":{"y":1.50}}}"#),
        "{}",
        call.text()
    );
    // The params are the agent's, _meta included.
    assert!(call.raw("params").contains(meta), "{}", call.text());
}

#[tokio::test]
async fn a_session_tells_the_app_what_it_negotiated() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["look"]).await;
    let session = scenario.session(Version::V2025_06_18).await;
    let router = scenario.router(2);
    let asked = tokio::spawn(async move { session.use_tool(router, "look", "{}").await });
    let call = app.expect("call").await;
    app.result(&call, &text_result("seen")).await;
    assert_eq!(asked.await.unwrap().text(), "seen");

    let context = &call.value()["context"];
    assert_eq!(context["protocolVersion"], "2025-06-18");
    assert_eq!(
        context["clientInfo"],
        json!({"name": "e2e", "version": "1"})
    );
    assert_eq!(context["subject"], CLIENT);
    assert_eq!(context["progress"], false);
    assert_eq!(call.raw("params"), r#"{"name":"look","arguments":{}}"#);
}

#[tokio::test]
async fn arguments_may_be_left_out() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["look"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    let router = scenario.router(1);
    let asked = tokio::spawn(async move {
        session
            .ask(router, "tools/call", r#"{"name":"look"}"#)
            .await
    });
    let call = app.expect("call").await;
    assert_eq!(call.raw("params"), r#"{"name":"look"}"#);
    app.result(&call, &text_result("seen")).await;
    assert_eq!(asked.await.unwrap().text(), "seen");
}

#[tokio::test]
async fn results_pass_through_as_the_app_gave_them() {
    let scenario = Scenario::start().await;
    let blocks = format!(
        "[{}]",
        vec![r#"{"type":"image","data":"aGk=","mimeType":"image/png","_meta":{"a":1}}"#; 30]
            .join(",")
    );
    let results = [
        r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"b":1.0,"a":9007199254740993}}"#.to_owned(),
        r#"{"content":[],"structuredContent":{"only":true}}"#.to_owned(),
        r#"{"isError":true,"content":[{"type":"text","text":"the app's own words"}]}"#.to_owned(),
        r#"{"content":[{"type":"hologram","beam":1e400}],"unknown":{"kept":[ 1 , 2 ]},"_meta":{"com.example/x":-0}}"#.to_owned(),
        r#"{}"#.to_owned(),
        format!(r#"{{"content":{blocks}}}"#),
    ];
    let mut next = results.clone().into_iter().cycle();
    let _app = scenario
        .app(&["show"])
        .await
        .serve(move |call| vec![call.result(&next.next().unwrap())]);

    let session = scenario.session(Version::V2025_11_25).await;
    for result in &results {
        let answer = read(
            session
                .call("7", "show", "{}")
                .send(scenario.router(1))
                .await,
        )
        .await;
        assert_eq!(
            answer.raw_member("result").as_deref(),
            Some(result.as_str())
        );
    }
    let modern = scenario.modern();
    for result in &results {
        let answer = read(
            modern
                .call("7", "show", "{}")
                .send(scenario.router(2))
                .await,
        )
        .await;
        // Nothing changes; what the revision demands of every result is added.
        let server = r#""io.modelcontextprotocol/serverInfo":{"name":"raw app","version":"1"}"#;
        let mut raw = answer.raw_member("result").unwrap();
        for added in [
            r#""resultType":"complete""#,
            &format!(r#""_meta":{{{server}}}"#),
            server,
        ] {
            raw = raw.replace(&format!("{added},"), "").replace(added, "");
        }
        assert_eq!(&raw, result, "{}", answer.raw_member("result").unwrap());
    }
}

#[tokio::test]
async fn errors_of_the_app_pass_through_with_200() {
    let scenario = Scenario::start().await;
    let error = r#"{"code":-32602,"message":"no","data":{"n":9007199254740993}}"#;
    let _app = scenario
        .app(&["fail"])
        .await
        .serve(move |call| vec![call.error(error)]);
    let session = scenario.session(Version::V2025_06_18).await;
    for request in [
        session.call("7", "fail", "{}"),
        scenario.modern().call("7", "fail", "{}"),
    ] {
        let answer = read(request.send(scenario.router(1)).await).await;
        assert_eq!(answer.error(), (200, -32602));
        assert_eq!(answer.raw_member("error").as_deref(), Some(error));
    }
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_mistake() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["known"]).await;
    let router = scenario.router(1);
    let session = scenario.session(Version::V2025_11_25).await;
    let modern = scenario.modern();
    assert_eq!(
        session.use_tool(router, "unknown", "{}").await.error(),
        (200, -32602)
    );
    assert_eq!(
        modern.use_tool(router, "unknown", "{}").await.error(),
        (200, -32602)
    );
    assert_eq!(
        modern.use_tool(router, "KNOWN", "{}").await.error(),
        (200, -32602)
    );

    // The app heard nothing of it: the first call that it gets is this one.
    let asked = tokio::spawn(async move { modern.use_tool(router, "known", "{}").await });
    let call = app.expect("call").await;
    assert_eq!(call.value()["params"]["name"], "known");
    app.result(&call, &text_result("ok")).await;
    assert_eq!(asked.await.unwrap().text(), "ok");
}

#[tokio::test]
async fn two_clients_never_meet() {
    let scenario = Scenario::start().await;
    let _demo = scenario.echo().await;
    // Same router, same tool, another client ID: it has no app.
    let other = Modern::new(scenario.tokens.agent("other"));
    assert_eq!(
        other
            .use_tool(scenario.router(0), "echo", "{}")
            .await
            .outcome(),
        "offline"
    );
    let list = other.ask(scenario.router(0), "tools/list", "{}").await;
    assert_eq!(list.result()["tools"], json!([]));
    let session = Session::begin(
        scenario.router(0),
        &scenario.tokens.agent("other"),
        Version::V2025_11_25,
    )
    .await;
    assert_eq!(
        session
            .ask(scenario.router(1), "tools/list", "{}")
            .await
            .result()["tools"],
        json!([])
    );
}

#[tokio::test]
async fn results_are_made_to_fit_older_revisions_where_they_would_be_invalid() {
    let scenario = Scenario::start().await;
    let result = r#"{"content":[{"type":"resource_link","uri":"file:///x","name":"x"}],"structuredContent":[1]}"#;
    let _app = scenario
        .app(&["link"])
        .await
        .serve(move |call| vec![call.result(result)]);
    let router = scenario.router(1);
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        // The schema check of the session is the test; what is expressible stays.
        let answer = scenario
            .session(version)
            .await
            .use_tool(router, "link", "{}")
            .await;
        let kept = version > Version::V2025_03_26;
        assert_eq!(
            answer.result()["content"][0]["type"],
            if kept { "resource_link" } else { "text" }
        );
        assert_eq!(answer.result().get("structuredContent"), None::<&Value>);
    }
    let answer = scenario.modern().use_tool(router, "link", "{}").await;
    assert_eq!(answer.result()["structuredContent"], json!([1]));
}

async fn read(response: clientmcp_e2e::exchange::Response) -> clientmcp_e2e::answer::Answer {
    clientmcp_e2e::answer::Answer::read(response).await
}
