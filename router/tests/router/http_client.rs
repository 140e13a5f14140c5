//! An HTTP/1.1 client that shows what is on the wire.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Nothing in these tests takes so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// The one value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(have, _)| have == name);
        let value = found.next()?.1.as_str();
        assert!(found.next().is_none(), "{name} is there twice");
        Some(value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The JSON-RPC error code.
    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_default()
    }

    /// The data of the events of a stream.
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        events(&self.body)
    }
}

/// The data of all events in a stream's text.
pub(crate) fn events(text: &str) -> Vec<serde_json::Value> {
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// A connection, and what was read ahead on it.
pub(crate) struct Connection {
    stream: TcpStream,
    ahead: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(addr: SocketAddr) -> Self {
        Self {
            stream: TcpStream::connect(addr).await.unwrap(),
            ahead: Vec::new(),
        }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Answer {
        // A server that refuses early may not read all of it.
        let _ = self.stream.write_all(request).await;
        let mut answer = self.head().await;
        answer.body = self.rest(&answer).await;
        answer
    }

    /// Reads the head of an answer.
    pub(crate) async fn head(&mut self) -> Answer {
        let end = loop {
            if let Some(at) = find(&self.ahead, b"\r\n\r\n") {
                break at;
            }
            assert!(self.more().await, "the connection ended before the head");
        };
        let head: Vec<u8> = self.ahead.drain(..end + 4).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        Answer {
            status: status.parse().unwrap(),
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
            body: String::new(),
        }
    }

    /// Reads the body that belongs to a head.
    async fn rest(&mut self, head: &Answer) -> String {
        if head.header("transfer-encoding") == Some("chunked") {
            let mut body = String::new();
            while let Some(chunk) = self.chunk().await {
                body.push_str(&chunk);
            }
            return body;
        }
        let length = head
            .header("content-length")
            .map_or(0, |text| text.parse().unwrap());
        while self.ahead.len() < length {
            assert!(self.more().await, "the connection ended within the body");
        }
        String::from_utf8(self.ahead.drain(..length).collect()).unwrap()
    }

    /// The next chunk of a stream; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        let end = loop {
            if let Some(at) = find(&self.ahead, b"\r\n") {
                break at;
            }
            assert!(self.more().await, "the connection ended within the stream");
        };
        let size: Vec<u8> = self.ahead.drain(..end + 2).collect();
        let size = std::str::from_utf8(&size[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        while self.ahead.len() < size + 2 {
            assert!(self.more().await, "the connection ended within a chunk");
        }
        let chunk: Vec<u8> = self.ahead.drain(..size + 2).take(size).collect();
        (size > 0).then(|| String::from_utf8(chunk).unwrap())
    }

    /// The next event of a stream, comments left out; `None` at its end.
    pub(crate) async fn event(&mut self) -> Option<serde_json::Value> {
        loop {
            let chunk = self.chunk().await?;
            if let Some(event) = events(&chunk).into_iter().next() {
                return Some(event);
            }
        }
    }

    /// Whether anything comes in answer to a request.
    pub(crate) async fn answers(&mut self, request: &[u8]) -> bool {
        self.stream.write_all(request).await.is_ok() && self.more().await
    }

    /// Whether the other side ends the connection, within the tests' patience.
    pub(crate) async fn ends(&mut self) -> bool {
        while self.more().await {}
        true
    }

    /// What is read until the connection ends.
    pub(crate) async fn read_to_end(mut self) -> Vec<u8> {
        while self.more().await {}
        self.ahead
    }

    /// At least so many bytes.
    pub(crate) async fn read(&mut self, count: usize) -> Vec<u8> {
        while self.ahead.len() < count {
            assert!(self.more().await, "the connection ended");
        }
        self.ahead.drain(..count).collect()
    }

    async fn more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut buffer)).await;
        match read.expect("nothing comes") {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.ahead.extend_from_slice(&buffer[..read]);
                true
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}
