//! Asking for tokens, renewing them, and being refused.

use super::*;

fn online() -> Script {
    let mut script = Script::new(Tokens::renewable());
    script.session.start(script.now);
    script.expect(["connecting", "ask token Connect"]);
    give(&mut script, Ok("a"));
    script.expect(["dial 1 ws://a a"]);
    script.register(1);
    script
}

fn give(script: &mut Script, answer: Result<&str, &str>) {
    let answer = answer.map(str::to_owned).map_err(str::to_owned);
    script.session.handle_token(answer, script.now);
}

/// Lets time pass in which the cluster shows signs of life.
fn live(script: &mut Script, seconds: u64) {
    let end = script.now + Duration::from_secs(seconds);
    while script.session.poll_timeout().is_some_and(|at| at <= end) {
        script.session.handle_alive(SocketId(1), script.now);
        script.jump();
    }
    script.now = end;
}

#[test]
fn a_token_is_renewed_in_place() {
    let mut script = online();
    live(&mut script, 80);
    assert_eq!(script.actions().last().unwrap(), "ask token Expiring");
    give(&mut script, Ok("b"));
    script.expect([r#"send 1 {"type":"auth","token":"b"}"#]);
    script.receive(
        1,
        r#"{"type":"authorized","expiresAt":1,"expiresInMs":1000000}"#,
    );
    live(&mut script, 700);
    let asked = |line: &String| line.starts_with("ask");
    assert!(
        !script.actions().iter().any(asked),
        "the new one lives longer"
    );
    live(&mut script, 100);
    assert!(script.actions().iter().any(asked));
}

#[test]
fn a_renewal_that_fails_is_tried_again_and_the_connection_stands() {
    let mut script = online();
    live(&mut script, 80);
    script.actions();
    give(&mut script, Err("no network"));
    script.expect(["warn the token provider failed: no network"]);
    live(&mut script, 10);
    let actions = script.actions();
    assert_eq!(actions.last().unwrap(), "ask token Expiring");
    give(&mut script, Ok(""));
    script.expect(["warn there is no token"]);
}

#[test]
fn a_refused_token_is_replaced() {
    let mut script = online();
    script.lose(1, 4401, "expired");
    script.expect(["offline Some(4401) expired, 100 ms"]);
    script.jump();
    script.expect(["connecting", "ask token Refused"]);
    give(&mut script, Ok("b"));
    script.expect(["dial 2 ws://a b"]);
    script.lose(2, 4401, "wrong");
    script.expect(["stopped Some(4401) wrong (a new token from the provider was refused as well)"]);
}

#[test]
fn the_refused_token_again_stops() {
    let mut script = online();
    script.lose(1, 4401, "expired");
    script.jump();
    script.actions();
    give(&mut script, Ok("a"));
    script.expect(["stopped None the token provider gave the refused token again"]);
}

#[test]
fn a_provider_that_fails_before_a_connection_is_asked_later() {
    let mut script = Script::new(Tokens::renewable());
    script.session.start(script.now);
    script.actions();
    give(&mut script, Err("no network"));
    script.expect([
        "warn the token provider failed: no network",
        "offline None the token provider failed: no network, 250 ms",
    ]);
    script.jump();
    script.expect(["connecting", "ask token Connect"]);
    give(&mut script, Ok(" "));
    script.expect(["stopped None there is no token"]);
    give(&mut script, Ok("late"));
    script.expect([]);
}

#[test]
fn the_present_token_serves_when_no_newer_one_can_be_had() {
    let mut script = online();
    live(&mut script, 80);
    script.actions();
    give(&mut script, Err("no network"));
    live(&mut script, 5);
    script.lose(1, 1012, "");
    script.actions();
    // A reconnect between two attempts to renew takes what there is.
    script.jump();
    script.expect(["connecting", "dial 2 ws://a a"]);
}
