//! A call that waits for input outlives the node, the app's socket and the app's place (SPEC.md
//! §7.7).

use std::time::Duration;

use clientmcp_core::mcp::version::Version;
use clientmcp_e2e::events::Events;
use clientmcp_e2e::input::{CAPABLE, FORM, NAME, Question, asks, begin, question};
use clientmcp_e2e::raw_app::{RawApp, registration_of, text_result, tool};
use clientmcp_e2e::scenario::{CLIENT, Scenario};
use clientmcp_e2e::session::Session;

const VERSION: Version = Version::V2025_11_25;

/// An app that remembers calls, on its nth connection.
async fn app(scenario: &Scenario, connection: u64) -> RawApp {
    let token = scenario.tokens.app(CLIENT);
    // A node that is gone is noticed in a moment; until then the socket may be refused.
    loop {
        let mut app = RawApp::connect(scenario.router(1), &token).await;
        let tools = format!("[{}]", tool("ask"));
        let more = r#","features":["resume"]"#;
        app.send(registration_of("app", connection, &tools, more))
            .await;
        if let clientmcp_e2e::raw_app::Incoming::Message(message) = app.next().await {
            assert_eq!(message.kind(), "registered");
            return app;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn patient() -> Scenario {
    Scenario::start_with(|options| options.timings.grace = Duration::from_secs(30)).await
}

/// The app asks for a form.
async fn asked(scenario: &Scenario, app: &mut RawApp, session: &Session) -> (Events, Question) {
    let under_way = begin(&session.call("7", "ask", "{}"), scenario.router(0));
    let call = app.expect("call").await;
    app.result(&call, &asks(&[("k", FORM)], Some("\"s\"")))
        .await;
    let mut events = under_way.await.unwrap().events();
    let form = question(&mut events, VERSION).await;
    (events, form)
}

/// The app is called again with the answer, and ends the call.
async fn expect_the_rest(app: &mut RawApp, mut events: Events) {
    let call = loop {
        let call = match app.next().await {
            clientmcp_e2e::raw_app::Incoming::Message(message) => message,
            closed => panic!("{closed:?}"),
        };
        if call.kind() == "call" {
            break call;
        }
        assert_eq!(call.kind(), "settled");
    };
    let value = call.value();
    assert_eq!((&value["round"], &value["attempt"]), (&1.into(), &0.into()));
    assert_eq!(
        value["params"]["inputResponses"]["k"]["content"]["name"],
        "Ada"
    );
    app.result(&call, &text_result("done")).await;
    let answer = events.message().await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    events.end().await;
}

#[tokio::test]
async fn a_node_may_be_lost_between_question_and_answer() {
    let mut scenario = patient().await;
    let mut first = app(&scenario, 1).await;
    let session = scenario.capable_session(VERSION, CAPABLE).await;
    let (events, form) = asked(&scenario, &mut first, &session).await;
    let holder = scenario.holder().await;
    drop(scenario.cluster.take_node(holder));
    let mut second = app(&scenario, 2).await;
    form.answer(&session, scenario.router(2), NAME).await;
    expect_the_rest(&mut second, events).await;
}

#[tokio::test]
async fn an_answer_may_come_while_the_node_is_lost_and_the_app_is_away() {
    let mut scenario = patient().await;
    let mut first = app(&scenario, 1).await;
    let session = scenario.capable_session(VERSION, CAPABLE).await;
    let (events, form) = asked(&scenario, &mut first, &session).await;
    let holder = scenario.holder().await;
    drop(scenario.cluster.take_node(holder));
    form.answer(&session, scenario.router(2), NAME).await;
    let mut second = app(&scenario, 2).await;
    expect_the_rest(&mut second, events).await;
}

#[tokio::test]
async fn the_app_may_lose_its_socket_between_question_and_answer() {
    let scenario = patient().await;
    let mut first = app(&scenario, 1).await;
    let session = scenario.capable_session(VERSION, CAPABLE).await;
    let (events, form) = asked(&scenario, &mut first, &session).await;
    drop(first);
    form.answer(&session, scenario.router(1), NAME).await;
    let mut second = app(&scenario, 2).await;
    expect_the_rest(&mut second, events).await;
}

#[tokio::test]
async fn an_answer_reaches_a_call_whose_app_moves() {
    let mut scenario = patient().await;
    let mut first = app(&scenario, 1).await;
    let session = scenario.capable_session(VERSION, CAPABLE).await;
    let (events, form) = asked(&scenario, &mut first, &session).await;
    let holder = scenario.holder().await;
    let node = scenario.cluster.take_node(holder);
    let stopping = tokio::spawn(node.stop());
    loop {
        let message = first.next().await;
        if matches!(&message, clientmcp_e2e::raw_app::Incoming::Message(it) if it.kind() == "move")
        {
            break;
        }
    }
    let mut second = app(&scenario, 2).await;
    form.answer(&session, scenario.router(2), NAME).await;
    expect_the_rest(&mut second, events).await;
    stopping.await.unwrap();
}

#[tokio::test]
async fn an_app_that_does_not_come_back_is_offline() {
    let scenario = Scenario::start().await;
    let mut first = app(&scenario, 1).await;
    let session = scenario.capable_session(VERSION, CAPABLE).await;
    let (mut events, form) = asked(&scenario, &mut first, &session).await;
    first.leave().await;
    form.answer(&session, scenario.router(1), NAME).await;
    let answer = events.message().await;
    assert_eq!(
        answer["result"]["_meta"]["dev.clientmcp/outcome"],
        "offline"
    );
    events.end().await;
}

#[tokio::test]
async fn a_call_whose_stream_is_gone_asks_nobody_and_one_that_asked_goes_on() {
    let scenario = Scenario::start().await;
    let mut app = scenario.app(&["ask", "other"]).await;
    let session = scenario.capable_session(VERSION, CAPABLE).await;
    // The agent has answered a question of a stream that it has lost since.
    let (events, form) = asked(&scenario, &mut app, &session).await;
    drop(events);
    form.answer(&session, scenario.router(1), NAME).await;
    let call = app.expect("call").await;
    assert_eq!(call.value()["round"], 1);
    // Nobody can be asked a second time.
    app.result(&call, &asks(&[("k", FORM)], None)).await;
    clientmcp_e2e::waiting::until("nothing waits", async || {
        scenario.of_routers("clientmcp_calls_in_flight").await == 0.0
            && scenario
                .of_routers("clientmcp_calls_waiting_for_input")
                .await
                == 0.0
    })
    .await;
}
