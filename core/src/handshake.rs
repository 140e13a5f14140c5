//! What an app offers in `Sec-WebSocket-Protocol` (SPEC.md §4.1): read alike by routers and by
//! nodes.

use http::{HeaderMap, header};

use crate::close::{CloseCode, Closing};

/// The subprotocol that is spoken, and the only one that is echoed.
pub const SUBPROTOCOL: &str = "clientmcp.v1";
/// What the subprotocol that carries the token begins with.
pub const TOKEN_PREFIX: &str = "clientmcp.token.";

/// The subprotocols that an app offers, in any order, on one header line or several.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Offer<'a> {
    /// Whether [`SUBPROTOCOL`] is among them. Names are case-sensitive.
    pub speaks_v1: bool,
    /// The text of the token.
    pub token: Result<&'a str, OfferError>,
}

/// Why an offer has no token. The texts are for the app's developer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// No subprotocol carries one: it was left out, or a proxy dropped a header that was too long.
    #[error("the token is missing: send the subprotocol clientmcp.token.<JWT>")]
    Missing,
    /// Two subprotocols carry one.
    #[error("two tokens were sent; send one")]
    Several,
}

impl OfferError {
    /// The close frame for an app with this offer.
    #[must_use]
    pub fn closing(self) -> Closing {
        Closing::new(CloseCode::Unauthorized, self.to_string())
    }
}

impl<'a> Offer<'a> {
    /// Reads the headers of an upgrade request.
    #[must_use]
    pub fn read(headers: &'a HeaderMap) -> Self {
        let mut offer = Self {
            speaks_v1: false,
            token: Err(OfferError::Missing),
        };
        let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
        for name in lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .map(|name| name.trim_matches([' ', '\t']))
        {
            if name == SUBPROTOCOL {
                offer.speaks_v1 = true;
            } else if let Some(token) = name.strip_prefix(TOKEN_PREFIX) {
                offer.token = match offer.token {
                    Err(OfferError::Missing) => Ok(token),
                    _ => Err(OfferError::Several),
                };
            }
        }
        offer
    }
}

impl std::fmt::Debug for Offer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offer")
            .field("speaks_v1", &self.speaks_v1)
            .field("token", &self.token.map(|_| "redacted"))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn read(lines: &[&str]) -> (bool, Result<String, OfferError>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(
                header::SEC_WEBSOCKET_PROTOCOL,
                HeaderValue::from_str(line).unwrap(),
            );
        }
        let offer = Offer::read(&headers);
        assert!(!format!("{offer:?}").contains("a.b.c"));
        (offer.speaks_v1, offer.token.map(str::to_owned))
    }

    #[test]
    fn order_lines_and_blanks_do_not_matter() {
        for lines in [
            &["clientmcp.v1, clientmcp.token.a.b.c"][..],
            &["clientmcp.token.a.b.c, clientmcp.v1"],
            &["clientmcp.v1", "clientmcp.token.a.b.c"],
            &["clientmcp.v1,clientmcp.token.a.b.c"],
            &[",clientmcp.v1,,\tclientmcp.token.a.b.c ,"],
            &["other, clientmcp.v1, clientmcp.token.a.b.c"],
        ] {
            assert_eq!(read(lines), (true, Ok("a.b.c".to_owned())), "{lines:?}");
        }
    }

    #[test]
    fn what_is_missing_is_told_apart() {
        let missing = || Err(OfferError::Missing);
        for (lines, expected) in [
            (&["clientmcp.v1"][..], (true, missing())),
            (&["clientmcp.token.t"], (false, Ok("t".to_owned()))),
            (&[], (false, missing())),
            (
                &["CLIENTMCP.V1, clientmcp.token.t"],
                (false, Ok("t".to_owned())),
            ),
            (
                &["clientmcp.v2, clientmcp.token.t"],
                (false, Ok("t".to_owned())),
            ),
            (
                &["clientmcp.v1, clientmcp.token.t, clientmcp.token.u"],
                (true, Err(OfferError::Several)),
            ),
            (
                &["clientmcp.v1, clientmcp.token.a=/b"],
                (true, Ok("a=/b".to_owned())),
            ),
        ] {
            assert_eq!(read(lines), expected, "{lines:?}");
        }
    }
}
