//! An app that speaks clientmcp.v1 frame by frame: the test decides what it says and when.

use std::net::SocketAddr;

use clientmcp_core::handshake::{SUBPROTOCOL, TOKEN_PREFIX};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, Message as Frame};
use tokio_util::task::AbortOnDropHandle;

use crate::raw_json::member;
use crate::waiting::soon;

/// An app's connection.
#[derive(Debug)]
pub struct RawApp {
    socket: WebSocketStream<TcpStream>,
}

/// What a socket gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// The end: code and reason of the close frame; 1005 if it has none, 1006 without a frame.
    Closed(u16, String),
}

impl RawApp {
    /// Connects through a router.
    ///
    /// # Panics
    /// If the upgrade is refused.
    pub async fn connect(router: SocketAddr, token: &str) -> Self {
        let subprotocols = [SUBPROTOCOL, &format!("{TOKEN_PREFIX}{token}")];
        Self::offer(router, &subprotocols)
            .await
            .expect("the upgrade is accepted")
    }

    /// Connects with these subprotocols.
    ///
    /// # Errors
    /// The HTTP response that came instead of the upgrade.
    ///
    /// # Panics
    /// If the answer echoes anything but `clientmcp.v1`.
    pub async fn offer(
        router: SocketAddr,
        subprotocols: &[&str],
    ) -> Result<Self, tungstenite::Error> {
        let mut request = ClientRequestBuilder::new(
            format!("ws://{router}/v1/connect")
                .parse()
                .expect("an address makes a URL"),
        );
        for subprotocol in subprotocols {
            request = request.with_sub_protocol(*subprotocol);
        }
        Self::upgrade(router, request).await
    }

    /// Connects with a request of the test's own.
    ///
    /// # Errors
    /// As [`RawApp::offer`].
    ///
    /// # Panics
    /// If the answer echoes anything but `clientmcp.v1`.
    pub async fn upgrade(
        router: SocketAddr,
        request: ClientRequestBuilder,
    ) -> Result<Self, tungstenite::Error> {
        let stream = TcpStream::connect(router)
            .await
            .expect("the router listens");
        let upgrade = tokio_tungstenite::client_async(request, stream);
        let (socket, response) = soon("the answer to an upgrade", upgrade).await?;
        let echoed: Vec<_> = response
            .headers()
            .get_all("sec-websocket-protocol")
            .iter()
            .collect();
        assert_eq!(echoed, [SUBPROTOCOL]);
        Ok(Self { socket })
    }

    /// Sends a message.
    ///
    /// # Panics
    /// If the connection is gone.
    pub async fn send(&mut self, message: impl Into<String>) {
        self.frame(Frame::text(message.into())).await;
    }

    /// Sends a frame.
    ///
    /// # Panics
    /// If the connection is gone.
    pub async fn frame(&mut self, frame: Frame) {
        soon("room on the socket", self.socket.send(frame))
            .await
            .expect("the socket stands");
    }

    /// What comes next.
    ///
    /// # Panics
    /// If nothing does.
    pub async fn next(&mut self) -> Incoming {
        soon("something on the app's socket", self.heard()).await
    }

    async fn heard(&mut self) -> Incoming {
        loop {
            match self.socket.next().await {
                Some(Ok(Frame::Text(text))) => {
                    return Incoming::Message(Message(text.as_str().to_owned()));
                }
                Some(Ok(Frame::Close(Some(frame)))) => {
                    return Incoming::Closed(frame.code.into(), frame.reason.as_str().to_owned());
                }
                Some(Ok(Frame::Close(None))) => return Incoming::Closed(1005, String::new()),
                Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                Some(Ok(other)) => panic!("a frame that the cluster never sends: {other:?}"),
                Some(Err(_)) | None => return Incoming::Closed(1006, String::new()),
            }
        }
    }

    /// The next message, which is of this kind.
    ///
    /// # Panics
    /// If something else comes.
    pub async fn expect(&mut self, kind: &str) -> Message {
        match self.next().await {
            Incoming::Message(message) if message.kind() == kind => message,
            other => panic!("no {kind}, but {other:?}"),
        }
    }

    /// The next call.
    ///
    /// # Panics
    /// As [`RawApp::awaited`].
    pub async fn call(&mut self) -> Message {
        self.awaited("call").await
    }

    /// The next message of this kind. What is said of watched resources before it does not matter.
    ///
    /// # Panics
    /// If something else comes.
    pub async fn awaited(&mut self, kind: &str) -> Message {
        loop {
            match self.next().await {
                Incoming::Message(message) if message.kind() == kind => return message,
                Incoming::Message(message) if message.kind() == "subscriptions" => {}
                other => panic!("no {kind}, but {other:?}"),
            }
        }
    }

    /// Waits for the close frame, after whatever messages.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Incoming::Closed(code, reason) = self.next().await {
                return (code, reason);
            }
        }
    }

    /// Registers, and waits for `registered`.
    pub async fn register(&mut self, registration: impl Into<String>) -> Value {
        self.send(registration).await;
        self.expect("registered").await.value()
    }

    /// Answers a call with a result, which is JSON text.
    pub async fn result(&mut self, call: &Message, result: &str) {
        self.send(call.result(result)).await;
    }

    /// Closes for good (1000), and waits until the other side has too.
    ///
    /// # Panics
    /// If the connection is gone already.
    pub async fn leave(mut self) {
        let frame = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        self.socket
            .close(Some(frame))
            .await
            .expect("the socket stands");
        assert_eq!(self.closed().await.0, 1000);
    }

    /// Answers calls from a task of its own, each with whatever messages `answer` gives.
    #[must_use]
    pub fn serve(
        mut self,
        mut answer: impl FnMut(&Message) -> Vec<String> + Send + 'static,
    ) -> Serving {
        Serving {
            _task: AbortOnDropHandle::new(tokio::spawn(async move {
                while let Some(Ok(frame)) = self.socket.next().await {
                    let Frame::Text(text) = frame else { continue };
                    let message = Message(text.as_str().to_owned());
                    if message.kind() != "call" {
                        continue;
                    }
                    for said in answer(&message) {
                        self.send(said).await;
                    }
                }
            })),
        }
    }
}

/// An app that answers by itself until this is dropped.
#[derive(Debug)]
pub struct Serving {
    _task: AbortOnDropHandle<()>,
}

/// A message of the cluster to an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(String);

impl Message {
    /// The message as it came.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Its `type`.
    #[must_use]
    pub fn kind(&self) -> String {
        // The message may hold what no parser here can: its type alone is read.
        self.raw("type").trim_matches('"').to_owned()
    }

    /// The message, parsed.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_else(|error| panic!("{error}: {}", self.0))
    }

    /// A member as raw text.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn raw(&self, name: &str) -> String {
        member(&self.0, name).unwrap_or_else(|| panic!("no {name}: {}", self.0))
    }

    /// The arguments of a call as raw text.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn arguments(&self) -> String {
        member(&self.raw("params"), "arguments")
            .unwrap_or_else(|| panic!("no arguments: {}", self.0))
    }

    /// The message that answers this call with a result.
    #[must_use]
    pub fn result(&self, result: &str) -> String {
        format!(
            r#"{{"type":"result","id":{},"result":{result}}}"#,
            self.raw("id")
        )
    }

    /// The message that answers this call with a JSON-RPC error.
    #[must_use]
    pub fn error(&self, error: &str) -> String {
        format!(
            r#"{{"type":"error","id":{},"error":{error}}}"#,
            self.raw("id")
        )
    }

    /// A message on this call's progress.
    #[must_use]
    pub fn progress(&self, progress: &str, more: &str) -> String {
        format!(
            r#"{{"type":"progress","id":{},"progress":{progress}{more}}}"#,
            self.raw("id")
        )
    }
}

/// A registration of an instance's first connection with these tools (a JSON array).
#[must_use]
pub fn registration(instance: &str, tools: &str) -> String {
    registration_of(instance, 1, tools, "")
}

/// A registration with any connection number, and more members after a comma.
#[must_use]
pub fn registration_of(instance: &str, connection: u64, tools: &str, more: &str) -> String {
    format!(
        r#"{{"type":"register","instance":"{instance}","connection":{connection},"serverInfo":{{"name":"raw app","version":"1"}},"tools":{tools}{more}}}"#
    )
}

/// A tool of this name that takes anything.
#[must_use]
pub fn tool(name: &str) -> String {
    format!(r#"{{"name":"{name}","description":"{name}","inputSchema":{{"type":"object"}}}}"#)
}

/// A tool result with one text.
#[must_use]
pub fn text_result(text: &str) -> String {
    serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string()
}
