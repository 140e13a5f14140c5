use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::ids::{CallId, ClientId, InstanceId, Subject};
use crate::json::{Json, Text};
use crate::registration::{ContentHash, Hashes, Kind};
use crate::texts;
use crate::token::BearerToken;

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

fn id() -> CallId {
    CallId::parse(ID).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text.to_owned()).unwrap()
}

fn text(text: &str) -> Text {
    Text::new(Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

fn app(message: &str) -> Result<Option<AppMessage>, MessageError> {
    AppMessage::read(&text(&message.replace("ID", ID)))
}

#[test]
fn messages_of_apps_are_read_verbatim() {
    let read = app(r#"{"type":"result","id":"ID","result":{"n":1e400,"a":1,"a":2},"more":[]}"#);
    let result = json(r#"{"n":1e400,"a":1,"a":2}"#);
    assert_eq!(read, Ok(Some(AppMessage::Result { id: id(), result })));

    let read =
        app(r#"{"error":{"code":-32602,"message":"no","data":[1]},"id":"ID","type":"error"}"#);
    let error = json(r#"{"code":-32602,"message":"no","data":[1]}"#);
    assert_eq!(read, Ok(Some(AppMessage::Error { id: id(), error })));

    let read = app(r#"{"type":"progress","id":"ID","progress":1.0,"total":null,"message":"x"}"#);
    let progress = Progress {
        progress: json("1.0"),
        total: None,
        message: Some(json("\"x\"")),
    };
    assert_eq!(
        progress.to_json().as_str(),
        r#"{"progress":1.0,"message":"x"}"#
    );
    assert_eq!(read, Ok(Some(AppMessage::Progress { id: id(), progress })));

    let read = app(r#"{"type":"log","id":"ID","level":"info"}"#);
    let log = Log {
        level: LogLevel::Info,
        logger: None,
        data: Json::NULL,
    };
    assert_eq!(log.to_json().as_str(), r#"{"level":"info","data":null}"#);
    assert_eq!(read, Ok(Some(AppMessage::Log { id: id(), log })));

    let read = app(r#"{"type":"auth","token":"a.b.c"}"#);
    let token = BearerToken::new("a.b.c");
    assert_eq!(read, Ok(Some(AppMessage::Auth { token })));

    assert_eq!(
        app(r#"{"type":"result","id":"ID","result":null}"#)
            .unwrap()
            .unwrap()
            .to_json(),
        json(&format!(r#"{{"type":"result","id":"{ID}","result":null}}"#))
    );
    for (text, message) in [(PING, AppMessage::Ping), (PONG, AppMessage::Pong)] {
        assert_eq!(app(text), Ok(Some(message.clone())));
        assert_eq!(app(&text.replace(':', " : ")), Ok(Some(message.clone())));
        assert_eq!(message.to_json().as_str(), text);
    }
}

#[test]
fn answers_under_ids_that_no_cluster_gives_out_are_nobodys() {
    for kind in [
        r#""type":"result","result":1"#,
        r#""type":"error","error":{"code":1,"message":""}"#,
        r#""type":"progress","progress":1"#,
        r#""type":"log","level":"info","data":1"#,
        r#""type":"task""#,
    ] {
        assert_eq!(app(&format!(r#"{{"id":"call-7",{kind}}}"#)), Ok(None));
        let error = app(&format!(r#"{{"id":7,{kind}}}"#)).unwrap_err();
        assert!(
            error.to_string().ends_with(": id must be a string"),
            "{error}"
        );
    }
}

#[test]
fn what_is_not_understood_closes_with_4400_and_says_why() {
    let closing = |message: &str| {
        let closing = app(message).unwrap_err().closing();
        assert_eq!(closing.code(), CloseCode::NotUnderstood);
        closing.reason().to_owned()
    };
    assert_eq!(
        closing(r#"{"type":"subscribe"}"#),
        "unknown message type \"subscribe\""
    );
    assert_eq!(
        closing(r#"{"type":"result","id":"ID"}"#),
        "result: result is missing"
    );
    assert_eq!(
        closing(r#"{"type":"auth"}"#),
        "auth: token must be a string"
    );
    assert_eq!(
        closing(r#"{"type":"error","id":"ID","error":"no"}"#),
        "error: error must be an object with an integer code and a message"
    );
    assert_eq!(
        closing(r#"{"type":"progress","id":"ID","progress":"1"}"#),
        "progress: progress must be a number"
    );
    assert_eq!(
        closing(r#"{"type":"log","id":"ID","level":"loud","data":1}"#),
        "log: level must be one of syslog's eight"
    );
    for unreadable in [
        "[]",
        "1",
        "{}",
        "{",
        r#"{"type":7}"#,
        r#"{"type":"ping","type":"ping"}"#,
        r#"{"type":"result","id":"ID","result":1,"r\u0065sult":2}"#,
        r#"["result","ID",1]"#,
    ] {
        let reason = closing(unreadable);
        assert!(
            reason.starts_with("the message is no JSON object"),
            "{unreadable}: {reason}"
        );
    }
}

#[test]
fn a_long_type_is_not_sent_back_whole() {
    let error = app(&format!(r#"{{"type":"{}"}}"#, "é".repeat(200))).unwrap_err();
    assert_eq!(error, MessageError::UnknownType("é".repeat(32)));
}

fn call(params: Json, context: Json) -> Call {
    Call {
        id: id(),
        root_id: id(),
        round: 1,
        attempt: 2,
        method: "tools/call".to_owned(),
        params,
        deadline: Duration::from_millis(1_500),
        traceparent: Some("00-\"x\"".to_owned()),
        tracestate: None,
        context,
    }
}

#[test]
fn a_call_is_written_as_the_specification_has_it() {
    let written = call(json(r#"{"name":"t"}"#), Json::EMPTY_OBJECT).to_json();
    let expected = format!(
        r#"{{"type":"call","id":"{ID}","rootId":"{ID}","round":1,"attempt":2,"method":"tools/call","params":{{"name":"t"}},"traceparent":"00-\"x\"","context":{{}},"deadlineMs":1500}}"#
    );
    assert_eq!(written.as_str(), expected);
}

#[test]
fn a_prepared_call_is_never_longer_than_it_says() {
    for ms in [0, 1, 120_000, u64::MAX] {
        let prepared = call(json("{}"), json("{}")).prepare();
        let max_len = prepared.max_len();
        assert!(prepared.finish(Duration::from_millis(ms)).len() <= max_len);
    }
}

fn hashes() -> Hashes {
    Hashes::each(|kind| ContentHash::of(kind, b"x"))
}

#[test]
fn messages_of_the_cluster_are_read_as_they_were_written() {
    let registered = Registered {
        client_id: ClientId::parse("tab-1").unwrap(),
        hashes: hashes(),
        rejected: vec![
            Rejection {
                kind: Kind::Tools,
                name: Some("a \"b\"".to_owned()),
                reason: "name must differ".into(),
            },
            Rejection {
                kind: Kind::Rest,
                name: None,
                reason: "more".into(),
            },
        ],
        expires_at: 1_800_000_000,
        expires_in: Duration::from_millis(59_500),
        limits: ChannelLimits::from(&crate::timings::Timings::default()),
        reconnect_within: Duration::from_millis(200),
    };
    for message in [
        ClusterMessage::Registered(Box::new(registered)),
        ClusterMessage::Need {
            kinds: Kind::ALL.to_vec(),
        },
        ClusterMessage::Cancel {
            id: id(),
            reason: CancelReason::Disconnect,
        },
        ClusterMessage::Settled { ids: vec![id(); 2] },
        ClusterMessage::Move {
            reason: MoveReason::Drain,
            within: Duration::from_secs(1),
            url: Some("wss://n1/v1/connect".to_owned()),
        },
        ClusterMessage::Subscriptions {
            uris: vec!["a:\"b\"".to_owned()],
        },
        ClusterMessage::Authorized {
            expires_at: 7,
            expires_in: Duration::from_secs(7),
        },
        ClusterMessage::Ping,
        ClusterMessage::Pong,
    ] {
        let read = ClusterMessage::read(&text(message.to_json().as_str()));
        assert_eq!(read, Ok(message));
    }
}

#[test]
fn an_sdk_understands_what_a_later_cluster_says_as_far_as_it_can() {
    let read = |message: &str| ClusterMessage::read(&text(&message.replace("ID", ID)));
    let more = r#"{"type":"need","kinds":["tools","moods"],"hint":{"x":[]}}"#;
    let need = ClusterMessage::Need {
        kinds: vec![Kind::Tools],
    };
    assert_eq!(read(more), Ok(need));
    let cancel = read(r#"{"type":"cancel","id":"ID","reason":"boredom"}"#);
    let reason = CancelReason::Disconnect;
    assert_eq!(cancel, Ok(ClusterMessage::Cancel { id: id(), reason }));
    let least = read(
        r#"{"type":"registered","clientId":"a","rejected":[{"kind":"moods"},{"kind":"tools"}],"limits":{"maxMessageBytes":7}}"#,
    );
    let Ok(ClusterMessage::Registered(least)) = least else {
        panic!("{least:?}")
    };
    assert_eq!(least.hashes, Hashes::empty());
    assert_eq!(
        (least.rejected.len(), least.limits.max_message_bytes),
        (1, 7)
    );
    assert_eq!(least.reconnect_within, Duration::from_millis(200));
}

#[test]
fn an_sdk_refuses_what_it_cannot_act_on() {
    let read = |message: &str| ClusterMessage::read(&text(&message.replace("ID", ID)));
    assert_eq!(
        read(r#"{"type":"dance"}"#),
        Err(MessageError::UnknownType("dance".to_owned()))
    );
    for (wrong, why) in [
        (r#"{"type":"cancel","id":"7"}"#, "cancel: id must be a UUID"),
        (
            r#"{"type":"call","method":"x","context":{}}"#,
            "call: id must be a UUID",
        ),
        (
            r#"{"type":"call","id":"ID","context":{}}"#,
            "call: method is missing",
        ),
        (
            r#"{"type":"call","id":"ID","method":"x"}"#,
            "call: context is missing",
        ),
        (
            r#"{"type":"registered"}"#,
            "registered: clientId must be a client ID",
        ),
    ] {
        assert_eq!(read(wrong).unwrap_err().to_string(), why);
    }
    for unreadable in ["[]", "{", r#"{"type":"ping","type":"ping"}"#] {
        assert!(
            matches!(read(unreadable), Err(MessageError::Unreadable(_))),
            "{unreadable}"
        );
    }
}

#[test]
fn a_context_survives_its_text() {
    let context = CallContext {
        protocol_version: "2025-11-25".to_owned(),
        client_info: Some(json(r#"{"name":"x","version":"1","n":1e400}"#)),
        client_capabilities: json(r#"{"sampling":{}}"#),
        subject: Subject::parse("alice \"a\"").unwrap(),
        log_level: Some(LogLevel::Warning),
        progress: true,
        tasks: false,
    };
    assert_eq!(CallContext::read(&context.to_json()), Ok(context));
    let least = json(
        r#"{"protocolVersion":"x","clientCapabilities":{},"subject":"a","logLevel":"loudest"}"#,
    );
    let least = CallContext::read(&least).unwrap();
    assert_eq!(
        (least.log_level, least.progress, least.tasks),
        (None, false, false)
    );
}

#[test]
fn a_register_is_written_in_full_or_by_hash() {
    let hash = ContentHash::of(Kind::Tools, b"x");
    let mut register = Register {
        instance: InstanceId::parse("i1").unwrap(),
        connection: 3,
        moving: true,
        resume: true,
        tools: ByHash::Full(vec![json(r#"{"name":"a"}"#)]),
        prompts: ByHash::Full(Vec::new()),
        resources: ByHash::Full(Resources {
            list: ResourceList::Listed(Vec::new()),
            templates: Vec::new(),
        }),
        rest: ByHash::Full(Rest {
            server_info: Some(json(r#"{"name":"n","version":"1"}"#)),
            instructions: Some("read\nme".to_owned()),
            tool_options: None,
            completions: false,
            ttl_ms: Some(5),
        }),
    };
    assert_eq!(
        register.to_json().as_str(),
        r#"{"type":"register","instance":"i1","connection":3,"moving":true,"features":["resume"],"serverInfo":{"name":"n","version":"1"},"instructions":"read\nme","ttlMs":5,"tools":[{"name":"a"}]}"#
    );
    register.moving = false;
    register.resume = false;
    register.tools = ByHash::Hash(hash);
    register.prompts = ByHash::Hash(hash);
    register.resources = ByHash::Hash(hash);
    register.rest = ByHash::Hash(hash);
    let named: Vec<_> = ["rest", "tools", "prompts", "resources"]
        .iter()
        .map(|kind| format!(r#","{kind}":{{"hash":"{hash}"}}"#))
        .collect();
    assert_eq!(
        register.to_json().as_str(),
        format!(
            r#"{{"type":"register","instance":"i1","connection":3{}}}"#,
            named.concat()
        )
    );
}

#[test]
fn a_register_names_what_is_offered() {
    let entries = |text: &str| vec![json(text)];
    let mut register = Register {
        instance: InstanceId::parse("i1").unwrap(),
        connection: 1,
        moving: false,
        resume: false,
        tools: ByHash::Full(Vec::new()),
        prompts: ByHash::Full(entries("1")),
        resources: ByHash::Full(Resources {
            list: ResourceList::Listed(entries("2")),
            templates: entries("3"),
        }),
        rest: ByHash::Full(Rest {
            completions: true,
            ..Rest::default()
        }),
    };
    let head = r#"{"type":"register","instance":"i1","connection":1,"completions":true,"tools":[],"prompts":[1]"#;
    assert_eq!(
        register.to_json().as_str(),
        format!(r#"{head},"resources":[2],"resourceTemplates":[3]}}"#)
    );
    register.resources = ByHash::Full(Resources {
        list: ResourceList::Dynamic,
        templates: Vec::new(),
    });
    assert_eq!(
        register.to_json().as_str(),
        format!(r#"{head},"resources":"dynamic"}}"#)
    );
}

#[test]
fn a_task_has_the_members_that_were_set() {
    let full = r#"{"type":"task","id":"ID","ttlMs":1,"pollIntervalMs":2,"statusMessage":"x"}"#;
    let none = r#"{"type":"task","id":"ID"}"#;
    let task = Task {
        ttl_ms: Some(1),
        poll_interval_ms: Some(2),
        status_message: Some(json("\"x\"")),
    };
    for (message, task) in [(full, task), (none, Task::default())] {
        let task = AppMessage::Task { id: id(), task };
        assert_eq!(app(message), Ok(Some(task.clone())));
        assert_eq!(task.to_json().as_str(), message.replace("ID", ID));
    }
    for wrong in [
        r#""ttlMs":-1"#,
        r#""pollIntervalMs":"1""#,
        r#""statusMessage":1"#,
    ] {
        assert!(app(&format!(r#"{{"type":"task","id":"ID",{wrong}}}"#)).is_err());
    }
}

proptest! {
    #[test]
    fn payloads_pass_through_every_message_verbatim(
        payload in texts::value(),
        object in texts::object(),
        number in texts::number(),
        string in texts::string(),
        blank in texts::blank(),
    ) {
        let payload = json(&payload);
        let messages = [
            AppMessage::Result { id: id(), result: payload.clone() },
            AppMessage::Log { id: id(), log: Log {
                level: LogLevel::Error, logger: Some(json(&string)), data: payload.clone(),
            } },
            AppMessage::Progress { id: id(), progress: Progress {
                progress: json(&number), total: Some(json(&number)), message: Some(json(&string)),
            } },
        ];
        for message in messages {
            let written = format!("{blank}{}{blank}", message.to_json().as_str());
            prop_assert_eq!(AppMessage::read(&text(&written)), Ok(Some(message)));
        }
        let call = ClusterMessage::Call(Box::new(call(json(&object), json(&object))));
        prop_assert_eq!(ClusterMessage::read(&text(call.to_json().as_str())), Ok(call));
    }

    #[test]
    fn progress_has_a_value_whatever_the_number_is(number in texts::number()) {
        let progress = Progress { progress: json(&number), total: None, message: None };
        prop_assert!(!progress.value().is_nan());
    }
}
