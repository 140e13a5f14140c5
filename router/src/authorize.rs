//! The token of an HTTP request (SPEC.md §3.3): a missing or wrong one is a 401 before anything
//! else is said.

use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::token::{CallGrant, Grant, ScopeError, ServeGrant};
use http::{HeaderMap, HeaderValue, header};

use crate::gateway::Gateway;

/// The right to call the app.
///
/// # Errors
/// 401, or 403 if the scope lacks it.
pub(crate) fn call(gateway: &Gateway, headers: &HeaderMap) -> Result<CallGrant, RpcError> {
    let grant = verify(gateway, headers)?;
    grant.call().map_err(|error| out_of_scope(gateway, error))
}

/// The right to connect as the app.
///
/// # Errors
/// As for [`call`].
pub(crate) fn serve(gateway: &Gateway, headers: &HeaderMap) -> Result<ServeGrant, RpcError> {
    let grant = verify(gateway, headers)?;
    grant.serve().map_err(|error| out_of_scope(gateway, error))
}

fn verify(gateway: &Gateway, headers: &HeaderMap) -> Result<Grant, RpcError> {
    let token = bearer(headers).map_err(|message| {
        gateway.metrics.token_refused("missing");
        RpcError::unauthorized(message)
    })?;
    gateway.verify(token).map_err(|error| {
        let challenge = "Bearer realm=\"mcp\", error=\"invalid_token\"";
        RpcError::unauthorized(format!("Unauthorized: {error}")).with_header(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static(challenge),
        )
    })
}

fn out_of_scope(gateway: &Gateway, error: ScopeError) -> RpcError {
    gateway.metrics.token_refused("scope");
    let challenge = format!(
        "Bearer realm=\"mcp\", error=\"insufficient_scope\", scope=\"{}\"",
        error.missing()
    );
    RpcError::forbidden(format!("Forbidden: {error}")).with_header(
        header::WWW_AUTHENTICATE,
        HeaderValue::try_from(challenge).expect("scopes are ASCII"),
    )
}

/// The text of the bearer token.
fn bearer(headers: &HeaderMap) -> Result<&str, &'static str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        (None, _) => return Err("Unauthorized: send the header Authorization: Bearer <token>"),
        (Some(_), Some(_)) => return Err("Unauthorized: Authorization is given twice"),
    };
    match value.trim().split_once([' ', '\t']) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err("Unauthorized: Authorization must be Bearer <token>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bearer_token_is_read() {
        for (values, token) in [
            (&["Bearer a.b.c"][..], Some("a.b.c")),
            (&["bearer   a.b.c "], Some("a.b.c")),
            (&[], None),
            (&["Bearer"], None),
            (&["Basic a.b.c"], None),
            (&["a.b.c"], None),
            (&["Bearer a", "Bearer b"], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            assert_eq!(bearer(&headers).ok(), token, "{values:?}");
        }
    }
}
