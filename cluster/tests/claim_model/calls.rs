//! What may happen to a call, and what must hold (SPEC.md §7.4).

use crate::rules::{Broken, Fault, Rules, Scenario};
use crate::steps::{Action, Step, Steps};
use crate::world::{APPS, Life, NODES, Router, SocketId, World};

/// Everything that may happen to the call next.
pub(crate) fn steps(steps: &mut Steps<'_>) {
    router_steps(steps);
    for id in steps.world.socket_ids() {
        socket_steps(steps, id);
    }
}

fn router_steps(steps: &mut Steps<'_>) {
    let call = steps.world.call;
    match call.router {
        // There is one call, and it may be made at any time.
        Router::Idle | Router::ToSend => {
            for node in steps.nodes() {
                let entry = steps.world.nodes[usize::from(node)];
                if entry.life == Life::Running && !entry.fenced && entry.holding.is_some() {
                    steps.step(Action::RouterSends { to: node }, |step| {
                        step.deliver(node);
                        Ok(())
                    });
                }
            }
        }
        Router::Sent => {
            let Some(node) = call.link else {
                return;
            };
            if steps.world.is_running(node) {
                steps.fault(Fault::LinkLost, Action::RouterLosesTheLink, |step| {
                    lose_the_link(&mut step.world, &step.rules);
                    Ok(())
                });
            } else {
                steps.step(Action::RouterLosesTheLink, |step| {
                    lose_the_link(&mut step.world, &step.rules);
                    Ok(())
                });
            }
        }
        Router::Answered | Router::Unknown => {}
    }
}

fn socket_steps(steps: &mut Steps<'_>, id: SocketId) {
    let socket = *steps.world.socket(id);
    let is_running = steps.world.is_running(socket.node);
    if socket.queued && is_running && !socket.ended {
        steps.step(Action::NodeWritesTheCall(id), |step| {
            let socket = step.world.socket(id);
            socket.queued = false;
            socket.down = true;
            Ok(())
        });
    }
    if socket.down && socket.open {
        steps.step(Action::AppGetsTheCall(id), |step| step.run(id));
    }
    if socket.up && is_running && !socket.ended {
        steps.step(Action::NodeGetsTheAnswer(id), |step| {
            let world = &mut step.world;
            world.socket(id).up = false;
            let node = world.socket(id).node;
            if world.call.at[usize::from(node)]
                .take_if(|at| *at == id)
                .is_some()
                && world.call.link == Some(node)
                && world.call.router == Router::Sent
            {
                world.call.router = Router::Answered;
                world.call.link = None;
            }
            Ok(())
        });
    }
}

impl Step<'_> {
    /// A node takes the call, or says why not.
    fn deliver(&mut self, node: u8) {
        let held = self.world.nodes[usize::from(node)].holding;
        let socket = held.expect("it is sent to a holder").claim.socket;
        let call = &mut self.world.call;
        let app = *call.app.get_or_insert(socket.app);
        let is_redelivery = call.attempt > 0;
        if app != socket.app {
            if is_redelivery {
                call.router = Router::Unknown;
            } else {
                // Proof that nothing ran: the router looks again, and means the instance that is
                // there now.
                call.app = None;
                call.router = Router::ToSend;
            }
            return;
        }
        let is_known = call.at[usize::from(node)] == Some(socket);
        let redelivers = self.rules.resumes[usize::from(app)]
            || self.rules.broken == Some(Broken::RedeliversToAll);
        if is_redelivery && !is_known && !redelivers {
            call.router = Router::Unknown;
            return;
        }
        call.router = Router::Sent;
        call.link = Some(node);
        if !is_known {
            call.at[usize::from(node)] = Some(socket);
            self.world.socket(socket).queued = true;
        }
    }

    /// The app gets the call.
    fn run(&mut self, id: SocketId) -> Result<(), String> {
        let resumes = self.rules.resumes[usize::from(id.app)];
        let app = &mut self.world.apps[usize::from(id.app)];
        if !app.remembers {
            app.ran += 1;
            app.remembers = resumes;
        }
        self.world.socket(id).down = false;
        self.world.socket(id).up = true;
        let ran: u8 = self.world.apps.iter().map(|app| app.ran).sum();
        if ran > 1 {
            return Err(format!("the call ran {ran} times"));
        }
        Ok(())
    }
}

/// A node has ended a socket: what became of the call there.
pub(crate) fn lose(world: &mut World, rules: &Rules, id: SocketId, same_instance: bool) {
    let was_written = !world.socket(id).queued;
    let node = world.socket(id).node;
    world.socket(id).queued = false;
    if world.call.at[usize::from(node)]
        .take_if(|at| *at == id)
        .is_none()
        || world.call.link != Some(node)
        || world.call.router != Router::Sent
    {
        return;
    }
    world.call.link = None;
    let moves = same_instance && rules.resumes[usize::from(id.app)];
    if was_written || moves {
        send_again(world, rules);
    } else {
        // The node confirms that it never sent the call.
        world.call.router = Router::ToSend;
    }
}

fn lose_the_link(world: &mut World, rules: &Rules) {
    world.call.link = None;
    send_again(world, rules);
}

/// A call that may have reached the app is delivered again, if the app remembers calls.
fn send_again(world: &mut World, rules: &Rules) {
    let app = usize::from(world.call.app.expect("it was sent to an instance"));
    world.call.attempt = 1;
    let redelivers = rules.resumes[app] || rules.broken == Some(Broken::RedeliversToAll);
    world.call.router = if redelivers {
        Router::ToSend
    } else {
        Router::Unknown
    };
}

/// What must hold where nothing goes on by itself any more: an agent whose app is connected has
/// its answer, unless another instance came in between or the app does not remember calls.
pub(crate) fn check_at_rest(scenario: &Scenario, world: &World) -> Result<(), String> {
    if !scenario.call {
        return Ok(());
    }
    let is_held = (0..NODES).any(|node| world.nodes[node].holding.is_some());
    let remains = matches!(
        world.call.router,
        Router::Idle | Router::ToSend | Router::Sent
    );
    if is_held && remains {
        return Err(format!("at rest the call is {:?}", world.call));
    }
    let alone = (1..APPS).all(|app| world.apps[app].opened == 0);
    let lost = world.call.router == Router::Unknown;
    if lost && alone && scenario.rules.resumes[0] {
        return Err("the only instance remembers calls, and its call was lost".to_owned());
    }
    Ok(())
}
