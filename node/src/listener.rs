//! How HTTP is spoken on a node's ports: HTTP/2 by prior knowledge for gRPC, and HTTP/1.1 with
//! upgrades for apps' sockets.

use clientmcp_cluster::listener::Protocol;
use clientmcp_core::timings::Timings;
use clientmcp_proto::transport;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::limits;

/// What every request is answered with.
pub(crate) type Response = http::Response<tonic::body::Body>;

/// Sizes and times of both versions.
pub(crate) fn protocol(timings: &Timings) -> Protocol {
    let mut builder = Protocol::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::FIRST_REQUEST_TIMEOUT)
        .max_buf_size(limits::HEADER_BYTES)
        .max_headers(limits::HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(timings.probe_interval)
        .keep_alive_timeout(timings.probe_timeout)
        .max_frame_size(transport::FRAME_BYTES)
        .max_concurrent_streams(limits::HTTP2_STREAMS)
        .initial_stream_window_size(transport::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(transport::CONNECTION_WINDOW_BYTES);
    builder
}
