//! Host and Origin: who may reach the endpoint from a browser (SPEC.md §9.2, §9.3).
//!
//! A web page can make a browser send requests to any address, and by DNS rebinding to a
//! loopback address under the page's own name. The Host check stops the second, the Origin check
//! both.

use http::{HeaderMap, HeaderValue, header};

use super::authority::Authority;
use super::error::RpcError;

/// Which hosts and origins are allowed.
#[derive(Debug, Clone, Default)]
pub struct OriginPolicy {
    loopback_bind: bool,
    hosts: Vec<Authority>,
    origins: Vec<Origin>,
}

/// An entry of the configuration that is no host or origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} is no {what}")]
pub struct InvalidEntry {
    what: &'static str,
    entry: String,
}

impl InvalidEntry {
    /// What it was meant to be: `host` or `origin`.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.what
    }
}

/// The Origin of a request that was allowed, as it was sent: CORS answers name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin(HeaderValue);

impl AllowedOrigin {
    /// The value for `Access-Control-Allow-Origin`.
    #[must_use]
    pub fn as_value(&self) -> &HeaderValue {
        &self.0
    }
}

impl OriginPolicy {
    /// A policy for a listener. `loopback_bind` says that it listens on a loopback address alone.
    /// `hosts` are names with or without a port (without: any port), `origins` are
    /// `scheme://host[:port]` or `null`.
    ///
    /// # Errors
    /// [`InvalidEntry`] for an entry that cannot be read; `*` is none.
    pub fn new(
        loopback_bind: bool,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, InvalidEntry> {
        let invalid = |what, entry: &String| InvalidEntry {
            what,
            entry: entry.clone(),
        };
        let hosts = hosts
            .iter()
            .map(|entry| Authority::parse(entry).ok_or_else(|| invalid("host", entry)))
            .collect::<Result<_, _>>()?;
        let origins = origins
            .iter()
            .map(|entry| Origin::parse(entry).ok_or_else(|| invalid("origin", entry)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            loopback_bind,
            hosts,
            origins,
        })
    }

    /// Checks a request. `authority` is that of the request target, where it has one (HTTP/2's
    /// `:authority`). `None`: the request has no Origin, so it comes from no browser page.
    ///
    /// # Errors
    /// 403 if Host or Origin are foreign or malformed.
    pub fn check(
        &self,
        authority: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Option<AllowedOrigin>, RpcError> {
        let host = self.check_host(authority, headers)?;
        self.check_origin(host.as_ref(), headers)
    }

    fn check_host(
        &self,
        authority: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Option<Authority>, RpcError> {
        let refused = || RpcError::forbidden("Host not allowed");
        let mut host: Option<Authority> = None;
        let named = headers.get_all(header::HOST).iter();
        let named = named.map(|value| value.to_str().unwrap_or_default());
        for text in authority.into_iter().chain(named) {
            let next = Authority::parse(text).ok_or_else(refused)?;
            if host.as_ref().is_some_and(|earlier| *earlier != next) {
                return Err(refused());
            }
            host = Some(next);
        }
        if !self.loopback_bind && self.hosts.is_empty() {
            return Ok(host);
        }
        let allowed = host.as_ref().is_some_and(|host| {
            (self.loopback_bind && host.is_loopback())
                || self.hosts.iter().any(|entry| entry.covers(host))
        });
        if allowed { Ok(host) } else { Err(refused()) }
    }

    fn check_origin(
        &self,
        host: Option<&Authority>,
        headers: &HeaderMap,
    ) -> Result<Option<AllowedOrigin>, RpcError> {
        let mut values = headers.get_all(header::ORIGIN).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let origin = match values.next() {
            None => value.to_str().ok().and_then(Origin::parse),
            Some(_) => None,
        };
        let allowed = origin.is_some_and(|origin| {
            self.origins.contains(&origin)
                || origin.is_loopback()
                || host.is_some_and(|host| origin.is_at(host))
        });
        if allowed {
            Ok(Some(AllowedOrigin(value.clone())))
        } else {
            Err(RpcError::forbidden("Origin not allowed"))
        }
    }
}

/// An Origin, its default port left out.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// `null`: a sandboxed frame, a file, a redirect across origins.
    Opaque,
    At {
        scheme: String,
        authority: Authority,
    },
}

impl Origin {
    fn parse(text: &str) -> Option<Origin> {
        if text == "null" {
            return Some(Origin::Opaque);
        }
        let (scheme, authority) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if scheme.is_empty() || !scheme.bytes().all(letters) {
            return None;
        }
        let mut authority = Authority::parse(authority)?;
        if authority.port == default_port(&scheme) {
            authority.port = None;
        }
        Some(Origin::At { scheme, authority })
    }

    fn is_loopback(&self) -> bool {
        match self {
            Origin::Opaque => false,
            Origin::At { scheme, authority } => {
                default_port(scheme).is_some() && authority.is_loopback()
            }
        }
    }

    /// Whether the page comes from the very host and port that the request goes to. A Host
    /// without a port is at the default port of either scheme: TLS may end before the listener.
    fn is_at(&self, host: &Authority) -> bool {
        match self {
            Origin::Opaque => false,
            Origin::At { scheme, authority } => {
                let default = default_port(scheme);
                default.is_some()
                    && authority.host == host.host
                    && authority.port.or(default) == host.port.or(default)
            }
        }
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(loopback: bool, hosts: &[&str], origins: &[&str]) -> OriginPolicy {
        let owned = |list: &[&str]| list.iter().map(|&s| s.to_owned()).collect::<Vec<_>>();
        OriginPolicy::new(loopback, &owned(hosts), &owned(origins)).unwrap()
    }

    fn allows(policy: &OriginPolicy, host: &str, origins: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        policy.check(None, &headers).is_ok()
    }

    #[test]
    fn a_loopback_bind_serves_loopback_names() {
        let policy = policy(true, &[], &[]);
        for (host, ok) in [
            ("localhost", true),
            ("localhost:8080", true),
            ("LOCALHOST:8080", true),
            ("localhost.", true),
            ("127.0.0.1:8080", true),
            ("127.8.9.1", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("evil.example.com", false),
            ("evil.example.com:8080", false),
            ("localhost.evil.example.com", false),
            ("0.0.0.0:8080", false),
            ("10.0.0.7:8080", false),
            ("[::2]:8080", false),
            ("[::1", false),
            ("[::1]x", false),
            ("[::1]8080", false),
            ("localhost:", false),
            ("localhost:x", false),
            ("localhost:99999", false),
            ("localhost:8080:8080", false),
            ("user@localhost", false),
            ("", false),
        ] {
            assert_eq!(allows(&policy, host, &[]), ok, "{host}");
        }
    }

    #[test]
    fn a_public_bind_serves_every_host_unless_told() {
        let open = policy(false, &[], &[]);
        for host in [
            "10.1.2.3:8080",
            "mcp.default.svc:8080",
            "mcp.example.com",
            "[fe80::1]:8080",
            "0.0.0.0:8080",
            "MCP.example.COM:443",
        ] {
            assert!(allows(&open, host, &[]), "{host}");
        }
        let listed = policy(false, &["mcp.example.com", "other.example.com:8443"], &[]);
        for (host, ok) in [
            ("mcp.example.com", true),
            ("mcp.example.com:443", true),
            ("MCP.EXAMPLE.COM", true),
            ("other.example.com:8443", true),
            ("other.example.com", false),
            ("10.1.2.3:8080", false),
            ("localhost:8080", false),
        ] {
            assert_eq!(allows(&listed, host, &[]), ok, "{host}");
        }
    }

    #[test]
    fn origins_are_loopback_same_host_or_listed() {
        let policy = policy(
            false,
            &[],
            &["https://app.example.com", "http://Dev.example:3000"],
        );
        for (host, origins, ok) in [
            ("mcp.example.com", &[][..], true),
            ("mcp.example.com", &["https://mcp.example.com"], true),
            ("mcp.example.com:443", &["https://mcp.example.com"], true),
            (
                "mcp.example.com:8080",
                &["http://mcp.example.com:8080"],
                true,
            ),
            ("mcp.example.com", &["https://mcp.example.com:8443"], false),
            ("mcp.example.com", &["http://localhost:5173"], true),
            ("mcp.example.com", &["http://127.0.0.1"], true),
            ("mcp.example.com", &["http://[::1]:5173"], true),
            ("mcp.example.com", &["ftp://localhost"], false),
            ("mcp.example.com", &["https://app.example.com"], true),
            ("mcp.example.com", &["https://app.example.com:443"], true),
            ("mcp.example.com", &["HTTPS://APP.EXAMPLE.COM"], true),
            ("mcp.example.com", &["https://app.example.com:8443"], false),
            ("mcp.example.com", &["http://app.example.com"], false),
            ("mcp.example.com", &["http://dev.example:3000"], true),
            ("mcp.example.com", &["https://evil.example.com"], false),
            (
                "mcp.example.com",
                &["https://localhost.evil.example"],
                false,
            ),
            ("mcp.example.com", &["null"], false),
            ("mcp.example.com", &["garbage"], false),
            ("mcp.example.com", &[""], false),
            ("mcp.example.com", &["https://app.example.com/"], false),
            (
                "mcp.example.com",
                &["https://app.example.com", "https://app.example.com"],
                false,
            ),
        ] {
            assert_eq!(allows(&policy, host, origins), ok, "{host} {origins:?}");
        }
    }

    #[test]
    fn null_is_an_origin_that_can_be_listed() {
        assert!(allows(&policy(false, &[], &["null"]), "a", &["null"]));
    }

    #[test]
    fn host_and_authority_must_agree() {
        let policy = policy(true, &[], &[]);
        let mut headers = HeaderMap::new();
        assert!(policy.check(Some("localhost:1"), &headers).is_ok());
        assert!(policy.check(None, &headers).is_err());
        headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:1"));
        assert!(policy.check(Some("localhost:1"), &headers).is_err());
    }

    #[test]
    fn configuration_entries_are_checked() {
        for (hosts, origins) in [
            (&["*"][..], &[][..]),
            (&["https://a.example"], &[]),
            (&[""], &[]),
            (&[], &["*"]),
            (&[], &["a.example"]),
            (&[], &["https://*.example"]),
            (&[], &["https://a.example/path"]),
        ] {
            let owned = |list: &[&str]| list.iter().map(|&s| s.to_owned()).collect::<Vec<_>>();
            let policy = OriginPolicy::new(false, &owned(hosts), &owned(origins));
            assert!(policy.is_err(), "{hosts:?} {origins:?}");
        }
    }
}
