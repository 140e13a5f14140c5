//! The life of one instance: which socket is in use, which is on its way, and what each message
//! and each loss leads to (SPEC.md §4).
//!
//! Pure: no I/O, no clock, no randomness of its own. There are four kinds of methods. `handle_*`
//! say what the world did; plain verbs are what the application asks for; [`Session::poll_action`]
//! yields what to do next, until there is nothing; [`Session::poll_timeout`] says when
//! [`Session::handle_timeout`] is due.
//!
//! During a move two sockets exist: the current one serves until the next one is registered, and
//! then finishes what it carries while the cluster closes it. Only the current socket's close code
//! counts, and that of the one on its way.

mod connect;
mod messages;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::ids::CallId;
use clientmcp_core::json::Json;
use clientmcp_core::message::{Call, PING};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::calls::{Bounds, Calls};
use crate::context::CancelReason;
use crate::link::{Due, Link, default_limits};
use crate::reconnect::Delays;
use crate::registration::{Offer, Registration, TooLarge};
use crate::status::{Rejected, Status};
use crate::token::{Token, TokenReason, Tokens};

/// Names a socket: the number of this connection within the instance, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SocketId(pub(crate) u64);

/// How a socket ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The close code; [`NO_CLOSE_FRAME`] if there was none.
    pub(crate) code: u16,
    /// The reason; may be empty.
    pub(crate) reason: String,
    /// The cluster asked not to come back before this.
    pub(crate) retry_after: Option<Duration>,
}

/// What to do next.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Ask the token provider; [`Session::handle_token`] follows.
    AskToken(TokenReason),
    /// Open a socket; [`Session::handle_opened`] or [`Session::handle_closed`] follows.
    Dial {
        socket: SocketId,
        url: String,
        token: Token,
    },
    /// Send a frame.
    Send { socket: SocketId, text: Utf8Bytes },
    /// Send a frame that may be dropped where the socket takes no more.
    SendNote { socket: SocketId, text: Utf8Bytes },
    /// Close a socket, or stop opening it. Nothing more is expected of it.
    Close { socket: SocketId, closing: Closing },
    /// Run a call; [`Session::handle_finished`] follows, with a frame of at most `limit` bytes.
    Run { call: Box<Call>, limit: usize },
    /// Tell a handler that nobody waits for it any more.
    Cancel { id: CallId, reason: CancelReason },
    /// The cluster took the registration of this revision.
    Accepted {
        revision: u64,
        rejected: Vec<Rejected>,
    },
    /// What somebody watches, all of it.
    Watched(Vec<String>),
    /// Where the connection stands.
    Report(Status),
    /// Something is wrong with the application or its configuration.
    Warn(String),
}

/// The connection that is on its way to take over.
#[derive(Debug)]
enum Next {
    None,
    /// Not before this time.
    Waiting {
        at: Instant,
        url: String,
    },
    /// Its token was asked for.
    Token {
        url: String,
    },
    /// It is being opened or registered.
    Socket(Box<Link>),
}

/// URIs of resources, each once, in the order in which they changed first. The oldest are forgotten
/// beyond a bound.
#[derive(Debug, Default)]
struct Updated(VecDeque<String>);

impl Updated {
    /// URIs that are kept at most.
    const KEPT: usize = 1024;

    fn add(&mut self, uri: String) {
        if self.0.contains(&uri) {
            return;
        }
        if self.0.len() == Self::KEPT {
            self.0.pop_front();
        }
        self.0.push_back(uri);
    }

    fn take(&mut self) -> VecDeque<String> {
        std::mem::take(&mut self.0)
    }
}

/// One run of an application.
pub(crate) struct Session {
    url: String,
    registration: Registration,
    tokens: Tokens,
    /// The token provider was asked and has not answered.
    asking: bool,
    delays: Delays,
    random: Box<dyn FnMut() -> f64 + Send>,
    calls: Calls,
    /// Resources that changed while nothing was connected.
    updated: Updated,
    connections: u64,
    /// The registered socket that is in use.
    current: Option<Link>,
    next: Next,
    /// Sockets that were taken over from.
    retired: Vec<Link>,
    started: bool,
    actions: VecDeque<Action>,
}

impl Session {
    /// A session that [`Session::start`] starts. `random` yields numbers in [0, 1).
    pub(crate) fn new(
        url: String,
        registration: Registration,
        tokens: Tokens,
        random: impl FnMut() -> f64 + Send + 'static,
    ) -> Self {
        Self {
            url,
            registration,
            tokens,
            asking: false,
            delays: Delays::new(),
            random: Box::new(random),
            calls: Calls::new(Bounds::default()),
            updated: Updated::default(),
            connections: 0,
            current: None,
            next: Next::None,
            retired: Vec::new(),
            started: false,
            actions: VecDeque::new(),
        }
    }

    /// Connects, whatever stopped it before.
    pub(crate) fn start(&mut self, now: Instant) {
        if self.started {
            return;
        }
        self.started = true;
        self.delays.reset();
        self.tokens.reset();
        match self.registration.check_size(self.message_bytes()) {
            Ok(()) => self.open(self.url.clone(), now),
            Err(too_large) => self.stop(None, &too_large.to_string()),
        }
    }

    /// Leaves for good: the cluster is told at once that the application is offline.
    pub(crate) fn close(&mut self) {
        if self.started {
            self.stop(None, "closed by the application");
        }
    }

    /// Replaces what is offered, and registers it on whatever is connected. Returns the revision
    /// that [`Action::Accepted`] will name, or a later one.
    pub(crate) fn set_offer(&mut self, offer: Offer) -> Result<u64, TooLarge> {
        let revision = self.registration.set_offer(offer, self.message_bytes())?;
        let next = match &self.next {
            Next::Socket(link) => Some(&**link),
            _ => None,
        };
        let open = self
            .current
            .iter()
            .chain(next)
            .filter(|link| link.is_open());
        let sockets: Vec<SocketId> = open.map(|link| link.socket).collect();
        for socket in sockets {
            match self.link(socket) {
                Some(link) if link.asked.is_some() => link.ask_again = true,
                _ => self.register(socket, false),
            }
        }
        Ok(revision)
    }

    /// What to do next; `None` until something happens.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Session::handle_timeout`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let next = match &self.next {
            Next::Waiting { at, .. } => Some(*at),
            Next::Socket(link) => link.poll_timeout(),
            Next::None | Next::Token { .. } => None,
        };
        let links = self.current.iter().chain(&self.retired);
        let renewal = self.current.as_ref().and(self.tokens.poll_timeout());
        links
            .filter_map(Link::poll_timeout)
            .chain(next)
            .chain(renewal)
            .chain(self.calls.poll_timeout())
            .min()
    }

    /// Time has passed.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.calls.handle_timeout(now);
        if self.current.is_some() && self.tokens.handle_timeout(now) {
            self.ask_token(TokenReason::Expiring);
        }
        match std::mem::replace(&mut self.next, Next::None) {
            Next::Waiting { at, url } if now >= at => self.open(url, now),
            next => self.next = next,
        }
        for (socket, due) in self.due(now) {
            match due {
                Due::Nothing => {}
                Due::Ping => self.send(socket, Utf8Bytes::from_static(PING)),
                Due::GiveUp(overdue) => self.give_up(socket, overdue, now),
            }
        }
    }

    /// The link of a socket that is known.
    fn link(&mut self, socket: SocketId) -> Option<&mut Link> {
        let next = match &mut self.next {
            Next::Socket(link) => Some(&mut **link),
            _ => None,
        };
        let mut links = self.current.iter_mut().chain(next).chain(&mut self.retired);
        links.find(|link| link.socket == socket)
    }

    /// The sockets on which something is due.
    fn due(&mut self, now: Instant) -> Vec<(SocketId, Due)> {
        let next = match &mut self.next {
            Next::Socket(link) => Some(&mut **link),
            _ => None,
        };
        let links = self.current.iter_mut().chain(next).chain(&mut self.retired);
        links
            .map(|link| (link.socket, link.handle_timeout(now)))
            .collect()
    }

    /// What a message may measure.
    fn message_bytes(&self) -> usize {
        let limits = self.current.as_ref().map(|link| link.limits);
        limits.unwrap_or_else(default_limits).max_message_bytes
    }

    fn send(&mut self, socket: SocketId, text: Utf8Bytes) {
        self.actions.push_back(Action::Send { socket, text });
    }

    fn close_socket(&mut self, socket: SocketId, code: CloseCode, reason: String) {
        let closing = Closing::new(code, reason);
        self.actions.push_back(Action::Close { socket, closing });
    }

    fn report(&mut self, status: Status) {
        self.actions.push_back(Action::Report(status));
    }

    fn warn(&mut self, text: String) {
        self.actions.push_back(Action::Warn(text));
    }
}

/// A message of ours as a frame.
fn frame(message: Json) -> Utf8Bytes {
    Utf8Bytes::try_from(message.into_bytes()).expect("JSON is UTF-8")
}
