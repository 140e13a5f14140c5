//! Everything that can happen to an application: the one closed list that its loop reads.

use clientmcp_core::ids::CallId;
use clientmcp_core::json::Json;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::session::{Ending, SocketId};

/// Something happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A socket is open.
    Opened(SocketId),
    /// A text frame came.
    Received(SocketId, Utf8Bytes),
    /// Another frame came, which is a sign of life.
    Alive(SocketId),
    /// A socket ended, or could not be opened.
    Closed(SocketId, Ending),
    /// The token provider answered; the error is its text.
    Token(Result<String, String>),
    /// A handler has progress or a log message to send.
    Note(CallId, Json),
    /// A call becomes a task, with the message that says so.
    Task(CallId, Json),
    /// A handler ended, or waits for the agent, with the frame that answers its call.
    Finished(CallId, Json),
}
