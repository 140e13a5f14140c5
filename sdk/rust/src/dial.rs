//! Opens a WebSocket to the cluster (SPEC.md §4.1).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::close::CloseCode;
use clientmcp_core::limits;
use rustls::ClientConfig;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Error as WsError;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::http::header::{RETRY_AFTER, SEC_WEBSOCKET_PROTOCOL};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, Uri};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

use crate::reconnect::NO_CLOSE_FRAME;
use crate::session::Ending;
use crate::tls;
use crate::token::Token;

const SUBPROTOCOL: &str = "clientmcp.v1";
const TOKEN_SUBPROTOCOL: &str = "clientmcp.token.";
/// The longest pause that a refusal may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// A socket that the upgrade has succeeded on.
pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// How to reach a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    local: Option<IpAddr>,
    tls: Option<Arc<ClientConfig>>,
    extra_roots: Arc<[Vec<u8>]>,
}

impl Dialer {
    /// Checks the URL and reads the roots if they are needed. The error says what is wrong.
    pub(crate) fn new(
        url: &str,
        local: Option<IpAddr>,
        extra_roots: Vec<Vec<u8>>,
    ) -> Result<Self, String> {
        let (uri, encrypted) = parse(url)?;
        authority(&uri, encrypted)?;
        let extra_roots: Arc<[Vec<u8>]> = extra_roots.into();
        Ok(Self {
            local,
            tls: encrypted.then(|| tls::trusting(&extra_roots)).transpose()?,
            extra_roots,
        })
    }

    /// Opens a socket. It has no deadline of its own.
    pub(crate) async fn dial(&self, url: &str, token: &Token) -> Result<Socket, Ending> {
        let wrong = |reason: String| ending(CloseCode::ProtocolError.number(), reason);
        let (uri, encrypted) = parse(url).map_err(wrong)?;
        let (host, port) = authority(&uri, encrypted).map_err(wrong)?;
        let connector = self.connector(encrypted).map_err(wrong)?;
        let request = request(uri.clone(), token).map_err(|error| wrong(error.to_string()))?;
        let lost = |error: io::Error| {
            ending(
                NO_CLOSE_FRAME,
                format!("could not connect to {host}: {error}"),
            )
        };
        let stream = self.connect(host, port).await.map_err(lost)?;
        // tungstenite logs the request, the token in it, where logs lead to a subscriber.
        let upgrade =
            client_async_tls_with_config(request, stream, Some(config()), Some(connector))
                .with_subscriber(Dispatch::none());
        match upgrade.await {
            Ok((socket, _)) => Ok(socket),
            Err(error) => Err(refusal(&error, url)),
        }
    }

    fn connector(&self, encrypted: bool) -> Result<Connector, String> {
        match (&self.tls, encrypted) {
            (_, false) => Ok(Connector::Plain),
            (Some(tls), true) => Ok(Connector::Rustls(Arc::clone(tls))),
            // A move led from ws:// to wss://.
            (None, true) => tls::trusting(&self.extra_roots).map(Connector::Rustls),
        }
    }

    async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in tokio::net::lookup_host((host, port)).await? {
            match self.connect_to(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn connect_to(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if let Some(local) = self.local {
            socket.bind(SocketAddr::new(local, 0))?;
        }
        socket.connect(address).await
    }
}

/// An ending without a close frame of the cluster: the code that fits best.
fn ending(code: u16, reason: String) -> Ending {
    Ending {
        code,
        reason,
        retry_after: None,
    }
}

/// Small buffers: there may be very many sockets, most of them idle.
fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(4 * 1024)
        .write_buffer_size(0)
        .max_message_size(Some(limits::MESSAGE_BYTES))
        .max_frame_size(Some(limits::MESSAGE_BYTES))
}

fn parse(url: &str) -> Result<(Uri, bool), String> {
    let problem = |what: &str| format!("{url} is no URL of a WebSocket: {what}");
    let uri: Uri = url.parse().map_err(|error| problem(&format!("{error}")))?;
    match uri.scheme_str() {
        Some("ws") => Ok((uri, false)),
        Some("wss") => Ok((uri, true)),
        _ => Err(problem("it begins with neither ws:// nor wss://")),
    }
}

fn authority(uri: &Uri, encrypted: bool) -> Result<(&str, u16), String> {
    let host = uri.host().filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| format!("{uri} names no host"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let default = if encrypted { 443 } else { 80 };
    Ok((host, uri.port_u16().unwrap_or(default)))
}

fn request(uri: Uri, token: &Token) -> Result<Request, WsError> {
    let mut request = uri.into_client_request()?;
    let protocols = format!("{SUBPROTOCOL}, {TOKEN_SUBPROTOCOL}{}", token.as_str());
    let mut protocols = HeaderValue::try_from(protocols)?;
    protocols.set_sensitive(true);
    let headers = request.headers_mut();
    headers.insert(SEC_WEBSOCKET_PROTOCOL, protocols);
    Ok(request)
}

/// What a failed upgrade means.
fn refusal(error: &WsError, url: &str) -> Ending {
    match error {
        WsError::Http(response) => refused(response, url),
        WsError::Protocol(ProtocolError::SecWebSocketSubProtocolError(_)) => ending(
            CloseCode::ProtocolError.number(),
            format!("{url} does not speak {SUBPROTOCOL}"),
        ),
        other => ending(
            NO_CLOSE_FRAME,
            format!("could not connect to {url}: {other}"),
        ),
    }
}

fn refused(response: &Response, url: &str) -> Ending {
    let status = response.status();
    let later = status.is_server_error()
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::MISDIRECTED_REQUEST;
    let code = if later {
        CloseCode::TryLater
    } else {
        CloseCode::ProtocolError
    };
    let seconds = response.headers().get(RETRY_AFTER);
    let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
    Ending {
        code: code.number(),
        reason: format!("{url} refused the connection with HTTP status {status}"),
        retry_after: seconds.map(|seconds| RETRY_AFTER_MAX.min(Duration::from_secs(seconds))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_websockets() {
        let table = [
            ("ws://a/v1/connect", Ok(("a", 80))),
            ("wss://a/v1/connect", Ok(("a", 443))),
            ("ws://127.0.0.1:8080/v1/connect", Ok(("127.0.0.1", 8080))),
            ("wss://[::1]:1/", Ok(("::1", 1))),
            ("http://a/", Err(())),
            ("a", Err(())),
            ("", Err(())),
            ("ws:///v1/connect", Err(())),
        ];
        for (url, expected) in table {
            let parsed = parse(url);
            let parsed = parsed.as_ref().map_err(drop);
            let parsed =
                parsed.and_then(|(uri, encrypted)| authority(uri, *encrypted).map_err(drop));
            assert_eq!(parsed, expected, "{url}");
        }
    }

    #[test]
    fn refusals_say_when_to_come_back() {
        let table = [
            (503, Some("7"), 1013, Some(7)),
            (503, Some("9999"), 1013, Some(60)),
            (503, Some("soon"), 1013, None),
            (421, None, 1013, None),
            (429, None, 1013, None),
            (502, None, 1013, None),
            (400, None, 1002, None),
            (404, None, 1002, None),
        ];
        for (status, after, code, seconds) in table {
            let mut response = Response::new(None);
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            if let Some(after) = after {
                let value = HeaderValue::from_static(after);
                response.headers_mut().insert(RETRY_AFTER, value);
            }
            let ending = refusal(&WsError::Http(Box::new(response)), "ws://a");
            assert_eq!(ending.code, code, "{status}");
            assert_eq!(
                ending.retry_after,
                seconds.map(Duration::from_secs),
                "{status}"
            );
        }
    }

    #[test]
    fn the_token_travels_beside_the_protocol_and_is_marked() {
        let token = Token::parse("a.b-c").unwrap();
        let request = request(Uri::from_static("ws://a/v1/connect"), &token).unwrap();
        let header = &request.headers()[SEC_WEBSOCKET_PROTOCOL];
        assert_eq!(header, "clientmcp.v1, clientmcp.token.a.b-c");
        assert!(header.is_sensitive());
        assert!(!format!("{request:?}").contains("a.b-c"));
    }
}
