use super::*;

fn read(text: &'static str) -> Result<Message, JsonError> {
    Message::read(&Text::new(text.into()).unwrap())
}

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[test]
fn parameters_of_a_call_stay_as_they_came() {
    let message = read(
        r#"{"type":"call","id":"01890a5d-ac96-774b-bcce-b302099a8057","round":0,"attempt":2,"method":"tools/call",
            "params":{ "name":"a","arguments":{"n":18446744073709551616, "z":1.0,"a":"\ud800"} },"deadlineMs":1500,
            "context":{"protocolVersion":"2025-11-25","clientCapabilities":{"x":1e400},"subject":"s","progress":true,"later":1}}"#,
    );
    let Ok(Message::Call(call)) = message else {
        panic!("{message:?}");
    };
    assert_eq!(call.id.to_string(), ID);
    assert_eq!(call.root_id, call.id, "a call is its own root");
    assert_eq!(call.attempt, 2);
    assert_eq!(call.deadline, Duration::from_millis(1500));
    assert_eq!(
        call.params.as_str(),
        r#"{ "name":"a","arguments":{"n":18446744073709551616, "z":1.0,"a":"\ud800"} }"#
    );
    assert_eq!(call.caller.client_capabilities.as_str(), r#"{"x":1e400}"#);
    assert!(call.caller.progress);
    assert_eq!(call.caller.log_level, None);
}

#[test]
fn registered_states_limits_and_what_it_leaves_out_has_defaults() {
    let full = read(
        r#"{"type":"registered","clientId":"c","hashes":{"tools":"t","rest":"r"},
            "rejected":[{"kind":"tools","name":null,"reason":"no name"}],"expiresAt":1,"expiresInMs":60000,
            "limits":{"maxMessageBytes":100,"maxCallsInFlight":256,"pingIntervalMs":5,"silenceTimeoutMs":9},"reconnectWithinMs":7}"#,
    );
    let Ok(Message::Registered(registered)) = full else {
        panic!("{full:?}");
    };
    assert_eq!(registered.client_id, "c");
    assert_eq!(
        registered.hashes,
        [(Kind::Tools, "t".into()), (Kind::Rest, "r".into())]
    );
    assert_eq!(registered.rejected[0].name, None);
    assert_eq!(registered.limits.message_bytes, 100);
    assert_eq!(registered.reconnect_within, Some(Duration::from_millis(7)));

    let empty = read(r#"{"type":"registered"}"#).unwrap();
    assert_eq!(empty, Message::Registered(Registered::default()));
}

#[test]
fn short_messages() {
    let id = CallId::parse(ID).unwrap();
    let table = [
        (PING, Message::Ping),
        (PONG, Message::Pong),
        (r#"{"type":"need","kinds":["tools"]}"#, Message::Need),
        (
            r#"{"type":"cancel","id":"01890a5d-ac96-774b-bcce-b302099a8057","reason":"timeout"}"#,
            Message::Cancel {
                id,
                reason: CancelReason::Timeout,
            },
        ),
        (
            r#"{"type":"settled","ids":["01890a5d-ac96-774b-bcce-b302099a8057","?"]}"#,
            Message::Settled { ids: vec![id] },
        ),
        (
            r#"{"type":"move","reason":"drain","withinMs":40}"#,
            Message::Move {
                within: Duration::from_millis(40),
                url: None,
            },
        ),
        (
            r#"{"type":"authorized","expiresAt":9,"expiresInMs":50}"#,
            Message::Authorized {
                expires_in: Some(Duration::from_millis(50)),
            },
        ),
        (
            r#"{"type":"subscriptions","uris":[],"id":{"of":"another type"}}"#,
            Message::Other("subscriptions".into()),
        ),
    ];
    for (text, message) in table {
        assert_eq!(read(text), Ok(message), "{text}");
    }
}

#[test]
fn what_is_no_message_is_an_error() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{"type":1}"#,
        r#"{"type":"ping""#,
        r#"{"type":"call","id":"x","method":"tools/call"}"#,
        r#"{"type":"call","id":"01890a5d-ac96-774b-bcce-b302099a8057"}"#,
        r#"{"type":"ping","type":"pong"}"#,
        r#"{"type":"settled"}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}
