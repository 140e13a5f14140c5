//! A node's table, and how a register becomes a claim (`node/src/registry.rs`,
//! `node/src/claims.rs`).

use clientmcp_core::claim::Epoch;

use crate::calls;
use crate::rules::{Broken, Rules};
use crate::steps::Step;
use crate::store::{Answer, Written};
use crate::world::{ClaimId, Code, Errand, Holding, NODES, Socket, SocketId, Stage, World};

/// Tries to bring a claim to the store, answers lost included.
const TRIES: u8 = 2;

/// What became of a displacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Displaced {
    LetGo,
    HoldsNewer,
}

/// Ends whatever is held at a node under an older claim.
pub(crate) fn displace(
    world: &mut World,
    rules: &Rules,
    node: u8,
    by: ClaimId,
) -> Result<Displaced, String> {
    let is_used = is_used(world, node);
    let entry = world.node(node);
    let compares = rules.broken != Some(Broken::DisplacesWithoutComparing);
    if compares && entry.holding.is_some_and(|h| h.claim.epoch >= by.epoch) {
        return Ok(Displaced::HoldsNewer);
    }
    if is_used && by.epoch >= entry.seen {
        entry.seen = by.epoch;
        entry.newest = Some(by.socket.app);
    }
    if let Some(removed) = entry.holding.take() {
        if removed.claim.epoch > by.epoch {
            return Err(format!("{by:?} removed the newer {:?}", removed.claim));
        }
        let socket = removed.claim.socket;
        close(world, rules, socket, successor(socket, Some(by.socket.app)));
    }
    Ok(Displaced::LetGo)
}

fn successor(socket: SocketId, by: Option<u8>) -> Code {
    if by == Some(socket.app) {
        Code::Normal
    } else {
        Code::Replaced
    }
}

/// The node closes a socket.
pub(crate) fn close(world: &mut World, rules: &Rules, id: SocketId, code: Code) {
    let socket = world.socket(id);
    socket.ended = true;
    socket.stage = Stage::Settled;
    socket.closing = Some(code);
    calls::lose(world, rules, id, code == Code::Normal);
}

/// A node sees that a socket has ended.
pub(crate) fn see_the_end(world: &mut World, rules: &Rules, id: SocketId) {
    world.socket(id).ended = true;
    let node = world.socket(id).node;
    let entry = world.node(node);
    if let Some(held) = entry.holding.take_if(|held| held.claim.socket == id) {
        entry.add(Errand::Release(held.claim));
    }
    calls::lose(world, rules, id, false);
}

impl Step<'_> {
    /// The store answers a claim.
    pub(crate) fn claim(&mut self, id: SocketId) -> Result<(), String> {
        let node = self.world.socket(id).node;
        let answer = (self.arbiters).claim(&mut self.world, &self.rules, id)?;
        match answer {
            Answer::Taken { claim, previous } => {
                displace(&mut self.world, &self.rules, node, claim)?;
                if let Some(previous) = previous.filter(|previous| previous.node != node) {
                    self.world.node(node).add(Errand::Tell {
                        to: previous.node,
                        by: claim,
                    });
                }
                self.world.socket(id).stage = Stage::MakingWay { claim };
            }
            Answer::Late { app } => {
                close(&mut self.world, &self.rules, id, successor(id, Some(app)));
            }
        }
        Ok(())
    }

    /// A claim got no answer, once more.
    pub(crate) fn try_again(&mut self, id: SocketId, tries: u8) -> Result<(), String> {
        self.world.socket(id).stage = Stage::Claiming { tries: tries + 1 };
        if tries + 1 < TRIES {
            return Ok(());
        }
        let node = self.world.socket(id).node;
        self.world.node(node).add(Errand::ReadBack(id));
        self.do_without_the_store(id, 0)
    }

    /// Registers without the store, unless others have it.
    pub(crate) fn do_without_the_store(&mut self, id: SocketId, lag: u8) -> Result<(), String> {
        let node = self.world.socket(id).node;
        if others_have_the_store(&self.world, node) {
            close(&mut self.world, &self.rules, id, Code::Again);
            return Ok(());
        }
        let micros = if self.rules.broken == Some(Broken::NoClock) {
            0
        } else {
            u64::from(self.world.clock.saturating_sub(lag))
        };
        let seen = Epoch(u64::from(self.world.node(node).seen));
        let claim = ClaimId {
            epoch: Epoch::next(Epoch(0), seen, micros).0 as u8,
            node,
            socket: id,
            provisional: true,
        };
        self.world.clock += 2;
        displace(&mut self.world, &self.rules, node, claim)?;
        self.world.socket(id).stage = Stage::Asking {
            claim,
            next: 0,
            beaten: false,
        };
        Ok(())
    }

    /// The former holders have let go, or had their time to.
    pub(crate) fn take_over(&mut self, id: SocketId, claim: ClaimId) {
        let node = self.world.socket(id).node;
        let ended = self.world.socket(id).ended;
        self.world.socket(id).stage = Stage::Settled;
        let entry = self.world.node(node);
        if ended {
            entry.add(Errand::Release(claim));
        } else if entry.seen > claim.epoch || entry.holding.is_some() {
            let code = successor(id, entry.newest);
            close(&mut self.world, &self.rules, id, code);
        } else {
            entry.seen = claim.epoch;
            entry.newest = Some(id.app);
            entry.holding = Some(Holding {
                claim,
                written: !claim.provisional,
            });
        }
    }

    /// Writes a claim again that the store does not have.
    pub(crate) fn rewrite(&mut self, node: u8, claim: ClaimId) -> Result<(), String> {
        let written = (self.arbiters).restore(&mut self.world, &self.rules, claim)?;
        let entry = self.world.node(node);
        entry.rewriting = None;
        entry.fenced = false;
        match written {
            Written::Held => {
                let held = entry.holding.as_mut().filter(|held| held.claim == claim);
                if let Some(held) = held {
                    held.written = true;
                }
            }
            Written::Beaten { by } if by.epoch == claim.epoch => {
                if entry.holding.take_if(|held| held.claim == claim).is_some() {
                    close(&mut self.world, &self.rules, claim.socket, Code::Again);
                }
            }
            Written::Beaten { by } => {
                displace(&mut self.world, &self.rules, node, by)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn others_have_the_store(world: &World, node: u8) -> bool {
    (0..NODES as u8)
        .any(|other| other != node && world.is_running(other) && world.reaches_store(other))
}

/// Whether a node's table has an entry for the client ID.
fn is_used(world: &World, node: u8) -> bool {
    let entry = &world.nodes[usize::from(node)];
    let at_node = |socket: &&Socket| socket.node == node && !socket.ended;
    let mut sockets = world.sockets.iter().flatten().filter(at_node);
    let releases = |errand: &Option<Errand>| matches!(errand, Some(Errand::Release(_)));
    entry.holding.is_some()
        || entry.errands.iter().any(releases)
        || sockets.any(|socket| socket.stage.is_registering())
}

/// Whether a register or a release is under way at a node.
pub(crate) fn is_changing(world: &World, node: u8) -> bool {
    world.nodes[usize::from(node)].holding.is_none() && is_used(world, node)
}

/// Forgets what makes no difference any more, so that worlds that are alike are equal.
pub(crate) fn tidy(world: &mut World) {
    for node in 0..NODES as u8 {
        if !is_used(world, node) {
            let entry = world.node(node);
            entry.seen = 0;
            entry.newest = None;
        }
    }
    for id in world.socket_ids() {
        let mut holdings = world.nodes.iter().filter_map(|node| node.holding);
        let is_held = holdings.any(|held| held.claim.socket == id);
        let registers = world.socket(id).stage.is_registering();
        if !is_held && !registers && !world.is_on_the_way(id) {
            world.socket(id).began = 0;
        }
    }
    for socket in world.sockets.iter_mut().flatten() {
        if !socket.open {
            socket.closing = None;
            socket.down = false;
        }
        if socket.ended {
            socket.queued = false;
            socket.up = false;
        }
        if !socket.open && socket.ended {
            socket.broken = false;
        }
    }
}
