//! The opening handshake of an app's WebSocket (RFC 6455, 4.2; SPEC.md §4.1).

use clientmcp_core::handshake::{Offer, OfferError};
use clientmcp_core::token::BearerToken;
use http::header::{CONNECTION, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, Method, StatusCode, Version};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// A handshake that can be completed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    /// The value of `Sec-WebSocket-Accept`.
    pub(crate) accept: String,
    /// The token that was offered.
    pub(crate) token: Result<BearerToken, OfferError>,
}

/// Why the connection is not upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoHandshake {
    #[error("use GET")]
    Method,
    #[error("send a WebSocket upgrade over HTTP/1.1")]
    Upgrade,
    #[error("send Sec-WebSocket-Version: 13")]
    Version,
    #[error("Sec-WebSocket-Key is missing or malformed")]
    Key,
    #[error("offer the subprotocol clientmcp.v1")]
    Subprotocol,
}

impl NoHandshake {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            NoHandshake::Method => StatusCode::METHOD_NOT_ALLOWED,
            NoHandshake::Upgrade | NoHandshake::Version => StatusCode::UPGRADE_REQUIRED,
            NoHandshake::Key | NoHandshake::Subprotocol => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a request's handshake.
pub(crate) fn read<B>(request: &http::Request<B>) -> Result<Handshake, NoHandshake> {
    if request.method() != Method::GET {
        return Err(NoHandshake::Method);
    }
    let headers = request.headers();
    let asks_for_websocket = request.version() == Version::HTTP_11
        && words(headers, CONNECTION).any(|word| word.eq_ignore_ascii_case("upgrade"))
        && words(headers, UPGRADE).any(|word| word.eq_ignore_ascii_case("websocket"));
    if !asks_for_websocket {
        return Err(NoHandshake::Upgrade);
    }
    if !words(headers, SEC_WEBSOCKET_VERSION).eq(["13"]) {
        return Err(NoHandshake::Version);
    }
    let accept = accept_key(headers).ok_or(NoHandshake::Key)?;
    let offer = Offer::read(headers);
    if !offer.speaks_v1 {
        return Err(NoHandshake::Subprotocol);
    }
    Ok(Handshake {
        accept,
        token: offer.token.map(BearerToken::new),
    })
}

/// The words of a header that is a list, over all its lines. A line that is no text has none.
fn words(headers: &HeaderMap, name: http::HeaderName) -> impl Iterator<Item = &str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(|word| word.trim_matches([' ', '\t']))
        .filter(|word| !word.is_empty())
}

/// The key is the base64 text of 16 bytes.
fn accept_key(headers: &HeaderMap) -> Option<String> {
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).into_iter();
    let (key, None) = (keys.next()?, keys.next()) else {
        return None;
    };
    let text = key.as_bytes().strip_suffix(b"==")?;
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    (text.len() == 22 && text.iter().all(is_base64)).then(|| derive_accept_key(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use http::header::SEC_WEBSOCKET_PROTOCOL;

    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    fn request(protocols: &'static str) -> Request<()> {
        Request::get("/v1/connect")
            .header(CONNECTION, "keep-alive, Upgrade")
            .header(UPGRADE, "WebSocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, KEY)
            .header(SEC_WEBSOCKET_PROTOCOL, protocols)
            .body(())
            .unwrap()
    }

    #[test]
    fn a_good_handshake_is_read() {
        let handshake = read(&request("clientmcp.v1, clientmcp.token.a.b.c")).unwrap();
        assert_eq!(handshake.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(handshake.token, Ok(BearerToken::new("a.b.c")));
    }

    #[test]
    fn without_a_token_it_is_completed_and_without_the_protocol_it_is_not() {
        let handshake = read(&request("clientmcp.v1")).unwrap();
        assert_eq!(handshake.token, Err(OfferError::Missing));
        let refused = read(&request("clientmcp.token.a.b.c")).unwrap_err();
        assert_eq!(refused, NoHandshake::Subprotocol);
    }

    #[test]
    fn what_is_no_websocket_upgrade_is_refused() {
        let mut post = request("clientmcp.v1");
        *post.method_mut() = Method::POST;
        assert_eq!(read(&post).unwrap_err(), NoHandshake::Method);

        let without = |name: http::HeaderName, value: Option<&str>| {
            let mut request = request("clientmcp.v1");
            request.headers_mut().remove(&name);
            if let Some(value) = value {
                request.headers_mut().insert(name, value.parse().unwrap());
            }
            read(&request).unwrap_err()
        };
        assert_eq!(without(UPGRADE, None), NoHandshake::Upgrade);
        assert_eq!(without(CONNECTION, Some("close")), NoHandshake::Upgrade);
        assert_eq!(
            without(SEC_WEBSOCKET_VERSION, Some("8")),
            NoHandshake::Version
        );
        assert_eq!(without(SEC_WEBSOCKET_KEY, None), NoHandshake::Key);
        assert_eq!(
            without(SEC_WEBSOCKET_KEY, Some("short==")),
            NoHandshake::Key
        );
    }
}
