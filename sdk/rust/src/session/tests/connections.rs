//! Connecting, losing, moving, stopping.

use super::*;
use crate::reconnect::NO_CLOSE_FRAME;

#[test]
fn a_session_connects_registers_and_is_online() {
    let mut script = Script::new(Tokens::fixed(token("t")));
    script.session.start(script.now);
    script.expect(["connecting", "dial 1 ws://a t"]);
    script.session.handle_opened(SocketId(1), script.now);
    script.expect(["send 1 register"]);
    script.receive(1, &registered(100));
    script.expect(["online 1", "accepted 1"]);
}

#[test]
fn a_lost_connection_is_replaced_within_the_window_and_names_what_is_known() {
    let mut script = Script::online();
    script.lose(1, NO_CLOSE_FRAME, "");
    script.expect(["offline None the connection was lost, 100 ms"]);
    assert_eq!(script.jump(), Duration::from_millis(100));
    script.expect(["connecting", "dial 2 ws://a t"]);
    script.session.handle_opened(SocketId(2), script.now);
    script.expect(["send 2 register by hash"]);
    script.receive(2, r#"{"type":"need","kinds":["tools"]}"#);
    script.expect(["send 2 register"]);
    script.receive(2, &registered(100));
    script.expect(["online 2", "accepted 1"]);
}

#[test]
fn failing_again_backs_off() {
    let mut script = Script::online();
    script.lose(1, 1012, "the node stops");
    script.expect(["offline Some(1012) the node stops, 100 ms"]);
    for (socket, delay) in [(2, 250), (3, 500), (4, 1000)] {
        script.jump();
        let dial = format!("dial {socket} ws://a t");
        script.expect(["connecting", &dial]);
        script.lose(socket, NO_CLOSE_FRAME, "refused");
        script.expect([&format!("offline None refused, {delay} ms")]);
    }
}

#[test]
fn a_refusal_that_names_a_time_is_heeded() {
    let mut script = Script::online();
    let ending = Ending {
        code: 1013,
        reason: "busy".to_owned(),
        retry_after: Some(Duration::from_secs(7)),
    };
    script
        .session
        .handle_closed(SocketId(1), ending, script.now);
    script.expect(["offline Some(1013) busy, 7000 ms"]);
}

#[test]
fn codes_that_stop_stop_until_told() {
    for code in [4400, 4401, 4403, 4409] {
        let mut script = Script::online();
        script.lose(1, code, "because");
        let actions = script.actions();
        assert_eq!(actions.len(), 1, "{actions:?}");
        let stopped = format!("stopped Some({code}) because");
        assert!(actions[0].starts_with(&stopped), "{actions:?}");
        assert_eq!(script.session.poll_timeout(), None);

        script.session.start(script.now);
        script.expect(["connecting", "dial 2 ws://a t"]);
    }
}

#[test]
fn mistakes_are_told_to_the_developer() {
    let mut script = Script::online();
    script.lose(1, 1003, "text only");
    script.expect([
        "warn the connection was closed (1003): text only",
        "offline Some(1003) text only, 250 ms",
    ]);
}

#[test]
fn closing_says_so_and_nothing_follows() {
    let mut script = Script::online();
    script.session.close();
    script.expect([
        "close 1 1000 (the application stopped)",
        "stopped None closed by the application",
    ]);
    script.lose(1, 1000, "");
    script.receive(1, &call(0));
    script.session.close();
    script.expect([]);
    assert_eq!(script.session.poll_timeout(), None);
}

#[test]
fn a_move_opens_the_next_socket_before_the_old_one_goes() {
    let mut script = Script::online();
    let text = r#"{"type":"move","reason":"drain","withinMs":4000,"url":"ws://b"}"#;
    script.receive(1, text);
    script.receive(1, text);
    script.expect([]);
    assert_eq!(script.jump(), Duration::from_secs(1));
    script.expect(["dial 2 ws://b t"]);
    script.session.handle_opened(SocketId(2), script.now);
    script.expect(["send 2 register by hash"]);
    // The old one serves on, and is closed just before the new one is told.
    script.receive(1, &call(0));
    script.expect([r#"run { "name":"a"} within 1000"#]);
    script.lose(1, 1000, "its next socket took over");
    script.expect([]);
    script.receive(2, &registered(100));
    script.expect(["online 2", "accepted 1"]);
    script.lose(2, 1012, "");
    script.expect(["offline Some(1012) the cluster restarts, 100 ms"]);
    script.jump();
    script.expect(["connecting", "dial 3 ws://a t"]);
}

/// A session whose connection stands after one try that failed, so that only its standing lets the
/// next loss be answered at once.
fn online_again() -> Script {
    let mut script = Script::online();
    script.lose(1, NO_CLOSE_FRAME, "");
    script.jump();
    script.lose(2, NO_CLOSE_FRAME, "");
    script.jump();
    script.register(3);
    script
}

/// Asks for the next connection, and opens it.
fn move_on(script: &mut Script, socket: u64) {
    script.receive(
        socket - 1,
        r#"{"type":"move","reason":"drain","withinMs":0}"#,
    );
    script.jump();
    let dial = format!("dial {socket} ws://a t");
    script.expect([&dial]);
    script.session.handle_opened(SocketId(socket), script.now);
    script.expect([&format!("send {socket} register by hash")]);
}

#[test]
fn a_connection_that_took_over_stands_as_long_as_the_one_before() {
    for closed_first in [true, false] {
        let mut script = online_again();
        script.now += Duration::from_millis(1_200);
        move_on(&mut script, 4);
        if closed_first {
            script.lose(3, 1000, "its next socket took over");
        }
        script.receive(4, &registered(100));
        script.expect(["online 4", "accepted 1"]);
        script.now += Duration::from_millis(800);
        script.lose(4, NO_CLOSE_FRAME, "");
        script.expect(["offline None the connection was lost, 100 ms"]);
    }
}

#[test]
fn a_chain_of_connections_that_is_younger_than_that_is_backed_off_from() {
    let mut script = online_again();
    script.now += Duration::from_millis(1_000);
    move_on(&mut script, 4);
    script.receive(4, &registered(100));
    script.expect(["online 4", "accepted 1"]);
    script.now += Duration::from_millis(800);
    script.lose(4, NO_CLOSE_FRAME, "");
    script.expect(["offline None the connection was lost, 500 ms"]);
}

#[test]
fn what_comes_after_a_loss_inherits_nothing() {
    let mut script = online_again();
    script.now += Duration::from_millis(1_800);
    move_on(&mut script, 4);
    script.lose(3, NO_CLOSE_FRAME, "");
    script.expect(["connecting"]);
    script.receive(4, &registered(100));
    script.expect(["online 4", "accepted 1"]);
    script.now += Duration::from_millis(1_800);
    script.lose(4, NO_CLOSE_FRAME, "");
    script.expect(["offline None the connection was lost, 500 ms"]);
}

#[test]
fn a_move_that_ends_between_two_sockets_is_credited_with_the_former() {
    let mut script = online_again();
    script.now += Duration::from_millis(2_000);
    move_on(&mut script, 4);
    script.lose(3, 1000, "its next socket took over");
    script.lose(4, NO_CLOSE_FRAME, "");
    script.expect(["offline None the connection was lost, 100 ms"]);
}

#[test]
fn a_socket_that_was_taken_over_from_finishes_and_its_code_is_ignored() {
    let mut script = Script::online();
    script.receive(1, r#"{"type":"move","reason":"rebalance","withinMs":0}"#);
    script.jump();
    script.expect(["dial 2 ws://a t"]);
    script.receive(1, &call(0));
    script.actions();
    script.register(2);
    let id = CallId::parse(CALL).unwrap();
    let answer = Json::parse(r#"{"answer":1}"#).unwrap();
    script.session.handle_finished(id, answer, script.now);
    script.expect([r#"send 1 {"answer":1}"#]);
    script.lose(1, 4409, "");
    script.expect([]);
}

#[test]
fn a_socket_that_is_never_closed_is_let_go() {
    let mut script = Script::online();
    script.receive(1, r#"{"type":"move","reason":"rebalance","withinMs":0}"#);
    script.jump();
    script.actions();
    script.register(2);
    let start = script.now;
    let mut lines = Vec::new();
    while script.now < start + Duration::from_secs(30) {
        script.session.handle_alive(SocketId(2), script.now);
        script.jump();
        lines.extend(script.actions());
    }
    assert_eq!(
        lines,
        [
            r#"send 2 {"type":"ping"}"#,
            r#"send 1 {"type":"ping"}"#,
            "close 1 1000 (another connection took over)"
        ]
    );
}

#[test]
fn a_move_that_fails_is_tried_again_while_the_old_socket_serves() {
    let mut script = Script::online();
    script.receive(
        1,
        r#"{"type":"move","reason":"drain","withinMs":0,"url":"ws://b"}"#,
    );
    script.jump();
    script.expect(["dial 2 ws://b t"]);
    script.lose(2, 1013, "busy");
    script.expect([]);
    assert_eq!(script.jump(), Duration::from_millis(250));
    script.expect(["dial 3 ws://a t"]);
    // A loss of another kind leaves the application offline until the next one stands.
    script.lose(1, NO_CLOSE_FRAME, "");
    script.expect(["connecting"]);
    script.session.handle_opened(SocketId(3), script.now);
    script.receive(3, &registered(100));
    script.expect(["send 3 register by hash", "online 3", "accepted 1"]);
}

#[test]
fn another_instance_that_takes_over_during_a_move_stops_both_sockets() {
    let mut script = Script::online();
    script.receive(1, r#"{"type":"move","reason":"drain","withinMs":0}"#);
    script.jump();
    script.actions();
    script.lose(1, 4409, "");
    script.expect([
        "close 2 1000 (not needed any more)",
        "stopped Some(4409) another instance of this application took over",
    ]);
}

#[test]
fn silence_is_noticed() {
    let mut script = Script::online();
    assert_eq!(script.jump(), Duration::from_secs(25));
    script.expect([r#"send 1 {"type":"ping"}"#]);
    assert_eq!(script.jump(), Duration::from_secs(20));
    script.expect([
        "close 1 4408 (nothing was received for 45 s)",
        "offline Some(4408) nothing was received for 45 s, 250 ms",
    ]);
}

#[test]
fn pings_are_answered_and_unknown_messages_ignored() {
    let mut script = Script::online();
    script.receive(1, r#"{"type":"ping"}"#);
    script.expect([r#"send 1 {"type":"pong"}"#]);
    script.receive(1, r#"{"type":"pong"}"#);
    script.receive(1, r#"{"type":"of a later version","what":1}"#);
    script.expect([]);
    script.receive(1, "junk");
    let actions = script.actions();
    assert!(actions[0].starts_with("warn a message was not understood"));
}

#[test]
fn a_dead_dial_and_a_dead_register_are_given_up() {
    let mut script = Script::new(Tokens::fixed(token("t")));
    script.session.start(script.now);
    script.actions();
    assert_eq!(script.jump(), Duration::from_secs(15));
    script.expect([
        "close 1 4408 (no answer from ws://a)",
        "offline None no answer from ws://a, 100 ms",
    ]);
    script.jump();
    script.session.handle_opened(SocketId(2), script.now);
    script.actions();
    let opened = script.now;
    while script.now < opened + Duration::from_secs(60) {
        script.session.handle_alive(SocketId(2), script.now);
        script.jump();
    }
    let actions = script.actions();
    assert!(actions.contains(&"close 2 4408 (not registered in time)".to_owned()));
}

#[test]
fn new_tools_are_registered_wherever_something_is_connected() {
    let mut script = Script::online();
    assert_eq!(script.session.set_offer(offer(r#"["x"]"#)), Ok(2));
    script.expect(["send 1 register by hash"]);
    // The answer to an earlier one is awaited first.
    assert_eq!(script.session.set_offer(offer(r#"["y"]"#)), Ok(3));
    script.expect([]);
    script.receive(1, &registered(100));
    script.expect(["online 1", "accepted 2", "send 1 register by hash"]);
    script.receive(1, &registered(100));
    script.expect(["online 1", "accepted 3"]);

    let large = Offer {
        tools: vec![Json::of(&"x".repeat(1000))],
        ..Offer::default()
    };
    let error = script.session.set_offer(large).unwrap_err();
    assert_eq!(error.limit, 1000);
    script.expect([]);
}

#[test]
fn tools_set_while_offline_are_registered_later() {
    let mut script = Script::online();
    script.lose(1, 1006, "");
    script.actions();
    script.session.set_offer(offer(r#"["x"]"#)).unwrap();
    script.expect([]);
    script.jump();
    script.session.handle_opened(SocketId(2), script.now);
    script.receive(2, &registered(100));
    script.expect([
        "connecting",
        "dial 2 ws://a t",
        "send 2 register by hash",
        "online 2",
        "accepted 2",
    ]);
}

#[test]
fn a_cluster_that_needs_what_it_was_given_is_left() {
    let mut script = Script::new(Tokens::fixed(token("t")));
    script.session.start(script.now);
    script.session.handle_opened(SocketId(1), script.now);
    script.actions();
    script.receive(1, r#"{"type":"need","kinds":["tools"]}"#);
    script.expect([
        "close 1 1002 (the cluster needs what it was given)",
        "warn the connection was closed (1002): the cluster needs what it was given",
        "offline Some(1002) the cluster needs what it was given, 250 ms",
    ]);
}
