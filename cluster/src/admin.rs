//! The HTTP server for operators: `/metrics`, `/livez`, `/readyz`, `/status`.
//!
//! It listens on a port of its own, which is not meant for the world.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Registry, TextEncoder};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Time to send the head of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(5);
/// No connection lasts longer.
const CONNECTION_LASTS: Duration = Duration::from_secs(300);
/// Connections at a time.
const CONNECTIONS: usize = 64;
/// Time that answers under way get when the server stops.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// Whether the process takes work; `Err` has the reason, one sentence.
pub type Ready = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;
/// What `/status` answers. It may ask others, and bounds its own time.
pub type Status = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Value> + Send>> + Send + Sync>;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct AdminServer {
    addr: SocketAddr,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

/// Serves on `listener` until [`AdminServer::stop`].
///
/// # Errors
/// [`io::Error`] if the listener has no address.
pub fn serve(
    listener: TcpListener,
    registry: Registry,
    ready: Ready,
    status: Status,
) -> io::Result<AdminServer> {
    let server = AdminServer {
        addr: listener.local_addr()?,
        stopping: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    let pages = Arc::new(Pages {
        registry,
        ready,
        status,
    });
    let accepting = accept(
        listener,
        pages,
        server.stopping.clone(),
        server.tasks.clone(),
    );
    server.tasks.spawn(accepting);
    Ok(server)
}

impl AdminServer {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Closes the port, and the connections once their present answer is out.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.tasks.close();
        // A peer that does not read its answer does not hold the process up.
        let _ = tokio::time::timeout(STOP_WITHIN, self.tasks.wait()).await;
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

async fn accept(
    listener: TcpListener,
    pages: Arc<Pages>,
    stopping: CancellationToken,
    tasks: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = async {
                let place = places.clone().acquire_owned().await;
                listener.accept().await.map(|(stream, _)| (stream, place))
            } => accepted,
        };
        match accepted {
            Ok((stream, place)) => {
                let serving = serve_connection(stream, pages.clone(), stopping.clone());
                tasks.spawn(async move {
                    // One that does not read its answers gives its place to others.
                    let served = tokio::time::timeout(CONNECTION_LASTS, serving).await;
                    if served.is_err() {
                        tracing::debug!("an admin connection was cut off");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely: another accept at once would fail too.
                tracing::warn!(%error, "the admin port cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, pages: Arc<Pages>, stopping: CancellationToken) {
    let service = service_fn(move |request| {
        let pages = pages.clone();
        async move { Ok::<_, Infallible>(pages.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "an admin connection ended");
    }
}

struct Pages {
    registry: Registry,
    ready: Ready,
    status: Status,
}

impl Pages {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !["/metrics", "/livez", "/readyz", "/status"].contains(&path) {
            return answer_json(StatusCode::NOT_FOUND, &json!({ "error": "no such page" }));
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut response = answer_json(
                StatusCode::METHOD_NOT_ALLOWED,
                &json!({ "error": "only GET and HEAD" }),
            );
            let methods = http::HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, methods);
            return response;
        }
        match path {
            "/metrics" => self.metrics(),
            "/readyz" => match (self.ready)() {
                Ok(()) => answer_json(StatusCode::OK, &json!({ "ready": true })),
                Err(reason) => answer_json(
                    StatusCode::SERVICE_UNAVAILABLE,
                    &json!({ "ready": false, "reason": reason }),
                ),
            },
            "/status" => answer_json(StatusCode::OK, &(self.status)().await),
            _ => answer_json(StatusCode::OK, &json!({ "live": true })),
        }
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        match TextEncoder::new().encode_to_string(&self.registry.gather()) {
            Ok(text) => answer(StatusCode::OK, prometheus::TEXT_FORMAT, text),
            Err(error) => answer_json(
                StatusCode::INTERNAL_SERVER_ERROR,
                &json!({ "error": error.to_string() }),
            ),
        }
    }
}

fn answer_json(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    answer(status, "application/json", body.to_string())
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, content_type)
        .header(CACHE_CONTROL, "no-store")
        .body(Full::new(Bytes::from(body)))
        .expect("the header values are valid")
}
