//! One socket: opens it, carries frames both ways, and closes it so that the other side sees why.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::limits;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as WsError, Message, Utf8Bytes};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

use crate::dial::{Dialer, Socket};
use crate::event::Event;
use crate::reconnect::NO_CLOSE_FRAME;
use crate::session::{Ending, SocketId};
use crate::token::Token;

/// How long the other side may take to answer a close frame.
const CLOSED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
enum Outgoing {
    Text(Utf8Bytes),
    Close(Closing),
}

/// Where frames wait to be written. Dropping it drops the socket.
///
/// Answers always find room: there are no more of them than calls in flight. Progress and log
/// messages find room up to a bound.
#[derive(Debug)]
pub(crate) struct Outbox {
    frames: mpsc::UnboundedSender<Outgoing>,
    queued_bytes: Arc<AtomicUsize>,
}

/// The other end of an [`Outbox`].
#[derive(Debug)]
pub(crate) struct Inbox {
    frames: mpsc::UnboundedReceiver<Outgoing>,
    queued_bytes: Arc<AtomicUsize>,
}

/// A queue for a socket.
pub(crate) fn outbox() -> (Outbox, Inbox) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let queued_bytes = Arc::new(AtomicUsize::new(0));
    let outbox = Outbox {
        frames: sender,
        queued_bytes: Arc::clone(&queued_bytes),
    };
    let inbox = Inbox {
        frames: receiver,
        queued_bytes,
    };
    (outbox, inbox)
}

impl Outbox {
    /// Sends a frame.
    pub(crate) fn send(&self, text: Utf8Bytes) {
        self.queued_bytes.fetch_add(text.len(), Ordering::Relaxed);
        // A socket that has ended takes nothing: its end is on its way as an event.
        _ = self.frames.send(Outgoing::Text(text));
    }

    /// Sends a frame if there is room for it. Returns whether there was.
    pub(crate) fn send_if_room(&self, text: Utf8Bytes) -> bool {
        let queued = self.queued_bytes.load(Ordering::Relaxed);
        let room = queued + text.len() <= limits::QUEUE_BYTES_PER_CONNECTION;
        if room {
            self.send(text);
        }
        room
    }

    /// Closes the socket, after what was sent.
    pub(crate) fn close(self, closing: Closing) {
        _ = self.frames.send(Outgoing::Close(closing));
    }
}

impl Inbox {
    async fn next(&mut self) -> Option<Outgoing> {
        let frame = self.frames.recv().await?;
        if let Outgoing::Text(text) = &frame {
            self.queued_bytes.fetch_sub(text.len(), Ordering::Relaxed);
        }
        Some(frame)
    }
}

/// The whole life of a socket. [`Event::Closed`] is the last that it says, although it may take a
/// moment longer to end.
pub(crate) async fn run(
    id: SocketId,
    dialer: Dialer,
    url: String,
    token: Token,
    mut inbox: Inbox,
    events: mpsc::Sender<Event>,
) {
    let dialled = tokio::select! {
        // Boxed, for opening a socket takes far more room than holding one.
        dialled = Box::pin(dialer.dial(&url, &token)) => dialled,
        // Nothing is sent before the socket is open, so this is a close, and nobody listens.
        _ = inbox.next() => return,
    };
    match dialled {
        Ok(socket) => {
            _ = events.send(Event::Opened(id)).await;
            carry(id, socket, &mut inbox, &events).await;
        }
        Err(ending) => _ = events.send(Event::Closed(id, ending)).await,
    }
}

/// Why frames are no longer carried.
enum End {
    /// The other side closed.
    Theirs(Ending),
    /// This side closes.
    Ours(Closing),
    /// Nothing can be written any more.
    Unwritable(Ending),
    /// Nothing can be read any more.
    Broken(Ending),
}

async fn carry(id: SocketId, socket: Socket, inbox: &mut Inbox, events: &mpsc::Sender<Event>) {
    let (mut sink, mut stream) = socket.split();
    let mut end = {
        // tungstenite logs each frame, tokens in them, where logs lead to a subscriber.
        let writing = write(&mut sink, inbox).with_subscriber(Dispatch::none());
        tokio::select! {
            end = writing => end,
            end = read(id, &mut stream, events) => end,
        }
    };
    if matches!(end, End::Unwritable(_)) {
        // The other side may have said why before it went.
        let reading = tokio::time::timeout(CLOSED_WITHIN, read(id, &mut stream, events));
        if let Ok(theirs @ End::Theirs(_)) = reading.await {
            end = theirs;
        }
    }
    let (closing, ending) = match end {
        End::Unwritable(ending) => (None, ending),
        End::Theirs(ending) => (None, ending),
        End::Ours(closing) => {
            let ending = ending(closing.code().number(), closing.reason());
            (Some(closing), ending)
        }
        End::Broken(ending) => {
            // Codes that are ours to send; others mean that there is nobody to send them to.
            let code = CloseCode::from_number(ending.code);
            (
                code.map(|code| Closing::new(code, ending.reason.clone())),
                ending,
            )
        }
    };
    _ = events.send(Event::Closed(id, ending)).await;
    _ = tokio::time::timeout(CLOSED_WITHIN, finish(&mut sink, &mut stream, closing)).await;
}

/// Writes what waits, until this side closes.
async fn write(sink: &mut SplitSink<Socket, Message>, inbox: &mut Inbox) -> End {
    loop {
        let text = match inbox.next().await {
            Some(Outgoing::Text(text)) => text,
            Some(Outgoing::Close(closing)) => return End::Ours(closing),
            None => return End::Ours(Closing::new(CloseCode::Leaving, "")),
        };
        if let Err(error) = sink.send(Message::Text(text)).await {
            return End::Unwritable(broken(&error));
        }
    }
}

/// Reads until the other side closes, or something breaks. Each frame read also lets the answer
/// to a ping before it out.
async fn read(id: SocketId, stream: &mut SplitStream<Socket>, events: &mpsc::Sender<Event>) -> End {
    loop {
        let event = match stream.next().await {
            Some(Ok(Message::Text(text))) => Event::Received(id, text),
            Some(Ok(Message::Close(frame))) => return End::Theirs(closed(frame)),
            Some(Ok(Message::Binary(_))) => {
                return End::Broken(ending(CloseCode::Binary.number(), "a binary frame came"));
            }
            Some(Ok(_)) => Event::Alive(id),
            Some(Err(error)) => return End::Broken(broken(&error)),
            None => return End::Broken(ending(NO_CLOSE_FRAME, "")),
        };
        if events.send(event).await.is_err() {
            return End::Ours(Closing::new(CloseCode::Leaving, ""));
        }
    }
}

/// Says why, if it is on this side to say it, and reads on until the other side has answered: data
/// that is left unread would reset the connection and take the close frame with it. If the other
/// side closed, lets the answer to that out.
async fn finish(
    sink: &mut SplitSink<Socket, Message>,
    stream: &mut SplitStream<Socket>,
    closing: Option<Closing>,
) {
    if let Some(closing) = closing {
        let frame = CloseFrame {
            code: closing.code().number().into(),
            reason: closing.reason().into(),
        };
        _ = sink.send(Message::Close(Some(frame))).await;
        while let Some(Ok(message)) = stream.next().await {
            if message.is_close() {
                break;
            }
        }
    }
    _ = sink.flush().await;
}

fn closed(frame: Option<CloseFrame>) -> Ending {
    frame.map_or_else(
        || ending(NO_CLOSE_FRAME, ""),
        |frame| ending(frame.code.into(), &frame.reason),
    )
}

/// What an error of the socket means, as a close code.
fn broken(error: &WsError) -> Ending {
    let code = match error {
        WsError::Capacity(_) => CloseCode::TooLarge.number(),
        WsError::Utf8(_) => CloseCode::InvalidText.number(),
        WsError::Protocol(
            tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
        ) => NO_CLOSE_FRAME,
        WsError::Protocol(_) => CloseCode::ProtocolError.number(),
        _ => NO_CLOSE_FRAME,
    };
    ending(code, &format!("the connection was lost: {error}"))
}

fn ending(code: u16, reason: &str) -> Ending {
    Ending {
        code,
        reason: reason.to_owned(),
        retry_after: None,
    }
}
