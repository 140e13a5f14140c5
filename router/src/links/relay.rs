//! The way to a node through another one, for when the direct way is cut.

use std::io;
use std::pin::pin;

use bytes::Bytes;
use clientmcp_proto::headers::{CLUSTER_KEY, INCARNATION, NODE, RELAY_PATH, RELAY_PROTOCOL};
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::Run;
use super::bridge::ClusterKey;

/// A node that passes bytes on to another one.
#[derive(Debug, Clone)]
pub(super) struct Relay {
    /// Where the node is that passes bytes on.
    pub(super) address: String,
    pub(super) key: ClusterKey,
    /// The node that is meant.
    pub(super) node: Run,
}

impl Relay {
    /// A connection whose other end is the node that is meant.
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(io::Error::other)?;
        let exchange = async {
            let mut response = sender
                .send_request(self.request())
                .await
                .map_err(io::Error::other)?;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                let refused = format!("the other node answered {}", response.status());
                return Err(io::Error::new(io::ErrorKind::NotConnected, refused));
            }
            let upgraded = hyper::upgrade::on(&mut response).await;
            let parts = upgraded
                .map_err(io::Error::other)?
                .downcast::<TokioIo<TcpStream>>()
                .expect("the connection was made of a TcpStream");
            // The node that is meant waits for us to speak first.
            debug_assert!(parts.read_buf.is_empty());
            Ok(parts.io.into_inner())
        };
        let (mut exchange, connection) = (pin!(exchange), connection.with_upgrades());
        tokio::select! {
            exchanged = &mut exchange => exchanged,
            // It ends when the stream is taken out of it; if it ends by itself, the exchange fails.
            _ = connection => exchange.await,
        }
    }

    fn request(&self) -> Request<Empty<Bytes>> {
        let ascii = |text: String| HeaderValue::try_from(text).expect("names of members are ASCII");
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = http::Uri::from_static(RELAY_PATH);
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::try_from(&self.address) {
            headers.insert(header::HOST, host);
        }
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static(RELAY_PROTOCOL));
        headers.insert(CLUSTER_KEY, self.key.header());
        headers.insert(NODE, ascii(self.node.member.to_string()));
        headers.insert(INCARNATION, ascii(self.node.incarnation.to_string()));
        request
    }
}
