//! A JSON page of another process's admin port.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// The largest page that is read.
const PAGE_BYTES: usize = 1024 * 1024;

/// Fetches a page; `None` if there is no answer in time, or none that can be read.
pub(crate) async fn json(address: &str, path: &'static str, within: Duration) -> Option<Value> {
    tokio::time::timeout(within, get(address, path))
        .await
        .ok()?
}

async fn get(address: &str, path: &'static str) -> Option<Value> {
    let stream = TcpStream::connect(address).await.ok()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::get(path)
        .header(header::HOST, address)
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .ok()?;
    let exchange = async {
        let response = sender.send_request(request).await.ok()?;
        if response.status() != StatusCode::OK {
            return None;
        }
        let page = Limited::new(response.into_body(), PAGE_BYTES);
        let page = page.collect().await.ok()?.to_bytes();
        serde_json::from_slice(&page).ok()
    };
    let mut exchange = pin!(exchange);
    tokio::select! {
        page = &mut exchange => page,
        _ = connection => exchange.await,
    }
}
