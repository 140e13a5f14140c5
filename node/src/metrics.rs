//! What a node counts.

use clientmcp_cluster::metrics;
use prometheus::{IntCounterVec, IntGauge, Registry};

/// Counters and gauges of a node.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// App sockets that are open, registered or not.
    pub(crate) sockets: IntGauge,
    /// Client IDs that are held here.
    pub(crate) apps: IntGauge,
    /// Links to routers.
    pub(crate) links: IntGauge,
    /// Requests of routers and other nodes, by method.
    pub(crate) requests: IntCounterVec,
    /// Calls that were taken and not answered.
    pub(crate) calls_in_flight: IntGauge,
    /// Ended calls, by what became of them.
    pub(crate) calls: IntCounterVec,
    /// Registers, by what became of them.
    pub(crate) registers: IntCounterVec,
    /// Upgrades that were refused, by why.
    pub(crate) refused_sockets: IntCounterVec,
    /// Close frames that were sent, by code.
    pub(crate) closes: IntCounterVec,
    /// Holdings that gave way, by where the newer one is.
    pub(crate) displaced: IntCounterVec,
    /// Agents' answers to requests for input, by what became of them.
    pub(crate) answers: IntCounterVec,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let gauge = |name, help| metrics::gauge(registry, name, help);
        let counters = |name, help, label| metrics::counters(registry, name, help, &[label]);
        Self {
            sockets: gauge("clientmcp_node_sockets", "App sockets that are open."),
            apps: gauge("clientmcp_node_apps", "Client IDs that are held here."),
            links: gauge("clientmcp_node_links", "Links to routers."),
            requests: counters(
                "clientmcp_node_requests_total",
                "Requests of routers and other nodes, beside the calls on links.",
                "method",
            ),
            calls_in_flight: gauge(
                "clientmcp_node_calls_in_flight",
                "Calls that were taken and not answered.",
            ),
            calls: counters(
                "clientmcp_node_calls_total",
                "Ended calls, by what became of them.",
                "outcome",
            ),
            registers: counters(
                "clientmcp_node_registers_total",
                "Registers, by what became of them.",
                "result",
            ),
            refused_sockets: counters(
                "clientmcp_node_refused_sockets_total",
                "Upgrades that were refused, by why.",
                "why",
            ),
            closes: counters(
                "clientmcp_node_closes_total",
                "Close frames that were sent, by code.",
                "code",
            ),
            displaced: counters(
                "clientmcp_node_displaced_total",
                "Holdings that gave way, by where the newer one is.",
                "to",
            ),
            answers: counters(
                "clientmcp_node_answers_total",
                "Agents' answers to requests for input, by what became of them.",
                "outcome",
            ),
        }
    }
}
