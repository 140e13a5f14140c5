//! What happens to nodes and to the store.

use crate::node::{self, close};
use crate::rules::Fault;
use crate::steps::{Action, Steps};
use crate::world::{Code, Errand, Life, NODES, Node, Stage, World};

/// A node pauses, dies, is cut off.
pub(crate) fn life_steps(steps: &mut Steps<'_>, node: u8) {
    let entry = steps.world.nodes[usize::from(node)];
    match entry.life {
        Life::Dead => return,
        Life::Running => {
            steps.fault(Fault::Pause, Action::NodePauses { node }, |step| {
                step.world.node(node).life = Life::Paused;
                Ok(())
            });
        }
        Life::Paused => {
            steps.step(Action::NodeGoesOn { node }, |step| {
                step.world.node(node).life = Life::Running;
                step.world.node(node).fenced = true;
                Ok(())
            });
        }
    }
    let others = (0..NODES as u8).any(|other| other != node && steps.world.is_running(other));
    if others {
        steps.fault(Fault::Kill, Action::NodeIsKilled { node }, |step| {
            kill(&mut step.world, node);
            Ok(())
        });
    }
    if entry.cut_off {
        steps.step(Action::NodeHasTheStoreAgain { node }, |step| {
            step.world.node(node).cut_off = false;
            Ok(())
        });
        hand_over(steps, node);
    } else {
        steps.fault(Fault::CutOff, Action::NodeIsCutOff { node }, |step| {
            step.world.node(node).cut_off = true;
            Ok(())
        });
    }
}

fn kill(world: &mut World, node: u8) {
    let stray = world.node(node).stray;
    *world.node(node) = Node {
        life: Life::Dead,
        stray,
        ..Node::default()
    };
    for socket in world.sockets.iter_mut().flatten() {
        if socket.node == node && socket.stage != Stage::Unused {
            socket.broken = socket.open;
            socket.ended = true;
            socket.stage = Stage::Settled;
        }
    }
    world.call.at[usize::from(node)] = None;
}

/// A node without the store that others have sends its app there.
fn hand_over(steps: &mut Steps<'_>, node: u8) {
    let world = &steps.world;
    let Some(held) = world.nodes[usize::from(node)].holding else {
        return;
    };
    let is_alone = world.is_running(node) && node::others_have_the_store(world, node);
    let app = held.claim.socket.app;
    let opened = world.apps[usize::from(app)].opened;
    let is_newest = opened == held.claim.socket.number + 1;
    if is_alone && world.store.is_up && is_newest && opened < steps.scenario.sockets {
        steps.step(Action::HandsOver { node }, |step| {
            close(&mut step.world, &step.rules, held.claim.socket, Code::Again);
            step.world.node(node).holding = None;
            step.world.node(node).add(Errand::Release(held.claim));
            Ok(())
        });
    }
}

/// The store goes, comes back, and loses things.
pub(crate) fn store_steps(steps: &mut Steps<'_>) {
    if steps.world.store.is_up {
        steps.fault(Fault::StoreAway, Action::StoreGoesAway, |step| {
            step.world.store.is_up = false;
            Ok(())
        });
    } else {
        steps.step(Action::StoreIsBack, |step| {
            step.world.store.is_up = true;
            Ok(())
        });
    }
    // What was on the way to a server that is gone never arrives.
    let lose_strays = |world: &mut World| {
        for node in &mut world.nodes {
            node.stray = None;
        }
    };
    steps.fault(Fault::StoreEmptied, Action::StoreIsEmptied, |step| {
        lose_strays(&mut step.world);
        step.arbiters.empty(&mut step.world);
        Ok(())
    });
    steps.fault(Fault::StoreFailsOver, Action::StoreFailsOver, |step| {
        lose_strays(&mut step.world);
        step.world.store.arbiter = step.world.store.replica;
        step.world.store.displaced = 0;
        Ok(())
    });
    if steps.world.store.behind == 0 {
        steps.fault(Fault::ClockSetBack, Action::ClockIsSetBack, |step| {
            step.world.store.behind = step.world.clock;
            Ok(())
        });
    }
}
