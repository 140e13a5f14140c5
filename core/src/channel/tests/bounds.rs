//! Everything has a limit.

use super::script::{Script, call_text, closing, ended_with, id, json, request};
use crate::channel::{CallRequest, Outcome, Output, Refusal, Taken, Transmit};
use crate::close::CloseCode;
use crate::limits;
use crate::message::CancelReason;

#[test]
fn calls_in_flight_are_bounded() {
    let mut script = Script::registered();
    for n in 0..limits::CALLS_IN_FLIGHT_PER_APP as u128 {
        script.call(n);
    }
    assert_eq!(
        script.channel.call(script.now, request(999)),
        Err(Refusal::TooManyCalls)
    );
    script
        .channel
        .cancel(script.now, id(5), CancelReason::Agent);
    script.says(&[ended_with(5, Outcome::Cancelled)]);
    script.call(999);
    script
        .channel
        .close(script.now, closing(CloseCode::Restart, "bye"));
    while script.channel.poll_output().is_some() {}
    script.sends(&["close 1012 bye"]);
}

#[test]
fn cancels_that_find_no_call_are_bounded() {
    let mut script = Script::registered();
    script
        .channel
        .cancel(script.now, id(1), CancelReason::Agent);
    for n in 0..limits::EARLY_CANCELS_PER_APP as u128 {
        script
            .channel
            .cancel(script.now, id(1_000 + n), CancelReason::Agent);
    }
    script.delivered_call(1);
}

#[test]
fn events_are_bounded() {
    let mut script = Script::registered();
    script.delivered_call(1);
    let long = "x".repeat(limits::EVENT_BYTES);
    script.app(&format!(
        r##"{{"type":"log","id":"#1","level":"error","logger":"l","data":"{long}"}}"##
    ));
    let bytes = r#"{"level":"error","logger":"l","data":""}"#.len() + long.len();
    let note = format!(
        r#"{{"level":"error","data":"a log message of {bytes} bytes was too large to pass on"}}"#
    );
    script.says(&[Output::Log(id(1), json(&note))]);
    script.app(&format!(
        r##"{{"type":"progress","id":"#1","progress":1,"total":2,"message":"{long}"}}"##
    ));
    script.says(&[Output::Progress(id(1), json(r#"{"progress":1,"total":2}"#))]);
    let number = "9".repeat(limits::EVENT_BYTES);
    script.app(&format!(
        r##"{{"type":"progress","id":"#1","progress":{number}}}"##
    ));
    script.is_quiet();
}

/// A call whose params are so many bytes long.
fn large(n: u128, bytes: usize) -> CallRequest {
    let mut request = request(n);
    request.call.params = json(&format!("\"{}\"", "x".repeat(bytes - 2)));
    request
}

#[test]
fn bytes_that_wait_are_bounded_and_what_left_counts_no_more() {
    let mut script = Script::registered();
    let big = limits::MESSAGE_BYTES - 1_000;
    assert_eq!(
        script
            .channel
            .call(script.now, large(1, limits::MESSAGE_BYTES)),
        Err(Refusal::TooLarge)
    );
    assert_eq!(
        script.channel.call(script.now, large(1, big)),
        Ok(Taken::Begun)
    );
    assert_eq!(
        script.channel.call(script.now, large(2, big)),
        Ok(Taken::Begun)
    );
    assert_eq!(
        script.channel.call(script.now, large(3, big)),
        Err(Refusal::QueueFull)
    );
    assert!(script.channel.queued_bytes() <= limits::QUEUE_BYTES_PER_CONNECTION);
    assert!(script.channel.poll_transmit(script.now).is_some());
    assert_eq!(
        script.channel.call(script.now, large(3, big)),
        Ok(Taken::Begun)
    );
    script.says(&[Output::Dispatched(id(1))]);
    // Abandoned calls leave the queue.
    for n in [2, 3] {
        script
            .channel
            .cancel(script.now, id(n), CancelReason::Disconnect);
    }
    let cancelled = [2, 3].map(|n| ended_with(n, Outcome::Cancelled));
    script.says(&cancelled);
    assert_eq!(script.channel.queued_bytes(), 0);
}

#[test]
fn a_message_is_never_larger_than_it_may_be() {
    let mut script = Script::registered();
    let overhead = call_text(1, 120_000).len() + 34 * 2 - r#"{"name":"t"}"#.len();
    let fits = limits::MESSAGE_BYTES - overhead - 14;
    assert_eq!(
        script.channel.call(script.now, large(1, fits)),
        Ok(Taken::Begun)
    );
    let Some(Transmit::Text(text)) = script.channel.poll_transmit(script.now) else {
        panic!("the call is sent");
    };
    assert!(text.len() <= limits::MESSAGE_BYTES && text.len() > limits::MESSAGE_BYTES - 64);
    script.says(&[Output::Dispatched(id(1))]);
    assert_eq!(
        script.channel.call(script.now, large(2, fits + 64)),
        Err(Refusal::TooLarge)
    );
}
