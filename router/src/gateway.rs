//! What every request of a router needs.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clientmcp_core::mcp::origin::OriginPolicy;
use clientmcp_core::mcp::session::SessionKeys;
use clientmcp_core::token::{Grant, TokenError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::links::Links;
use crate::metrics::Metrics;
use crate::placement::Placement;
use crate::registrations::Registrations;
use crate::request_body::Bodies;
use crate::tasks::Tasks;
use crate::verified::Verified;

/// A router's state: configuration, what it knows of the cluster, and what it counts. There is
/// none per agent or app beyond requests in flight.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) config: Config,
    pub(crate) origins: OriginPolicy,
    pub(crate) sessions: SessionKeys,
    pub(crate) links: Arc<Links>,
    pub(crate) placement: Arc<Placement>,
    pub(crate) registrations: Arc<Registrations>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bodies: Bodies,
    /// Sockets of apps.
    pub(crate) tunnels: TaskTracker,
    /// Cancelled when the router stops: streams end gracefully, tunnels hang up.
    pub(crate) closing: CancellationToken,
    /// Cancelled when the router is dropped, or has stopped: whatever still runs is dropped.
    pub(crate) abort: CancellationToken,
    pub(crate) tokens: Verified,
    /// Where tasks are kept.
    pub(crate) tasks: Arc<Tasks>,
    /// Drivers of tasks.
    pub(crate) errands: TaskTracker,
}

impl Gateway {
    /// Verifies a token.
    ///
    /// # Errors
    /// [`TokenError`]; it is counted.
    pub(crate) fn verify(&self, token: &str) -> Result<Grant, TokenError> {
        let verified = self.tokens.verify(token, unix_seconds());
        match &verified {
            Ok(grant) => self.metrics.token_verified(grant.key_index()),
            Err(error) => self.metrics.token_refused(error.label()),
        }
        verified
    }

    /// Whether agents and apps may be sent here: a node can be reached, or there is none at all,
    /// so that no other router is any better. A router that has another secret than the nodes
    /// reaches none.
    ///
    /// # Errors
    /// Why not, for people.
    pub(crate) fn readiness(&self) -> Result<(), String> {
        if self.links.is_any_up() || self.placement.view().nodes().next().is_none() {
            Ok(())
        } else {
            Err("no node can be reached".to_owned())
        }
    }
}

/// The time in seconds since 1970, by this machine's clock.
pub(crate) fn unix_seconds() -> u64 {
    unix_ms() / 1_000
}

/// The time in milliseconds since 1970, by this machine's clock.
pub(crate) fn unix_ms() -> u64 {
    // A clock before 1970 makes every token valid too early rather than the process panic.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
