//! One node is lost with a third of all apps, at once.

use std::collections::HashSet;
use std::time::Duration;

use crate::audit::{Durations, Summary};
use crate::chaos::stage::Stage;

pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let calm_from = stage.book.now();
    tokio::time::sleep(stage.sizes.duration).await;
    let name = stage.cluster.nodes[0].name().to_owned();
    let lost = stage.apps_of(&name).await;
    let hit: HashSet<u32> = lost.iter().copied().collect();
    let count = lost.len();
    stage.fault(format!("{name} killed"), lost);
    let from = stage.book.now();
    stage.cluster.nodes[0].kill().await?;
    stage.probe();
    stage.whole().await?;
    let until = stage.book.now();
    stage.note(format!(
        "{count} apps were lost at once; all are back after {:.2} s",
        (until - from).as_secs_f64()
    ));
    // Calls of the storm that have not ended yet count as well.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = survivors(stage, &hit, calm_from, from);
    let during = survivors(stage, &hit, from, until);
    stage.note(format!(
        "calls to apps on the other nodes, beyond the tools' own time: p99 {:.1} ms before ({} calls), {:.1} ms during the storm ({} calls)",
        before.p99_ms, before.count, during.p99_ms, during.count
    ));
    stage.cluster.nodes[0].start()?;
    stage.recovered().await
}

/// Scheduled calls of a time to apps that were not lost.
fn survivors(stage: &Stage, lost: &HashSet<u32>, from: Duration, until: Duration) -> Summary {
    let mut durations = Durations::none();
    for call in stage.book.all() {
        let within = (from..until).contains(&call.ask.due);
        if within
            && !call.ask.probe
            && !lost.contains(&call.ask.app)
            && let Some(excess) = call.excess()
        {
            durations.record(excess);
        }
    }
    durations.summary()
}
