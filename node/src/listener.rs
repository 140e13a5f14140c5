//! Accepts connections and speaks HTTP on them: HTTP/2 by prior knowledge, and HTTP/1.1 with
//! upgrades, on one port.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clientmcp_core::timings::Timings;
use clientmcp_proto::transport;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits;

/// What every request is answered with.
pub(crate) type Response = http::Response<tonic::body::Body>;

/// Connections of one listener, from accepting to the last byte of HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    places: Arc<Semaphore>,
    tracker: TaskTracker,
    /// Cancelled when each connection is to end after the requests that it carries.
    drain: CancellationToken,
    /// Cancelled when what is left is dropped.
    abort: CancellationToken,
}

/// A place among the connections of the listener. A WebSocket keeps it after its upgrade.
#[derive(Debug, Clone)]
pub(crate) struct Place(#[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>);

impl Connections {
    /// None yet. `abort` drops whatever is left.
    pub(crate) fn new(max: usize, abort: &CancellationToken) -> Self {
        Self {
            places: Arc::new(Semaphore::new(max)),
            tracker: TaskTracker::new(),
            drain: CancellationToken::new(),
            abort: abort.child_token(),
        }
    }

    /// Accepts nothing more and lets each connection end its requests; drops after `within` what
    /// is left. Connections that carry no request end at once.
    pub(crate) async fn drain(&self, within: Duration) {
        self.drain.cancel();
        self.tracker.close();
        if tokio::time::timeout(within, self.tracker.wait())
            .await
            .is_err()
        {
            tracing::debug!(left = self.tracker.len(), "dropping connections");
            self.abort.cancel();
            self.tracker.wait().await;
        }
    }
}

/// Accepts until the connections drain. `handle` answers each request.
pub(crate) async fn serve<H, A>(
    listener: TcpListener,
    connections: Connections,
    timings: Timings,
    handle: H,
) where
    H: Fn(http::Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    let protocol = Arc::new(protocol(&timings));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = connections.drain.cancelled() => return,
            () = connections.abort.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => admit(stream, peer, &connections, &protocol, &handle),
            Err(error) if is_of_one_connection(&error) => {
                tracing::debug!(%error, "a connection was gone before it was accepted");
            }
            Err(error) => {
                // Out of descriptors, mostly: accepting again at once would spin.
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(limits::ACCEPT_BACKOFF).await;
            }
        }
    }
}

fn is_of_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

fn protocol(timings: &Timings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
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
        .max_concurrent_streams(limits::HTTP2_STREAMS)
        .initial_stream_window_size(transport::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(transport::CONNECTION_WINDOW_BYTES);
    builder
}

fn admit<H, A>(
    stream: TcpStream,
    peer: SocketAddr,
    connections: &Connections,
    protocol: &Arc<auto::Builder<TokioExecutor>>,
    handle: &H,
) where
    H: Fn(http::Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    let Ok(place) = connections.places.clone().try_acquire_owned() else {
        tracing::warn!(%peer, "connection refused: too many are open");
        return;
    };
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "connection was gone at once");
        return;
    }
    connections.tracker.spawn(converse(
        stream,
        Place(Arc::new(place)),
        connections.clone(),
        protocol.clone(),
        handle.clone(),
    ));
}

/// One connection, from its first byte to its last, or to its upgrade.
async fn converse<H, A>(
    stream: TcpStream,
    place: Place,
    connections: Connections,
    protocol: Arc<auto::Builder<TokioExecutor>>,
    handle: H,
) where
    H: Fn(http::Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    let asked = Arc::new(AtomicBool::new(false));
    let service = service_fn({
        let asked = asked.clone();
        move |mut request: http::Request<Incoming>| {
            asked.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(place.clone());
            let answer = handle(request);
            async move { Ok::<_, Infallible>(answer.await) }
        }
    });
    let mut connection =
        pin!(protocol.serve_connection_with_upgrades(TokioIo::new(stream), service));
    let mut first_request = pin!(tokio::time::sleep(limits::FIRST_REQUEST_TIMEOUT));
    let (mut waiting, mut draining) = (true, false);
    loop {
        tokio::select! {
            ended = &mut connection => {
                if let Err(error) = ended {
                    tracing::debug!(error, "connection ended");
                }
                return;
            }
            () = connections.drain.cancelled(), if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
            () = connections.abort.cancelled() => return,
            () = &mut first_request, if waiting => {
                waiting = false;
                // Until the protocol is known, nothing else bounds a connection that says nothing.
                if !asked.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    }
}
