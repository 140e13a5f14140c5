//! What must hold of claims; the module doc of the crate lists it.

use crate::rules::{Fault, Scenario};
use crate::store::Arbiters;
use crate::world::World;

/// What must hold at every moment: no epoch has two holders that the store knows of.
pub(crate) fn check(scenario: &Scenario, world: &World) -> Result<(), String> {
    // A store that has lost its data and its clock knows nothing of earlier epochs.
    if scenario.may(Fault::StoreEmptied) && scenario.may(Fault::ClockSetBack) {
        return Ok(());
    }
    let held = world.nodes.iter().filter_map(|node| node.holding);
    let written: Vec<_> = held.filter(|held| held.written).collect();
    for (at, one) in written.iter().enumerate() {
        for other in &written[at + 1..] {
            if one.claim.epoch == other.claim.epoch {
                return Err(format!(
                    "epoch {} has two holders: {:?} and {:?}",
                    one.claim.epoch, one.claim, other.claim
                ));
            }
        }
    }
    Ok(())
}

/// What must hold where nothing goes on by itself any more: whoever wants to be connected is, at
/// one node, and the store names it.
pub(crate) fn check_at_rest(
    scenario: &Scenario,
    arbiters: &Arbiters,
    world: &World,
) -> Result<(), String> {
    let holdings: Vec<_> = world.nodes.iter().filter_map(|node| node.holding).collect();
    let named = arbiters.holder(world);
    let named = named.filter(|claim| world.is_running(claim.node));
    let held: Vec<_> = holdings.iter().map(|held| held.claim).collect();
    if named.into_iter().collect::<Vec<_>>() != held {
        return Err(format!(
            "at rest the store names {named:?}, and these are held: {held:?}"
        ));
    }
    for (app, it) in (0..).zip(&world.apps) {
        let has_sockets_left = it.opened < scenario.sockets;
        let sockets = &world.sockets[usize::from(app)];
        let open = sockets.iter().filter(|socket| socket.open).count();
        let holds = held.iter().filter(|claim| claim.socket.app == app).count();
        let expected = usize::from(it.wants && (has_sockets_left || open > 0));
        if (open, holds) != (expected, expected) {
            return Err(format!(
                "at rest instance {app} has {open} open sockets and is held {holds} times, \
                 and {expected} are expected"
            ));
        }
    }
    let all_stopped = world.apps.iter().all(|app| !app.wants);
    if all_stopped && !world.apps.iter().any(|app| app.quit) {
        return Err("each instance was told that another one took over".to_owned());
    }
    Ok(())
}
