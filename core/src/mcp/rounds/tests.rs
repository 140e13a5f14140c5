use serde_json::json;

use super::*;
use crate::mcp::fixture::{capable, request, value};
use crate::mcp::outcome::Outcome;

const LEGACY: Version = Version::V2025_11_25;

/// A chain of an agent that can do everything.
fn chain(version: Version, method: Method) -> Rounds {
    let request = request(
        version,
        method,
        &json!({"name": "t", "arguments": {"a": 1}}),
    );
    let all =
        json!({"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}});
    Rounds::new(&capable(request, all))
}

/// The app's result; each request gets the id that its number makes.
fn handle(rounds: &mut Rounds, result: &str) -> Next {
    let mut number = 0;
    let random = || {
        number += 1;
        [number; 16]
    };
    rounds.handle_result(&Bytes::copy_from_slice(result.as_bytes()), random)
}

fn id(number: u8) -> String {
    question::id([number; 16])
}

fn ask(rounds: &mut Rounds, requests: &str) -> Vec<Question> {
    let result = format!(
        r#"{{"resultType":"input_required","requestState":"s","inputRequests":{requests}}}"#
    );
    match handle(rounds, &result) {
        Next::Ask(questions) => questions,
        other => panic!("{other:?}"),
    }
}

fn answer(rounds: &mut Rounds, number: u8, text: &str) -> Taken {
    rounds.handle_answer(&id(number), &Json::parse(text.to_owned()).unwrap())
}

const ROOTS: &str = r#"{"method":"roots/list"}"#;
const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
const LINK: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example/"}}"#;
const GIVEN: &str = r#"{"result":{"action":"accept","content":{}}}"#;

#[test]
fn a_chain_asks_until_all_is_answered_and_calls_again() {
    let mut rounds = chain(LEGACY, Method::CallTool);
    let questions = ask(&mut rounds, &format!(r#"{{"b":{FORM},"a":{ROOTS}}}"#));
    assert_eq!(
        value(&questions[1].message),
        json!({"jsonrpc": "2.0", "id": id(2), "method": "roots/list"})
    );
    assert_eq!(rounds.unanswered().collect::<Vec<_>>(), [id(1), id(2)]);
    assert!(matches!(answer(&mut rounds, 9, GIVEN), Taken::Unasked));
    assert!(matches!(
        answer(&mut rounds, 2, r#"{"result":{"roots":[]}}"#),
        Taken::More
    ));
    assert!(matches!(
        answer(&mut rounds, 2, r#"{"result":{"roots":[1]}}"#),
        Taken::Unasked
    ));
    assert!(matches!(answer(&mut rounds, 1, GIVEN), Taken::All));
    assert_eq!(rounds.round(), 1);
    assert_eq!(
        rounds.next_params().unwrap().as_str(),
        r#"{"inputResponses":{"b":{"action":"accept","content":{}},"a":{"roots":[]}},"requestState":"s","arguments":{"a":1},"name":"t"}"#
    );

    // The next round has an input and a state of its own.
    let next = format!(r#"{{"resultType":"input_required","inputRequests":{{"c":{FORM}}}}}"#);
    assert!(matches!(handle(&mut rounds, &next), Next::Ask(_)));
    assert!(matches!(
        answer(&mut rounds, 1, r#"{"result":{"action":"decline"}}"#),
        Taken::All
    ));
    assert_eq!(rounds.round(), 2);
    assert_eq!(
        rounds.next_params().unwrap().as_str(),
        r#"{"inputResponses":{"c":{"action":"decline"}},"arguments":{"a":1},"name":"t"}"#
    );
    assert!(matches!(
        handle(&mut rounds, r#"{"content":[]}"#),
        Next::Answer
    ));
}

#[test]
fn an_app_may_want_nothing_but_another_call() {
    let mut rounds = chain(LEGACY, Method::GetPrompt);
    for result in [
        r#"{"resultType":"input_required","requestState":"later"}"#,
        r#"{"resultType":"input_required","requestState":"later","inputRequests":{}}"#,
    ] {
        assert!(matches!(handle(&mut rounds, result), Next::Again));
        let params = value(rounds.next_params().unwrap().bytes());
        assert_eq!(params["requestState"], "later");
        assert_eq!(params.get("inputResponses"), None);
    }
}

#[test]
fn an_app_asks_eight_times_at_most() {
    let mut rounds = chain(LEGACY, Method::ReadResource);
    let again = r#"{"resultType":"input_required","requestState":"s"}"#;
    for round in 1..=8 {
        assert!(matches!(handle(&mut rounds, again), Next::Again));
        assert_eq!(rounds.round(), round);
    }
    let Next::Failed(failure) = handle(&mut rounds, again) else {
        panic!("a ninth time");
    };
    assert_eq!(failure.outcome, Outcome::NoInput);
}

#[test]
fn what_an_agent_cannot_give_is_not_asked_for() {
    let able = |version, declared| {
        let request = request(version, Method::CallTool, &json!({"name": "t"}));
        Rounds::new(&capable(request, declared))
    };
    for (version, declared, asked, words) in [
        (LEGACY, json!({}), FORM, "elicitation"),
        (LEGACY, json!({"elicitation": {}}), LINK, "elicitation"),
        (LEGACY, json!({"sampling": {}}), ROOTS, "roots"),
        (
            Version::V2025_03_26,
            json!({"elicitation": {}}),
            FORM,
            "MCP 2025-03-26 has no way for elicitation",
        ),
    ] {
        let mut rounds = able(version, declared);
        let result =
            format!(r#"{{"resultType":"input_required","inputRequests":{{"a":{asked}}}}}"#);
        let Next::Failed(failure) = handle(&mut rounds, &result) else {
            panic!("it was asked");
        };
        assert_eq!(failure.outcome, Outcome::MissingCapability);
        assert!(failure.text.contains(words), "{}", failure.text);
    }
}

#[test]
fn an_app_that_breaks_the_protocol_is_at_fault() {
    let many: Vec<_> = (0..=limits::INPUT_REQUESTS_PER_ROUND)
        .map(|n| format!(r#""{n}":{ROOTS}"#))
        .collect();
    for (method, requests) in [
        (Method::Complete, ROOTS.to_owned()),
        (Method::CallTool, "5".to_owned()),
        (
            Method::CallTool,
            r#"{"method":"elicitation/create","params":{"message":"m"}}"#.to_owned(),
        ),
        (Method::CallTool, format!("{ROOTS},{}", many.join(","))),
    ] {
        let mut rounds = chain(LEGACY, method);
        let result =
            format!(r#"{{"resultType":"input_required","inputRequests":{{"a":{requests}}}}}"#);
        assert!(
            matches!(handle(&mut rounds, &result), Next::Fault(_)),
            "{result}"
        );
    }
}

#[test]
fn an_error_of_the_agent_ends_the_call_and_takes_the_rest_back() {
    let mut rounds = chain(LEGACY, Method::CallTool);
    ask(
        &mut rounds,
        &format!(r#"{{"a":{FORM},"b":{ROOTS},"c":{ROOTS}}}"#),
    );
    assert!(matches!(
        answer(&mut rounds, 3, r#"{"result":{"roots":[]}}"#),
        Taken::More
    ));
    let refused = r#"{"error":{"code":-1,"message":"User rejected"}}"#;
    let Taken::Failed(failure) = answer(&mut rounds, 1, refused) else {
        panic!("an error is no input");
    };
    assert_eq!(failure.outcome, Outcome::NoInput);
    assert!(failure.text.contains("User rejected"), "{}", failure.text);
    let withdrawn = rounds.withdraw("over \"now\"");
    assert_eq!(withdrawn.len(), 1);
    assert_eq!(
        value(&withdrawn[0]),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id(2), "reason": "over \"now\""}})
    );
    assert_eq!(rounds.unanswered().count(), 0);
}

#[test]
fn answers_are_bounded_together() {
    let mut rounds = chain(LEGACY, Method::CallTool);
    ask(&mut rounds, &format!(r#"{{"a":{FORM},"b":{FORM}}}"#));
    let large = format!(
        r#"{{"result":{{"action":"accept","content":{{"t":"{}"}}}}}}"#,
        "x".repeat(limits::MESSAGE_BYTES / 2)
    );
    assert!(matches!(answer(&mut rounds, 1, &large), Taken::More));
    assert!(matches!(answer(&mut rounds, 2, &large), Taken::Failed(_)));
}

#[test]
fn a_visit_keeps_its_name_and_is_complete_when_the_call_succeeds() {
    let mut rounds = chain(LEGACY, Method::CallTool);
    let first = ask(&mut rounds, &format!(r#"{{"a":{LINK},"b":{ROOTS}}}"#));
    assert_eq!(
        value(&first[0].message)["params"]["elicitationId"],
        json!(id(1))
    );
    answer(&mut rounds, 1, r#"{"result":{"action":"accept"}}"#);
    answer(&mut rounds, 2, r#"{"result":{"roots":[]}}"#);
    rounds.next_params().unwrap();

    let named = LINK.replace("\"mode\"", r#""elicitationId":"own","mode""#);
    let second = ask(
        &mut rounds,
        &format!(r#"{{"x":{ROOTS},"a":{LINK},"n":{named}}}"#),
    );
    let names = second[1..]
        .iter()
        .map(|it| value(&it.message)["params"]["elicitationId"].clone());
    assert_eq!(names.collect::<Vec<_>>(), [json!(id(1)), json!("own")]);
    answer(&mut rounds, 1, r#"{"result":{"roots":[]}}"#);
    answer(&mut rounds, 2, r#"{"result":{"action":"cancel"}}"#);
    answer(&mut rounds, 3, r#"{"result":{"action":"decline"}}"#);
    rounds.next_params().unwrap();

    let failed = Bytes::from_static(br#"{"content":[],"isError":true}"#);
    assert_eq!(rounds.completions(&failed), Vec::<Bytes>::new());
    let told = rounds.completions(&Bytes::from_static(b"{\"content\":[]}"));
    assert_eq!(told.len(), 1, "the one that was accepted");
    assert_eq!(
        value(&told[0]),
        json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete",
            "params": {"elicitationId": id(1)}})
    );
    assert!(
        rounds.completions(&Bytes::from_static(b"{}")).is_empty(),
        "once"
    );
}
