//! One limit, everywhere (SPEC.md §4.2, §10): what is over it is told so at the edge.

use clientmcp_core::limits::MESSAGE_BYTES;
use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::answer::Answer;
use clientmcp_e2e::raw_app::text_result;
use clientmcp_e2e::scenario::Scenario;

/// The envelope of a message, whichever it is, with room to spare.
const ENVELOPE: usize = 2_048;

#[tokio::test]
async fn arguments_up_to_the_limit_arrive_and_larger_ones_are_413() {
    let scenario = Scenario::start().await;
    let _app = scenario
        .app(&["measure"])
        .await
        .serve(|call| vec![call.result(&text_result(&call.arguments().len().to_string()))]);
    let session = scenario.session(Version::V2025_11_25).await;
    let modern = scenario.modern();
    for (fill, bytes) in [
        ("x", 1_900_000),
        ("x", 2_100_000),
        ("x", 3_900_000),
        ("x", MESSAGE_BYTES - ENVELOPE),
        ("\u{1f600}", MESSAGE_BYTES - ENVELOPE),
    ] {
        let arguments = filled(fill, bytes);
        for request in [
            session.call("1", "measure", &arguments),
            modern.call("1", "measure", &arguments),
        ] {
            for request in [request.clone(), request.chunked()] {
                let answer = Answer::read(request.send(scenario.router(1)).await).await;
                assert_eq!(answer.text(), arguments.len().to_string());
            }
        }
    }
    for bytes in [MESSAGE_BYTES, MESSAGE_BYTES + 1, 5_000_000, 16_100_000] {
        let arguments = filled("x", bytes);
        for request in [
            session.call("1", "measure", &arguments),
            modern.call("1", "measure", &arguments),
        ] {
            for request in [request.clone(), request.chunked()] {
                let response = request.send(scenario.router(2)).await;
                assert_eq!(response.status, 413, "{bytes}");
                let error = response.json().await;
                assert!(error["error"]["code"].is_i64(), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_call_that_exceeds_a_message_is_413_although_its_body_did_not() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["measure"]).await;
    let session = scenario.session(Version::V2025_11_25).await;
    // The body fits to the byte; what the app needs to know beside it does not.
    let around = session.call("1", "measure", r#"{"text":""}"#).text().len();
    let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(MESSAGE_BYTES - around));
    let request = session.call("1", "measure", &arguments);
    assert_eq!(request.text().len(), MESSAGE_BYTES);
    let response = request.send(scenario.router(0)).await;
    assert_eq!(response.status, 413);
    assert_eq!(response.json().await["id"], 1);
    let (modern, router) = (scenario.modern(), scenario.router(0));
    let asked = tokio::spawn(async move { modern.use_tool(router, "measure", "{}").await });
    let call = app.expect("call").await;
    assert_eq!(call.arguments(), "{}");
    app.result(&call, &text_result("x")).await;
    assert_eq!(asked.await.unwrap().text(), "x");
}

#[tokio::test]
async fn results_up_to_the_limit_arrive_in_both_forms() {
    let scenario = Scenario::start().await;
    let sizes = [1_900_000, 3_900_000, MESSAGE_BYTES - ENVELOPE];
    let _app = scenario.app(&["fill"]).await.serve(|call| {
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments()).unwrap();
        let bytes = usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap();
        vec![call.result(&text_result(&"x".repeat(bytes)))]
    });
    let session = scenario.session(Version::V2025_06_18).await;
    for bytes in sizes {
        let arguments = format!(r#"{{"bytes":{bytes}}}"#);
        for request in [
            session.call("1", "fill", &arguments),
            scenario.modern().call("1", "fill", &arguments),
        ] {
            for accept in ["application/json", "text/event-stream"] {
                let answer = Answer::read(
                    request
                        .clone()
                        .with("Accept", accept)
                        .send(scenario.router(1))
                        .await,
                )
                .await;
                assert_eq!(answer.text().len(), bytes);
            }
        }
    }
}

#[tokio::test]
async fn an_app_that_breaks_the_message_limit_is_closed_and_its_call_unknown() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["fill"]).await;
    let (modern, router) = (scenario.modern(), scenario.router(1));
    let asked = tokio::spawn(async move { modern.use_tool(router, "fill", "{}").await });
    let call = app.expect("call").await;
    app.result(&call, &text_result(&"x".repeat(MESSAGE_BYTES)))
        .await;
    assert_eq!(app.closed().await.0, 1009);
    assert_eq!(asked.await.unwrap().outcome(), "unknown");
}

#[tokio::test]
async fn headers_over_the_limit_are_431() {
    let scenario = Scenario::start().await;
    let request = scenario.modern().call("1", "x", "{}");
    let response = request
        .with("X-Large", "x".repeat(70_000))
        .send(scenario.router(0))
        .await;
    assert_eq!(response.status, 431);
}

fn filled(with: &str, bytes: usize) -> String {
    format!(r#"{{"text":"{}"}}"#, with.repeat((bytes - 11) / with.len()))
}
