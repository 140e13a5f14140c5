//! Nodes and routers that are killed, or stand still.

use crate::chaos::stage::Stage;
use crate::process::Signal;

/// How long a killed process is away, in milliseconds.
const AWAY_MS: (u64, u64) = (500, 4_000);

pub(super) async fn kills(stage: &mut Stage) -> anyhow::Result<()> {
    for _ in 0..stage.sizes.times {
        stage.spread().await?;
        let node = stage.any(stage.cluster.nodes.len());
        kill(stage, node).await?;
    }
    Ok(())
}

/// Kills a node, starts it again after a while, and waits until all is whole.
pub(super) async fn kill(stage: &mut Stage, node: usize) -> anyhow::Result<()> {
    let name = stage.cluster.nodes[node].name().to_owned();
    let apps = stage.apps_of(&name).await;
    stage.fault(format!("{name} killed"), apps);
    stage.cluster.nodes[node].kill().await?;
    stage.probe();
    stage.a_while(AWAY_MS.0, AWAY_MS.1).await;
    stage.event(format!("{name} started"));
    stage.cluster.nodes[node].start()?;
    stage.recovered().await
}

pub(super) async fn router_kills(stage: &mut Stage) -> anyhow::Result<()> {
    for _ in 0..stage.sizes.times {
        let router = stage.any(stage.cluster.routers.len());
        kill_router(stage, router).await?;
    }
    Ok(())
}

/// The same with a router: any app may have come through it.
pub(super) async fn kill_router(stage: &mut Stage, router: usize) -> anyhow::Result<()> {
    let name = stage.cluster.routers[router].name().to_owned();
    stage.fault(format!("{name} killed"), stage.all_apps());
    stage.excuse(router);
    stage.cluster.routers[router].kill().await?;
    stage.probe();
    stage.a_while(AWAY_MS.0, AWAY_MS.1).await;
    stage.event(format!("{name} started"));
    stage.cluster.routers[router].start()?;
    stage.recovered().await
}

pub(super) async fn pauses(stage: &mut Stage) -> anyhow::Result<()> {
    let nodes = stage.cluster.nodes.len();
    for turn in 0..stage.sizes.times as usize {
        stage.spread().await?;
        pause(stage, turn % nodes).await?;
    }
    Ok(())
}

/// A node stands still for as long as the scenario's fault lasts.
pub(super) async fn pause(stage: &mut Stage, node: usize) -> anyhow::Result<()> {
    let name = stage.cluster.nodes[node].name().to_owned();
    let apps = stage.apps_of(&name).await;
    stage.fault(format!("{name} stands still"), apps);
    stage.cluster.nodes[node].signal(Signal::Stop).await?;
    stage.probe();
    tokio::time::sleep(stage.fault_time()).await;
    stage.event(format!("{name} goes on"));
    stage.cluster.nodes[node].signal(Signal::Continue).await?;
    stage.recovered().await
}
