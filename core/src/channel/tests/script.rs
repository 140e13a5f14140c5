//! Scripts: what goes in, then exactly what comes out. What a script leaves over fails it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::channel::{CallRequest, Channel, Claimed, Origin, Outcome, Output, Taken, Transmit};
use crate::close::{CloseCode, Closing};
use crate::ids::{CallId, ClientId};
use crate::json::Json;
use crate::mcp::version::Era;
use crate::message::Call;
use crate::registration::{ContentHash, Hashes, Kind};
use crate::secret::Secrets;
use crate::tick::Tick;
use crate::timings::Timings;
use crate::token::{self, Claims, ServeGrant, Verifier};

const NOW_UNIX_S: u64 = 1_800_000_000;

pub(super) const REGISTER: &str = r#"{"type":"register","instance":"i1","connection":1}"#;
pub(super) const RESUMING: &str =
    r#"{"type":"register","instance":"i1","connection":1,"features":["resume"]}"#;
pub(super) const WITH_TOOL: &str = r#"{"type":"register","instance":"i1","connection":1,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
pub(super) const TOOL: &str = r#"[{"name":"t","inputSchema":{"type":"object"}}]"#;

/// A channel, its clock, and what it has said.
pub(super) struct Script {
    pub(super) channel: Channel,
    pub(super) now: Tick,
}

impl Script {
    /// A connection that was just accepted, with a token for an hour.
    pub(super) fn connected() -> Self {
        Self::connected_for(3_600)
    }

    /// A connection whose token lasts so many seconds.
    pub(super) fn connected_for(token_s: u64) -> Self {
        let now = Tick(Duration::from_secs(1_000));
        let timings = Arc::new(Timings::default());
        Self {
            channel: Channel::new(grant("tab-1", token_s), timings, now),
            now,
        }
    }

    /// A connection whose registration stands.
    pub(super) fn registered() -> Self {
        Self::connected().register(REGISTER)
    }

    /// Takes a first register through to `registered`.
    pub(super) fn register(mut self, register: &str) -> Self {
        self.app(register);
        assert!(matches!(self.channel.poll_output(), Some(Output::Claim(_))));
        self.channel.handle_claimed(self.now, Claimed::Taken);
        assert!(matches!(
            self.channel.poll_output(),
            Some(Output::Registered(_))
        ));
        let Some(Transmit::Text(registered)) = self.channel.poll_transmit(self.now) else {
            panic!("registered is sent");
        };
        assert!(registered.starts_with(br#"{"type":"registered","#));
        self
    }

    /// The app sends a text. `#n` in it is the ID of call n.
    pub(super) fn app(&mut self, text: &str) -> &mut Self {
        let frame = Bytes::from(with_ids(text));
        self.channel.handle_text(self.now, &frame);
        self
    }

    /// A router asks for a call, and it is taken.
    pub(super) fn call(&mut self, n: u128) -> &mut Self {
        assert_eq!(self.channel.call(self.now, request(n)), Ok(Taken::Begun));
        self
    }

    /// A call is taken, and reaches the app.
    pub(super) fn delivered_call(&mut self, n: u128) -> &mut Self {
        self.call(n).sends(&[&call_text(n, 120_000)]);
        self.says(&[Output::Dispatched(id(n))])
    }

    /// Time jumps, stopping wherever the channel asked to be woken.
    pub(super) fn wait(&mut self, wait: Duration) -> &mut Self {
        let end = self.now + wait;
        while let Some(at) = self.channel.poll_timeout().filter(|at| *at <= end) {
            assert!(at >= self.now, "asked to be woken in the past");
            self.now = at;
            self.channel.handle_timeout(at);
        }
        self.now = end;
        self
    }

    pub(super) fn wait_ms(&mut self, ms: u64) -> &mut Self {
        self.wait(Duration::from_millis(ms))
    }

    /// The channel has said exactly this since it was asked last.
    #[track_caller]
    pub(super) fn says(&mut self, expected: &[Output]) -> &mut Self {
        let said: Vec<Output> = std::iter::from_fn(|| self.channel.poll_output()).collect();
        assert_eq!(said, expected);
        self
    }

    /// Exactly these frames wait, and are pulled. A ping is `ping`, a close frame its code and
    /// reason.
    #[track_caller]
    pub(super) fn sends(&mut self, expected: &[&str]) -> &mut Self {
        let pull = || self.channel.poll_transmit(self.now);
        let sent: Vec<String> = std::iter::from_fn(pull)
            .map(|sent| text_of(&sent))
            .collect();
        let expected: Vec<String> = expected.iter().map(|text| with_ids(text)).collect();
        assert_eq!(sent, expected);
        self
    }

    /// Nothing is said and nothing waits.
    #[track_caller]
    pub(super) fn is_quiet(&mut self) -> &mut Self {
        self.says(&[]).sends(&[])
    }

    /// The channel answers these calls, says that it ended, and sends a close frame.
    #[track_caller]
    pub(super) fn ends(&mut self, answers: &[Output], code: CloseCode, reason: &str) -> &mut Self {
        let mut said = answers.to_vec();
        said.push(Output::Ended(crate::close::Departure::of_ours(code)));
        self.says(&said);
        self.sends(&[&format!("close {} {reason}", code.number())]);
        assert!(self.channel.is_ended());
        assert_eq!(self.channel.poll_timeout(), None);
        self
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.is_quiet();
        }
    }
}

fn text_of(transmit: &Transmit) -> String {
    match transmit {
        Transmit::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
        Transmit::Ping => "ping".to_owned(),
        Transmit::Close(closing) => format!("close {} {}", closing.code(), closing.reason()),
    }
}

/// The ID of call n, up to 9.
pub(super) fn id(n: u128) -> CallId {
    CallId(uuid::Uuid::from_u128(n))
}

fn with_ids(text: &str) -> String {
    let mut text = text.to_owned();
    for n in 0..10 {
        text = text.replace(&format!("#{n}"), &id(n).to_string());
    }
    text
}

pub(super) fn json(text: &str) -> Json {
    Json::parse(text.to_owned()).unwrap()
}

/// A modern call with a deadline of 120 s that wants progress.
pub(super) fn request(n: u128) -> CallRequest {
    CallRequest {
        call: Call {
            id: id(n),
            root_id: id(n),
            round: 0,
            attempt: 0,
            method: "tools/call".to_owned(),
            params: json(r#"{"name":"t"}"#),
            deadline: Duration::from_secs(120),
            traceparent: None,
            tracestate: None,
            context: json(r#"{"progress":true,"logLevel":"debug"}"#),
        },
        era: Era::Modern,
        instance: None,
        checked: Vec::new(),
        origin: None,
    }
}

/// A call of a legacy session.
pub(super) fn legacy(n: u128, request_id: &str) -> CallRequest {
    CallRequest {
        era: Era::Legacy,
        origin: Some(Origin {
            session: "s1".to_owned(),
            request_id: json(request_id),
        }),
        ..request(n)
    }
}

/// The text of [`request`] as the app gets it.
pub(super) fn call_text(n: u128, deadline_ms: u64) -> String {
    format!(
        r##"{{"type":"call","id":"#{n}","rootId":"#{n}","round":0,"attempt":0,"method":"tools/call","params":{{"name":"t"}},"context":{{"progress":true,"logLevel":"debug"}},"deadlineMs":{deadline_ms}}}"##
    )
}

/// `registered` for these hashes, as a register with nothing to refuse is answered.
pub(super) fn registered_text(hashes: &Hashes, expires_in_ms: u64) -> String {
    let Hashes {
        tools,
        prompts,
        resources,
        rest,
    } = hashes;
    let expires_at = NOW_UNIX_S + 3_600;
    format!(
        r#"{{"type":"registered","clientId":"tab-1","hashes":{{"tools":"{tools}","prompts":"{prompts}","resources":"{resources}","rest":"{rest}"}},"rejected":[],"expiresAt":{expires_at},"expiresInMs":{expires_in_ms},"limits":{{"maxMessageBytes":4194304,"maxCallsInFlight":256,"pingIntervalMs":20000,"silenceTimeoutMs":45000}},"reconnectWithinMs":200}}"#
    )
}

/// The hashes of an app that offers [`TOOL`] alone.
pub(super) fn tool_hashes() -> Hashes {
    Hashes {
        tools: ContentHash::of(Kind::Tools, TOOL.as_bytes()),
        ..Hashes::empty()
    }
}

pub(super) fn answered(n: u128, result: &str) -> Output {
    Output::Answer(id(n), Outcome::Result(json(result)))
}

pub(super) fn ended_with(n: u128, outcome: Outcome) -> Output {
    Output::Answer(id(n), outcome)
}

/// A grant that was verified just now.
pub(super) fn grant(client_id: &str, lasts_s: u64) -> ServeGrant {
    let secrets = Secrets::new(["0123456789abcdef0123456789abcdef"]).unwrap();
    let claims = Claims {
        client_id: ClientId::parse(client_id).unwrap(),
        agent: None,
        serve: true,
        call: false,
        expires_at: NOW_UNIX_S + lasts_s,
        not_before: None,
    };
    let token = token::mint(&secrets, &claims);
    let grant = Verifier::new(&secrets).verify(&token, NOW_UNIX_S).unwrap();
    grant.serve().unwrap()
}

pub(super) fn closing(code: CloseCode, reason: &'static str) -> Closing {
    Closing::new(code, reason)
}
