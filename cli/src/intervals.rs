//! The intervals that operators may change; all others are the product's (SPEC.md §10).

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use clientmcp_core::timings::Timings;

/// Intervals on the command line. Processes of one cluster should agree on them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Intervals (the same for all processes of a cluster)")]
pub(crate) struct Intervals {
    /// After SIGTERM: not ready, and serving as before, until load balancers have noticed
    #[arg(long, env = "CLIENTMCP_PRE_DRAIN", value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pre_drain: Duration,
    /// Then: applications move away and calls in flight end, within this time
    #[arg(long, env = "CLIENTMCP_DRAIN", value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    drain: Duration,
    /// Calls wait so long for an application that was lost
    #[arg(long, env = "CLIENTMCP_GRACE", value_name = "TIME", default_value = "15s", value_parser = humantime::parse_duration)]
    grace: Duration,
    /// A process that has not written a heartbeat for so long is off the ring
    #[arg(long, env = "CLIENTMCP_LEASE", value_name = "TIME", default_value = "3s", value_parser = humantime::parse_duration)]
    lease: Duration,
    /// Between heartbeats; less than half of the lease
    #[arg(long, env = "CLIENTMCP_HEARTBEAT", value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    heartbeat: Duration,
}

impl Intervals {
    /// The intervals of a process.
    pub(crate) fn timings(&self) -> anyhow::Result<Timings> {
        ensure!(
            !self.heartbeat.is_zero() && self.heartbeat * 2 < self.lease,
            "--heartbeat: must be longer than zero and shorter than half of --lease ({})",
            humantime::format_duration(self.lease)
        );
        Ok(Timings {
            pre_drain: self.pre_drain,
            drain: self.drain,
            grace: self.grace,
            lease: self.lease,
            heartbeat: self.heartbeat,
            ..Timings::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        intervals: Intervals,
    }

    fn timings(args: &[&str]) -> anyhow::Result<Timings> {
        let args = std::iter::once(&"clientmcp").chain(args);
        Command::parse_from(args).intervals.timings()
    }

    #[test]
    fn the_flags_default_to_the_products_intervals() {
        assert_eq!(timings(&[]).unwrap(), Timings::default());
    }

    #[test]
    fn each_flag_changes_its_own_interval() {
        let changed = timings(&["--pre-drain", "1s", "--drain", "250ms", "--grace", "2m"]).unwrap();
        let expected = Timings {
            pre_drain: Duration::from_secs(1),
            drain: Duration::from_millis(250),
            grace: Duration::from_secs(120),
            ..Timings::default()
        };
        assert_eq!(changed, expected);
    }

    #[test]
    fn a_lease_that_lapses_between_heartbeats_is_refused() {
        assert!(timings(&["--lease", "2s"]).is_err());
        assert!(timings(&["--heartbeat", "0s"]).is_err());
        assert!(timings(&["--lease", "2s", "--heartbeat", "900ms"]).is_ok());
    }
}
