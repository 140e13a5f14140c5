//! A node is added, and removed: only its share of the apps moves.

use std::time::Duration;

use crate::chaos::scenario::rolling;
use crate::chaos::stage::Stage;
use crate::process::{Role, shares};

/// Moves have ended when no app has moved for so long.
const CALM_FOR: Duration = Duration::from_secs(5);
/// Moves that go on for longer are not waited for.
const CALM_WITHIN: Duration = Duration::from_secs(120);

pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    for _ in 0..stage.sizes.times {
        let before = stage.cluster.holders(stage.sizes.apps).await?;
        let nodes = stage.cluster.nodes.len();
        let node = stage.cluster.add(Role::Node)?;
        node.ready().await?;
        let name = node.name().to_owned();
        stage.fault(format!("{name} is added"), stage.all_apps());
        stage.probe();
        let after = calm(stage).await?;
        report(stage, &before, &after, nodes + 1);
        stage.whole().await?;

        rolling::stop(stage, Role::Node, nodes).await?;
        let last = calm(stage).await?;
        report(stage, &after, &last, nodes + 1);
        stage.whole().await?;
        tokio::time::sleep(stage.sizes.duration).await;
    }
    Ok(())
}

type Holders = Vec<Option<String>>;

/// Waits until nothing moves any more.
async fn calm(stage: &Stage) -> anyhow::Result<Holders> {
    let began = tokio::time::Instant::now();
    let mut last = stage.cluster.holders(stage.sizes.apps).await?;
    let mut since = tokio::time::Instant::now();
    while since.elapsed() < CALM_FOR && began.elapsed() < CALM_WITHIN {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let holders = stage.cluster.holders(stage.sizes.apps).await?;
        if holders != last {
            last = holders;
            since = tokio::time::Instant::now();
        }
    }
    Ok(last)
}

fn report(stage: &mut Stage, before: &Holders, after: &Holders, of: usize) {
    let moved = before.iter().zip(after).filter(|(a, b)| a != b).count();
    let apps = before.len();
    let mut shares: Vec<_> = shares(after).into_iter().collect();
    shares.sort_unstable();
    stage.note(format!(
        "{moved} of {apps} apps moved ({:.1} %; 1/{of} is {:.1} %); apps by node: {shares:?}",
        moved as f64 * 100.0 / apps as f64,
        100.0 / of as f64,
    ));
}
