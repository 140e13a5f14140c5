//! Every process is restarted in good order.

use std::time::Duration;

use crate::chaos::stage::Stage;
use crate::process::Role;

/// A process that was asked to stop has stopped by then: pre-drain and drain, and some.
const STOPPED_WITHIN: Duration = Duration::from_secs(45);

pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    for _ in 0..stage.sizes.times {
        for node in 0..stage.cluster.nodes.len() {
            restart(stage, Role::Node, node).await?;
            // A short run has time for one of each kind.
            if stage.sizes.short {
                break;
            }
        }
        for router in 0..stage.cluster.routers.len() {
            restart(stage, Role::Router, router).await?;
            if stage.sizes.short {
                break;
            }
        }
    }
    Ok(())
}

/// Stops a process, and starts it again once it has ended.
pub(super) async fn restart(stage: &mut Stage, role: Role, index: usize) -> anyhow::Result<()> {
    stop(stage, role, index).await?;
    let member = stage.member(role, index);
    member.start()?;
    let name = member.name().to_owned();
    stage.event(format!("{name} started"));
    stage.recovered().await
}

/// Stops a process (SIGTERM); its exit code must be 0.
pub(super) async fn stop(stage: &mut Stage, role: Role, index: usize) -> anyhow::Result<()> {
    let name = stage.member(role, index).name().to_owned();
    let apps = match role {
        Role::Node => stage.apps_of(&name).await,
        Role::Router => stage.all_apps(),
    };
    stage.fault(format!("{name} is asked to stop"), apps);
    stage.probe();
    match stage.member(role, index).stop(STOPPED_WITHIN).await {
        Ok(()) => stage.event(format!("{name} has stopped")),
        Err(error) => stage.complain(format!("{error:#}")),
    }
    Ok(())
}
