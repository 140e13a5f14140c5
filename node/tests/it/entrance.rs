//! How an app gets to a node through a router: by a tunnel.

use std::net::SocketAddr;

use bytes::Bytes;
use clientmcp_core::secret::Secrets;
use clientmcp_node::Node;
use clientmcp_proto::headers;
use clientmcp_proto::tunnel::{Drain, Receiver, Sender, Trunk, trunk};
use clientmcp_proto::v1::bridge_client::BridgeClient;
use clientmcp_proto::v1::{Header, Hello, Target, TunnelFrame, tunnel_frame};
use http::HeaderMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};

use crate::world::SOON;

/// Where a router opens tunnels, and as whom.
#[derive(Clone)]
pub(crate) struct Entrance {
    addr: SocketAddr,
    pub(crate) target: Target,
    pub(crate) key: String,
}

/// Why there is no tunnel.
#[derive(Debug)]
pub(crate) enum NoTunnel {
    /// No trunk.
    Status(Status),
    /// Nobody listens, or somebody else.
    Nobody,
    /// The handshake was refused.
    Refused(u16, HeaderMap),
}

impl Entrance {
    pub(crate) fn of(node: &Node, id: &str, secrets: &Secrets) -> Self {
        Self {
            addr: node.addr(),
            target: Target {
                node_id: id.to_owned(),
                incarnation: node.incarnation().0,
            },
            key: secrets.cluster_key(),
        }
    }

    /// Opens a tunnel on a trunk of its own; `buffer` bytes are on the way to the app at most.
    pub(crate) async fn open(
        &self,
        protocols: &str,
        buffer: usize,
    ) -> Result<(DuplexStream, HeaderMap), NoTunnel> {
        let (trunk, frames) = timeout(SOON, self.trunk()).await.unwrap()?;
        tokio::spawn(read(trunk.clone(), frames));
        let header = |name: &str, value: &str| Header {
            name: name.to_owned(),
            value: value.to_owned().into(),
        };
        let handshake = vec![
            header("connection", "Upgrade"),
            header("upgrade", "websocket"),
            header("sec-websocket-version", "13"),
            header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            header("sec-websocket-protocol", protocols),
        ];
        let opening = trunk.open(handshake).map_err(|_| NoTunnel::Nobody)?;
        let answer = timeout(SOON, opening.answer()).await.unwrap();
        let (answer, receiver, sender) = answer.map_err(|_| NoTunnel::Nobody)?;
        let headers = answer.headers.into_iter().map(|header| {
            let name = http::HeaderName::try_from(header.name).unwrap();
            (name, http::HeaderValue::from_bytes(&header.value).unwrap())
        });
        let headers = headers.collect();
        if answer.status != 101 {
            let status = u16::try_from(answer.status).unwrap();
            return Err(NoTunnel::Refused(status, headers));
        }
        let (near, far) = tokio::io::duplex(buffer);
        tokio::spawn(async move {
            pump(far, receiver, sender).await;
            trunk.finish();
        });
        Ok((near, headers))
    }

    pub(crate) async fn trunk(&self) -> Result<(Trunk, Streaming<TunnelFrame>), NoTunnel> {
        let (trunk, drain) = trunk();
        let hello = Hello {
            router_id: "router-1".to_owned(),
            router_incarnation: 7,
            target: Some(self.target.clone()),
        };
        trunk.introduce(tunnel_frame::Frame::Hello(hello));
        let mut frames = self.begin(drain).await?;
        let first = frames.message().await.map_err(NoTunnel::Status)?;
        match first.and_then(|frame| frame.frame) {
            Some(tunnel_frame::Frame::Welcome(welcome))
                if welcome.node_id == self.target.node_id
                    && welcome.incarnation == self.target.incarnation =>
            {
                Ok((trunk, frames))
            }
            _ => Err(NoTunnel::Nobody),
        }
    }

    async fn begin(&self, drain: Drain) -> Result<Streaming<TunnelFrame>, NoTunnel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.addr)).unwrap();
        let channel: Channel = endpoint.connect().await.map_err(|_| NoTunnel::Nobody)?;
        let mut request = Request::new(drain);
        let key = self.key.parse().unwrap();
        request.metadata_mut().insert(headers::CLUSTER_KEY, key);
        let frames = BridgeClient::new(channel).trunk(request).await;
        Ok(frames.map_err(NoTunnel::Status)?.into_inner())
    }
}

async fn read(trunk: Trunk, mut frames: Streaming<TunnelFrame>) {
    while let Ok(Some(frame)) = frames.message().await {
        trunk.handle(frame).unwrap();
    }
    trunk.lose();
}

/// Until both sides have ended, or the node is lost.
async fn pump(stream: DuplexStream, mut receiver: Receiver, mut sender: Sender) {
    let (mut reads, mut writes) = tokio::io::split(stream);
    let inwards = async {
        while let Ok(Some(chunks)) = receiver.recv().await {
            for chunk in chunks {
                if writes.write_all(&chunk).await.is_err() {
                    return;
                }
                receiver.took(chunk.len());
            }
        }
        let _ = writes.shutdown().await;
    };
    let outwards = async {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(room) = sender.ready().await {
            match reads.read(&mut buffer[..room]).await {
                Ok(read @ 1..) => sender.send(Bytes::copy_from_slice(&buffer[..read])),
                _ => return sender.finish(),
            }
        }
    };
    tokio::join!(inwards, outwards);
}
