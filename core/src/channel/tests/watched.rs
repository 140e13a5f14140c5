use super::script::{REGISTER, Script, json};
use crate::channel::{Claimed, Output};
use crate::close::{CloseCode, Closing};
use crate::limits;

const WITH_RESOURCE: &str =
    r#"{"type":"register","instance":"i1","connection":1,"resources":[{"uri":"x:1","name":"r"}]}"#;

/// An app with a resource, which was told that nothing is watched.
fn with_resource() -> Script {
    let mut script = Script::connected().register(WITH_RESOURCE);
    script
        .wait_ms(limits::WATCHED_WITHIN_MS)
        .says(&[Output::ListWatched]);
    script.channel.handle_watched(script.now, Vec::new());
    script.sends(&[r#"{"type":"subscriptions","uris":[]}"#]);
    script
}

fn watched(script: &mut Script, uris: &[&str]) {
    let uris = uris.iter().map(|uri| (*uri).to_owned()).collect();
    script.channel.handle_watched(script.now, uris);
}

#[test]
fn an_app_is_told_what_is_watched_after_it_registered_and_on_change() {
    let mut script = with_resource();
    script.channel.handle_watch_changed(script.now);
    script.wait_ms(limits::WATCHED_WITHIN_MS - 1).is_quiet();
    script.channel.handle_watch_changed(script.now);
    script.wait_ms(1).says(&[Output::ListWatched]);
    watched(&mut script, &["x:1", "x:\"2"]);
    script.sends(&[r#"{"type":"subscriptions","uris":["x:1","x:\"2"]}"#]);
    // The second change of this time is among them.
    script.wait_ms(limits::WATCHED_WITHIN_MS).is_quiet();
    script.channel.handle_watch_changed(script.now);
    script
        .wait_ms(limits::WATCHED_WITHIN_MS)
        .says(&[Output::ListWatched]);
    watched(&mut script, &["x:1", "x:\"2"]);
    script.is_quiet();
    watched(&mut script, &[]);
    script.sends(&[r#"{"type":"subscriptions","uris":[]}"#]);
}

#[test]
fn an_app_without_resources_is_told_nothing() {
    let mut script = Script::registered();
    script.channel.handle_watch_changed(script.now);
    watched(&mut script, &["x:1"]);
    script.wait_ms(1_000).is_quiet();
    script.app(WITH_RESOURCE);
    assert!(matches!(
        script.channel.poll_output(),
        Some(Output::Claim(_))
    ));
    script.channel.handle_claimed(script.now, Claimed::Taken);
    let hashes = *script.channel.hashes().unwrap();
    script.says(&[Output::Registered(hashes)]);
    assert!(script.channel.poll_transmit(script.now).is_some());
    script
        .wait_ms(limits::WATCHED_WITHIN_MS)
        .says(&[Output::ListWatched]);
    watched(&mut script, &["x:1"]);
    script.sends(&[r#"{"type":"subscriptions","uris":["x:1"]}"#]);
    // What is offered no more cannot be watched.
    script.app(REGISTER);
    assert!(matches!(
        script.channel.poll_output(),
        Some(Output::Claim(_))
    ));
    script.channel.handle_claimed(script.now, Claimed::Taken);
    let hashes = *script.channel.hashes().unwrap();
    script.says(&[Output::Registered(hashes)]);
    assert!(script.channel.poll_transmit(script.now).is_some());
    script.wait_ms(1_000).is_quiet();
}

#[test]
fn what_does_not_fit_is_not_told() {
    let mut script = with_resource();
    let long = "x".repeat(limits::WATCHED_BYTES_PER_APP);
    watched(&mut script, &["x:1", &long]);
    script.sends(&[r#"{"type":"subscriptions","uris":["x:1"]}"#]);
}

#[test]
fn updates_pass_while_the_app_serves() {
    let mut script = Script::connected();
    script
        .app(r#"{"type":"notify","method":"notifications/resources/updated","params":{"uri":"x:1"}}"#)
        .is_quiet();
    let mut script = script_with_update(r#"{"uri":"x:\u0031", "title":1e400}"#);
    script.says(&[Output::ResourceUpdated {
        uri: "x:1".to_owned(),
        params: json(r#"{"uri":"x:\u0031", "title":1e400}"#),
    }]);
    let large = format!(
        r#"{{"uri":"x:1","more":"{}"}}"#,
        "x".repeat(limits::EVENT_BYTES)
    );
    script_with_update(&large).says(&[Output::ResourceUpdated {
        uri: "x:1".to_owned(),
        params: json(r#"{"uri":"x:1"}"#),
    }]);
    let mut script = with_resource();
    script
        .app(r#"{"type":"notify","method":"notifications/of/a/later/version"}"#)
        .is_quiet();
    for params in [
        "",
        r#","params":{}"#,
        r#","params":{"uri":5}"#,
        r#","params":"x:1""#,
    ] {
        script
            .app(&format!(
                r#"{{"type":"notify","method":"notifications/resources/updated"{params}}}"#
            ))
            .is_quiet();
    }
}

fn script_with_update(params: &str) -> Script {
    let mut script = with_resource();
    script.app(&format!(
        r#"{{"type":"notify","method":"notifications/resources/updated","params":{params}}}"#
    ));
    script
}

#[test]
fn nothing_is_due_after_the_end() {
    let mut script = with_resource();
    script.channel.handle_watch_changed(script.now);
    script
        .channel
        .close(script.now, Closing::new(CloseCode::Restart, "r"));
    script.ends(&[], CloseCode::Restart, "r");
    script.channel.handle_watch_changed(script.now);
    watched(&mut script, &["x:1"]);
    assert_eq!(script.channel.poll_timeout(), None);
}
