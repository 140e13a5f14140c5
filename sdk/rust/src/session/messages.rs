//! What each message of the cluster, and each end of a handler, leads to.

use std::time::{Duration, Instant};

use clientmcp_core::close::CloseCode;
use clientmcp_core::ids::CallId;
use clientmcp_core::json::{Json, Text};
use clientmcp_core::message::{AppMessage, Call, ClusterMessage, MessageError, PONG, Registered};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::{Action, Ending, Next, Session, SocketId, frame};
use crate::answer;
use crate::calls::{Delivered, Delivery};
use crate::link::default_limits;
use crate::status::{Online, Rejected, Status};

impl Session {
    /// A socket is open.
    pub(crate) fn handle_opened(&mut self, socket: SocketId, now: Instant) {
        if let Some(link) = self.link(socket) {
            link.handle_opened(now);
            self.register(socket, false);
        }
    }

    /// A frame came that is no text: a sign of life.
    pub(crate) fn handle_alive(&mut self, socket: SocketId, now: Instant) {
        if let Some(link) = self.link(socket) {
            link.handle_received(now);
        }
    }

    /// A text frame came.
    pub(crate) fn handle_received(&mut self, socket: SocketId, text: Utf8Bytes, now: Instant) {
        let Some(link) = self.link(socket) else {
            return;
        };
        link.handle_received(now);
        let text = Text::new(text.into()).map_err(MessageError::Unreadable);
        match text.and_then(|text| ClusterMessage::read(&text)) {
            Ok(message) => self.handle_message(socket, message, now),
            // A later cluster may say more than this SDK understands.
            Err(MessageError::UnknownType(kind)) => tracing::debug!(kind, "an unknown message"),
            Err(error) => self.warn(format!("a message was not understood: {error}")),
        }
    }

    /// A handler ended, with the frame that answers its call.
    pub(crate) fn handle_finished(&mut self, id: CallId, answer: Json, now: Instant) {
        let text = frame(answer);
        if let Some(socket) = self.calls.handle_finished(id, text.clone(), now) {
            // If that socket is gone the cluster delivers the call again, and is answered then.
            if self.link(socket).is_some() {
                self.send(socket, text);
            }
        }
    }

    /// A call becomes a task.
    pub(crate) fn handle_task(&mut self, id: CallId, task: Json) {
        let text = frame(task);
        if let Some(socket) = self.calls.handle_task(id, text.clone())
            && self.link(socket).is_some()
        {
            self.send(socket, text);
        }
    }

    /// A handler has progress or a log message to send.
    pub(crate) fn handle_note(&mut self, id: CallId, note: Json) {
        let Some(socket) = self.calls.socket_of(id) else {
            return;
        };
        let Some(limit) = self.link(socket).map(|link| link.limits.max_message_bytes) else {
            return;
        };
        if note.len() > limit {
            return self.warn(format!("a message about call {id} is too large to send"));
        }
        let text = frame(note);
        self.actions.push_back(Action::SendNote { socket, text });
    }

    fn handle_message(&mut self, socket: SocketId, message: ClusterMessage, now: Instant) {
        match message {
            ClusterMessage::Registered(registered) => {
                self.handle_registered(socket, *registered, now);
            }
            ClusterMessage::Need { .. } => self.handle_need(socket, now),
            ClusterMessage::Call(call) => self.handle_call(socket, call, now),
            ClusterMessage::Cancel { id, reason } => {
                if self.calls.handle_cancel(id, socket) {
                    let reason = reason.into();
                    self.actions.push_back(Action::Cancel { id, reason });
                }
            }
            ClusterMessage::Settled { ids } => self.calls.handle_settled(ids),
            ClusterMessage::Move { within, url, .. } => self.handle_move(socket, within, url, now),
            ClusterMessage::Authorized { expires_in, .. } => {
                self.handle_authorized(socket, expires_in, now);
            }
            ClusterMessage::Ping => self.send(socket, Utf8Bytes::from_static(PONG)),
            ClusterMessage::Subscriptions { uris } => {
                if self.is_current(socket) {
                    self.actions.push_back(Action::Watched(uris));
                }
            }
            ClusterMessage::Pong => {}
        }
    }

    fn handle_registered(&mut self, socket: SocketId, registered: Registered, now: Instant) {
        let Some(link) = self.link(socket) else {
            return;
        };
        let Some(asked) = link.asked.take() else {
            return self.warn("the cluster answered a register that was not sent".to_owned());
        };
        link.handle_registered(registered.limits);
        let (again, token) = (link.ask_again, link.token.clone());
        self.registration
            .handle_registered(&asked, &registered.hashes);
        if matches!(&self.next, Next::Socket(link) if link.socket == socket) {
            self.take_over(registered.reconnect_within, now);
        }
        if !self.is_current(socket) {
            return;
        }
        self.tokens
            .handle_accepted(&token, registered.expires_in, now);
        self.renew_current();
        let rejected = registered.rejected.into_iter().map(Rejected::from);
        let rejected: Vec<Rejected> = rejected.collect();
        self.report(Status::Online(Online {
            client_id: registered.client_id.to_string(),
            connection: socket.0,
            rejected: rejected.clone(),
        }));
        self.actions.push_back(Action::Accepted {
            revision: asked.revision,
            rejected,
        });
        for uri in self.updated.take() {
            self.notify(socket, &uri);
        }
        if again {
            self.register(socket, false);
        }
    }

    /// Tells who watches a resource that it has changed. While nothing is connected this is
    /// remembered: what stands at the cluster may outlive the connection.
    pub(crate) fn resource_updated(&mut self, uri: String) {
        match self.current.as_ref().map(|link| link.socket) {
            Some(socket) => self.notify(socket, &uri),
            None => self.updated.add(uri),
        }
    }

    fn notify(&mut self, socket: SocketId, uri: &str) {
        let notify = AppMessage::Notify {
            method: "notifications/resources/updated".to_owned(),
            params: Json::of(&serde_json::json!({"uri": uri})),
        };
        self.send(socket, frame(notify.to_json()));
    }

    /// The next socket is registered: it is the one in use from here on.
    fn take_over(&mut self, reconnect_within: Duration, now: Instant) {
        self.delays.handle_registered(reconnect_within, now);
        let Next::Socket(link) = std::mem::replace(&mut self.next, Next::None) else {
            return;
        };
        if let Some(mut old) = self.current.replace(*link) {
            old.retire(now);
            self.retired.push(old);
        }
    }

    fn handle_need(&mut self, socket: SocketId, now: Instant) {
        let asked = self.link(socket).and_then(|link| link.asked.take());
        match asked {
            Some(asked) if asked.full => {
                let reason = "the cluster needs what it was given".to_owned();
                self.close_socket(socket, CloseCode::ProtocolError, reason.clone());
                let ending = Ending {
                    code: CloseCode::ProtocolError.number(),
                    reason,
                    retry_after: None,
                };
                self.handle_closed(socket, ending, now);
            }
            Some(_) => self.register(socket, true),
            None => {}
        }
    }

    fn handle_call(&mut self, socket: SocketId, call: Box<Call>, now: Instant) {
        let delivered = Delivered {
            id: call.id,
            attempt: call.attempt,
            deadline: call.deadline,
            socket,
        };
        match self.calls.handle_delivery(delivered, now) {
            Delivery::Run => {
                let limits = self.link(socket).map(|link| link.limits);
                let limit = limits.unwrap_or_else(default_limits).max_message_bytes;
                self.actions.push_back(Action::Run { call, limit });
            }
            Delivery::Attached(Some(task)) => self.send(socket, task),
            Delivery::Attached(None) | Delivery::Outdated => {}
            Delivery::Finished(answer) => self.send(socket, answer),
            Delivery::Unknown => self.send(socket, frame(answer::unknown(call.id))),
        }
    }

    /// The cluster wants to be rid of the socket in use: the next one first, then this one goes.
    fn handle_move(
        &mut self,
        socket: SocketId,
        within: Duration,
        url: Option<String>,
        now: Instant,
    ) {
        if self.is_current(socket) && matches!(self.next, Next::None) {
            // Early enough to be done by the end of the window.
            let at = now + within.mul_f64((self.random)() / 2.0);
            let url = url.unwrap_or_else(|| self.url.clone());
            self.next = Next::Waiting { at, url };
        }
    }

    fn handle_authorized(&mut self, socket: SocketId, expires_in: Duration, now: Instant) {
        if let Some(token) = self.link(socket).map(|link| link.token.clone()) {
            self.tokens.handle_accepted(&token, expires_in, now);
        }
    }

    fn is_current(&self, socket: SocketId) -> bool {
        self.current
            .as_ref()
            .is_some_and(|link| link.socket == socket)
    }

    pub(super) fn register(&mut self, socket: SocketId, full: bool) {
        let current = self.current.as_ref();
        let moving = current.is_some_and(|link| link.socket != socket);
        let (message, asked) = self.registration.register(socket.0, moving, full);
        if let Some(link) = self.link(socket) {
            link.asked = Some(asked);
            link.ask_again = false;
            self.send(socket, frame(message));
        }
    }
}
