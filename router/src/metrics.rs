//! What operators see of a router.

use clientmcp_cluster::metrics::{counter, counters, gauge, gauges};
use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
};

/// Buckets of call durations, in seconds: from the floor of a small call to the longest deadline.
const CALL_SECONDS: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0,
    300.0, 900.0,
];

/// The metrics of a router. No label has more values than a list in the code, but for the
/// statuses of HTTP and the secrets of the configuration.
#[derive(Debug)]
pub(crate) struct Metrics {
    requests: IntCounterVec,
    calls_in_flight: IntGauge,
    call_seconds: HistogramVec,
    calls_waiting_for_input: IntGauge,
    input_requests: IntCounterVec,
    streams: IntGaugeVec,
    tunnels: IntGauge,
    /// Apps that no node took.
    pub(crate) tunnels_refused: IntCounter,
    /// Links that stand.
    pub(crate) links_up: IntGauge,
    /// Links that were lost.
    pub(crate) links_lost: IntCounter,
    /// Answers of nodes that named another node.
    pub(crate) redirects: IntCounter,
    tasks_driven: IntGauge,
    /// Calls that became tasks.
    pub(crate) tasks_begun: IntCounter,
    /// Tasks that came from another router.
    pub(crate) tasks_taken_over: IntCounter,
    /// Calls that were delivered again.
    pub(crate) redeliveries: IntCounter,
    /// Progress and log messages that a slow agent did not get.
    pub(crate) events_dropped: IntCounter,
    tokens_verified: IntCounterVec,
    tokens_refused: IntCounterVec,
}

impl Metrics {
    /// Registers them.
    pub(crate) fn new(registry: &Registry) -> Self {
        let r = registry;
        Self {
            requests: counters(
                r,
                "clientmcp_requests_total",
                "Requests of agents, by what they asked for, era and HTTP status.",
                &["method", "era", "status"],
            ),
            calls_in_flight: gauge(
                r,
                "clientmcp_calls_in_flight",
                "Calls that wait for an app's answer.",
            ),
            call_seconds: call_seconds(r),
            calls_waiting_for_input: gauge(
                r,
                "clientmcp_calls_waiting_for_input",
                "Calls of legacy agents that wait for what the agent was asked.",
            ),
            input_requests: input_requests(r),
            streams: gauges(
                r,
                "clientmcp_streams",
                "Event streams that are open, by what they carry.",
                &["kind"],
            ),
            tunnels: gauge(r, "clientmcp_tunnels", "Apps' WebSockets that are relayed."),
            tunnels_refused: counter(
                r,
                "clientmcp_tunnels_refused_total",
                "Apps' WebSockets that no node took.",
            ),
            links_up: gauge(r, "clientmcp_links_up", "Links to nodes that stand."),
            links_lost: counter(
                r,
                "clientmcp_links_lost_total",
                "Links to nodes that broke.",
            ),
            tasks_driven: tasks_driven(r),
            tasks_begun: counter(r, "clientmcp_tasks_begun_total", "Calls that became tasks."),
            tasks_taken_over: tasks_taken_over(r),
            redeliveries: counter(
                registry,
                "clientmcp_redeliveries_total",
                "Calls that were delivered again, after a node or an app's socket was lost or moved.",
            ),
            redirects: counter(
                r,
                "clientmcp_redirects_total",
                "Answers of nodes that named another node.",
            ),
            events_dropped: counter(
                r,
                "clientmcp_events_dropped_total",
                "Progress and log messages that a slow agent did not get.",
            ),
            tokens_verified: counters(
                r,
                "clientmcp_tokens_verified_total",
                "Tokens that were accepted, by the position of the secret that signed them.",
                &["key"],
            ),
            tokens_refused: counters(
                r,
                "clientmcp_tokens_refused_total",
                "Tokens that were not accepted.",
                &["reason"],
            ),
        }
    }

    /// A request of an agent was answered.
    pub(crate) fn answered(
        &self,
        method: &'static str,
        era: &'static str,
        status: http::StatusCode,
    ) {
        self.requests
            .with_label_values(&[method, era, status.as_str()])
            .inc();
    }

    /// A call begins; it lasts as long as the value.
    pub(crate) fn call_begun(&self) -> Held {
        Held::new(self.calls_in_flight.clone())
    }

    /// A task is driven as long as the value lasts.
    pub(crate) fn task_driven(&self) -> Held {
        Held::new(self.tasks_driven.clone())
    }

    /// Calls that wait for an app's answer.
    pub(crate) fn calls_in_flight(&self) -> i64 {
        self.calls_in_flight.get()
    }

    /// A call ended.
    pub(crate) fn call_ended(&self, outcome: &'static str, after: std::time::Duration) {
        self.call_seconds
            .with_label_values(&[outcome])
            .observe(after.as_secs_f64());
    }

    /// A call waits for an agent's answers as long as the value.
    pub(crate) fn input_awaited(&self) -> Held {
        Held::new(self.calls_waiting_for_input.clone())
    }

    /// An agent was asked for something.
    pub(crate) fn input_asked(&self, method: &'static str, outcome: &'static str) {
        let labels = [method, outcome];
        self.input_requests.with_label_values(&labels).inc();
    }

    /// A stream opens; it is open as long as the value.
    pub(crate) fn stream_opened(&self, kind: &'static str) -> Held {
        Held::new(self.streams.with_label_values(&[kind]))
    }

    /// A tunnel opens; it is open as long as the value.
    pub(crate) fn tunnel_opened(&self) -> Held {
        Held::new(self.tunnels.clone())
    }

    /// Apps' sockets that are relayed.
    pub(crate) fn tunnels(&self) -> i64 {
        self.tunnels.get()
    }

    /// A token was accepted; `key` is the position of its secret.
    pub(crate) fn token_verified(&self, key: usize) {
        self.tokens_verified
            .with_label_values(&[&key.to_string()])
            .inc();
    }

    /// A token was not accepted.
    pub(crate) fn token_refused(&self, reason: &'static str) {
        self.tokens_refused.with_label_values(&[reason]).inc();
    }
}

fn tasks_driven(registry: &Registry) -> IntGauge {
    let help = "Tasks whose calls run, driven by this router.";
    gauge(registry, "clientmcp_tasks_driven", help)
}

fn tasks_taken_over(registry: &Registry) -> IntCounter {
    let help = "Tasks that this router took over from another one.";
    counter(registry, "clientmcp_tasks_taken_over_total", help)
}

fn input_requests(registry: &Registry) -> IntCounterVec {
    counters(
        registry,
        "clientmcp_input_requests_total",
        "What legacy agents were asked for apps, by method and what became of it.",
        &["method", "outcome"],
    )
}

fn call_seconds(registry: &Registry) -> HistogramVec {
    let name = "clientmcp_call_seconds";
    let help = "Time from a call's arrival to its end, by outcome.";
    let opts = HistogramOpts::new(name, help).buckets(CALL_SECONDS.to_vec());
    let seconds = HistogramVec::new(opts, &["outcome"]).expect("metric names are literals");
    registry
        .register(Box::new(seconds.clone()))
        .expect("each metric is registered once");
    seconds
}

/// One of what a gauge counts, as long as this value lives.
#[derive(Debug)]
pub(crate) struct Held(IntGauge);

impl Held {
    pub(crate) fn new(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}
