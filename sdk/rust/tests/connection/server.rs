//! A cluster that does what a test says, one step at a time.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// Far more than any step takes.
const PATIENCE: Duration = Duration::from_secs(20);
const SUBPROTOCOL: &str = "sec-websocket-protocol";

/// Calls have IDs of this form.
pub(crate) const CALL: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
pub(crate) const OTHER_CALL: &str = "01890a5d-ac96-774b-bcce-b302099a8058";

/// A call of an agent that can do everything.
pub(crate) struct Call<'a> {
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: Value,
    pub(crate) capabilities: &'a str,
    pub(crate) version: &'a str,
    pub(crate) subject: &'a str,
}

impl<'a> Call<'a> {
    pub(crate) fn of(method: &'a str, params: Value) -> Self {
        Self {
            id: CALL,
            method,
            params,
            capabilities: r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#,
            version: "2026-07-28",
            subject: "somebody",
        }
    }

    /// The same under another ID.
    pub(crate) fn under(self, id: &'a str) -> Self {
        Self { id, ..self }
    }
}

/// The ID of this number.
pub(crate) fn call_id(n: u32) -> String {
    CALL.replace("8057", &format!("{n:04x}"))
}

/// Waits for a step; a test that hangs fails.
pub(crate) async fn soon<T>(step: impl Future<Output = T>) -> T {
    let step = tokio::time::timeout(PATIENCE, step).await;
    step.expect("this step never ended")
}

/// Listens on a port of its own.
pub(crate) struct Server {
    listener: TcpListener,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}/v1/connect", self.address())
    }

    /// Accepts a connection before anything was read of it.
    pub(crate) async fn accept_raw(&self) -> (TcpStream, SocketAddr) {
        soon(self.listener.accept()).await.unwrap()
    }

    /// Accepts a WebSocket.
    pub(crate) async fn accept(&self) -> Peer {
        let (stream, address) = self.accept_raw().await;
        Peer::upgrade(stream, address).await
    }

    /// Accepts a WebSocket, and a register on it.
    pub(crate) async fn accept_registered(&self) -> Peer {
        let mut peer = self.accept().await;
        peer.expect_register().await;
        peer.send_registered(60_000).await;
        peer
    }

    /// Answers an upgrade with this head.
    pub(crate) async fn refuse(&self, head: &str) {
        let (mut stream, _) = self.accept_raw().await;
        let mut request = [0; 4096];
        _ = soon(stream.read(&mut request)).await.unwrap();
        soon(stream.write_all(head.as_bytes())).await.unwrap();
    }
}

/// An application's socket.
pub(crate) struct Peer<S = TcpStream> {
    pub(crate) socket: WebSocketStream<S>,
    pub(crate) address: SocketAddr,
    /// The token of its handshake.
    pub(crate) token: String,
}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin> Peer<S> {
    #[expect(clippy::result_large_err, reason = "tungstenite wants it so")]
    pub(crate) async fn upgrade(stream: S, address: SocketAddr) -> Self {
        let mut token = String::new();
        let check = |request: &Request, mut response: Response| -> Result<_, ErrorResponse> {
            let offered = request.headers()[SUBPROTOCOL].to_str().unwrap();
            let mut offered = offered.split(", ");
            assert_eq!(offered.next(), Some("clientmcp.v1"));
            let offered = offered.next().unwrap();
            token = offered.strip_prefix("clientmcp.token.").unwrap().to_owned();
            let echoed = HeaderValue::from_static("clientmcp.v1");
            response.headers_mut().insert(SUBPROTOCOL, echoed);
            Ok(response)
        };
        let socket = soon(tokio_tungstenite::accept_hdr_async(stream, check)).await;
        Self {
            socket: socket.unwrap(),
            address,
            token,
        }
    }

    /// The next message, of any kind.
    pub(crate) async fn message(&mut self) -> Message {
        soon(self.socket.next()).await.unwrap().unwrap()
    }

    /// The next text.
    pub(crate) async fn text(&mut self) -> String {
        match self.message().await {
            Message::Text(text) => text.as_str().to_owned(),
            other => panic!("no text but {other:?}"),
        }
    }

    /// The next text, read.
    pub(crate) async fn json(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    pub(crate) async fn expect_register(&mut self) -> Value {
        let register = self.json().await;
        assert_eq!(register["type"], "register", "{register}");
        register
    }

    pub(crate) async fn send(&mut self, text: &str) {
        soon(self.socket.send(Message::text(text))).await.unwrap();
    }

    pub(crate) async fn ping(&mut self, payload: &'static [u8]) {
        let ping = Message::Ping(Bytes::from_static(payload));
        soon(self.socket.send(ping)).await.unwrap();
    }

    /// Takes the registration; the token lives for so many milliseconds.
    pub(crate) async fn send_registered(&mut self, expires_in_ms: u64) {
        let hash = "A".repeat(43);
        let text = format!(
            r#"{{"type":"registered","clientId":"c","hashes":{{"tools":"{hash}","prompts":"{hash}","resources":"{hash}","rest":"{hash}"}},"rejected":[],"expiresAt":1,"expiresInMs":{expires_in_ms},"limits":{{"maxMessageBytes":4194304,"maxCallsInFlight":256,"pingIntervalMs":20000,"silenceTimeoutMs":45000}},"reconnectWithinMs":20}}"#
        );
        self.send(&text).await;
    }

    /// Delivers a call of a tool whose agent wants progress and all logs.
    pub(crate) async fn call(&mut self, id: &str, attempt: u32, params: &str) {
        let text = format!(
            r#"{{"type":"call","id":"{id}","rootId":"{id}","round":0,"attempt":{attempt},"method":"tools/call","params":{params},"context":{{"protocolVersion":"2025-11-25","clientInfo":{{"name":"agent"}},"clientCapabilities":{{"sampling":{{}}}},"subject":"somebody","logLevel":"info","progress":true,"tasks":false}},"deadlineMs":60000}}"#
        );
        self.send(&text).await;
    }

    /// Delivers a call of a modern agent.
    pub(crate) async fn deliver(&mut self, call: &Call<'_>) {
        let Call {
            id,
            method,
            params,
            capabilities,
            version,
            subject,
        } = call;
        let text = format!(
            r#"{{"type":"call","id":"{id}","rootId":"{CALL}","round":0,"attempt":0,"method":"{method}","params":{params},"context":{{"protocolVersion":"{version}","clientCapabilities":{capabilities},"subject":"{subject}","progress":false,"tasks":true}},"deadlineMs":60000}}"#
        );
        self.send(&text).await;
    }

    /// Delivers a call, and returns its answer.
    pub(crate) async fn answer(&mut self, call: &Call<'_>) -> Value {
        self.deliver(call).await;
        let answer = self.json().await;
        assert_eq!(answer["id"], *call.id, "{answer}");
        answer
    }

    pub(crate) async fn close(&mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: reason.into(),
        };
        soon(self.socket.close(Some(frame))).await.unwrap();
    }

    /// Waits for the application's close frame.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.message().await {
                Message::Close(Some(frame)) => {
                    // The answer to it is sent while the socket is read.
                    while let Some(Ok(_)) = soon(self.socket.next()).await {}
                    return (frame.code.into(), frame.reason.as_str().to_owned());
                }
                Message::Close(None) => return (1005, String::new()),
                _ => {}
            }
        }
    }
}
