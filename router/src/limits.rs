//! What the router's own HTTP side may use. Limits of the protocol stand in
//! [`clientmcp_core::limits`].

use std::time::Duration;

/// Connections that are open at once, tunnels among them.
pub(crate) const CONNECTIONS: usize = 100_000;
/// From accepting a connection to its first request.
pub(crate) const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// From the end of a response to the whole head of the next request: longer than the idle
/// timeouts of usual load balancers, which must be the ones to close.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// Bodies of all requests that are under way, in bytes.
pub(crate) const BODIES_BYTES: usize = 512 * 1024 * 1024;
/// Time for an agent's body to arrive.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The same while the router stops.
pub(crate) const BODY_TIMEOUT_AT_STOP: Duration = Duration::from_secs(2);

/// HTTP/1: the largest read. It lies above [`HEADER_BYTES`], so that somewhat too large heads
/// get an answer of ours, with a body, rather than one of the HTTP library.
pub(crate) const READ_BUFFER_BYTES: usize = 2 * HEADER_BYTES;
/// The largest head of a request: names and values of all headers (SPEC.md §10).
pub(crate) const HEADER_BYTES: usize = clientmcp_core::limits::HANDSHAKE_HEADER_BYTES;
/// Header fields of one request.
pub(crate) const HEADERS: usize = 256;

/// HTTP/2: header list that is read at all.
pub(crate) const HTTP2_HEADER_LIST_BYTES: u32 = 2 * HEADER_BYTES as u32;
/// HTTP/2: requests under way on one connection.
pub(crate) const HTTP2_STREAMS: u32 = 1_000;
/// HTTP/2: between pings to an agent, so that one that vanished is noticed.
pub(crate) const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(15);
/// HTTP/2: time to answer a ping.
pub(crate) const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/2: window of one request's body.
pub(crate) const HTTP2_STREAM_WINDOW_BYTES: u32 = 256 * 1024;
/// HTTP/2: window of a connection.
pub(crate) const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;

/// Bytes that wait to be sent to one node.
pub(crate) const LINK_SEND_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of answers of one node that are not whole yet.
pub(crate) const LINK_RECEIVE_BYTES: usize = 128 * 1024 * 1024;

/// Client IDs whose holder is another node than their owner.
pub(crate) const HOLDERS_CACHED: usize = 100_000;
/// Between two questions to a node that cannot say where a client ID is.
pub(crate) const PLACE_AGAIN: Duration = Duration::from_millis(100);
/// Nodes that are asked to take one app's socket.
pub(crate) const TUNNEL_ATTEMPTS: usize = 3;

/// Verified tokens that are remembered, in bytes.
pub(crate) const TOKENS_BYTES: usize = 16 * 1024 * 1024;
/// Registrations that are remembered, in bytes.
pub(crate) const REGISTRATIONS_BYTES: usize = 128 * 1024 * 1024;
/// Client IDs whose registration is remembered by its hashes.
pub(crate) const CLIENTS_REMEMBERED: usize = 100_000;
