//! What is left in the processes once the load has ended: gauges that should be back, open files.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::process::{Member, Process, Role};

/// Gauges by name, summed over their labels.
pub type Gauges = BTreeMap<String, f64>;

/// A process has no more files open than its sockets and this many: listeners, links, the store,
/// logs, what its runtime needs.
const OTHER_FILES: usize = 64;
/// Parts of the names of gauges that count what ends with the load.
const TRANSIENT: [&str; 7] = [
    "calls_in_flight",
    "streams",
    "waiting",
    "parked",
    "orphan",
    "pending",
    "queued",
];

/// A process at rest.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessState {
    /// The member's name.
    pub name: String,
    /// The product's gauges.
    pub gauges: Gauges,
    /// Files that it has open; `None` if it does not run.
    pub open_files: Option<usize>,
}

/// What was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Leaks {
    /// Each process.
    pub processes: Vec<ProcessState>,
    /// What should not be there, one line each.
    pub found: Vec<String>,
}

impl ProcessState {
    /// Reads a member's metrics; empty if it does not answer.
    pub async fn read(member: &Member) -> Self {
        let page = member.page("/metrics").await;
        Self {
            name: member.name().to_owned(),
            gauges: page.map_or_else(|_| Gauges::new(), |page| gauges(&page.text)),
            open_files: member.process().and_then(Process::open_files),
        }
    }

    /// A gauge that counts things; 0 if there is none of that name.
    #[must_use]
    pub fn gauge(&self, name: &str) -> usize {
        let value = self.gauges.get(name).copied().unwrap_or_default();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count"
        )]
        let count = value.max(0.0) as usize;
        count
    }

    /// Files that it has reason to have open.
    fn expected_files(&self) -> usize {
        let tunnels = self.gauge("clientmcp_tunnels");
        // A tunnel has a socket on each side; whether the node's side is one of its own or part
        // of a link is not for the outside to know.
        self.gauge("clientmcp_node_sockets") + tunnels * 2 + OTHER_FILES
    }

    fn leaks(&self) -> Vec<String> {
        let transient = |name: &str| TRANSIENT.iter().any(|part| name.contains(part));
        let left = self
            .gauges
            .iter()
            .filter(|(name, value)| transient(name) && **value != 0.0);
        let mut found: Vec<String> = left
            .map(|(name, value)| format!("{}: {name} is {value}", self.name))
            .collect();
        let expected = self.expected_files();
        match self.open_files {
            Some(open) if open > expected => found.push(format!(
                "{}: {open} files are open, at most {expected} have a reason",
                self.name
            )),
            _ => {}
        }
        found
    }
}

impl Leaks {
    /// Looks at processes that run, while this many apps are connected and nothing is called.
    #[must_use]
    pub fn find(processes: Vec<ProcessState>, roles: &[Role], apps: usize, direct: bool) -> Self {
        let mut found: Vec<String> = processes.iter().flat_map(ProcessState::leaks).collect();
        let sum = |name: &str| processes.iter().map(|process| process.gauge(name)).sum();
        let mut expect = |name: &str, expected: usize| {
            let sum: usize = sum(name);
            if sum != expected {
                found.push(format!("{name} is {sum} in all, not {expected}"));
            }
        };
        expect("clientmcp_node_apps", apps);
        expect("clientmcp_node_sockets", apps);
        expect("clientmcp_tunnels", if direct { 0 } else { apps });
        let count = |role| roles.iter().filter(|other| **other == role).count();
        let links = count(Role::Node) * count(Role::Router);
        expect("clientmcp_node_links", links);
        expect("clientmcp_links_up", links);
        Self { processes, found }
    }
}

/// Reads the product's gauges out of Prometheus' text format.
fn gauges(text: &str) -> Gauges {
    let mut gauges = Gauges::new();
    let mut gauge = "";
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            gauge = kind.strip_suffix(" gauge").unwrap_or_default();
        } else if gauge.starts_with("clientmcp_")
            && let Some((name, value)) = line.rsplit_once(' ')
            && name.split('{').next() == Some(gauge)
            && let Ok(value) = value.parse::<f64>()
        {
            *gauges.entry(gauge.to_owned()).or_default() += value;
        }
    }
    gauges
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# HELP clientmcp_streams Event streams that are open.
# TYPE clientmcp_streams gauge
clientmcp_streams{kind=\"call\"} 2
clientmcp_streams{kind=\"listen\"} 1
# TYPE clientmcp_calls_total counter
clientmcp_calls_total{outcome=\"ok\"} 70
# TYPE clientmcp_node_sockets gauge
clientmcp_node_sockets 3
# TYPE process_open_fds gauge
process_open_fds 9
";

    fn state(gauges: &str, open_files: usize) -> ProcessState {
        ProcessState {
            name: "n1".to_owned(),
            gauges: super::gauges(gauges),
            open_files: Some(open_files),
        }
    }

    #[test]
    fn gauges_are_summed_over_labels_and_counters_left_out() {
        let gauges = gauges(PAGE);
        assert_eq!(gauges["clientmcp_streams"], 3.0);
        assert_eq!(gauges.len(), 2, "{gauges:?}");
    }

    #[test]
    fn what_is_left_is_found() {
        assert_eq!(state(PAGE, 67).leaks(), ["n1: clientmcp_streams is 3"]);
        let many = state("", 65).leaks();
        assert_eq!(many, ["n1: 65 files are open, at most 64 have a reason"]);
    }

    #[test]
    fn sums_are_compared_with_what_is_connected() {
        let page = "# TYPE clientmcp_node_apps gauge\nclientmcp_node_apps 5\n";
        let leaks = Leaks::find(vec![state(page, 1)], &[Role::Node], 5, true);
        assert_eq!(leaks.found, ["clientmcp_node_sockets is 0 in all, not 5"]);
    }
}
