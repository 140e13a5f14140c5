//! Metrics that nodes and routers have in common.

#[cfg(target_os = "linux")]
use prometheus::process_collector::ProcessCollector;
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use crate::member::Role;

/// The registry of one process: its version is in it and, on Linux, its memory, threads and file
/// descriptors.
#[must_use]
pub fn registry(role: Role) -> Registry {
    let registry = Registry::new();
    #[cfg(target_os = "linux")]
    registry
        .register(Box::new(ProcessCollector::for_self()))
        .expect("a new registry has no other process collector");
    let build = gauges(
        &registry,
        "clientmcp_build_info",
        "The program's version; always 1.",
        &["role", "version"],
    );
    build
        .with_label_values(&[role.as_str(), env!("CARGO_PKG_VERSION")])
        .set(1);
    registry
}

/// Registers a counter.
///
/// # Panics
/// If the registry has this name already: each name is registered once, at start.
#[must_use]
pub fn counter(registry: &Registry, name: &str, help: &str) -> IntCounter {
    let counter = IntCounter::new(name, help).expect("metric names are literals");
    registry
        .register(Box::new(counter.clone()))
        .expect("each metric is registered once");
    counter
}

/// Registers counters that differ by labels.
///
/// # Panics
/// As [`counter`].
#[must_use]
pub fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    let counters =
        IntCounterVec::new(Opts::new(name, help), labels).expect("metric names are literals");
    registry
        .register(Box::new(counters.clone()))
        .expect("each metric is registered once");
    counters
}

/// Registers a gauge.
///
/// # Panics
/// As [`counter`].
#[must_use]
pub fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    let gauge = IntGauge::new(name, help).expect("metric names are literals");
    registry
        .register(Box::new(gauge.clone()))
        .expect("each metric is registered once");
    gauge
}

/// Registers gauges that differ by labels.
///
/// # Panics
/// As [`counter`].
#[must_use]
pub fn gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    let gauges =
        IntGaugeVec::new(Opts::new(name, help), labels).expect("metric names are literals");
    registry
        .register(Box::new(gauges.clone()))
        .expect("each metric is registered once");
    gauges
}
