//! Lost routers, lost sockets, successors.

use super::script::{Script, answered, call_text, closing, ended_with, id, legacy, request};
use crate::channel::{NotAttached, Outcome, Output, Refusal, Successor, Taken};
use crate::close::{CloseCode, Departure};
use crate::limits;
use crate::message::CancelReason;

#[test]
fn an_orphan_is_given_back_to_the_router_that_attaches() {
    let mut script = Script::registered();
    script.delivered_call(1).call(2);
    script.channel.orphan(script.now, &[id(1), id(2), id(9)]);
    script.wait_ms(4_999).is_quiet_but_for_call_2();
    assert_eq!(script.channel.attach(id(1)), Ok(()));
    assert_eq!(script.channel.attach(id(2)), Ok(()));
    script.says(&[Output::Dispatched(id(1)), Output::Dispatched(id(2))]);
    script.wait_ms(6_000).is_quiet();
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[answered(1, "1")]);
    script
        .app(r##"{"type":"result","id":"#2","result":2}"##)
        .says(&[answered(2, "2")]);
}

impl Script {
    fn is_quiet_but_for_call_2(&mut self) {
        self.says(&[]).sends(&[&call_text(2, 115_001)]);
        self.says(&[Output::Dispatched(id(2))]);
    }
}

#[test]
fn the_answer_of_an_orphan_is_held_for_its_router() {
    let mut script = Script::registered();
    script.delivered_call(1);
    script.channel.orphan(script.now, &[id(1)]);
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[]);
    assert_eq!(script.channel.calls_in_flight(), 0);
    assert_eq!(script.channel.attach(id(1)), Ok(()));
    script.says(&[answered(1, "1")]);
    assert_eq!(script.channel.attach(id(1)), Err(NotAttached::Answered));
    script.channel.settled(script.now, &[id(1)]);
    assert_eq!(script.channel.attach(id(1)), Err(NotAttached::Unknown));
}

#[test]
fn an_answer_that_nobody_fetches_comes_out_in_the_end() {
    let mut script = Script::registered();
    script.delivered_call(1);
    script.channel.orphan(script.now, &[id(1)]);
    script
        .wait_ms(1_000)
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[]);
    script
        .wait_ms(3_999)
        .says(&[])
        .wait_ms(1)
        .says(&[answered(1, "1")]);
}

#[test]
fn a_modern_orphan_is_cancelled_and_a_legacy_one_runs_out() {
    let mut script = Script::registered();
    script.delivered_call(1);
    assert_eq!(
        script.channel.call(script.now, legacy(2, "7")),
        Ok(Taken::Begun)
    );
    script
        .sends(&[&call_text(2, 120_000)])
        .says(&[Output::Dispatched(id(2))]);
    script.channel.orphan(script.now, &[id(1), id(2)]);
    script.wait_ms(5_000);
    script
        .says(&[ended_with(1, Outcome::Cancelled)])
        .sends(&[r##"{"type":"cancel","id":"#1","reason":"disconnect"}"##]);
    script
        .app(r##"{"type":"result","id":"#2","result":2}"##)
        .says(&[answered(2, "2")]);
}

#[test]
fn answers_that_are_held_are_bounded_in_bytes() {
    let mut script = Script::registered();
    for n in [1, 2, 3] {
        script.delivered_call(n);
    }
    script.channel.orphan(script.now, &[id(1), id(2), id(3)]);
    let large = format!(
        "\"{}\"",
        "x".repeat(limits::ORPHANED_ANSWER_BYTES_PER_APP / 2 - 10)
    );
    for n in [1, 2, 3] {
        script.app(&format!(
            r##"{{"type":"result","id":"#{n}","result":{large}}}"##
        ));
    }
    for n in [1, 2, 3] {
        assert_eq!(script.channel.attach(id(n)), Ok(()));
    }
    // What was dropped is of unknown outcome: it may have run.
    let expected = [
        answered(1, &large),
        answered(2, &large),
        ended_with(3, Outcome::Lost),
    ];
    script.says(&expected);
}

#[test]
fn when_the_socket_is_lost_what_left_is_lost_and_what_did_not_was_not_delivered() {
    let mut script = Script::registered();
    script.delivered_call(2).delivered_call(3).call(1);
    script.channel.orphan(script.now, &[id(3)]);
    script
        .app(r##"{"type":"result","id":"#3","result":3}"##)
        .says(&[]);
    script.channel.handle_closed(script.now, None);
    script.says(&[
        ended_with(1, Outcome::NotDelivered),
        ended_with(2, Outcome::Lost),
        answered(3, "3"),
        Output::Ended(Departure::Lost),
    ]);
    script.sends(&[]);
    assert_eq!(script.channel.poll_timeout(), None);
    assert_eq!(
        script.channel.call(script.now, request(4)),
        Err(Refusal::Unavailable)
    );
}

#[test]
fn how_the_app_left_is_told() {
    for (code, departure) in [
        (Some(1000), Departure::Clean),
        (Some(1001), Departure::Left),
        (Some(1002), Departure::Lost),
        (Some(1005), Departure::Lost),
        (Some(4999), Departure::Lost),
        (None, Departure::Lost),
    ] {
        let mut script = Script::registered();
        script.channel.handle_closed(script.now, code);
        script.says(&[Output::Ended(departure)]);
    }
}

#[test]
fn closing_answers_first_and_sends_nothing_but_the_close_frame() {
    let mut script = Script::registered();
    script.delivered_call(1).call(2).app(r#"{"type":"ping"}"#);
    script
        .channel
        .close(script.now, closing(CloseCode::Restart, "the node stops"));
    let answers = [
        ended_with(1, Outcome::Lost),
        ended_with(2, Outcome::NotDelivered),
    ];
    script.ends(&answers, CloseCode::Restart, "the node stops");
    // What still comes in is ignored, and what is asked changes nothing.
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .app("nonsense");
    script
        .channel
        .close(script.now, closing(CloseCode::TryLater, "again"));
    script
        .channel
        .cancel(script.now, id(1), CancelReason::Agent);
    script.channel.handle_timeout(script.now);
    script.channel.handle_binary(script.now);
    script
        .channel
        .handle_displaced(script.now, Successor::OtherInstance);
    script.channel.handle_closed(script.now, Some(1000));
    script.is_quiet();
}

#[test]
fn a_close_frame_that_cannot_leave_any_more_is_dropped() {
    let mut script = Script::registered();
    script
        .channel
        .close(script.now, closing(CloseCode::Restart, "bye"));
    script.channel.handle_closed(script.now, None);
    script.says(&[Output::Ended(Departure::Lost)]).sends(&[]);
}

#[test]
fn a_successor_ends_it_at_once() {
    let mut script = Script::registered();
    script.delivered_call(1);
    script
        .channel
        .handle_displaced(script.now, Successor::SameInstance);
    assert_eq!(
        script.channel.call(script.now, request(2)),
        Err(Refusal::Unavailable)
    );
    let reason = "a newer connection of this instance took over";
    script.ends(&[ended_with(1, Outcome::Lost)], CloseCode::Normal, reason);

    let mut script = Script::registered();
    script
        .channel
        .handle_displaced(script.now, Successor::OtherInstance);
    let reason = "another instance connected with this client ID and took over";
    script.ends(&[], CloseCode::Replaced, reason);
}
