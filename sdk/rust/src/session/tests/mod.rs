//! Scripts: something happens, and then exactly these actions follow. What a script does not
//! expect fails it.

mod calls;
mod connections;
mod tokens;

use std::time::{Duration, Instant};

use clientmcp_core::ids::InstanceId;

use super::*;
use crate::registration::About;

const CALL: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

struct Script {
    session: Session,
    now: Instant,
}

impl Script {
    fn new(tokens: Tokens) -> Self {
        let registration = Registration::new(
            InstanceId::parse("i").unwrap(),
            About::default(),
            offer("[]"),
        );
        // Half of every window.
        let session = Session::new("ws://a".to_owned(), registration, tokens, || 0.5);
        Self {
            session,
            now: Instant::now(),
        }
    }

    /// A session with one registered socket.
    fn online() -> Self {
        let mut script = Self::new(Tokens::fixed(token("t")));
        script.session.start(script.now);
        script.actions();
        script.register(1);
        script
    }

    /// Opens a socket that is on its way, and has it registered.
    fn register(&mut self, socket: u64) {
        self.session.handle_opened(SocketId(socket), self.now);
        self.receive(socket, &registered(100));
        self.actions();
    }

    fn receive(&mut self, socket: u64, text: &str) {
        self.session
            .handle_received(SocketId(socket), text.into(), self.now);
    }

    fn lose(&mut self, socket: u64, code: u16, reason: &str) {
        let ending = Ending {
            code,
            reason: reason.to_owned(),
            retry_after: None,
        };
        self.session
            .handle_closed(SocketId(socket), ending, self.now);
    }

    /// Jumps to the next time at which something is due, and returns how far that was.
    fn jump(&mut self) -> Duration {
        let at = self.session.poll_timeout().expect("nothing is due");
        let jump = at.saturating_duration_since(self.now);
        self.now = at.max(self.now);
        self.session.handle_timeout(self.now);
        jump
    }

    fn actions(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.session.poll_action())
            .map(|action| line(&action))
            .collect()
    }

    #[track_caller]
    fn expect<const N: usize>(&mut self, lines: [&str; N]) {
        assert_eq!(self.actions(), lines);
    }
}

/// An action in one line.
fn line(action: &Action) -> String {
    match action {
        Action::AskToken(reason) => format!("ask token {reason:?}"),
        Action::Dial { socket, url, token } => {
            format!("dial {} {url} {}", socket.0, token.as_str())
        }
        Action::Send { socket, text } => format!("send {} {}", socket.0, short(text)),
        Action::SendNote { socket, text } => format!("note {} {}", socket.0, short(text)),
        Action::Close { socket, closing } => format!("close {} {closing}", socket.0),
        Action::Run { call, limit } => format!("run {} within {limit}", call.params.as_str()),
        Action::Cancel { reason, .. } => format!("cancel {reason:?}"),
        Action::Accepted { revision, .. } => format!("accepted {revision}"),
        Action::Watched(uris) => format!("watched {uris:?}"),
        Action::Report(Status::Online(online)) => format!("online {}", online.connection),
        Action::Report(Status::Connecting) => "connecting".to_owned(),
        Action::Report(Status::Offline {
            code,
            reason,
            retry_in,
        }) => format!("offline {code:?} {reason}, {} ms", retry_in.as_millis()),
        Action::Report(Status::Stopped(stopped)) => {
            format!("stopped {:?} {}", stopped.code, stopped.reason)
        }
        Action::Warn(text) => format!("warn {text}"),
    }
}

/// A message without what is the same in all of them.
fn short(text: &str) -> String {
    let connection = text.find(r#""connection":"#).map(|at| &text[at..]);
    match connection {
        Some(register) if register.contains("hash") => "register by hash".to_owned(),
        Some(_) => "register".to_owned(),
        None => text.replace(CALL, "ID"),
    }
}

fn token(text: &str) -> Token {
    Token::parse(text).unwrap()
}

/// Tools from the text of a list of strings.
fn offer(tools: &'static str) -> Offer {
    let tools: Vec<String> = serde_json::from_str(tools).unwrap();
    Offer {
        tools: tools.iter().map(Json::of).collect(),
        ..Offer::default()
    }
}

/// `registered`, with a token that lives for so many seconds.
fn registered(seconds: u64) -> String {
    let hash = "A".repeat(43);
    format!(
        r#"{{"type":"registered","clientId":"c","hashes":{{"tools":"{hash}","prompts":"{hash}","resources":"{hash}","rest":"{hash}"}},
            "rejected":[],"expiresAt":1,"expiresInMs":{},"limits":{{"maxMessageBytes":1000,"maxCallsInFlight":256,"pingIntervalMs":20000,"silenceTimeoutMs":45000}},
            "reconnectWithinMs":200}}"#,
        seconds * 1000
    )
}

fn call(attempt: u32) -> String {
    format!(
        r#"{{"type":"call","id":"{CALL}","rootId":"{CALL}","round":0,"attempt":{attempt},"method":"tools/call","params":{{ "name":"a"}},"deadlineMs":120000,
            "context":{{"protocolVersion":"2025-11-25","clientCapabilities":{{}},"subject":"s","progress":true,"tasks":false}}}}"#
    )
}
