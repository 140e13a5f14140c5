//! Connections between processes: every one has a bound on connecting and notices a dead peer
//! (a peer that is stopped or cut off sends no RST; HTTP/2 pings find out).

use std::time::Duration;

use tonic::transport::Endpoint;

/// HTTP/2 window of one stream, in bytes.
pub const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
/// HTTP/2 window of one connection, in bytes.
pub const CONNECTION_WINDOW_BYTES: u32 = 8 * 1024 * 1024;
/// The largest HTTP/2 frame that is taken, in bytes: a chunk of 64 KiB fits into one, which is read
/// and written at once. With frames of the default size each takes four of either.
pub const FRAME_BYTES: u32 = 128 * 1024;

/// How a connection to another process is established and watched.
#[derive(Debug, Clone, Copy)]
pub struct Probing {
    /// Time to establish the connection.
    pub connect_timeout: Duration,
    /// Between HTTP/2 pings, also while nothing is under way.
    pub probe_interval: Duration,
    /// A ping that is unanswered for so long means that the peer is dead.
    pub probe_timeout: Duration,
}

/// The endpoint of a member at `address` (`host:port`).
///
/// # Errors
/// [`tonic::transport::Error`] if the address is no authority.
pub fn endpoint(address: &str, probing: &Probing) -> Result<Endpoint, tonic::transport::Error> {
    Ok(Endpoint::from_shared(format!("http://{address}"))?
        .connect_timeout(probing.connect_timeout)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(probing.probe_interval)
        .keep_alive_timeout(probing.probe_timeout)
        .keep_alive_while_idle(true)
        .max_frame_size(FRAME_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES))
}
