//! Hosts and ports, as Host and Origin name them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host with or without a port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Authority {
    pub(super) host: Host,
    pub(super) port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Address(IpAddr),
}

impl Authority {
    pub(super) fn parse(text: &str) -> Option<Authority> {
        let (host, rest) = match text.strip_prefix('[') {
            Some(inside) => {
                let (address, rest) = inside.split_once(']')?;
                let address: Ipv6Addr = address.parse().ok()?;
                (Host::Address(address.into()), rest)
            }
            None => {
                let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
                (Host::parse(name)?, rest)
            }
        };
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        Some(Authority { host, port })
    }

    /// Whether this entry of the configuration covers the host of a request.
    pub(super) fn covers(&self, host: &Authority) -> bool {
        self.host == host.host && (self.port.is_none() || self.port == host.port)
    }

    pub(super) fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.to_canonical().is_loopback(),
        }
    }
}

impl Host {
    fn parse(text: &str) -> Option<Host> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Host::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        (!name.is_empty() && name.bytes().all(allowed))
            .then(|| Host::Name(name.to_ascii_lowercase()))
    }
}
