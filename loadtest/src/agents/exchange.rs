//! One request and everything that comes back, on a connection of its own or one that is kept.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::request::Request;

/// What came back of a request.
#[derive(Debug)]
pub struct Exchange {
    /// The local end of the connection; `None` if there was no connection.
    pub local: Option<SocketAddr>,
    /// The answer, or why there is none.
    pub answer: Result<Response, String>,
}

/// An HTTP response, as a whole.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// Whether it is an event stream.
    pub events: bool,
    /// The session that it begins.
    pub session: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl Exchange {
    pub(super) fn broken(why: &str) -> Self {
        Self {
            local: None,
            answer: Err(why.to_owned()),
        }
    }
}

/// Connections that are kept alive between requests.
#[derive(Debug, Default)]
pub struct Pool(Mutex<HashMap<SocketAddr, Vec<Connection>>>);

#[derive(Debug)]
struct Connection {
    local: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Pool {
    /// Sends a request and reads the answer to its end. A fresh connection is closed afterwards.
    pub(super) async fn exchange(
        &self,
        to: SocketAddr,
        request: &Request,
        fresh: bool,
    ) -> Exchange {
        let kept = if fresh { None } else { self.take(to) };
        let mut connection = match kept {
            Some(connection) => connection,
            None => match Connection::open(to).await {
                Ok(connection) => connection,
                Err(error) => return Exchange::broken(&format!("connect: {error}")),
            },
        };
        let answer = connection.send(request.build(&to.to_string())).await;
        let local = Some(connection.local);
        if !fresh && answer.is_ok() && connection.sender.ready().await.is_ok() {
            self.kept().entry(to).or_default().push(connection);
        }
        Exchange {
            local,
            answer: answer.map_err(|error| error.to_string()),
        }
    }

    /// Closes what is kept.
    pub(super) fn clear(&self) {
        self.kept().clear();
    }

    fn take(&self, to: SocketAddr) -> Option<Connection> {
        let mut kept = self.kept();
        let idle = kept.get_mut(&to)?;
        // One that the other side has closed is of no use.
        idle.retain(|connection| !connection.sender.is_closed());
        idle.pop()
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<SocketAddr, Vec<Connection>>> {
        // Nothing that runs under the lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    async fn open(to: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with the connection; what goes wrong is told to the sender too.
        tokio::spawn(connection);
        Ok(Self { local, sender })
    }

    async fn send(&mut self, request: http::Request<Full<Bytes>>) -> anyhow::Result<Response> {
        let response = self.sender.send_request(request).await?;
        let (head, body) = response.into_parts();
        let text = |name: &str| Some(head.headers.get(name)?.to_str().ok()?.to_owned());
        let kind = text(header::CONTENT_TYPE.as_str()).unwrap_or_default();
        Ok(Response {
            status: head.status,
            events: kind.starts_with("text/event-stream"),
            session: text("mcp-session-id"),
            body: body.collect().await?.to_bytes(),
        })
    }
}
