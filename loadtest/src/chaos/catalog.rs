//! The scenarios: names, what each does, how large it is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

/// What is done to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Nothing.
    Calm,
    /// Nodes are killed, one after the other.
    Kills,
    /// Routers are killed, one after the other.
    RouterKills,
    /// Every node and router is restarted in good order.
    Rolling,
    /// Nodes stand still, and go on.
    Pause,
    /// Silence between a router and a node.
    CutRouterNode,
    /// Silence between a node and the store.
    CutNodeRedis,
    /// Silence between two nodes.
    CutNodeNode,
    /// The store is away.
    RedisStop,
    /// The store loses everything.
    RedisFlush,
    /// The store stands still.
    RedisPause,
    /// The store is replaced by an empty one.
    RedisReplace,
    /// A node is added, and removed.
    GrowShrink,
    /// One of three nodes is lost with thousands of apps.
    Storm,
    /// Two instances of one app register at nearly the same time.
    Takeovers,
    /// Faults in a random order.
    Random,
}

/// How large a run is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sizes {
    /// Nodes at the start.
    pub nodes: u32,
    /// Routers at the start.
    pub routers: u32,
    /// Connected apps.
    pub apps: u32,
    /// Calls per second.
    pub rate: f64,
    /// How often the fault happens.
    pub times: u32,
    /// How long the fault lasts; how long faults go on in `random`.
    #[serde(rename = "durationMs", serialize_with = "ms")]
    pub duration: Duration,
    /// Processes that stop take the time that a short run has.
    pub short: bool,
}

fn ms<S: serde::Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Sizes that were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Given {
    /// Nodes at the start.
    pub nodes: Option<u32>,
    /// Routers at the start.
    pub routers: Option<u32>,
    /// Connected apps.
    pub apps: Option<u32>,
    /// Calls per second.
    pub rate: Option<f64>,
    /// How often the fault happens.
    pub times: Option<u32>,
    /// How long the fault lasts.
    pub duration: Option<Duration>,
}

impl Sizes {
    /// These, but for what is given.
    #[must_use]
    pub fn with(self, given: &Given) -> Self {
        Self {
            nodes: given.nodes.unwrap_or(self.nodes),
            routers: given.routers.unwrap_or(self.routers),
            apps: given.apps.unwrap_or(self.apps),
            rate: given.rate.unwrap_or(self.rate),
            times: given.times.unwrap_or(self.times),
            duration: given.duration.unwrap_or(self.duration),
            short: self.short,
        }
    }
}

impl Scenario {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Scenario> {
        TABLE.iter().map(|entry| entry.0)
    }

    /// What it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// What happens in it, in one line.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.entry().2
    }

    /// Whether processes are cut off from each other in silence, which needs network namespaces.
    #[must_use]
    pub fn needs_silence(self) -> bool {
        matches!(
            self,
            Scenario::CutRouterNode | Scenario::CutNodeRedis | Scenario::CutNodeNode
        )
    }

    /// Whether routers come and go, so that agents and apps need a balancer before them.
    #[must_use]
    pub fn loses_routers(self) -> bool {
        matches!(
            self,
            Scenario::Rolling | Scenario::RouterKills | Scenario::Random
        )
    }

    /// How large it is.
    #[must_use]
    pub fn sizes(self, short: bool) -> Sizes {
        let (_, _, _, full, small) = *self.entry();
        let (apps, rate, times, seconds) = if short { small } else { full };
        Sizes {
            nodes: if self == Scenario::Takeovers { 2 } else { 3 },
            routers: 2,
            apps,
            rate,
            times,
            duration: Duration::from_secs(seconds),
            short,
        }
    }

    fn entry(self) -> &'static Entry {
        let entry = TABLE.iter().find(|entry| entry.0 == self);
        entry.expect("the table has every scenario")
    }
}

type Entry = (Scenario, &'static str, &'static str, Size, Size);

/// Apps, calls per second, how often, for how many seconds.
type Size = (u32, f64, u32, u64);

/// Each scenario: name, summary, full size, short size.
const TABLE: [Entry; 16] = [
    (
        Scenario::Calm,
        "calm",
        "nothing is broken: what the harness itself measures",
        (500, 200.0, 0, 30),
        (60, 60.0, 0, 5),
    ),
    (
        Scenario::Kills,
        "kills",
        "SIGKILL of a random node, which is started again; 50 times, each once all is whole again",
        (500, 200.0, 50, 0),
        (60, 60.0, 2, 0),
    ),
    (
        Scenario::RouterKills,
        "router-kills",
        "SIGKILL of a random router, which is started again; its HTTP connections break (SPEC.md §7.4)",
        (500, 200.0, 20, 0),
        (60, 60.0, 2, 0),
    ),
    (
        Scenario::Rolling,
        "rolling",
        "SIGTERM of every node and router in turn, exit code 0, started again; agents use a balancer",
        (500, 200.0, 1, 0),
        (60, 60.0, 1, 0),
    ),
    (
        Scenario::Pause,
        "pause",
        "SIGSTOP of each node for three leases, then SIGCONT",
        (500, 200.0, 3, 9),
        (60, 60.0, 1, 6),
    ),
    (
        Scenario::CutRouterNode,
        "cut-router-node",
        "silence between a router and a node: no FIN, no RST, no ICMP",
        (500, 200.0, 3, 20),
        (60, 60.0, 1, 6),
    ),
    (
        Scenario::CutNodeRedis,
        "cut-node-redis",
        "silence between one node and the store",
        (500, 200.0, 3, 20),
        (60, 60.0, 1, 8),
    ),
    (
        Scenario::CutNodeNode,
        "cut-node-node",
        "silence between two nodes",
        (500, 200.0, 3, 20),
        (60, 60.0, 1, 6),
    ),
    (
        Scenario::RedisStop,
        "redis-stop",
        "SIGKILL of the store, which is started again, empty, after 60 s",
        (500, 200.0, 1, 60),
        (60, 60.0, 1, 7),
    ),
    (
        Scenario::RedisFlush,
        "redis-flush",
        "FLUSHALL",
        (500, 200.0, 5, 10),
        (60, 60.0, 2, 3),
    ),
    (
        Scenario::RedisPause,
        "redis-pause",
        "the store stands still: SIGSTOP, and CLIENT PAUSE in turn",
        (500, 200.0, 4, 10),
        (60, 60.0, 2, 4),
    ),
    (
        Scenario::RedisReplace,
        "redis-replace",
        "SIGKILL of the store, and an empty one at its address at once",
        (500, 200.0, 5, 10),
        (60, 60.0, 2, 3),
    ),
    (
        Scenario::GrowShrink,
        "grow-shrink",
        "3 → 4 → 3 nodes with 5,000 apps: how many move at each step",
        (5_000, 200.0, 1, 5),
        (300, 60.0, 1, 2),
    ),
    (
        Scenario::Storm,
        "storm",
        "one of three nodes with 10,000 apps is killed: when are all back, and what do the others notice",
        (10_000, 200.0, 1, 15),
        (600, 60.0, 1, 4),
    ),
    (
        Scenario::Takeovers,
        "takeovers",
        "1,000 times two instances of one app register within 20 ms at two nodes, some with the store slow or away",
        (8, 0.0, 1_000, 0),
        (4, 0.0, 40, 0),
    ),
    (
        Scenario::Random,
        "random",
        "faults of all kinds that need no rights, in an order that the seed fixes",
        (500, 200.0, 0, 300),
        (60, 60.0, 0, 12),
    ),
];

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Scenario::all().find(|it| it.name() == text);
        found.ok_or_else(|| format!("there is no scenario {text:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for scenario in Scenario::all() {
            assert_eq!(scenario.name().parse(), Ok(scenario));
            assert!(!scenario.summary().contains('\n'));
        }
        assert!("kill".parse::<Scenario>().is_err());
    }

    #[test]
    fn what_is_given_wins() {
        let given = Given {
            apps: Some(7),
            ..Given::default()
        };
        let sizes = Scenario::Kills.sizes(false).with(&given);
        assert_eq!((sizes.apps, sizes.times), (7, 50));
    }
}
