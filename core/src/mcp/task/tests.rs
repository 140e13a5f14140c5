use serde_json::{Value, json};

use super::*;
use crate::ids::{CallId, Subject};
use crate::limits;
use crate::mcp::fixture::{capable, request};
use crate::mcp::request::Request;
use crate::mcp::version::Version;
use crate::message;

const NOW: u64 = 1_800_000_000_123;

fn text(json: &Value) -> Json {
    Json::of(json)
}

fn task() -> Task {
    Task::begin(
        Subject::parse("alice").unwrap(),
        NOW,
        &message::Task::default(),
    )
}

fn call(declared: Value) -> Request {
    let params = json!({"name": "t", "arguments": {"a": 1}});
    capable(
        request(Version::MODERN, Method::CallTool, &params),
        declared,
    )
}

fn asking() -> Request {
    call(json!({"elicitation": {}}))
}

fn value(json: &Json) -> Value {
    json.value().unwrap()
}

/// What is stored is what there was.
fn stored(task: &Task) -> Task {
    let read = Task::read(&task.to_json()).unwrap();
    assert_eq!(read, *task);
    read
}

fn asks(keys: &[&str]) -> Ended {
    let request = json!({"method": "elicitation/create", "params": {"message": "?"}});
    let requests: Map<_, _> = keys
        .iter()
        .map(|key| ((*key).to_owned(), request.clone()))
        .collect();
    Ended::Result(text(&json!({
        "resultType": "input_required", "inputRequests": requests, "requestState": "s",
    })))
}

#[test]
fn a_task_tells_how_it_stands() {
    let id = TaskId::from_random(7);
    let mut task = task();
    let created = json!({
        "resultType": "task", "taskId": "00000000000000000000000000000007", "status": "working",
        "createdAt": "2027-01-15T08:00:00.123Z", "lastUpdatedAt": "2027-01-15T08:00:00.123Z",
        "ttlMs": limits::TASK_TTL_MS, "pollIntervalMs": limits::TASK_POLL_INTERVAL_MS,
    });
    assert_eq!(value(&task.created(id)), created);
    let wish = message::Task {
        ttl_ms: Some(u64::MAX),
        poll_interval_ms: Some(1),
        status_message: Some(text(&json!("half \"way\""))),
    };
    assert!(task.handle_wish(NOW + 500, &wish));
    let mut detailed = created;
    detailed["resultType"] = json!("complete");
    detailed["lastUpdatedAt"] = json!("2027-01-15T08:00:00.623Z");
    detailed["ttlMs"] = json!(limits::TASK_TTL_MAX_MS);
    detailed["pollIntervalMs"] = json!(limits::TASK_POLL_MIN_MS);
    detailed["statusMessage"] = json!("half \"way\"");
    assert_eq!(value(&stored(&task).detailed(id)), detailed);
    assert_eq!(
        task.remaining(NOW + 1_000).as_millis(),
        u128::from(limits::TASK_TTL_MAX_MS - 1_000)
    );
}

#[test]
fn results_and_errors_are_kept_verbatim_and_end_the_task() {
    let result = Json::parse(r#"{"content":[],"n":1e400,"isError":true}"#).unwrap();
    let error = Json::parse(r#"{"code": -5,"message":"m"}"#).unwrap();
    for (ended, status, member) in [
        (
            Ended::Result(result.clone()),
            "completed",
            ("result", &result),
        ),
        (Ended::Error(error.clone()), "failed", ("error", &error)),
    ] {
        let mut task = task();
        assert!(task.handle_end(NOW, ended.clone(), &asking()));
        let detailed = stored(&task).detailed(TaskId::from_random(1));
        let expected = format!(r#""status":"{status}","#);
        assert!(
            detailed.as_str().contains(&expected),
            "{}",
            detailed.as_str()
        );
        let expected = format!(r#","{}":{}}}"#, member.0, member.1.as_str());
        assert!(
            detailed.as_str().ends_with(&expected),
            "{}",
            detailed.as_str()
        );

        // Nothing changes any more.
        let before = task.clone();
        assert!(!task.handle_end(NOW + 1, ended, &asking()));
        assert!(!task.handle_cancel(NOW + 1));
        assert!(!task.handle_wish(NOW + 1, &message::Task::default()));
        let answered = task.handle_answers(NOW + 1, &text(&json!({"a": 1})));
        assert_eq!(answered, Ok(Updated::Nothing));
        assert_eq!(task, before);
    }
}

#[test]
fn a_cancelled_task_takes_no_result() {
    let mut task = task();
    assert!(task.handle_cancel(NOW));
    let late = Ended::Result(text(&json!({"content": []})));
    assert!(!task.handle_end(NOW, late, &asking()));
    assert_eq!(stored(&task).phase(), &Phase::Cancelled);
}

#[test]
fn input_is_asked_for_and_goes_on_as_the_next_round() {
    let mut task = task();
    assert!(task.handle_end(NOW, asks(&["a", "b"]), &asking()));
    let mut task = stored(&task);
    let outstanding = |task: &Task| {
        let detailed = value(&task.detailed(TaskId::from_random(1)));
        assert_eq!(detailed["status"], "input_required");
        let requests = detailed["inputRequests"].as_object().unwrap().clone();
        requests.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(outstanding(&task), ["a", "b"]);
    let answer = |task: &mut Task, answers: Value| task.handle_answers(NOW, &text(&answers));
    assert_eq!(answer(&mut task, json!({"x": 1})), Ok(Updated::Nothing));
    assert_eq!(
        answer(&mut task, json!({"b": 2, "x": 1})),
        Ok(Updated::Partly)
    );
    let mut task = stored(&task);
    assert_eq!(outstanding(&task), ["a"]);
    assert_eq!(answer(&mut task, json!({"b": 3})), Ok(Updated::Nothing));
    assert!(task.handle_answers(NOW, &text(&json!([1]))).is_err());
    let Ok(Updated::Whole(next)) = answer(&mut task, json!({"a": null})) else {
        panic!("all answers are there");
    };
    assert_eq!(task.phase(), &Phase::Working);
    let last = Json::parse(r#"{"n":1e400,"requestState":"old","inputResponses":{"z":1}}"#);
    assert_eq!(
        next.params(&last.unwrap()).unwrap().as_str(),
        r#"{"inputResponses":{"a":null,"b":2},"requestState":"s","n":1e400}"#
    );

    // A key is given out once in a task's life; the app knows nothing of that.
    assert!(task.handle_end(NOW, asks(&["a", "c"]), &asking()));
    let mut task = stored(&task);
    assert_eq!(outstanding(&task), ["a~2", "c"]);
    let answers = json!({"a": 1, "a~2": 2, "c": 3});
    let Ok(Updated::Whole(next)) = answer(&mut task, answers) else {
        panic!("all answers are there");
    };
    let params = value(&next.params(&Json::EMPTY_OBJECT).unwrap());
    assert_eq!(params["inputResponses"], json!({"a": 2, "c": 3}));
}

#[test]
fn what_an_app_must_not_ask_fails_the_task() {
    let fails = |ended: Ended, request: &Request| {
        let mut task = task();
        task.handle_end(NOW, ended, request);
        match task.phase() {
            Phase::Failed(error) => value(error)["code"].as_i64().unwrap(),
            phase => panic!("{phase:?}"),
        }
    };
    assert_eq!(fails(asks(&["a"]), &call(json!({}))), -32_021);
    assert_eq!(fails(asks(&[]), &asking()), -32_603);
    assert_eq!(fails(Ended::Result(text(&json!([1]))), &asking()), -32_603);
    let mut task = task();
    for round in 0..=limits::TASK_QUESTIONS {
        task.handle_end(NOW, asks(&["a"]), &asking());
        let Phase::InputRequired(_) = task.phase() else {
            assert_eq!(round, limits::TASK_QUESTIONS);
            return;
        };
        let key = if round == 0 {
            "a".to_owned()
        } else {
            format!("a~{}", round + 1)
        };
        let answered = task.handle_answers(NOW, &text(&json!({key: 1})));
        assert!(matches!(answered, Ok(Updated::Whole(_))));
    }
    panic!("it asks for ever");
}

#[test]
fn a_call_survives_its_text() {
    let mut request = asking();
    request.client_info = Some(text(&json!({"name": "x", "version": "1"})));
    let app = TaskApp {
        instance: "i1".to_owned(),
        resumes: true,
    };
    let id = CallId(uuid::Uuid::from_u128(9));
    for app in [None, Some(app)] {
        let call = TaskCall {
            round: 2,
            ..TaskCall::of(&request, id, app, NOW)
        };
        let read = TaskCall::read(&call.to_json()).unwrap();
        assert_eq!(read, call);
        let again = read.to_request().unwrap();
        assert_eq!(again.params.raw, request.params.raw);
        assert_eq!(again.capabilities, request.capabilities);
        assert_eq!(again.target().unwrap(), "t");
    }
}

#[test]
fn only_who_declares_the_extension_asks_for_tasks() {
    let about = |declared: Value, params: Value| {
        let request = request(Version::MODERN, Method::GetTask, &params);
        named(&capable(request, declared)).map_err(|error| (error.status.as_u16(), error.code))
    };
    let tasks = json!({"extensions": {EXTENSION: {}}});
    let id = TaskId::from_random(3);
    let params = json!({"taskId": id.to_string()});
    assert_eq!(about(tasks.clone(), params.clone()), Ok(id));
    assert_eq!(about(json!({}), params), Err((400, -32_021)));
    assert_eq!(about(tasks.clone(), json!({})), Err((400, -32_602)));
    assert_eq!(about(tasks, json!({"taskId": "x"})), Err((200, -32_602)));
}
