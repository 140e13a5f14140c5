//! Deadlines of the connection itself: register, silence, writing, the token.

use super::script::{
    REGISTER, Script, answered, call_text, closing, ended_with, grant, id, request,
};
use crate::channel::{Outcome, Output, Refusal};
use crate::close::CloseCode;
use crate::limits;
use crate::token::{BearerToken, TokenError};

const EXPIRED: &str = "the token has expired: send auth with a new one before it does";

#[test]
fn an_app_that_does_not_register_is_let_go() {
    let mut script = Script::connected();
    script
        .wait_ms(9_000)
        .app(r#"{"type":"ping"}"#)
        .sends(&[r#"{"type":"pong"}"#]);
    script.wait_ms(999).is_quiet().wait_ms(1);
    script.ends(&[], CloseCode::TimedOut, "send register within 10 s");
}

#[test]
fn before_it_registers_an_app_may_say_what_is_of_no_consequence() {
    let mut script = Script::connected();
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .app(r##"{"type":"progress","id":"#1","progress":1}"##)
        .app(r#"{"type":"pong"}"#)
        .is_quiet();
}

#[test]
fn a_silent_connection_is_pinged_and_then_closed() {
    let mut script = Script::registered();
    script
        .wait_ms(19_999)
        .is_quiet()
        .wait_ms(1)
        .sends(&["ping"]);
    script
        .wait_ms(19_999)
        .is_quiet()
        .wait_ms(1)
        .sends(&["ping"]);
    script.wait_ms(4_999).is_quiet().wait_ms(1);
    let reason = "nothing came for 45 s: answer pings, or send them";
    script.ends(&[], CloseCode::TimedOut, reason);
}

#[test]
fn any_frame_is_life_and_delays_the_next_ping() {
    let mut script = Script::registered();
    for _ in 0..10 {
        script.wait_ms(19_000);
        script.channel.handle_frame_seen(script.now);
    }
    script.is_quiet().wait_ms(20_000).sends(&["ping"]);
    script
        .wait_ms(24_000)
        .sends(&["ping"])
        .app(r#"{"type":"pong"}"#);
    script.wait_ms(19_999).is_quiet();
}

#[test]
fn pongs_are_coalesced_while_they_wait() {
    let mut script = Script::registered();
    for _ in 0..1_000 {
        script.app(r#"{"type":"ping"}"#);
    }
    assert_eq!(script.channel.queued_bytes(), 0);
    script.sends(&[r#"{"type":"pong"}"#]);
}

#[test]
fn an_app_that_reads_nothing_is_let_go() {
    let mut script = Script::registered();
    script.call(1);
    // It is alive, and sends; it does not read.
    script.wait_ms(15_000).app(r#"{"type":"pong"}"#);
    script.wait_ms(14_999).says(&[]).wait_ms(1);
    let answers = [ended_with(1, Outcome::NotDelivered)];
    let reason = "nothing was read for 30 s: read what the cluster sends";
    script.ends(&answers, CloseCode::TimedOut, reason);
}

#[test]
fn bytes_that_the_socket_takes_are_progress() {
    let mut script = Script::registered();
    script.call(1).call(2);
    assert!(script.channel.poll_transmit(script.now).is_some());
    script.says(&[Output::Dispatched(id(1))]);
    for _ in 0..5 {
        script.wait_ms(19_000).app(r#"{"type":"pong"}"#);
        script.channel.handle_written(script.now);
    }
    script
        .says(&[])
        .sends(&[&call_text(2, 25_000)])
        .says(&[Output::Dispatched(id(2))]);
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[answered(1, "1")]);
    script
        .app(r##"{"type":"result","id":"#2","result":2}"##)
        .says(&[answered(2, "2")]);
}

#[test]
fn an_app_that_makes_us_answer_more_than_it_reads_is_let_go() {
    let mut script = Script::registered();
    let renewed = grant("tab-1", 60);
    let mut answers = 0;
    while !script.channel.is_ended() {
        script
            .channel
            .handle_verified(script.now, Ok(renewed.clone()));
        answers += 1;
        assert!(script.channel.queued_bytes() <= limits::QUEUE_BYTES_PER_CONNECTION);
    }
    assert!(answers > 10_000);
    let reason = "too many bytes wait for the app: read what the cluster sends";
    script.ends(&[], CloseCode::TryLater, reason);
}

#[test]
fn an_idle_connection_ends_with_its_token_and_leeway() {
    let mut script = Script::connected_for(10).register(REGISTER);
    script.wait_ms(14_999).is_quiet().wait_ms(1);
    script.ends(&[], CloseCode::Unauthorized, EXPIRED);
}

#[test]
fn calls_in_flight_outlive_the_token_and_no_new_ones_come() {
    let mut script = Script::connected_for(10).register(REGISTER);
    script.delivered_call(1).wait_ms(15_000).is_quiet();
    assert!(!script.channel.is_serving());
    assert_eq!(
        script.channel.call(script.now, request(2)),
        Err(Refusal::Unavailable)
    );
    script
        .wait_ms(1_000)
        .app(r##"{"type":"result","id":"#1","result":1}"##);
    script.ends(&[answered(1, "1")], CloseCode::Unauthorized, EXPIRED);
}

#[test]
fn a_call_that_never_ends_does_not_keep_an_expired_connection() {
    let mut script = Script::connected_for(10).register(REGISTER);
    script.delivered_call(1);
    for _ in 0..7 {
        script.wait_ms(17_000).app(r#"{"type":"pong"}"#);
    }
    script.is_quiet().wait_ms(1_000);
    script.ends(
        &[ended_with(1, Outcome::TimedOut)],
        CloseCode::Unauthorized,
        EXPIRED,
    );
}

#[test]
fn a_token_is_renewed_in_place() {
    let mut script = Script::connected_for(10).register(REGISTER);
    script
        .wait_ms(9_000)
        .app(r#"{"type":"auth","token":"a.b.c"}"#);
    script.says(&[Output::Verify(BearerToken::new("a.b.c"))]);
    script
        .channel
        .handle_verified(script.now, Ok(grant("tab-1", 30)));
    script.sends(&[r#"{"type":"authorized","expiresAt":1800000030,"expiresInMs":30000}"#]);
    script.wait_ms(18_000).is_quiet();
    script
        .app(r#"{"type":"pong"}"#)
        .wait_ms(16_999)
        .is_quiet()
        .wait_ms(1);
    script.ends(&[], CloseCode::Unauthorized, EXPIRED);
}

#[test]
fn a_token_may_be_renewed_while_calls_run_out() {
    let mut script = Script::connected_for(10).register(REGISTER);
    script.delivered_call(1).wait_ms(16_000).is_quiet();
    script
        .channel
        .handle_verified(script.now, Ok(grant("tab-1", 3_600)));
    script.sends(&[r#"{"type":"authorized","expiresAt":1800003600,"expiresInMs":3600000}"#]);
    assert!(script.channel.is_serving());
    script
        .app(r##"{"type":"result","id":"#1","result":1}"##)
        .says(&[answered(1, "1")]);
    script.delivered_call(2);
}

#[test]
fn a_token_that_is_not_good_or_names_another_client_closes() {
    let mut script = Script::registered();
    script
        .channel
        .handle_verified(script.now, Err(TokenError::Signature.closing()));
    let reason = "the token's signature does not match";
    script.ends(&[], CloseCode::Unauthorized, reason);

    let mut script = Script::registered();
    script
        .channel
        .handle_verified(script.now, Ok(grant("tab-2", 60)));
    let reason = "the new token names another client ID: connect with it instead";
    script.ends(&[], CloseCode::Unauthorized, reason);
    script
        .channel
        .handle_verified(script.now, Ok(grant("tab-1", 60)));
}

#[test]
fn frames_that_are_not_understood_close_with_their_codes() {
    let invalid: &[u8] = b"{\"type\":\"\xff\"}";
    let mut script = Script::registered();
    script
        .channel
        .handle_text(script.now, &bytes::Bytes::from_static(invalid));
    script.ends(&[], CloseCode::InvalidText, "the message is not UTF-8");

    let mut script = Script::registered();
    script.channel.handle_binary(script.now);
    script.ends(&[], CloseCode::Binary, "send text frames alone");

    for (text, reason) in [
        (r#"{"type":"dance"}"#, "unknown message type \"dance\""),
        (
            "{",
            "the message is no JSON object with a type: not JSON: EOF while parsing an object",
        ),
        (
            r#"{"id":1}"#,
            "the message is no JSON object with a type: missing field `type`",
        ),
    ] {
        let mut script = Script::registered();
        script.app(text).ends(&[], CloseCode::NotUnderstood, reason);
    }
    let deep = format!(
        r#"{{"type":"log","id":7,"data":{}{}}}"#,
        "[".repeat(128),
        "]".repeat(128)
    );
    let mut script = Script::registered();
    let reason = "the message is nested deeper than 128 levels";
    script
        .app(&deep)
        .ends(&[], CloseCode::NotUnderstood, reason);
}

#[test]
fn faults_of_the_codec_are_brought_in_by_its_driver() {
    let mut script = Script::registered();
    script
        .channel
        .close(script.now, closing(CloseCode::TooLarge, "at most 4 MiB"));
    script.ends(&[], CloseCode::TooLarge, "at most 4 MiB");
}

/// What an idle connection costs here; the socket and its task come on top.
#[test]
fn an_idle_channel_is_small() {
    assert!(
        size_of::<crate::channel::Channel>() <= 640,
        "{}",
        size_of::<crate::channel::Channel>()
    );
}
