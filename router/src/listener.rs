//! How HTTP is spoken on a router's port: HTTP/1.1 with upgrades, and HTTP/2 by prior knowledge
//! (SPEC.md §9.1).

use clientmcp_cluster::listener::Protocol;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::limits;

/// Sizes and times of both versions.
pub(crate) fn protocol() -> Protocol {
    let mut builder = Protocol::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::IDLE_TIMEOUT)
        .max_buf_size(limits::READ_BUFFER_BYTES)
        .max_headers(limits::HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits::HTTP2_PING_INTERVAL)
        .keep_alive_timeout(limits::HTTP2_PING_TIMEOUT)
        .max_concurrent_streams(limits::HTTP2_STREAMS)
        .max_header_list_size(limits::HTTP2_HEADER_LIST_BYTES)
        .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES);
    builder
}
