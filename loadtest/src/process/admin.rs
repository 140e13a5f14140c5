//! The pages of a process's admin port: `/readyz`, `/metrics`, `/status`.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// An admin port that is well answers within this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a page says.
#[derive(Debug, Clone)]
pub struct Page {
    /// The HTTP status.
    pub status: StatusCode,
    /// The text.
    pub text: String,
}

/// Reads a page, on a connection of its own.
///
/// # Errors
/// There is no answer, or not within 2 s.
pub async fn fetch(admin: SocketAddr, path: &str) -> anyhow::Result<Page> {
    let fetched = tokio::time::timeout(PATIENCE, read(admin, path)).await;
    fetched.context("no answer in time")?
}

async fn read(admin: SocketAddr, path: &str) -> anyhow::Result<Page> {
    let stream = TcpStream::connect(admin).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get(path)
        .header(header::HOST, admin.to_string())
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        anyhow::Ok(Page {
            status,
            text: String::from_utf8_lossy(&body).into_owned(),
        })
    };
    let (page, _) = tokio::join!(exchange, connection);
    page
}
