//! As much of WebSocket as the router speaks itself: the opening handshake (RFC 6455, 4.2), and a
//! close frame to an app that it refuses. Everything else passes through tunnels unread.

use std::io;
use std::time::Duration;

use clientmcp_core::close::Closing;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use clientmcp_core::mcp::error::{RpcError, code};

use crate::body::{Body, Response};

/// What `Sec-WebSocket-Protocol` answers.
pub(crate) const SUBPROTOCOL: HeaderValue = HeaderValue::from_static("clientmcp.v1");

/// A refused app gets so long to read why, and to close its side.
const GOODBYE: Duration = Duration::from_secs(2);

/// Checks that a request asks for a WebSocket.
///
/// # Errors
/// 405, 426 with what is missing, or 400 without a usable key.
pub(crate) fn check_upgrade(request: &http::request::Parts) -> Result<(), RpcError> {
    if request.method != Method::GET {
        return Err(RpcError::method_not_allowed("GET"));
    }
    let headers = &request.headers;
    let upgrade = |message: &'static str| {
        RpcError::new(
            StatusCode::UPGRADE_REQUIRED,
            code::UPGRADE_REQUIRED,
            message,
        )
        .with_header(header::UPGRADE, HeaderValue::from_static("websocket"))
        .with_header(header::CONNECTION, HeaderValue::from_static("Upgrade"))
    };
    if request.version != Version::HTTP_11
        || !has_token(headers, &header::CONNECTION, "upgrade")
        || !has_token(headers, &header::UPGRADE, "websocket")
    {
        return Err(upgrade("Apps connect with a WebSocket over HTTP/1.1"));
    }
    if headers
        .get(header::SEC_WEBSOCKET_VERSION)
        .map(HeaderValue::as_bytes)
        != Some(b"13")
    {
        return Err(upgrade("Sec-WebSocket-Version must be 13").with_header(
            header::SEC_WEBSOCKET_VERSION,
            HeaderValue::from_static("13"),
        ));
    }
    // 16 bytes in base64.
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    match (keys.next(), keys.next()) {
        (Some(key), None) if key.len() == 24 => Ok(()),
        _ => Err(RpcError::invalid_request("Sec-WebSocket-Key is not valid")),
    }
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .any(|word| word.trim().eq_ignore_ascii_case(token))
}

/// The answer that switches protocols, without what the handshake still needs.
pub(crate) fn switching() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    response
}

/// The answer that completes the handshake with this router itself.
pub(crate) fn accept(request: &HeaderMap) -> Response {
    let mut response = switching();
    let key = request.get(header::SEC_WEBSOCKET_KEY);
    let key = key.map_or(&b""[..], HeaderValue::as_bytes);
    let accept = HeaderValue::try_from(derive_accept_key(key)).expect("base64 is ASCII");
    let headers = response.headers_mut();
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
    response
}

/// Closes a socket whose handshake is complete, and waits until the app has read why: a socket
/// that is dropped with unread bytes resets the connection, and the close frame is lost with it.
pub(crate) async fn close(mut stream: TcpStream, closing: &Closing) -> io::Result<()> {
    let goodbye = async {
        stream.write_all(&close_frame(closing)).await?;
        stream.shutdown().await?;
        let mut ignored = [0; 512];
        while stream.read(&mut ignored).await? > 0 {}
        Ok(())
    };
    match tokio::time::timeout(GOODBYE, goodbye).await {
        Ok(closed) => closed,
        Err(_) => Ok(()),
    }
}

/// RFC 6455, 5.5.1: unmasked, since it comes from the server.
fn close_frame(closing: &Closing) -> Vec<u8> {
    let reason = closing.reason().as_bytes();
    let length = u8::try_from(2 + reason.len()).expect("a closing's reason fits into the frame");
    let mut frame = vec![0x88, length];
    frame.extend_from_slice(&closing.code().number().to_be_bytes());
    frame.extend_from_slice(reason);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_core::close::CloseCode;

    fn request(change: impl FnOnce(&mut http::request::Parts)) -> http::request::Parts {
        let request = http::Request::get("/v1/connect")
            .header("connection", "keep-alive, Upgrade")
            .header("upgrade", "WebSocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let mut parts = request.body(()).unwrap().into_parts().0;
        change(&mut parts);
        parts
    }

    #[test]
    fn only_whole_upgrades_pass() {
        type Change = fn(&mut http::request::Parts);
        let cases: [(u16, Change); 7] = [
            (200, |_| {}),
            (405, |parts| parts.method = Method::POST),
            (426, |parts| parts.version = Version::HTTP_2),
            (426, |parts| {
                parts.headers.remove("upgrade");
            }),
            (426, |parts| {
                parts.headers.insert("connection", "close".parse().unwrap());
            }),
            (426, |parts| {
                parts
                    .headers
                    .insert("sec-websocket-version", "8".parse().unwrap());
            }),
            (400, |parts| {
                parts
                    .headers
                    .insert("sec-websocket-key", "short".parse().unwrap());
            }),
        ];
        for (status, change) in cases {
            let found = check_upgrade(&request(change)).map_err(|error| error.status.as_u16());
            assert_eq!(found.err().unwrap_or(200), status);
        }
    }

    #[test]
    fn the_handshake_is_that_of_the_rfc() {
        let response = accept(&request(|_| {}).headers);
        assert_eq!(response.status(), 101);
        assert_eq!(
            response.headers()["sec-websocket-accept"],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert_eq!(response.headers()["sec-websocket-protocol"], "clientmcp.v1");
    }

    #[test]
    fn a_close_frame_has_code_and_reason() {
        let closing = Closing::new(CloseCode::Unauthorized, "no");
        assert_eq!(close_frame(&closing), [0x88, 4, 0x11, 0x31, b'n', b'o']);
    }
}
