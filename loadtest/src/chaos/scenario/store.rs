//! The store is away, empty, or stands still. Connected apps must not notice.

use crate::chaos::stage::Stage;
use crate::process::Signal;

pub(super) async fn stop(stage: &mut Stage) -> anyhow::Result<()> {
    for _ in 0..stage.sizes.times {
        down(stage).await?;
    }
    Ok(())
}

/// The store is killed, and comes back empty.
pub(super) async fn down(stage: &mut Stage) -> anyhow::Result<()> {
    stage.fault("the store is killed".to_owned(), stage.all_apps());
    stage.cluster.redis.kill().await?;
    stage.probe();
    tokio::time::sleep(stage.fault_time()).await;
    stage.cluster.redis.start().await?;
    stage.event("the store is back, and empty".to_owned());
    stage.recovered().await
}

pub(super) async fn flush(stage: &mut Stage) -> anyhow::Result<()> {
    for turn in 0..stage.sizes.times {
        displace(stage, turn).await?;
        emptied(stage).await?;
    }
    Ok(())
}

/// The store loses all that it has.
pub(super) async fn emptied(stage: &mut Stage) -> anyhow::Result<()> {
    stage.fault("FLUSHALL".to_owned(), stage.all_apps());
    stage.cluster.redis.ask(&["FLUSHALL"]).await?;
    stage.probe();
    tokio::time::sleep(stage.fault_time()).await;
    all_recorded(stage).await;
    stage.recovered().await
}

pub(super) async fn pause(stage: &mut Stage) -> anyhow::Result<()> {
    for turn in 0..stage.sizes.times {
        still(stage, turn % 2 == 1).await?;
    }
    Ok(())
}

/// The store answers nothing, or no client's commands.
pub(super) async fn still(stage: &mut Stage, by_command: bool) -> anyhow::Result<()> {
    let how = if by_command {
        "CLIENT PAUSE"
    } else {
        "SIGSTOP"
    };
    stage.fault(format!("the store stands still ({how})"), stage.all_apps());
    let time = stage.fault_time();
    if by_command {
        let ms = time.as_millis().to_string();
        stage
            .cluster
            .redis
            .ask(&["CLIENT", "PAUSE", &ms, "ALL"])
            .await?;
    } else {
        stage.cluster.redis.signal(Signal::Stop).await?;
    }
    stage.probe();
    tokio::time::sleep(time).await;
    if !by_command {
        stage.cluster.redis.signal(Signal::Continue).await?;
    }
    stage.event("the store goes on".to_owned());
    stage.recovered().await
}

pub(super) async fn replace(stage: &mut Stage) -> anyhow::Result<()> {
    for turn in 0..stage.sizes.times {
        displace(stage, turn).await?;
        replaced(stage).await?;
    }
    Ok(())
}

/// Every other time a node is killed and started just before: its apps are at other nodes then, so
/// that without the store nobody can know from the ring where they are.
async fn displace(stage: &mut Stage, turn: u32) -> anyhow::Result<()> {
    if turn.is_multiple_of(2) {
        return Ok(());
    }
    let node = stage.any(stage.cluster.nodes.len());
    let name = stage.cluster.nodes[node].name().to_owned();
    let apps = stage.apps_of(&name).await;
    stage.fault(format!("{name} killed and started"), apps);
    stage.cluster.nodes[node].kill().await?;
    stage.probe();
    stage.cluster.nodes[node].start()?;
    stage.whole().await
}

/// An empty store takes the place of the store.
pub(super) async fn replaced(stage: &mut Stage) -> anyhow::Result<()> {
    stage.fault(
        "the store is replaced by an empty one".to_owned(),
        stage.all_apps(),
    );
    stage.cluster.redis.kill().await?;
    stage.cluster.redis.start().await?;
    stage.probe();
    tokio::time::sleep(stage.fault_time()).await;
    all_recorded(stage).await;
    stage.recovered().await
}

/// Says how many apps the store has a holder of by now.
async fn all_recorded(stage: &mut Stage) {
    let holders = stage.cluster.holders(stage.sizes.apps).await;
    let recorded = holders.map_or(0, |holders| holders.iter().flatten().count());
    stage.event(format!(
        "the store has holders of {recorded} of {} apps after {:?}",
        stage.sizes.apps,
        stage.fault_time()
    ));
}
