//! The one loop of an application: hands what happens to the [`Session`], and does what it says.
//!
//! It starts three kinds of tasks: one for each socket, which ends with the socket; one for each
//! call, which ends with its handler; one for each question to the token provider, which has a
//! deadline. The loop itself ends when the application closes, or when nobody holds its
//! [`App`](crate::App) any more.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::TaskTracker;

use crate::alarm::Alarm;
use crate::context::CancelReason;
use crate::dial::Dialer;
use crate::dispatch::Dispatch;
use crate::event::Event;
use crate::offers::{Offers, Part};
use crate::registration::TooLarge;
use crate::session::{Action, Session, SocketId};
use crate::socket::{self, Outbox};
use crate::status::{Rejected, Status, Stopped};
use crate::token::{Token, TokenReason};

/// Events that may wait for the loop.
const EVENTS: usize = 256;
/// How long the token provider may take.
const TOKEN_WITHIN: Duration = Duration::from_secs(30);
/// How long sockets may take to close when the application does.
const CLOSED_WITHIN: Duration = Duration::from_secs(3);

/// Yields tokens; an error is its text.
pub(crate) type TokenProvider =
    Arc<dyn Fn(TokenReason) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// What the application asks for.
#[derive(Debug)]
pub(crate) enum Command {
    Offer {
        part: Part,
        accepted: oneshot::Sender<Result<Vec<Rejected>, OfferError>>,
    },
    ResourceUpdated {
        uri: String,
    },
    Reconnect,
    Close {
        closed: oneshot::Sender<()>,
    },
}

/// Why what is offered was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OfferError {
    /// No message can carry it; what was offered before stays.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The connection has stopped before the cluster took it. It is registered if the connection is
    /// started anew.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Somebody waits until this revision of the registration is accepted.
struct Waiter {
    revision: u64,
    accepted: oneshot::Sender<Result<Vec<Rejected>, OfferError>>,
}

/// An application's loop and what it holds.
pub(crate) struct Driver {
    session: Session,
    offers: Offers,
    dispatch: Dispatch,
    dialer: Dialer,
    provider: Option<TokenProvider>,
    sockets: HashMap<SocketId, Outbox>,
    tasks: TaskTracker,
    events: mpsc::Receiver<Event>,
    events_sender: mpsc::Sender<Event>,
    commands: mpsc::Receiver<Command>,
    told: Told,
    waiters: Vec<Waiter>,
}

/// Where the application's developer can look.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: watch::Sender<Status>,
    /// The URIs that somebody watches.
    pub(crate) watched: watch::Sender<Vec<String>>,
}

impl Driver {
    pub(crate) fn new(
        session: Session,
        offers: Offers,
        dialer: Dialer,
        provider: Option<TokenProvider>,
        commands: mpsc::Receiver<Command>,
        told: Told,
    ) -> Self {
        let (events_sender, events) = mpsc::channel(EVENTS);
        Self {
            session,
            dispatch: Dispatch::new(&offers, events_sender.clone()),
            offers,
            dialer,
            provider,
            sockets: HashMap::new(),
            tasks: TaskTracker::new(),
            events,
            events_sender,
            commands,
            told,
            waiters: Vec::new(),
        }
    }

    /// Runs until the application closes.
    pub(crate) async fn run(mut self) {
        self.session.start(now());
        let closed = self.serve().await;
        self.session.close();
        self.dispatch.cancel_all(CancelReason::Closed);
        self.act();
        self.tasks.close();
        if tokio::time::timeout(CLOSED_WITHIN, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::debug!("a socket did not close in time");
        }
        if let Some(closed) = closed {
            // Whoever asked may have stopped waiting.
            _ = closed.send(());
        }
    }

    /// Runs until somebody asks to close, who is returned, or nobody can ask any more.
    async fn serve(&mut self) -> Option<oneshot::Sender<()>> {
        let mut alarm = Alarm::new();
        loop {
            self.act();
            if let Some(at) = self.session.poll_timeout() {
                alarm.set_before(at);
            }
            // Not biased: whatever comes and comes again keeps nothing else from its turn.
            tokio::select! {
                Some(event) = self.events.recv() => self.handle_event(event),
                command = self.commands.recv() => match command {
                    Some(Command::Close { closed }) => return Some(closed),
                    Some(Command::Offer { part, accepted }) => self.set_offer(part, accepted),
                    Some(Command::ResourceUpdated { uri }) => self.session.resource_updated(uri),
                    Some(Command::Reconnect) => self.session.start(now()),
                    None => return None,
                },
                () = alarm.rung() => self.session.handle_timeout(now()),
            }
        }
    }

    fn handle_event(&mut self, event: Event) {
        let now = now();
        match event {
            Event::Opened(socket) => self.session.handle_opened(socket, now),
            Event::Received(socket, text) => self.session.handle_received(socket, text, now),
            Event::Alive(socket) => self.session.handle_alive(socket, now),
            Event::Closed(socket, ending) => {
                tracing::debug!(socket = socket.0, code = ending.code, "{}", ending.reason);
                self.sockets.remove(&socket);
                self.session.handle_closed(socket, ending, now);
            }
            Event::Token(answer) => self.session.handle_token(answer, now),
            Event::Note(call, note) => self.session.handle_note(call, note),
            Event::Task(call, task) => self.session.handle_task(call, task),
            Event::Finished(call, answer) => {
                self.dispatch.handle_finished(call);
                self.session.handle_finished(call, answer, now);
            }
        }
    }

    /// Does what the session says until it says nothing more.
    fn act(&mut self) {
        while let Some(action) = self.session.poll_action() {
            match action {
                Action::AskToken(reason) => self.ask_token(reason),
                Action::Dial { socket, url, token } => self.dial(socket, url, token),
                Action::Send { socket, text } => {
                    if let Some(outbox) = self.sockets.get(&socket) {
                        outbox.send(text);
                    }
                }
                Action::SendNote { socket, text } => {
                    let outbox = self.sockets.get(&socket);
                    if outbox.is_some_and(|outbox| !outbox.send_if_room(text)) {
                        tracing::debug!(socket = socket.0, "a message to an agent was dropped");
                    }
                }
                Action::Close { socket, closing } => {
                    if let Some(outbox) = self.sockets.remove(&socket) {
                        outbox.close(closing);
                    }
                }
                Action::Run { call, limit } => self.dispatch.run(*call, limit),
                Action::Cancel { id, reason } => self.dispatch.cancel(id, reason),
                Action::Accepted { revision, rejected } => self.accept(revision, &rejected),
                Action::Watched(uris) => self.watched(uris),
                Action::Report(status) => self.report(status),
                Action::Warn(text) => tracing::warn!("{text}"),
            }
        }
    }

    fn dial(&mut self, id: SocketId, url: String, token: Token) {
        let (outbox, inbox) = socket::outbox();
        self.sockets.insert(id, outbox);
        let (dialer, events) = (self.dialer.clone(), self.events_sender.clone());
        tracing::debug!(socket = id.0, url, "connecting");
        self.tasks
            .spawn(socket::run(id, dialer, url, token, inbox, events));
    }

    fn ask_token(&self, reason: TokenReason) {
        let Some(provider) = self.provider.clone() else {
            return;
        };
        let events = self.events_sender.clone();
        tokio::spawn(async move {
            let ask = AssertUnwindSafe(async { provider(reason).await }).catch_unwind();
            let answer = match tokio::time::timeout(TOKEN_WITHIN, ask).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err("it panicked".to_owned()),
                Err(_) => Err(format!("no answer within {} s", TOKEN_WITHIN.as_secs())),
            };
            _ = events.send(Event::Token(answer)).await;
        });
    }

    fn set_offer(
        &mut self,
        part: Part,
        accepted: oneshot::Sender<Result<Vec<Rejected>, OfferError>>,
    ) {
        let offers = self.offers.clone().with(part);
        let error = match self.session.set_offer(offers.offer()) {
            Err(too_large) => OfferError::TooLarge(too_large),
            Ok(revision) => {
                self.dispatch.set_offers(&offers);
                self.offers = offers;
                let stopped = match &*self.told.status.borrow() {
                    Status::Stopped(stopped) => Some(stopped.clone()),
                    _ => None,
                };
                let Some(stopped) = stopped else {
                    return self.waiters.push(Waiter { revision, accepted });
                };
                OfferError::Stopped(stopped)
            }
        };
        _ = accepted.send(Err(error));
    }

    fn watched(&self, mut uris: Vec<String>) {
        uris.sort_unstable();
        uris.dedup();
        self.told.watched.send_if_modified(|watched| {
            let news = *watched != uris;
            *watched = uris;
            news
        });
    }

    fn accept(&mut self, revision: u64, rejected: &[Rejected]) {
        for Rejected { kind, name, reason } in rejected {
            let name = name.as_deref().unwrap_or("an entry without a name");
            tracing::warn!(kind, name, "the cluster refused an entry: {reason}");
        }
        let waiting = self
            .waiters
            .extract_if(.., |waiter| waiter.revision <= revision);
        for waiter in waiting {
            _ = waiter.accepted.send(Ok(rejected.to_vec()));
        }
    }

    fn report(&mut self, status: Status) {
        if let Status::Stopped(stopped) = &status {
            for waiter in self.waiters.drain(..) {
                let error = OfferError::Stopped(stopped.clone());
                _ = waiter.accepted.send(Err(error));
            }
        }
        if *self.told.status.borrow() != status {
            log(&status);
            self.told.status.send_replace(status);
        }
    }
}

fn log(status: &Status) {
    match status {
        Status::Connecting => tracing::debug!("connecting"),
        Status::Online(online) => {
            let (client_id, connection) = (&online.client_id, online.connection);
            tracing::info!(client_id, connection, "online");
        }
        Status::Offline { code, reason, .. } => tracing::info!(code, "offline: {reason}"),
        Status::Stopped(stopped) => {
            tracing::info!(code = stopped.code, "stopped: {}", stopped.reason);
        }
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
