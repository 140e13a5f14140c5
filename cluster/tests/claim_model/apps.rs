//! What instances of the app and their sockets do.

use crate::node::{self, see_the_end};
use crate::rules::Fault;
use crate::steps::{Action, Steps};
use crate::world::{APPS, Code, Node, Socket, SocketId, Stage, World};

/// Instances connect, move and go; B may come.
pub(crate) fn app_steps(steps: &mut Steps<'_>) {
    for app in 0..APPS as u8 {
        let it = steps.world.apps[usize::from(app)];
        if !it.wants {
            continue;
        }
        let is_open = steps.world.sockets[usize::from(app)]
            .iter()
            .any(|socket| socket.open);
        for node in places_to_connect(steps) {
            if it.opened == steps.scenario.sockets {
                break;
            }
            if is_open && is_served(&steps.world, app) {
                let moves = Action::AppMoves { app, node };
                steps.fault(Fault::Move, moves, |step| {
                    open(&mut step.world, app, node, true);
                    Ok(())
                });
            } else if !is_open {
                let connects = Action::AppConnects { app, node };
                steps.step(connects, |step| {
                    open(&mut step.world, app, node, false);
                    Ok(())
                });
            }
        }
        steps.fault(Fault::Quit, Action::AppQuits { app }, |step| {
            stop(&mut step.world, app);
            step.world.apps[usize::from(app)].quit = true;
            Ok(())
        });
    }
    let other = &steps.world.apps[1];
    if !other.wants && other.opened == 0 {
        for node in places_to_connect(steps) {
            let starts = Action::OtherInstanceConnects { node };
            steps.fault(Fault::OtherInstance, starts, |step| {
                step.world.apps[1].wants = true;
                open(&mut step.world, 1, node, false);
                Ok(())
            });
        }
    }
}

/// Whether the newest socket of an instance is registered.
fn is_served(world: &World, app: u8) -> bool {
    let number = world.apps[usize::from(app)].opened - 1;
    let mut holdings = world.nodes.iter().filter_map(|node| node.holding);
    holdings.any(|held| held.claim.socket == SocketId { app, number })
}

/// Nodes that take sockets. Of those that nothing has happened to yet only the first: they are
/// alike.
fn places_to_connect(steps: &Steps<'_>) -> Vec<u8> {
    let world = &steps.world;
    let mut untouched = false;
    let mut nodes = Vec::new();
    for node in steps.nodes().filter(|node| world.is_running(*node)) {
        let it = world.nodes[usize::from(node)];
        if it.cut_off && node::others_have_the_store(world, node) {
            continue;
        }
        let mut sockets = world.sockets.iter().flatten();
        let used = |socket: &Socket| socket.stage != Stage::Unused && socket.node == node;
        let is_untouched = it == Node::default() && !sockets.any(used);
        if !(is_untouched && std::mem::replace(&mut untouched, is_untouched)) {
            nodes.push(node);
        }
    }
    nodes
}

fn stop(world: &mut World, app: u8) {
    world.apps[usize::from(app)].wants = false;
    for socket in &mut world.sockets[usize::from(app)] {
        socket.open = false;
    }
}

fn open(world: &mut World, app: u8, node: u8, moving: bool) {
    let number = world.apps[usize::from(app)].opened;
    world.apps[usize::from(app)].opened += 1;
    *world.socket(SocketId { app, number }) = Socket {
        node,
        stage: Stage::Arriving,
        moving,
        open: true,
        ..Socket::default()
    };
}

/// A socket breaks, and its ends get to know.
pub(crate) fn socket_steps(steps: &mut Steps<'_>, id: SocketId) {
    let socket = *steps.world.socket(id);
    let has_call = steps.scenario.call;
    if socket.open && !socket.broken {
        steps.fault(Fault::BrokenSocket, Action::SocketBreaks(id), |step| {
            let socket = step.world.socket(id);
            socket.broken = true;
            // What else may happen before the app sees it makes a difference to calls alone.
            socket.open = has_call;
            Ok(())
        });
    }
    if socket.open && (socket.broken || socket.closing.is_some()) {
        steps.step(Action::AppSeesTheEndOf(id), |step| {
            let opened = step.world.apps[usize::from(id.app)].opened;
            step.world.socket(id).open = false;
            // The SDK heeds the code of its newest socket, and of the one that serves until then.
            let is_newest = opened == id.number + 1 || !is_served(&step.world, id.app);
            if socket.closing == Some(Code::Replaced) && is_newest {
                stop(&mut step.world, id.app);
            }
            Ok(())
        });
    }
    let is_over = socket.broken || !socket.open;
    if is_over && !socket.ended && steps.world.is_running(socket.node) {
        steps.step(Action::NodeSeesTheEndOf(id), |step| {
            see_the_end(&mut step.world, &step.rules, id);
            Ok(())
        });
    }
}
