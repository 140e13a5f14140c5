//! Accepts connections and speaks HTTP on them, HTTP/1.1 with upgrades and HTTP/2 by prior
//! knowledge on one port: the routers' port for the world, and the nodes' for routers.

use std::convert::Infallible;
use std::error::Error;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// After a failure to accept.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// A peer that acknowledges nothing of what was sent to it for so long, or takes nothing of what
/// waits for it, is gone: its socket breaks, and whoever writes to it learns that. Without this a
/// peer that stays connected and does not read would hold its answer, and its place, for ever.
const TAKES_NOTHING: Duration = Duration::from_secs(60);

/// A first request that is on its way when the listener drains has so long to arrive.
const LAST_REQUEST: Duration = Duration::from_secs(2);

/// How HTTP is spoken: sizes and times of either version.
pub type Protocol = auto::Builder<TokioExecutor>;

/// Connections of one listener, from accepting to the last byte of HTTP.
#[derive(Debug, Clone)]
pub struct Connections {
    places: Arc<Semaphore>,
    tracker: TaskTracker,
    /// Cancelled when each connection is to end after the requests that it carries.
    drain: CancellationToken,
    /// Cancelled when what is left is dropped.
    abort: CancellationToken,
}

/// A place among the connections of a listener, found in the extensions of each request. A
/// WebSocket keeps it after its upgrade.
#[derive(Debug, Clone)]
pub struct Place(#[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>);

impl Connections {
    /// None yet, and at most `max` at a time, upgraded ones among them. `abort` ends the listener
    /// and drops whatever is left.
    #[must_use]
    pub fn new(max: usize, abort: &CancellationToken) -> Self {
        Self {
            places: Arc::new(Semaphore::new(max)),
            tracker: TaskTracker::new(),
            drain: CancellationToken::new(),
            abort: abort.child_token(),
        }
    }

    /// Accepts nothing more and lets each connection end its requests; drops after `within` what
    /// is left. Connections that carry no request end at once.
    pub async fn drain(&self, within: Duration) {
        self.drain.cancel();
        self.tracker.close();
        if tokio::time::timeout(within, self.tracker.wait())
            .await
            .is_err()
        {
            tracing::info!(left = self.tracker.len(), "dropping connections");
            self.abort.cancel();
            self.tracker.wait().await;
        }
    }
}

/// Accepts until the connections drain. `handle` answers each request; a connection without one
/// ends after `first_request_within`.
pub async fn serve<H, A, B>(
    listener: TcpListener,
    connections: Connections,
    protocol: Protocol,
    first_request_within: Duration,
    handle: H,
) where
    H: Fn(http::Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = http::Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let speaker = Speaker {
        protocol: Arc::new(protocol),
        first_request_within,
        handle,
    };
    // One warning for each time that nobody can be let in, however many come meanwhile.
    let mut refusing = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = connections.drain.cancelled() => return,
            () = connections.abort.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => match connections.places.clone().try_acquire_owned() {
                Ok(place) => {
                    refusing = false;
                    admit(stream, peer, place, &connections, &speaker);
                }
                Err(_) if std::mem::replace(&mut refusing, true) => {
                    tracing::debug!(%peer, "connection refused");
                }
                Err(_) => tracing::warn!(%peer, "connections are refused: too many are open"),
            },
            Err(error) if is_of_one_connection(&error) => {
                tracing::debug!(%error, "a connection was gone before it was accepted");
            }
            Err(error) => {
                if std::mem::replace(&mut refusing, true) {
                    tracing::debug!(%error, "still cannot accept connections");
                } else {
                    tracing::warn!(%error, "cannot accept connections");
                }
                // Out of descriptors, mostly: accepting again at once would spin.
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

fn is_of_one_connection(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

/// What every connection of a listener goes by.
#[derive(Clone)]
struct Speaker<H> {
    protocol: Arc<Protocol>,
    first_request_within: Duration,
    handle: H,
}

fn admit<H, A, B>(
    stream: TcpStream,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
    connections: &Connections,
    speaker: &Speaker<H>,
) where
    H: Fn(http::Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = http::Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let settled = stream
        .set_nodelay(true)
        .and_then(|()| SockRef::from(&stream).set_tcp_user_timeout(Some(TAKES_NOTHING)));
    if let Err(error) = settled {
        tracing::debug!(%peer, %error, "connection was gone at once");
        return;
    }
    connections.tracker.spawn(converse(
        stream,
        Place(Arc::new(place)),
        connections.clone(),
        speaker.clone(),
    ));
}

/// One connection, from its first byte to its last, or to its upgrade.
async fn converse<H, A, B>(
    stream: TcpStream,
    place: Place,
    connections: Connections,
    speaker: Speaker<H>,
) where
    H: Fn(http::Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = http::Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let asked = Arc::new(AtomicBool::new(false));
    let service = service_fn({
        let asked = asked.clone();
        let handle = speaker.handle;
        move |mut request: http::Request<Incoming>| {
            asked.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(place.clone());
            let answer = handle(request);
            async move { Ok::<_, Infallible>(answer.await) }
        }
    });
    let mut connection = pin!(
        speaker
            .protocol
            .serve_connection_with_upgrades(TokioIo::new(stream), service)
    );
    let mut first_request = pin!(async {
        let stopping = async {
            connections.drain.cancelled().await;
            tokio::time::sleep(LAST_REQUEST).await;
        };
        tokio::select! {
            () = tokio::time::sleep(speaker.first_request_within) => {}
            () = stopping => {}
        }
    });
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
