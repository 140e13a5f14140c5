//! Calls that were delivered before (SPEC.md §7.4), and planned moves (§4.10).

use super::script::{Script, answered, call_text, closing, ended_with, id, request};
use crate::channel::{CallRequest, Outcome, Output, Refusal, Successor, Taken};
use crate::close::CloseCode;
use crate::ids::InstanceId;
use crate::message::{CancelReason, MoveReason};
use crate::registration::Kind;
use std::time::Duration;

const RESUMING: &str =
    r#"{"type":"register","instance":"i1","connection":1,"features":["resume"]}"#;

fn resuming() -> Script {
    let mut script = Script::connected_for(3_600).register(RESUMING);
    while script.channel.poll_transmit(script.now).is_some() {}
    while script.channel.poll_output().is_some() {}
    script
}

fn again(n: u128) -> CallRequest {
    let mut request = request(n);
    request.call.attempt = 1;
    request
}

fn text(n: u128, deadline_ms: u64) -> String {
    call_text(n, deadline_ms).replace(r#""attempt":0"#, r#""attempt":1"#)
}

#[test]
fn a_call_that_runs_here_is_attached_to_and_not_sent_twice() {
    let mut script = resuming();
    script.delivered_call(1);
    script.channel.orphan(script.now, &[id(1)]);
    let taken = script.channel.call(script.now, again(1));
    assert_eq!(taken, Ok(Taken::Attached));
    script.says(&[Output::Dispatched(id(1))]).sends(&[]);
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[answered(1, "1")]);
}

#[test]
fn an_answer_that_was_held_comes_out() {
    let mut script = resuming();
    script.delivered_call(1);
    script.channel.orphan(script.now, &[id(1)]);
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[]);
    let taken = script.channel.call(script.now, again(1));
    assert_eq!(taken, Ok(Taken::Attached));
    script.says(&[answered(1, "1")]).sends(&[]);
}

#[test]
fn an_app_that_remembers_is_asked_again_for_what_is_not_known_here() {
    let mut script = resuming();
    assert_eq!(script.channel.call(script.now, again(1)), Ok(Taken::Begun));
    script.sends(&[&text(1, 120_000)]);
    script.says(&[Output::Dispatched(id(1))]);
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[answered(1, "1")]);
    // The answer was lost on its way.
    assert_eq!(script.channel.call(script.now, again(1)), Ok(Taken::Begun));
    script.sends(&[&text(1, 120_000)]);
    script.says(&[Output::Dispatched(id(1))]);
}

#[test]
fn an_app_that_does_not_remember_gets_no_call_twice() {
    let mut script = Script::registered();
    let refused = Err(Refusal::NotRepeatable);
    assert_eq!(script.channel.call(script.now, again(1)), refused);
    script.is_quiet();
}

#[test]
fn an_app_that_has_forgotten_says_so() {
    let forgotten = r##"{"type":"error","id":"#1","error":{"code":-31002,"message":"forgotten"}}"##;
    let mut script = resuming();
    assert_eq!(script.channel.call(script.now, again(1)), Ok(Taken::Begun));
    script.sends(&[&text(1, 120_000)]);
    script.says(&[Output::Dispatched(id(1))]);
    script
        .app(forgotten)
        .says(&[ended_with(1, Outcome::Unknown)]);
    // On a first delivery it is an error like any other.
    script.delivered_call(1 + 1);
    script.app(&forgotten.replace("#1", "#2"));
    let Some(Output::Answer(_, Outcome::Error(_))) = script.channel.poll_output() else {
        panic!("an app's error");
    };
}

#[test]
fn a_redelivery_is_not_checked_against_what_is_offered_by_now() {
    let mut script = resuming();
    let mut call = again(1);
    call.checked = vec![(Kind::Tools, Kind::Rest.empty_hash())];
    assert_eq!(script.channel.call(script.now, call), Ok(Taken::Begun));
    script.sends(&[&text(1, 120_000)]);
    script.says(&[Output::Dispatched(id(1))]);
}

#[test]
fn another_instance_gets_nothing() {
    let mut script = resuming();
    let mut call = again(1);
    call.instance = Some(InstanceId::parse("i2").unwrap());
    let refused = Err(Refusal::OtherInstance);
    assert_eq!(script.channel.call(script.now, call), refused);
}

#[test]
fn calls_move_with_their_instance() {
    let mut script = resuming();
    script.delivered_call(1).call(2);
    script
        .channel
        .handle_displaced(script.now, Successor::SameInstance);
    let moved = [ended_with(1, Outcome::Moved), ended_with(2, Outcome::Moved)];
    let reason = "a newer connection of this instance took over";
    script.ends(&moved, CloseCode::Normal, reason);
}

#[test]
fn calls_do_not_move_to_another_instance() {
    let mut script = resuming();
    script.delivered_call(1).call(2);
    script
        .channel
        .handle_displaced(script.now, Successor::OtherInstance);
    let left = [
        ended_with(1, Outcome::Lost),
        ended_with(2, Outcome::NotDelivered),
    ];
    let reason = "another instance connected with this client ID and took over";
    script.ends(&left, CloseCode::Replaced, reason);
}

#[test]
fn what_was_delivered_before_is_never_called_undelivered() {
    let mut script = resuming();
    assert_eq!(script.channel.call(script.now, again(1)), Ok(Taken::Begun));
    script
        .channel
        .close(script.now, closing(CloseCode::Restart, "bye"));
    script.ends(&[ended_with(1, Outcome::Lost)], CloseCode::Restart, "bye");
}

#[test]
fn an_app_is_asked_to_move_once() {
    let mut script = resuming();
    let within = Duration::from_secs(2);
    let ask = |script: &mut Script| {
        script
            .channel
            .ask_to_move(script.now, MoveReason::Drain, within, None)
    };
    assert!(ask(&mut script));
    script.sends(&[r#"{"type":"move","reason":"drain","withinMs":2000}"#]);
    assert!(!ask(&mut script));
    script.is_quiet();
    let mut plain = Script::registered();
    assert!(!ask(&mut plain), "it does not remember calls");
}

#[test]
fn a_call_that_was_between_holders_is_cancelled_at_the_app() {
    let mut script = resuming();
    script
        .channel
        .cancel_wherever(script.now, id(1), CancelReason::Disconnect);
    script.sends(&[r##"{"type":"cancel","id":"#1","reason":"disconnect"}"##]);
    let refused = Err(Refusal::Cancelled);
    assert_eq!(script.channel.call(script.now, again(1)), refused);
}

#[test]
fn a_call_that_is_given_up_twice_is_cancelled_once() {
    let mut script = resuming();
    script.delivered_call(1);
    script
        .channel
        .cancel(script.now, id(1), CancelReason::Disconnect);
    script.sends(&[r##"{"type":"cancel","id":"#1","reason":"disconnect"}"##]);
    script.says(&[ended_with(1, Outcome::Cancelled)]);
    script
        .channel
        .cancel_wherever(script.now, id(1), CancelReason::Disconnect);
    script.is_quiet();
}
