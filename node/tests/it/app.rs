//! An app, frame by frame.

use std::net::SocketAddr;
use std::time::Duration;

use clientmcp_core::secret::Secrets;
use clientmcp_node::Node;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use crate::entrance::{Entrance, NoTunnel};
use crate::world::SOON;

pub(crate) struct App {
    pub(crate) socket: WebSocketStream<Box<dyn Bytes>>,
}

/// What carries a WebSocket.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytes for T {}

/// What an app hears.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Message(Value),
    /// Code and reason of the close frame; 1006 without one.
    Closed(u16, String),
}

/// An upgrade request as an app sends it.
pub(crate) fn public_request(addr: SocketAddr, protocols: &str) -> Request<()> {
    let url = format!("ws://{addr}/v1/connect");
    let mut request = url.into_client_request().unwrap();
    let protocols = protocols.parse().unwrap();
    request
        .headers_mut()
        .insert("sec-websocket-protocol", protocols);
    request
}

pub(crate) fn protocols(token: &str) -> String {
    format!("clientmcp.v1, clientmcp.token.{token}")
}

/// Opens a WebSocket with a request of the test's own.
pub(crate) async fn open(
    addr: SocketAddr,
    request: Request<()>,
) -> Result<(App, Response), tungstenite::Error> {
    let stream: Box<dyn Bytes> = Box::new(TcpStream::connect(addr).await.unwrap());
    let config = Some(config());
    let opened = tokio_tungstenite::client_async_with_config(request, stream, config).await?;
    Ok((App { socket: opened.0 }, opened.1))
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None)
}

impl App {
    /// Connects through a tunnel.
    pub(crate) async fn connect(node: &Node, id: &str, secrets: &Secrets, token: &str) -> Self {
        let entrance = Entrance::of(node, id, secrets);
        Self::enter(&entrance, &protocols(token)).await.unwrap()
    }

    /// Connects through a tunnel, with an offer of the test's own.
    pub(crate) async fn enter(entrance: &Entrance, protocols: &str) -> Result<Self, NoTunnel> {
        Self::enter_narrow(entrance, protocols, 64 * 1024).await
    }

    /// As [`App::connect`], with as little on the way as can be.
    pub(crate) async fn connect_narrow(
        node: &Node,
        id: &str,
        secrets: &Secrets,
        token: &str,
    ) -> Self {
        let entrance = Entrance::of(node, id, secrets);
        let entered = Self::enter_narrow(&entrance, &protocols(token), 4096).await;
        entered.unwrap()
    }

    async fn enter_narrow(
        entrance: &Entrance,
        protocols: &str,
        buffer: usize,
    ) -> Result<Self, NoTunnel> {
        let (stream, _) = entrance.open(protocols, buffer).await?;
        let stream: Box<dyn Bytes> = Box::new(stream);
        let config = Some(config());
        let socket = WebSocketStream::from_raw_socket(stream, Role::Client, config).await;
        Ok(Self { socket })
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: String) {
        let sent = self.socket.send(Message::text(text));
        timeout(SOON, sent).await.unwrap().unwrap();
    }

    /// What comes next.
    pub(crate) async fn hear(&mut self) -> Heard {
        timeout(SOON, self.next()).await.expect("nothing was heard")
    }

    /// What comes within this time, if anything.
    pub(crate) async fn hear_within(&mut self, within: Duration) -> Option<Heard> {
        timeout(within, self.next()).await.ok()
    }

    /// The next message, which must be of this type.
    pub(crate) async fn expect(&mut self, kind: &str) -> Value {
        match self.hear().await {
            Heard::Message(message) if message["type"] == kind => message,
            other => panic!("expected {kind}, heard {other:?}"),
        }
    }

    /// The close frame; messages before it do not matter.
    pub(crate) async fn expect_close(&mut self) -> (u16, String) {
        loop {
            if let Heard::Closed(code, reason) = self.hear().await {
                // The library answers the close frame while it is read on.
                while let Ok(Some(Ok(_))) = timeout(SOON, self.socket.next()).await {}
                return (code, reason);
            }
        }
    }

    async fn next(&mut self) -> Heard {
        loop {
            return match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    Heard::Message(serde_json::from_str(&text).unwrap())
                }
                Some(Ok(Message::Close(Some(frame)))) => {
                    Heard::Closed(frame.code.into(), frame.reason.to_string())
                }
                Some(Ok(Message::Close(None))) => Heard::Closed(1005, String::new()),
                Some(Ok(_)) => continue,
                Some(Err(error)) => Heard::Closed(1006, error.to_string()),
                None => Heard::Closed(1006, String::new()),
            };
        }
    }

    /// Registers and waits until the registration stands.
    pub(crate) async fn register(&mut self, instance: &str, connection: u64) -> Value {
        self.send(register(instance, connection, &[tool("echo")]))
            .await;
        self.expect("registered").await
    }

    /// Answers the next call with its own params.
    pub(crate) async fn echo(&mut self) -> Value {
        let call = self.expect("call").await;
        let result = json!({"type": "result", "id": call["id"], "result": call["params"]});
        self.send(result).await;
        call
    }

    /// Leaves, with this code.
    pub(crate) async fn close(mut self, code: u16) {
        let frame = tungstenite::protocol::CloseFrame {
            code: code.into(),
            reason: "".into(),
        };
        self.socket.send(Message::Close(Some(frame))).await.unwrap();
        while let Some(Ok(_)) = self.socket.next().await {}
    }
}

pub(crate) fn register(instance: &str, connection: u64, tools: &[Value]) -> Value {
    json!({
        "type": "register",
        "instance": instance,
        "connection": connection,
        "serverInfo": {"name": "desk", "version": "1"},
        "tools": tools,
    })
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}
