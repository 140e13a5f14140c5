//! Faults of all kinds that need no rights, one after the other, in an order that the seed fixes.

use crate::chaos::scenario::{nodes, rolling, store};
use crate::chaos::stage::Stage;
use crate::process::Role;

pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let until = stage.book.now() + stage.sizes.duration;
    while stage.book.now() < until {
        let fault = stage.any(100);
        let node = stage.any(stage.cluster.nodes.len());
        let router = stage.any(stage.cluster.routers.len());
        match fault {
            0..40 => nodes::kill(stage, node).await?,
            40..50 => nodes::kill_router(stage, router).await?,
            50..60 => rolling::restart(stage, Role::Node, node).await?,
            60..70 => rolling::restart(stage, Role::Router, router).await?,
            70..80 => nodes::pause(stage, node).await?,
            80..84 => store::down(stage).await?,
            84..88 => store::emptied(stage).await?,
            88..92 => store::still(stage, false).await?,
            92..96 => store::still(stage, true).await?,
            _ => store::replaced(stage).await?,
        }
    }
    Ok(())
}
