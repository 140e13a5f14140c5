//! What nodes do about claims.

use crate::node::{self, close};
use crate::rules::{Broken, Fault};
use crate::steps::{Action, Steps};
use crate::world::{ClaimId, Code, Errand, Holding, Life, NODES, SocketId, Stage, World};

/// An estimate of the store's clock that lags is behind the last epoch.
const LAG: u8 = 3;

/// A register goes on.
pub(crate) fn register_steps(steps: &mut Steps<'_>, id: SocketId) {
    let socket = *steps.world.socket(id);
    if !steps.world.is_running(socket.node) {
        return;
    }
    match socket.stage {
        Stage::Unused | Stage::Settled => {}
        Stage::Arriving if !socket.open => {
            steps.step(Action::RegisterIsGivenUp(id), |step| {
                step.world.socket(id).stage = Stage::Settled;
                Ok(())
            });
        }
        Stage::Arriving if steps.world.reaches_store(socket.node) => {
            steps.step(Action::RegisterArrives(id), |step| {
                step.arbiters.begin(&mut step.world, &step.rules, id);
                step.world.socket(id).stage = Stage::Claiming { tries: 0 };
                Ok(())
            });
        }
        Stage::Arriving => without_the_store(steps, id),
        Stage::Claiming { .. } if !steps.world.reaches_store(socket.node) => {
            without_the_store(steps, id);
        }
        Stage::Claiming { tries } => {
            if steps.world.nodes[usize::from(socket.node)].stray.is_some() {
                return;
            }
            steps.step(Action::Claims(id), |step| step.claim(id));
            let lost = Action::ClaimsAndTheAnswerIsLost(id);
            steps.fault(Fault::LostAnswer, lost, |step| {
                (step.arbiters).claim(&mut step.world, &step.rules, id)?;
                step.try_again(id, tries)
            });
            let lost = Action::ClaimDoesNotArrive(id);
            steps.fault(Fault::LostAnswer, lost, |step| step.try_again(id, tries));
            let given_up = Action::ClaimIsGivenUp(id);
            steps.fault(Fault::LateClaim, given_up, |step| {
                step.world.node(socket.node).stray = Some(id);
                step.world.node(socket.node).add(Errand::ReadBack(id));
                step.do_without_the_store(id, 0)
            });
        }
        Stage::MakingWay { claim } => {
            steps.step(Action::TakesOver(id), |step| {
                step.take_over(id, claim);
                Ok(())
            });
        }
        Stage::Asking {
            claim,
            next,
            beaten,
        } => asking(steps, id, claim, next, beaten),
    }
}

fn without_the_store(steps: &mut Steps<'_>, id: SocketId) {
    let node = steps.world.socket(id).node;
    if node::others_have_the_store(&steps.world, node) {
        let refuses = Action::RefusesForOthersHaveTheStore(id);
        steps.step(refuses, |step| step.do_without_the_store(id, 0));
        return;
    }
    let claims = Action::ClaimsWithoutTheStore(id);
    steps.step(claims, |step| step.do_without_the_store(id, 0));
    let lagging = Action::ClaimsWithALaggingClock(id);
    steps.fault(Fault::LaggingEstimate, lagging, |step| {
        step.do_without_the_store(id, LAG)
    });
}

fn asking(steps: &mut Steps<'_>, id: SocketId, claim: ClaimId, next: u8, beaten: bool) {
    let node = claim.node;
    if next == NODES as u8 {
        steps.step(Action::TakesOver(id), |step| {
            if beaten {
                close(&mut step.world, &step.rules, id, Code::Again);
            } else {
                step.take_over(id, claim);
            }
            Ok(())
        });
        return;
    }
    let go_on = move |world: &mut World, beaten| {
        world.socket(id).stage = Stage::Asking {
            claim,
            next: next + 1,
            beaten,
        };
    };
    let vain = Action::AskingIsInVain {
        socket: id,
        node: next,
    };
    if next == node || !steps.world.is_running(next) {
        steps.step(vain, |step| {
            go_on(&mut step.world, beaten);
            Ok(())
        });
        return;
    }
    let asks = Action::AsksWhoHolds {
        socket: id,
        node: next,
    };
    steps.step(asks, |step| {
        let told = node::displace(&mut step.world, &step.rules, next, claim)?;
        go_on(
            &mut step.world,
            beaten || told == node::Displaced::HoldsNewer,
        );
        Ok(())
    });
    steps.fault(Fault::LostMessage, vain, |step| {
        go_on(&mut step.world, beaten);
        Ok(())
    });
}

/// A node does what it has to do beside serving.
pub(crate) fn errand_steps(steps: &mut Steps<'_>, node: u8) {
    let entry = steps.world.nodes[usize::from(node)];
    if let Some(socket) = entry.stray {
        if steps.world.reaches_store(node) {
            steps.step(Action::LateClaimArrives { node }, |step| {
                step.world.node(node).stray = None;
                (step.arbiters)
                    .claim(&mut step.world, &step.rules, socket)
                    .map(|_| ())
            });
        }
        steps.step(Action::LateClaimIsLost { node }, |step| {
            step.world.node(node).stray = None;
            Ok(())
        });
    }
    if entry.life != Life::Running {
        return;
    }
    // What was given up reaches the store before what is sent later, or never.
    let has_store = steps.world.reaches_store(node) && entry.stray.is_none();
    for errand in entry.errands.into_iter().flatten() {
        match errand {
            Errand::Tell { to, by } => tell(steps, node, to, by),
            Errand::Release(claim) if has_store => {
                steps.step(Action::Releases { node, claim }, |step| {
                    step.world.node(node).remove(errand);
                    (step.arbiters).release(&mut step.world, &step.rules, claim)
                });
                let lost = Action::ReleasesAndTheAnswerIsLost { node, claim };
                steps.fault(Fault::LostAnswer, lost, |step| {
                    (step.arbiters).release(&mut step.world, &step.rules, claim)
                });
            }
            Errand::ReadBack(socket) if has_store => {
                steps.step(Action::ReadsBack { node, socket }, |step| {
                    let found = step.arbiters.holder(&step.world);
                    step.world.node(node).remove(errand);
                    let is_it = |claim: &ClaimId| {
                        (claim.node, claim.socket, claim.provisional) == (node, socket, false)
                    };
                    if let Some(claim) = found.filter(is_it) {
                        step.world.node(node).add(Errand::Release(claim));
                    }
                    Ok(())
                });
            }
            Errand::Release(_) | Errand::ReadBack(_) => {}
        }
    }
}

fn tell(steps: &mut Steps<'_>, node: u8, to: u8, by: ClaimId) {
    let errand = Errand::Tell { to, by };
    match steps.world.nodes[usize::from(to)].life {
        Life::Running => steps.step(Action::TellsTheFormerHolder { node, to, by }, |step| {
            step.world.node(node).remove(errand);
            node::displace(&mut step.world, &step.rules, to, by).map(|_| ())
        }),
        // Its lease has lapsed and it does not answer, or nobody listens there.
        Life::Paused | Life::Dead => steps.step(Action::GivesUpTelling { node, to }, |step| {
            step.world.node(node).remove(errand);
            Ok(())
        }),
    }
}

/// A node reads its claims again, and finds out what the store says of it.
pub(crate) fn keeping_steps(steps: &mut Steps<'_>, node: u8) {
    let entry = steps.world.nodes[usize::from(node)];
    if entry.stray.is_some() {
        return;
    }
    if let Some(claim) = entry.rewriting {
        let writes = Action::WritesItsClaimAgain { node };
        steps.step(writes, |step| step.rewrite(node, claim));
        let lost = Action::WritesItsClaimAgainAndTheAnswerIsLost { node };
        steps.fault(Fault::LostAnswer, lost, |step| {
            (step.arbiters)
                .restore(&mut step.world, &step.rules, claim)
                .map(|_| ())
        });
    } else if steps.scenario.rules.broken != Some(Broken::NeverReadsAgain) {
        steps.step(Action::ReadsItsClaims { node }, |step| {
            let entry = step.world.nodes[usize::from(node)];
            match entry.holding {
                Some(held) if !step.arbiters.holds(&step.world, held.claim) => {
                    step.world.node(node).rewriting = Some(held.claim);
                }
                held => {
                    let written = held.map(|held| Holding {
                        written: true,
                        ..held
                    });
                    step.world.node(node).holding = written;
                    step.world.node(node).fenced = false;
                }
            }
            Ok(())
        });
    }
    let recorded = steps.arbiters.holder(&steps.world);
    if let Some(claim) = recorded.filter(|claim| claim.node == node)
        && entry.holding.is_none()
        && !node::is_changing(&steps.world, node)
    {
        // Whoever asks for the client ID is sent here, and it is found out.
        steps.step(Action::GivesBackWhatNobodyHas { node }, |step| {
            step.world.node(node).add(Errand::Release(claim));
            Ok(())
        });
    }
}
