//! Silence between two processes: what one sends does not arrive, and nobody says so.

use crate::chaos::stage::Stage;
use crate::network::Host;

pub(super) async fn router_node(stage: &mut Stage) -> anyhow::Result<()> {
    for turn in 0..stage.sizes.times as usize {
        let router = &stage.cluster.routers[turn % stage.cluster.routers.len()];
        let node = &stage.cluster.nodes[turn % stage.cluster.nodes.len()];
        let ends = [router.host().clone(), node.host().clone()];
        let apps = stage.apps_of(&ends[1].name).await;
        cut(stage, &ends, apps).await?;
    }
    Ok(())
}

pub(super) async fn node_redis(stage: &mut Stage) -> anyhow::Result<()> {
    for turn in 0..stage.sizes.times as usize {
        let node = &stage.cluster.nodes[turn % stage.cluster.nodes.len()];
        let ends = [node.host().clone(), stage.cluster.redis.host().clone()];
        let apps = stage.apps_of(&ends[0].name).await;
        cut(stage, &ends, apps).await?;
    }
    Ok(())
}

pub(super) async fn node_node(stage: &mut Stage) -> anyhow::Result<()> {
    for turn in 0..stage.sizes.times as usize {
        let nodes = &stage.cluster.nodes;
        let [one, other] = [turn, turn + 1].map(|turn| &nodes[turn % nodes.len()]);
        let ends = [one.host().clone(), other.host().clone()];
        let mut apps = stage.apps_of(&ends[0].name).await;
        apps.extend(stage.apps_of(&ends[1].name).await);
        apps.sort_unstable();
        cut(stage, &ends, apps).await?;
    }
    Ok(())
}

async fn cut(stage: &mut Stage, ends: &[Host; 2], apps: Vec<u32>) -> anyhow::Result<()> {
    let [one, other] = ends;
    stage.fault(
        format!("silence between {} and {}", one.name, other.name),
        apps,
    );
    stage.cluster.network().cut(one, other)?;
    stage.probe();
    tokio::time::sleep(stage.fault_time()).await;
    stage.event(format!("{} and {} hear each other", one.name, other.name));
    stage.cluster.network().heal(one, other)?;
    stage.recovered().await
}
