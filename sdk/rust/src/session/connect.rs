//! Which socket is in use and which is on its way: opening, losing, waiting, stopping.

use std::time::{Duration, Instant};

use clientmcp_core::close::CloseCode;
use clientmcp_core::message::AppMessage;
use clientmcp_core::token::BearerToken;

use super::{Action, Ending, Next, Session, SocketId, frame};
use crate::link::{Link, Overdue};
use crate::reconnect::{self, Decision, NO_CLOSE_FRAME, Pace, Situation};
use crate::status::{Status, Stopped};
use crate::token::{Source, Token, TokenReason};

impl Session {
    /// The token provider answered; an error is its text.
    pub(crate) fn handle_token(&mut self, answer: Result<String, String>, now: Instant) {
        self.asking = false;
        if !self.started {
            return;
        }
        let failure = match answer.map(|text| Token::parse(&text)) {
            Ok(Ok(token)) => match self.tokens.handle_token(token.clone(), now) {
                Ok(()) => return self.use_token(token, now),
                Err(useless) => return self.stop(None, useless),
            },
            Ok(Err(none)) if matches!(self.next, Next::Token { .. }) => {
                return self.stop(None, none);
            }
            Ok(Err(none)) => none.to_owned(),
            Err(failure) => format!("the token provider failed: {failure}"),
        };
        self.warn(failure.clone());
        let usable = self.tokens.handle_no_token(now);
        match (std::mem::replace(&mut self.next, Next::None), usable) {
            (Next::Token { url }, Some(token)) => self.dial(&url, token, now),
            (Next::Token { .. }, None) => self.reconnect(Pace::Backoff, None, failure, None, now),
            (next, _) => self.next = next,
        }
    }

    /// A socket ended, or could not be opened.
    pub(crate) fn handle_closed(&mut self, socket: SocketId, ending: Ending, now: Instant) {
        let was_current = self
            .current
            .as_ref()
            .is_some_and(|link| link.socket == socket);
        let was_next = matches!(&self.next, Next::Socket(link) if link.socket == socket);
        self.retired.retain(|link| link.socket != socket);
        if was_next {
            self.next = Next::None;
        }
        if was_current {
            self.current = None;
            if !self.hands_over(ending.code) {
                self.delays.handle_lost(now);
            }
        }
        let situation = Situation {
            current: was_current || was_next,
            token_renewable: self.tokens.is_renewable(),
        };
        let decision = reconnect::decide(ending.code, situation);
        self.follow(decision, ending, was_current, now);
    }

    fn follow(&mut self, decision: Decision, ending: Ending, was_current: bool, now: Instant) {
        let code = ending.code;
        let mut reason = ending.reason;
        if reason.is_empty() {
            reason = reconnect::meaning(code).to_owned();
        }
        match decision {
            Decision::Ignore => {}
            Decision::Stop => self.stop(Some(code), &reason),
            Decision::NewToken => match self.tokens.handle_refused() {
                Some(hopeless) => self.stop(Some(code), &format!("{reason} ({hopeless})")),
                None => self.reconnect(Pace::Spread, Some(code), reason, None, now),
            },
            Decision::Reconnect(pace) => {
                if reconnect::is_reported(code) {
                    self.warn(format!("the connection was closed ({code}): {reason}"));
                }
                if was_current && self.is_under_way() {
                    // A loss of another kind leaves the application offline until then.
                    if !self.hands_over(code) {
                        self.report(Status::Connecting);
                    }
                } else {
                    self.reconnect(pace, Some(code), reason, ending.retry_after, now);
                }
            }
        }
    }

    /// Whether the next connection is being opened.
    fn is_under_way(&self) -> bool {
        matches!(self.next, Next::Token { .. } | Next::Socket(_))
    }

    /// Whether this code of the socket in use says that the next one takes over: the cluster closes
    /// the former just before it tells the latter.
    fn hands_over(&self, code: u16) -> bool {
        code == CloseCode::Normal.number() && self.is_under_way()
    }

    /// Connects after a delay. `code` and `reason` say why, in case nothing else is connected.
    fn reconnect(
        &mut self,
        pace: Pace,
        code: Option<u16>,
        reason: String,
        not_before: Option<Duration>,
        now: Instant,
    ) {
        self.drop_next();
        if self.current.is_none() {
            self.delays.handle_lost(now);
        }
        let delay = self.delays.next(pace, (self.random)());
        let delay = delay.max(not_before.unwrap_or_default());
        self.next = Next::Waiting {
            at: now + delay,
            url: self.url.clone(),
        };
        if self.current.is_none() {
            self.report(Status::Offline {
                code: code.filter(|&code| code != NO_CLOSE_FRAME),
                reason,
                retry_in: delay,
            });
        }
    }

    pub(super) fn open(&mut self, url: String, now: Instant) {
        if self.current.is_none() {
            self.report(Status::Connecting);
        }
        match self.tokens.for_connection(now) {
            Source::Present(token) => self.dial(&url, token, now),
            Source::Ask(reason) => {
                self.next = Next::Token { url };
                self.ask_token(reason);
            }
        }
    }

    fn dial(&mut self, url: &str, token: Token, now: Instant) {
        self.connections += 1;
        let socket = SocketId(self.connections);
        self.next = Next::Socket(Box::new(Link::new(socket, token.clone(), now)));
        self.actions.push_back(Action::Dial {
            socket,
            url: url.to_owned(),
            token,
        });
    }

    pub(super) fn ask_token(&mut self, reason: TokenReason) {
        if !std::mem::replace(&mut self.asking, true) {
            self.actions.push_back(Action::AskToken(reason));
        }
    }

    /// A new token came: for the socket that waits for it, and for the one in use.
    fn use_token(&mut self, token: Token, now: Instant) {
        match std::mem::replace(&mut self.next, Next::None) {
            Next::Token { url } => self.dial(&url, token, now),
            next => self.next = next,
        }
        self.renew_current();
    }

    /// Gives the socket in use the present token, if it was opened with another.
    pub(super) fn renew_current(&mut self) {
        let (Some(link), Some(token)) = (&mut self.current, self.tokens.present()) else {
            return;
        };
        if link.token != *token {
            link.token = token.clone();
            let socket = link.socket;
            let token = BearerToken::new(token.as_str());
            self.send(socket, frame(AppMessage::Auth { token }.to_json()));
        }
    }

    pub(super) fn give_up(&mut self, socket: SocketId, overdue: Overdue, now: Instant) {
        let (close, code, reason) = match overdue {
            Overdue::Open => {
                let reason = format!("no answer from {}", self.url);
                (CloseCode::TimedOut, NO_CLOSE_FRAME, reason)
            }
            Overdue::Registered => {
                let reason = "not registered in time".to_owned();
                (CloseCode::TimedOut, CloseCode::TimedOut.number(), reason)
            }
            Overdue::Silent(time) => {
                let reason = format!("nothing was received for {} s", time.as_secs_f32());
                (CloseCode::TimedOut, CloseCode::TimedOut.number(), reason)
            }
            Overdue::Retired => {
                let reason = "another connection took over".to_owned();
                (CloseCode::Normal, CloseCode::Normal.number(), reason)
            }
        };
        self.close_socket(socket, close, reason.clone());
        let ending = Ending {
            code,
            reason,
            retry_after: None,
        };
        self.handle_closed(socket, ending, now);
    }

    pub(super) fn stop(&mut self, code: Option<u16>, reason: &str) {
        self.started = false;
        self.drop_next();
        let links = self
            .current
            .take()
            .into_iter()
            .chain(self.retired.drain(..));
        let sockets: Vec<SocketId> = links.map(|link| link.socket).collect();
        for socket in sockets {
            self.close_socket(
                socket,
                CloseCode::Normal,
                "the application stopped".to_owned(),
            );
        }
        self.report(Status::Stopped(Stopped {
            code,
            reason: reason.to_owned(),
        }));
    }

    fn drop_next(&mut self) {
        if let Next::Socket(link) = std::mem::replace(&mut self.next, Next::None) {
            self.close_socket(
                link.socket,
                CloseCode::Normal,
                "not needed any more".to_owned(),
            );
        }
    }
}
