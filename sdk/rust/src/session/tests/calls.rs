//! Calls, their answers, and what handlers say meanwhile.

use super::*;

fn id() -> CallId {
    CallId::parse(CALL).unwrap()
}

fn json(text: &'static str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn a_call_runs_and_its_answer_goes_back() {
    let mut script = Script::online();
    script.receive(1, &call(0));
    script.expect([r#"run { "name":"a"} within 1000"#]);
    script.session.handle_note(id(), json(r#"{"note":1}"#));
    script
        .session
        .handle_finished(id(), json("[1.0]"), script.now);
    script.expect([r#"note 1 {"note":1}"#, "send 1 [1.0]"]);
    script.session.handle_note(id(), json(r#"{"note":2}"#));
    script.expect([]);
}

#[test]
fn a_call_that_runs_while_the_connection_is_lost_is_answered_on_the_next() {
    let mut script = Script::online();
    script.receive(1, &call(0));
    script.lose(1, 1006, "");
    script.jump();
    script.actions();
    script.session.handle_note(id(), json(r#"{"lost":1}"#));
    script.register(2);
    script.receive(2, &call(1));
    script.expect([]);
    script.session.handle_note(id(), json(r#"{"note":1}"#));
    script.session.handle_finished(id(), json("1"), script.now);
    script.expect([r#"note 2 {"note":1}"#, "send 2 1"]);
}

/// A call that runs while the application moves, delivered on both sockets, which are open still.
fn moved_call() -> Script {
    let mut script = Script::online();
    script.receive(1, &call(0));
    script.receive(1, r#"{"type":"move","reason":"drain","withinMs":0}"#);
    script.jump();
    script.register(2);
    script.receive(2, &call(1));
    script.expect([]);
    script
}

#[test]
fn an_answer_goes_once_on_the_socket_of_the_latest_delivery() {
    let mut script = moved_call();
    script.session.handle_note(id(), json(r#"{"note":1}"#));
    script.session.handle_finished(id(), json("1"), script.now);
    script.expect([r#"note 2 {"note":1}"#, "send 2 1"]);
    // The former delivery comes late, and asks for nothing that anybody waits for.
    script.receive(1, &call(0));
    script.expect([]);
}

#[test]
fn a_late_delivery_or_cancel_on_an_older_socket_takes_no_answer_away() {
    let mut script = moved_call();
    script.receive(1, &call(0));
    script.receive(
        1,
        &format!(r#"{{"type":"cancel","id":"{CALL}","reason":"disconnect"}}"#),
    );
    script.session.handle_finished(id(), json("1"), script.now);
    script.expect(["send 2 1"]);
}

#[test]
fn an_answer_waits_for_the_next_delivery_if_its_socket_is_gone() {
    let mut script = moved_call();
    script.lose(2, 1006, "");
    script.actions();
    script.session.handle_finished(id(), json("1"), script.now);
    script.expect([]);
    script.jump();
    script.actions();
    script.register(3);
    script.receive(3, &call(2));
    script.expect(["send 3 1"]);
}

#[test]
fn a_call_that_ended_while_the_connection_was_lost_is_answered_from_memory() {
    let mut script = Script::online();
    script.receive(1, &call(0));
    script.lose(1, 1006, "");
    script.jump();
    script.actions();
    script.session.handle_finished(id(), json("1"), script.now);
    script.expect([]);
    script.register(2);
    script.receive(2, &call(1));
    script.expect(["send 2 1"]);
    script.receive(2, &format!(r#"{{"type":"settled","ids":["{CALL}"]}}"#));
    script.receive(2, &call(2));
    script.expect([
        r#"send 2 {"type":"error","id":"ID","error":{"code":-31002,"message":"the application no longer knows how this call ended","data":{"outcome":"unknown"}}}"#,
    ]);
}

#[test]
fn a_redelivered_call_that_never_came_runs() {
    let mut script = Script::online();
    script.receive(1, &call(2));
    script.expect([r#"run { "name":"a"} within 1000"#]);
}

#[test]
fn a_cancelled_call_is_not_answered() {
    let mut script = Script::online();
    let cancel = format!(r#"{{"type":"cancel","id":"{CALL}","reason":"timeout"}}"#);
    script.receive(1, &cancel);
    script.expect([]);
    script.receive(1, &call(0));
    script.actions();
    script.receive(1, &cancel);
    script.receive(1, &cancel);
    script.expect(["cancel Timeout"]);
    script.session.handle_note(id(), json("1"));
    script.session.handle_finished(id(), json("2"), script.now);
    script.expect([]);
}

#[test]
fn a_note_that_no_message_carries_is_dropped() {
    let mut script = Script::online();
    script.receive(1, &call(0));
    script.actions();
    script
        .session
        .handle_note(id(), Json::of(&"x".repeat(1000)));
    let actions = script.actions();
    assert_eq!(actions.len(), 1);
    assert!(actions[0].contains("too large to send"));
}
