//! The WebSocket itself, after the handshake: the server's half of RFC 6455 over a TCP stream, or
//! over a router's tunnel.
//!
//! [`Reader`] and [`Writer`] belong to one task each. Nothing is kept while a socket is idle: the
//! read buffer is let go as soon as it is empty, a large message has a buffer of its own, and
//! writes go out without one that stays. A general-purpose library keeps both buffers at the size
//! of the largest message for good, which is what decides the memory of a node that holds tens of
//! thousands of sockets.

mod decode;
mod encode;
mod reader;
mod source;
mod writer;

use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_proto::tunnel;

pub(crate) use decode::{Fault, Received};
pub(crate) use encode::Frame;
pub(crate) use reader::{ReadError, Reader};
pub(crate) use writer::Writer;

use source::Source;
use writer::Sink;

/// The socket of an upgraded connection. `leftover` was read behind the request already.
pub(crate) fn over_tcp(
    stream: tokio::net::TcpStream,
    leftover: &[u8],
    max_message_bytes: usize,
) -> (Reader, Writer) {
    let (read, write) = stream.into_split();
    (
        Reader::new(Source::Tcp(read), leftover, max_message_bytes),
        Writer::new(Sink::Tcp(write)),
    )
}

/// The socket at the end of a tunnel.
pub(crate) fn over_tunnel(
    receiver: tunnel::Receiver,
    sender: tunnel::Sender,
    max_message_bytes: usize,
) -> (Reader, Writer) {
    (
        Reader::new(Source::tunnel(receiver), &[], max_message_bytes),
        Writer::new(Sink::Tunnel(sender)),
    )
}

impl Fault {
    /// How such a socket is closed (SPEC.md §4.2).
    pub(crate) fn closing(self) -> Closing {
        let (code, reason) = match self {
            Fault::Protocol(reason) => (CloseCode::ProtocolError, reason),
            Fault::Binary => (CloseCode::Binary, "send text frames only"),
            Fault::InvalidText => (CloseCode::InvalidText, "text frames must be UTF-8"),
            Fault::TooLarge => (
                CloseCode::TooLarge,
                "message too large: a message is at most 4 MiB",
            ),
        };
        Closing::new(code, reason)
    }
}
