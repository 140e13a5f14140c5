use super::script::{REGISTER, Script, TOOL, WITH_TOOL, registered_text, request, tool_hashes};
use crate::channel::{ClaimInput, Claimed, Output, Refusal};
use crate::close::CloseCode;
use crate::ids::InstanceId;
use crate::registration::{ContentHash, Hashes, Kind};

const HOUR_MS: u64 = 3_600_000;

fn claim(hashes: Hashes, contents: &[(Kind, &'static str)], again: bool) -> Output {
    let content = |(kind, text): &(Kind, &'static str)| {
        let hash = ContentHash::of(*kind, text.as_bytes());
        (*kind, hash, text.as_bytes().into())
    };
    Output::Claim(Box::new(ClaimInput {
        instance: InstanceId::parse("i1").unwrap(),
        connection: 1,
        moving: false,
        resume: false,
        hashes,
        contents: contents.iter().map(content).collect(),
        again,
    }))
}

#[test]
fn a_register_is_claimed_and_then_answered() {
    let mut script = Script::connected();
    script
        .app(WITH_TOOL)
        .says(&[claim(tool_hashes(), &[(Kind::Tools, TOOL)], false)]);
    assert!(!script.channel.is_serving());
    assert_eq!(
        script.channel.call(script.now, request(1)),
        Err(Refusal::Unavailable)
    );
    script.wait_ms(300);
    script.channel.handle_claimed(script.now, Claimed::Taken);
    script
        .says(&[Output::Registered(tool_hashes())])
        .sends(&[&registered_text(&tool_hashes(), HOUR_MS - 300)]);
    assert!(script.channel.is_serving());
    assert_eq!(script.channel.hashes(), Some(&tool_hashes()));
    let (instance, connection) = script.channel.instance().unwrap();
    assert_eq!((instance.as_str(), connection), ("i1", 1));
    assert!(!script.channel.resumes());
}

#[test]
fn a_late_connection_of_an_instance_is_closed() {
    let mut script = Script::connected();
    script
        .app(REGISTER)
        .says(&[claim(Hashes::empty(), &[], false)]);
    script.channel.handle_claimed(script.now, Claimed::Late);
    script.ends(
        &[],
        CloseCode::Normal,
        "a newer connection of this instance serves",
    );
}

#[test]
fn a_first_registration_that_cannot_be_stored_is_turned_away() {
    let mut script = Script::connected();
    script
        .app(REGISTER)
        .says(&[claim(Hashes::empty(), &[], false)]);
    script
        .channel
        .handle_claimed(script.now, Claimed::Unreachable);
    let reason = "the registration cannot be stored at the moment: try again";
    script.ends(&[], CloseCode::TryLater, reason);
}

#[test]
fn a_further_registration_replaces_the_whole_and_outlives_the_store() {
    let mut script = Script::registered();
    script
        .app(WITH_TOOL)
        .says(&[claim(tool_hashes(), &[(Kind::Tools, TOOL)], true)]);
    assert_eq!(
        script.channel.hashes(),
        Some(&Hashes::empty()),
        "until it stands"
    );
    script
        .channel
        .handle_claimed(script.now, Claimed::Unreachable);
    script
        .says(&[Output::Registered(tool_hashes())])
        .sends(&[&registered_text(&tool_hashes(), HOUR_MS)]);
}

#[test]
fn content_that_is_known_may_be_named_by_hash() {
    let hash = ContentHash::of(Kind::Tools, TOOL.as_bytes());
    let by_hash = format!(
        r#"{{"type":"register","instance":"i1","connection":1,"tools":{{"hash":"{hash}"}}}}"#
    );
    let mut script = Script::connected();
    script
        .app(&by_hash)
        .says(&[Output::LookUp(vec![(Kind::Tools, hash)])]);
    script.channel.handle_contents(script.now, &[]);
    script.says(&[claim(tool_hashes(), &[], false)]);
    script.channel.handle_claimed(script.now, Claimed::Taken);
    script
        .says(&[Output::Registered(tool_hashes())])
        .sends(&[&registered_text(&tool_hashes(), HOUR_MS)]);
}

#[test]
fn content_that_is_not_known_is_asked_for() {
    let hash = ContentHash::of(Kind::Tools, TOOL.as_bytes());
    let by_hash = format!(
        r#"{{"type":"register","instance":"i1","connection":1,"tools":{{"hash":"{hash}"}}}}"#
    );
    let mut script = Script::connected();
    script
        .app(&by_hash)
        .says(&[Output::LookUp(vec![(Kind::Tools, hash)])]);
    // The time that we take is not the app's.
    script.wait_ms(15_000);
    script.channel.handle_contents(script.now, &[Kind::Tools]);
    script
        .says(&[])
        .sends(&[r#"{"type":"need","kinds":["tools"]}"#]);
    script.wait_ms(9_999).sends(&["ping"]).app(WITH_TOOL);
    script.says(&[claim(tool_hashes(), &[(Kind::Tools, TOOL)], false)]);
}

#[test]
fn after_need_the_app_has_its_time_again() {
    let hash = ContentHash::of(Kind::Rest, b"x");
    let by_hash = format!(
        r#"{{"type":"register","instance":"i1","connection":1,"rest":{{"hash":"{hash}"}}}}"#
    );
    let mut script = Script::connected();
    script
        .app(&by_hash)
        .says(&[Output::LookUp(vec![(Kind::Rest, hash)])]);
    script.channel.handle_contents(script.now, &[Kind::Rest]);
    script
        .says(&[])
        .sends(&[r#"{"type":"need","kinds":["rest"]}"#]);
    script.wait_ms(10_000);
    script.ends(&[], CloseCode::TimedOut, "send register within 10 s");
}

#[test]
fn of_registers_that_wait_the_newest_counts_and_each_is_answered() {
    let mut script = Script::connected();
    script
        .app(REGISTER)
        .says(&[claim(Hashes::empty(), &[], false)]);
    script.app(REGISTER).app(WITH_TOOL).is_quiet();
    script.channel.handle_claimed(script.now, Claimed::Taken);
    script
        .says(&[
            Output::Registered(Hashes::empty()),
            claim(tool_hashes(), &[(Kind::Tools, TOOL)], true),
        ])
        .sends(&[&registered_text(&Hashes::empty(), HOUR_MS)]);
    script.channel.handle_claimed(script.now, Claimed::Taken);
    let registered = registered_text(&tool_hashes(), HOUR_MS);
    script
        .says(&[Output::Registered(tool_hashes())])
        .sends(&[&registered, &registered]);
}

#[test]
fn what_was_refused_is_told() {
    let mut script = Script::connected();
    script.app(r#"{"type":"register","instance":"i1","connection":1,"tools":[{"name":"a b"}]}"#);
    script.says(&[claim(Hashes::empty(), &[], false)]);
    script.channel.handle_claimed(script.now, Claimed::Taken);
    let rejected = r#""rejected":[{"kind":"tools","name":"a b","reason":"name must be 1 to 128 characters of A-Z a-z 0-9 _ . -"}]"#;
    let registered = registered_text(&Hashes::empty(), HOUR_MS);
    script
        .says(&[Output::Registered(Hashes::empty())])
        .sends(&[&registered.replace(r#""rejected":[]"#, rejected)]);
}

#[test]
fn an_instance_cannot_change_on_a_connection() {
    for other in [
        r#"{"type":"register","instance":"i2","connection":1}"#,
        r#"{"type":"register","instance":"i1","connection":2}"#,
    ] {
        let mut script = Script::registered();
        script.app(other);
        let reason = "register: instance and connection cannot change on a connection";
        script.ends(&[], CloseCode::NotUnderstood, reason);
    }
}

#[test]
fn a_register_that_is_not_understood_is_refused() {
    let mut script = Script::connected();
    script.app(r#"{"type":"register","connection":1}"#);
    let reason = "register: instance must be 1 to 128 of A-Z a-z 0-9 _ -";
    script.ends(&[], CloseCode::NotUnderstood, reason);
}

#[test]
fn answers_that_nobody_waits_for_change_nothing() {
    let mut script = Script::registered();
    script.channel.handle_claimed(script.now, Claimed::Late);
    script.channel.handle_contents(script.now, &[Kind::Tools]);
    script.is_quiet();
    // The store's answer comes when the app has left already.
    let mut script = Script::connected();
    script
        .app(REGISTER)
        .says(&[claim(Hashes::empty(), &[], false)]);
    script.channel.handle_closed(script.now, None);
    script.says(&[Output::Ended(crate::close::Departure::Lost)]);
    script.channel.handle_claimed(script.now, Claimed::Taken);
    script.is_quiet();
}
