//! Where agents send their requests.

use std::net::SocketAddr;
use std::sync::Arc;

use super::balancer::Balancer;

/// The way into the cluster.
#[derive(Debug, Clone)]
pub enum Entry {
    /// Straight to the routers, in turn.
    Routers(Vec<SocketAddr>),
    /// Through a load balancer.
    Balancer(Arc<Balancer>),
}

impl Entry {
    /// Where to connect for a request of this number.
    pub(super) fn pick(&self, number: u64) -> SocketAddr {
        match self {
            Entry::Routers(routers) => {
                let count = routers.len() as u64;
                let index = usize::try_from(number % count).unwrap_or_default();
                routers[index]
            }
            Entry::Balancer(balancer) => balancer.addr(),
        }
    }

    /// The router that served a connection.
    pub(super) fn router(
        &self,
        target: SocketAddr,
        local: Option<SocketAddr>,
    ) -> Option<SocketAddr> {
        match self {
            Entry::Routers(_) => Some(target),
            Entry::Balancer(balancer) => balancer.backend(local?),
        }
    }

    /// URLs under which apps connect, to be used in turn.
    #[must_use]
    pub fn connect_urls(&self) -> Vec<String> {
        let url = |addr: &SocketAddr| format!("ws://{addr}/v1/connect");
        match self {
            Entry::Routers(routers) => routers.iter().map(url).collect(),
            Entry::Balancer(balancer) => vec![url(&balancer.addr())],
        }
    }
}
