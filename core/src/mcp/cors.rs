//! CORS headers, for agents that run in web pages (SPEC.md §9.4).
//!
//! Only origins that [`super::origin::OriginPolicy`] allowed get any, so `*` never appears, and
//! credentials other than the Authorization header are never allowed.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::origin::AllowedOrigin;

/// The methods of the agent endpoint.
pub const ALLOW: &str = "GET, POST, DELETE, OPTIONS";
/// The same for whoever has no session.
pub const ALLOW_WITHOUT_SESSION: &str = "POST, OPTIONS";

const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After");
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("7200");
const REQUESTED_HEADERS_MAX: usize = 64;

/// Adds to the headers of any response, errors among them, what lets a page of this origin read
/// it. Without an origin only `Vary` is added: a cache must not give the answer to a page.
pub fn decorate(headers: &mut HeaderMap, origin: Option<&AllowedOrigin>) {
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            origin.as_value().clone(),
        );
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}

/// The headers of the answer (204) to OPTIONS, which needs no token. The requested headers are
/// allowed as they are: `Mcp-Param-*` has no list, and none of them carries a credential that
/// the browser would add by itself.
#[must_use]
pub fn preflight(request: &HeaderMap, origin: Option<&AllowedOrigin>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ALLOW, HeaderValue::from_static(ALLOW));
    decorate(&mut headers, origin);
    if origin.is_none() || !request.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return headers;
    }
    headers.append(
        header::VARY,
        HeaderValue::from_static("Access-Control-Request-Method, Access-Control-Request-Headers"),
    );
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
    if let Some(requested) = requested_headers(request) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested);
    }
    headers
}

fn requested_headers(request: &HeaderMap) -> Option<HeaderValue> {
    let names: Vec<HeaderName> = request
        .get_all(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .take(REQUESTED_HEADERS_MAX)
        .collect();
    let names: Vec<&str> = names.iter().map(HeaderName::as_str).collect();
    (!names.is_empty()).then(|| {
        HeaderValue::try_from(names.join(", ")).expect("header names are valid in a value")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::origin::OriginPolicy;

    fn allowed(origin: &'static str) -> AllowedOrigin {
        let mut headers = HeaderMap::new();
        headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        let policy = OriginPolicy::new(false, &[], &[origin.to_owned()]).unwrap();
        policy.check(None, &headers).unwrap().unwrap()
    }

    #[test]
    fn a_preflight_allows_what_was_asked_for() {
        let mut request = HeaderMap::new();
        request.insert("access-control-request-method", "POST".parse().unwrap());
        request.insert(
            "access-control-request-headers",
            "content-type, authorization,mcp-protocol-version, Mcp-Param-Region, b@d"
                .parse()
                .unwrap(),
        );
        let headers = preflight(&request, Some(&allowed("https://app.example")));
        assert_eq!(
            headers["access-control-allow-origin"],
            "https://app.example"
        );
        assert_eq!(
            headers["access-control-allow-headers"],
            "content-type, authorization, mcp-protocol-version, mcp-param-region"
        );
        assert_eq!(headers["access-control-allow-methods"], "GET, POST, DELETE");
        assert!(!headers.contains_key("access-control-allow-credentials"));
        assert_eq!(headers["vary"], "Origin");
    }

    #[test]
    fn without_an_origin_nothing_is_allowed() {
        let mut headers = HeaderMap::new();
        decorate(&mut headers, None);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["vary"], "Origin");
        let headers = preflight(&HeaderMap::new(), None);
        assert_eq!(headers["allow"], ALLOW);
        assert!(!headers.contains_key("access-control-allow-origin"));
    }

    #[test]
    fn every_answer_exposes_what_agents_read() {
        let mut headers = HeaderMap::new();
        decorate(&mut headers, Some(&allowed("null")));
        assert_eq!(headers["access-control-allow-origin"], "null");
        assert_eq!(
            headers["access-control-expose-headers"],
            "Mcp-Session-Id, WWW-Authenticate, Retry-After"
        );
    }
}
