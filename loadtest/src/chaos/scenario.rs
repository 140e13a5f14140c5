//! What each scenario does, once its stage is set.

mod cuts;
mod nodes;
mod random;
mod resize;
mod rolling;
mod store;
mod storm;
mod takeovers;

use std::time::Duration;

use rand::RngExt as _;
use tokio::time::Instant;

use super::Scenario;
use super::stage::Stage;
use crate::process::shares;

/// The load runs for so long before anything is broken.
const WARM_UP: Duration = Duration::from_secs(2);
/// A node that came back mostly holds apps again by then.
const SPREAD_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Plays it.
pub(super) async fn play(scenario: Scenario, stage: &mut Stage) -> anyhow::Result<()> {
    tokio::time::sleep(WARM_UP).await;
    match scenario {
        Scenario::Calm => {
            tokio::time::sleep(stage.sizes.duration).await;
            stage.whole().await
        }
        Scenario::Kills => nodes::kills(stage).await,
        Scenario::RouterKills => nodes::router_kills(stage).await,
        Scenario::Rolling => rolling::play(stage).await,
        Scenario::Pause => nodes::pauses(stage).await,
        Scenario::CutRouterNode => cuts::router_node(stage).await,
        Scenario::CutNodeRedis => cuts::node_redis(stage).await,
        Scenario::CutNodeNode => cuts::node_node(stage).await,
        Scenario::RedisStop => store::stop(stage).await,
        Scenario::RedisFlush => store::flush(stage).await,
        Scenario::RedisPause => store::pause(stage).await,
        Scenario::RedisReplace => store::replace(stage).await,
        Scenario::GrowShrink => resize::play(stage).await,
        Scenario::Storm => storm::play(stage).await,
        Scenario::Takeovers => takeovers::play(stage).await,
        Scenario::Random => random::play(stage).await,
    }
}

impl Stage {
    /// Some time between these, as the seed says.
    async fn a_while(&mut self, least_ms: u64, most_ms: u64) {
        let ms = self.rng.random_range(least_ms..=most_ms);
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// One of so many, as the seed says.
    fn any(&mut self, count: usize) -> usize {
        self.rng.random_range(0..count)
    }

    /// Waits a while until each node holds apps, so that the next fault hits somebody. It need not
    /// come to that: an app that was moved and came back is left alone for a minute and more.
    /// Short runs have no time for it.
    async fn spread(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + SPREAD_WITHIN;
        while !self.sizes.short && Instant::now() < deadline {
            let holders = self.cluster.holders(self.sizes.apps).await?;
            let shares = shares(&holders);
            let mut nodes = self.cluster.nodes.iter();
            if nodes.all(|node| shares.contains_key(node.name())) {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// The cluster is whole again, and stays so for a moment.
    async fn recovered(&mut self) -> anyhow::Result<()> {
        self.whole().await?;
        self.a_while(500, 1_500).await;
        Ok(())
    }
}
