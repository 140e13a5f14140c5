//! One HTTP request and its response, byte by byte: what a test says is what goes out, and what
//! came in is what it sees.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use clientmcp_core::mcp::version::Version;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use crate::events::Events;
use crate::waiting::soon;

/// A request that is still to be sent.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    chunked: bool,
}

impl Request {
    /// A request without headers and body.
    #[must_use]
    pub fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            chunked: false,
        }
    }

    /// The same request with this one value of a header.
    ///
    /// # Panics
    /// If name or value cannot stand in a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .insert(field_name(name), field_value(value.as_ref()));
        self
    }

    /// The same request with one more line of a header.
    ///
    /// # Panics
    /// If name or value cannot stand in a header.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .append(field_name(name), field_value(value.as_ref()));
        self
    }

    /// The same request without a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// The same request with another body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The same request to another path.
    #[must_use]
    pub fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// The same request with another method.
    #[must_use]
    pub fn by(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// The same request with a body of which the length is not told beforehand.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// The body as it is.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body that a test looks at is text")
    }

    /// Sends it on a connection of its own, and waits for the head of the response. Dropping the
    /// future or the response closes the connection.
    ///
    /// # Panics
    /// If there is no HTTP response.
    pub async fn send(&self, to: SocketAddr) -> Response {
        let stream = TcpStream::connect(to).await.expect("the router listens");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("a client may write");
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.with_upgrades().await;
        }));
        let request = self.to_http(&self.path, &to.to_string());
        let answered = soon("the head of a response", sender.send_request(request)).await;
        Response::new(
            answered.expect("an HTTP response"),
            self.version(),
            Some(connection),
        )
    }

    fn version(&self) -> Option<Version> {
        let named = self.headers.get("MCP-Protocol-Version")?;
        Version::parse(named.to_str().ok()?)
    }

    fn to_http(&self, target: &str, host: &str) -> http::Request<BoxBody<Bytes, Infallible>> {
        let body = if self.chunked {
            let middle = self.body.len() / 2;
            let halves = [self.body.slice(..middle), self.body.slice(middle..)];
            StreamBody::new(stream::iter(halves.map(|half| Ok(Frame::data(half))))).boxed()
        } else {
            Full::new(self.body.clone()).boxed()
        };
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = target.parse().expect("a test's path is one");
        *request.headers_mut() = self.headers.clone();
        let headers = request.headers_mut();
        headers
            .entry(header::HOST)
            .or_insert_with(|| field_value(host.as_bytes()));
        request
    }
}

fn field_name(name: &str) -> HeaderName {
    name.parse().expect("a test's header name is one")
}

fn field_value(value: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(value).expect("a test's header value is one")
}

/// An HTTP/2 connection, on which dropping a response resets its stream alone.
#[derive(Debug)]
pub struct Http2 {
    sender: http2::SendRequest<BoxBody<Bytes, Infallible>>,
    authority: String,
    _connection: AbortOnDropHandle<()>,
}

impl Http2 {
    /// Connects with prior knowledge.
    ///
    /// # Panics
    /// If nobody listens.
    pub async fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("the router listens");
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("a client may write");
        let connection = tokio::spawn(async move {
            let _ = connection.await;
        });
        Self {
            sender,
            authority: to.to_string(),
            _connection: AbortOnDropHandle::new(connection),
        }
    }

    /// Sends a request, and waits for the head of the response. Dropping the future resets it.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn send(&self, request: &Request) -> Response {
        let target = format!("http://{}{}", self.authority, request.path);
        let version = request.version();
        let mut request = request.to_http(&target, &self.authority);
        request.headers_mut().remove(header::HOST);
        let answered = soon(
            "the head of a response",
            self.sender.clone().send_request(request),
        )
        .await;
        Response::new(answered.expect("an HTTP response"), version, None)
    }
}

/// A response whose body may still be arriving. Dropping it closes its connection.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The revision that the request named: its messages are valid in that.
    pub(crate) version: Option<Version>,
    body: Incoming,
    /// HTTP/1.1 alone: the connection lives as long as the response is looked at.
    _connection: Option<AbortOnDropHandle<()>>,
}

impl Response {
    fn new(
        response: http::Response<Incoming>,
        version: Option<Version>,
        connection: Option<AbortOnDropHandle<()>>,
    ) -> Self {
        let (head, body) = response.into_parts();
        Self {
            version,
            status: head.status,
            headers: head.headers,
            body,
            _connection: connection,
        }
    }

    /// The value of a header; `None` if it is absent.
    ///
    /// # Panics
    /// If it stands there twice, or is no text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "{name} stands there twice");
        Some(
            value
                .to_str()
                .expect("header values of the cluster are text"),
        )
    }

    /// Whether the body is an event stream.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The next bytes of the body; `None` at its end, an error if the connection broke.
    ///
    /// # Errors
    /// Whatever ended the connection.
    ///
    /// # Panics
    /// If neither comes in time.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        loop {
            let frame = soon("more of a response", self.body.frame()).await?;
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => return Some(Ok(data)),
                Ok(Err(_trailers)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The whole body.
    ///
    /// # Panics
    /// If it does not end, or breaks off.
    pub async fn bytes(mut self) -> Bytes {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await {
            body.extend_from_slice(&chunk.expect("the body is whole"));
        }
        body.into()
    }

    /// The whole body as JSON.
    ///
    /// # Panics
    /// If it is none, or not declared as such.
    pub async fn json(self) -> serde_json::Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.bytes().await;
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}: {body:?}"))
    }

    /// The body as an event stream.
    ///
    /// # Panics
    /// If the response is another.
    #[must_use]
    pub fn events(self) -> Events {
        assert!(
            self.is_stream(),
            "no event stream, but {} {:?}",
            self.status,
            self.headers
        );
        assert_eq!(self.header("cache-control"), Some("no-cache"));
        assert_eq!(self.header("x-accel-buffering"), Some("no"));
        Events::of(self)
    }
}
