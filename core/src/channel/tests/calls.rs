use std::time::Duration;

use super::script::{
    RESUMING, Script, WITH_TOOL, answered, call_text, ended_with, id, json, legacy, request,
    tool_hashes,
};
use crate::channel::{Outcome, Output, Refusal, Taken};
use crate::close::{CloseCode, Closing};
use crate::ids::InstanceId;
use crate::json::Json;
use crate::limits;
use crate::message::CancelReason;
use crate::registration::{ContentHash, Kind};

#[test]
fn a_call_is_dispatched_and_answered_verbatim() {
    let mut script = Script::registered();
    script.call(1).says(&[]);
    assert_eq!(script.channel.calls_in_flight(), 1);
    script
        .sends(&[&call_text(1, 120_000)])
        .says(&[Output::Dispatched(id(1))]);
    script.app(r##"{"type":"result","id":"#1","result":{"n":1e400}}"##);
    script.says(&[answered(1, r#"{"n":1e400}"#)]);
    assert_eq!(script.channel.calls_in_flight(), 0);

    script.delivered_call(2);
    script.app(r##"{"type":"error","id":"#2","error":{"code":-32602,"message":"no"}}"##);
    let error = Outcome::Error(json(r#"{"code":-32602,"message":"no"}"#));
    script.says(&[ended_with(2, error)]);
}

#[test]
fn an_answer_that_cannot_be_read_ends_its_call_alone() {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let mut script = Script::registered();
    script.delivered_call(9);
    for (answer, why) in [
        (
            format!(r##"{{"type":"result","id":"#1","result":{{"d":{deep}}}}}"##),
            "the message is nested deeper than 128 levels",
        ),
        (
            r##"{"type":"result","id":"#1","result":{"n":01}}"##.to_owned(),
            "the message is no JSON object with a type: not JSON: invalid number",
        ),
        (
            r##"{"type":"result","id":"#1"}"##.to_owned(),
            "result: result is missing",
        ),
        (
            r##"{"type":"error","id":"#1","error":{"code":"no","message":"m"}}"##.to_owned(),
            "error: error must be an object with an integer code and a message",
        ),
    ] {
        script.delivered_call(1).app(&answer);
        let error = format!(
            r#"{{"code":-32603,"message":"The application's answer cannot be used: {why}"}}"#
        );
        script.says(&[ended_with(1, Outcome::Error(json(&error)))]);
        script.channel.settled(script.now, &[id(1)]);
    }
    // Nobody waits for these, as for their likes that can be read.
    script
        .app(r##"{"type":"result","id":"#1","result":[}"##)
        .is_quiet();
    script
        .app(r#"{"type":"result","id":"call-7","result":[}"#)
        .is_quiet();
    script.app(r##"{"type":"result","id":"#9","result":{}}"##);
    script.says(&[answered(9, "{}")]);
}

#[test]
fn news_of_a_call_that_cannot_be_read_is_dropped() {
    let mut script = Script::registered();
    script.delivered_call(1);
    for (news, why) in [
        (
            r##"{"type":"progress","id":"#1","progress":"1"}"##,
            "progress: progress must be a number",
        ),
        (
            r##"{"type":"log","id":"#1","level":"loud","data":1}"##,
            "log: level must be one of syslog's eight",
        ),
    ] {
        let dropped = Closing::new(CloseCode::NotUnderstood, why);
        script.app(news).says(&[Output::Misread(dropped)]);
    }
    script.app(r##"{"type":"result","id":"#1","result":{}}"##);
    script.says(&[answered(1, "{}")]);
}

#[test]
fn calls_keep_their_order_and_our_own_messages_go_first() {
    let mut script = Script::registered();
    script
        .delivered_call(3)
        .call(1)
        .call(2)
        .app(r#"{"type":"ping"}"#);
    script
        .channel
        .cancel(script.now, id(3), CancelReason::Agent);
    script.says(&[ended_with(3, Outcome::Cancelled)]).sends(&[
        r#"{"type":"pong"}"#,
        r##"{"type":"cancel","id":"#3","reason":"agent"}"##,
        &call_text(1, 120_000),
        &call_text(2, 120_000),
    ]);
    script.says(&[Output::Dispatched(id(1)), Output::Dispatched(id(2))]);
}

#[test]
fn the_deadline_counts_from_when_the_call_was_asked_for() {
    let mut script = Script::registered();
    script.call(1).wait_ms(1_500);
    script
        .sends(&[&call_text(1, 118_500)])
        .says(&[Output::Dispatched(id(1))]);
    let mut long = request(2);
    long.call.deadline = Duration::from_secs(10_000);
    assert_eq!(script.channel.call(script.now, long), Ok(Taken::Begun));
    script
        .sends(&[&call_text(2, limits::CALL_DEADLINE_MAX_MS)])
        .says(&[Output::Dispatched(id(2))]);
}

#[test]
fn a_call_that_is_not_answered_in_time_is_cancelled() {
    let mut script = Script::registered();
    script.delivered_call(1);
    for _ in 0..6 {
        script.wait_ms(19_999).app(r#"{"type":"pong"}"#);
    }
    script.is_quiet().wait_ms(6);
    script
        .says(&[ended_with(1, Outcome::TimedOut)])
        .sends(&[r##"{"type":"cancel","id":"#1","reason":"timeout"}"##]);
    // Its answer comes too late, and is ignored.
    script
        .app(r##"{"type":"result","id":"#1","result":{}}"##)
        .is_quiet();
}

#[test]
fn a_call_that_never_left_was_not_delivered() {
    let mut script = Script::registered();
    let mut short = request(1);
    short.call.deadline = Duration::from_secs(2);
    assert_eq!(script.channel.call(script.now, short), Ok(Taken::Begun));
    script
        .wait_ms(2_000)
        .says(&[ended_with(1, Outcome::NotDelivered)])
        .sends(&[]);
}

#[test]
fn a_cancelled_call_is_withdrawn_or_the_app_is_told() {
    let mut script = Script::registered();
    script.call(1);
    let queued = script.channel.queued_bytes();
    assert!(queued > 100);
    script
        .channel
        .cancel(script.now, id(1), CancelReason::Disconnect);
    script.says(&[ended_with(1, Outcome::Cancelled)]).sends(&[]);
    assert_eq!(script.channel.queued_bytes(), 0);

    script.delivered_call(2);
    script
        .channel
        .cancel(script.now, id(2), CancelReason::Disconnect);
    script
        .says(&[ended_with(2, Outcome::Cancelled)])
        .sends(&[r##"{"type":"cancel","id":"#2","reason":"disconnect"}"##]);
    // Once is enough, and what the app answers is ignored.
    script
        .channel
        .cancel(script.now, id(2), CancelReason::Agent);
    script.app(r##"{"type":"result","id":"#2","result":{}}"##);
    script
        .app(r##"{"type":"progress","id":"#2","progress":1}"##)
        .is_quiet();
}

#[test]
fn a_cancel_waits_for_the_call_that_is_on_its_way() {
    let mut script = Script::registered();
    script
        .channel
        .cancel(script.now, id(1), CancelReason::Agent);
    script.wait_ms(9_999);
    assert_eq!(
        script.channel.call(script.now, request(1)),
        Err(Refusal::Cancelled)
    );
    script
        .channel
        .cancel(script.now, id(2), CancelReason::Agent);
    script.wait_ms(10_000).delivered_call(2);
}

#[test]
fn a_legacy_cancel_names_session_and_request_and_its_type_counts() {
    let mut script = Script::registered();
    assert_eq!(
        script.channel.call(script.now, legacy(1, "7")),
        Ok(Taken::Begun)
    );
    assert_eq!(
        script.channel.call(script.now, legacy(2, "\"7\"")),
        Ok(Taken::Begun)
    );
    script.channel.cancel_request(script.now, "s2", &json("7"));
    script.channel.cancel_request(script.now, "s1", &json("8"));
    script.says(&[]);
    script
        .channel
        .cancel_request(script.now, "s1", &json("\"7\""));
    script.says(&[ended_with(2, Outcome::Cancelled)]);
    script.channel.cancel_request(script.now, "s1", &json("7"));
    script.says(&[ended_with(1, Outcome::Cancelled)]).sends(&[]);
    // The one for 8 waits for its call.
    assert_eq!(
        script.channel.call(script.now, legacy(3, "8")),
        Err(Refusal::Cancelled)
    );
    assert_eq!(
        script.channel.call(script.now, legacy(4, "8")),
        Ok(Taken::Begun)
    );
    script
        .sends(&[&call_text(4, 120_000)])
        .says(&[Output::Dispatched(id(4))]);
}

#[test]
fn progress_grows_and_belongs_to_a_call_in_flight_that_wants_it() {
    let progress = |n, text: &str| Output::Progress(id(n), json(text));
    let mut script = Script::registered();
    script
        .call(1)
        .app(r##"{"type":"progress","id":"#1","progress":1}"##)
        .says(&[]);
    script
        .sends(&[&call_text(1, 120_000)])
        .says(&[Output::Dispatched(id(1))]);
    script
        .app(r##"{"type":"progress","id":"#1","progress":0.50,"total":9,"more":1}"##)
        .app(r##"{"type":"progress","id":"#1","progress":0.5}"##)
        .app(r##"{"type":"progress","id":"#1","progress":-1}"##)
        .app(r##"{"type":"progress","id":"#1","progress":1e400,"message":"m"}"##)
        .app(r##"{"type":"progress","id":"#1","progress":2e400}"##)
        .app(r##"{"type":"progress","id":"#9","progress":1}"##);
    script.says(&[
        progress(1, r#"{"progress":0.50,"total":9}"#),
        progress(1, r#"{"progress":1e400,"message":"m"}"#),
    ]);
    let mut unwanted = request(2);
    unwanted.call.context = Json::EMPTY_OBJECT;
    assert_eq!(script.channel.call(script.now, unwanted), Ok(Taken::Begun));
    let text = call_text(2, 120_000).replace(r#"{"progress":true,"logLevel":"debug"}"#, "{}");
    script.sends(&[&text]).says(&[Output::Dispatched(id(2))]);
    script
        .app(r##"{"type":"progress","id":"#2","progress":1}"##)
        .is_quiet();
}

#[test]
fn logs_pass_while_their_call_runs() {
    let mut script = Script::registered();
    script.delivered_call(1);
    script
        .app(r##"{"type":"log","id":"#1","level":"info","logger":"l","data":[1.0]}"##)
        .app(r##"{"type":"log","id":"#2","level":"info","data":1}"##);
    let log = json(r#"{"level":"info","logger":"l","data":[1.0]}"#);
    script.says(&[Output::Log(id(1), log)]);
}

#[test]
fn logs_pass_at_and_above_the_level_that_the_agent_wants() {
    for (context, passes) in [
        ("{}", [false, false, false]),
        (r#"{"logLevel":"debug"}"#, [true, true, true]),
        (r#"{"logLevel":"info"}"#, [false, true, true]),
        (r#"{"logLevel":"error"}"#, [false, false, true]),
        (r#"{"logLevel":"emergency"}"#, [false, false, false]),
        (
            r#"{"logLevel":"of a later version"}"#,
            [false, false, false],
        ),
    ] {
        let mut script = Script::registered();
        let mut call = request(1);
        call.call.context = json(context);
        assert_eq!(script.channel.call(script.now, call), Ok(Taken::Begun));
        assert!(script.channel.poll_transmit(script.now).is_some());
        script.says(&[Output::Dispatched(id(1))]);
        for (level, passes) in ["debug", "info", "alert"].into_iter().zip(passes) {
            script.app(&format!(
                r##"{{"type":"log","id":"#1","level":"{level}","data":1}}"##
            ));
            let log = json(&format!(r#"{{"level":"{level}","data":1}}"#));
            let expected = passes.then_some(Output::Log(id(1), log));
            script.says(expected.as_slice());
        }
    }
}

#[test]
fn answers_to_calls_that_are_not_known_are_ignored() {
    let mut script = Script::registered();
    script.call(2);
    for id in ["#1", "#2", "nonsense"] {
        script.app(&format!(r#"{{"type":"result","id":"{id}","result":{{}}}}"#));
        script.app(&format!(r#"{{"type":"task","id":"{id}"}}"#));
    }
    script.app(r#"{"type":"notify","method":"notifications/resources/updated","params":{}}"#);
    script.says(&[]);
    script
        .sends(&[&call_text(2, 120_000)])
        .says(&[Output::Dispatched(id(2))]);
}

#[test]
fn a_call_is_refused_for_what_it_was_checked_against() {
    let mut script = Script::connected().register(WITH_TOOL);
    let refused = |script: &mut Script, change: &dyn Fn(&mut crate::channel::CallRequest)| {
        let mut request = request(1);
        change(&mut request);
        script.channel.call(script.now, request)
    };
    let instance = |name| Some(InstanceId::parse(name).unwrap());
    let other = ContentHash::of(Kind::Tools, b"other");
    let hashes = tool_hashes();
    assert_eq!(
        refused(&mut script, &|call| call.instance = instance("i2")),
        Err(Refusal::OtherInstance)
    );
    assert_eq!(
        refused(&mut script, &|call| call.checked =
            vec![(Kind::Tools, other)]),
        Err(Refusal::Stale)
    );
    assert_eq!(
        refused(&mut script, &|call| call.checked =
            vec![(Kind::Tools, hashes.tools), (Kind::Prompts, other)]),
        Err(Refusal::Stale)
    );
    let right = refused(&mut script, &|call| {
        call.instance = instance("i1");
        call.checked = Kind::ALL.map(|kind| (kind, hashes.get(kind))).into();
    });
    assert_eq!(right, Ok(Taken::Begun));
    script
        .sends(&[&call_text(1, 120_000)])
        .says(&[Output::Dispatched(id(1))]);
}

#[test]
fn a_call_id_runs_once() {
    let mut script = Script::registered();
    script.call(1);
    assert_eq!(
        script.channel.call(script.now, request(1)),
        Err(Refusal::Duplicate)
    );
    script
        .sends(&[&call_text(1, 120_000)])
        .says(&[Output::Dispatched(id(1))]);
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[answered(1, "1")]);
    assert_eq!(
        script.channel.call(script.now, request(1)),
        Err(Refusal::Duplicate)
    );
}

#[test]
fn settled_calls_are_told_in_batches_to_apps_that_remember() {
    let mut script = Script::connected().register(RESUMING);
    for n in [1, 2] {
        script.delivered_call(n);
        script.app(&format!(r##"{{"type":"result","id":"#{n}","result":1}}"##));
        script.says(&[answered(n, "1")]);
    }
    script.channel.settled(script.now, &[id(1)]);
    script.wait_ms(60);
    script.channel.settled(script.now, &[id(2), id(2), id(7)]);
    script.is_quiet().wait_ms(40);
    script.sends(&[r##"{"type":"settled","ids":["#1","#2"]}"##]);
}

#[test]
fn a_full_batch_of_settled_calls_is_told_at_once() {
    let mut script = Script::connected().register(RESUMING);
    let ids: Vec<_> = (0..limits::SETTLED_PER_MESSAGE as u128)
        .map(|n| id(100 + n))
        .collect();
    for (n, id) in ids.iter().enumerate() {
        script.call(100 + n as u128);
        assert!(script.channel.poll_transmit(script.now).is_some());
        let result = format!(r#"{{"type":"result","id":"{id}","result":1}}"#);
        script.app(&result);
    }
    while script.channel.poll_output().is_some() {}
    script.channel.settled(script.now, &ids);
    assert!(script.channel.poll_transmit(script.now).is_some());
    script.is_quiet().wait_ms(100).is_quiet();
}

#[test]
fn apps_that_do_not_remember_are_not_told_what_settled() {
    let mut script = Script::registered();
    script.delivered_call(1);
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[answered(1, "1")]);
    script.channel.settled(script.now, &[id(1)]);
    script.wait_ms(200).is_quiet();
}
