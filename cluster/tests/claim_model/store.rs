//! The store: the real [`Arbiter`] decides, and what it must never do is watched.

use std::collections::HashMap;

use clientmcp_cluster::store::arbiter::Arbiter;
use clientmcp_cluster::store::{ClaimRequest, Claimed, Departure, Restored};
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::registration::{ContentHash, Hashes, Kind};
use clientmcp_core::tick::Tick;

use crate::rules::{Broken, Rules};
use crate::world::{ClaimId, NODES, SOCKETS, SocketId, World};

/// A claim made without the store has a nonce of its own.
const PROVISIONAL: u64 = 100;

/// All states of the record that were met, each under a number; the first is the empty one.
pub(crate) struct Arbiters {
    states: Vec<Arbiter>,
    numbers: HashMap<Arbiter, u16>,
    names: Names,
    /// Whether it makes a difference what a replica has.
    has_replica: bool,
}

struct Names {
    client: ClientId,
    nodes: Vec<MemberId>,
    apps: Vec<InstanceId>,
    hashes: Hashes,
}

/// What a claim is answered.
pub(crate) enum Answer {
    Taken {
        claim: ClaimId,
        previous: Option<ClaimId>,
    },
    /// Behind a connection of this instance.
    Late { app: u8 },
}

/// What a claim that is written again is answered.
pub(crate) enum Written {
    Held,
    Beaten { by: ClaimId },
}

impl Arbiters {
    pub(crate) fn new(has_replica: bool) -> Self {
        let hash = |kind| ContentHash::of(kind, b"");
        let names = Names {
            client: ClientId::parse("app").unwrap(),
            nodes: (1..=NODES)
                .map(|n| MemberId::parse(&format!("n{n}")).unwrap())
                .collect(),
            apps: ["A", "B"].map(|a| InstanceId::parse(a).unwrap()).into(),
            hashes: Hashes {
                tools: hash(Kind::Tools),
                prompts: hash(Kind::Prompts),
                resources: hash(Kind::Resources),
                rest: hash(Kind::Rest),
            },
        };
        Self {
            states: vec![Arbiter::default()],
            numbers: HashMap::from([(Arbiter::default(), 0)]),
            names,
            has_replica,
        }
    }

    fn of(&self, world: &World) -> &Arbiter {
        &self.states[usize::from(world.store.arbiter)]
    }

    /// Who holds the client ID, as far as the store knows.
    pub(crate) fn holder(&self, world: &World) -> Option<ClaimId> {
        let record = self.of(world).record(Tick::START)?;
        record.holder.map(|holder| claim_id(&holder))
    }

    pub(crate) fn holds(&self, world: &World, claim: ClaimId) -> bool {
        self.of(world).holds(&real_claim(claim))
    }

    fn epoch(&self, world: &World) -> Epoch {
        let record = self.of(world).record(Tick::START);
        record.map_or(Epoch(0), |record| record.epoch)
    }

    /// The register of a socket has reached its node.
    pub(crate) fn begin(&mut self, world: &mut World, rules: &Rules, socket: SocketId) {
        let micros = clock(world, rules);
        world.socket(socket).began = small(self.of(world).ticket(micros).0);
        world.clock += 1;
    }

    /// The node of a socket claims for it.
    pub(crate) fn claim(
        &mut self,
        world: &mut World,
        rules: &Rules,
        socket: SocketId,
    ) -> Result<Answer, String> {
        let node = world.socket(socket).node;
        let request = ClaimRequest {
            client_id: self.names.client.clone(),
            node: self.names.nodes[usize::from(node)].clone(),
            incarnation: Incarnation(u64::from(node)),
            nonce: nonce(socket),
            seen: Epoch(u64::from(world.node(node).seen)),
            began: Epoch(u64::from(world.socket(socket).began)),
            instance: self.names.apps[usize::from(socket.app)].clone(),
            connection: u64::from(socket.number),
            moving: world.socket(socket).moving && rules.broken != Some(Broken::MovesDisplace),
            resume: rules.resumes[usize::from(socket.app)],
            hashes: self.names.hashes,
        };
        let micros = clock(world, rules);
        let mut arbiter = self.of(world).clone();
        let answer = arbiter.handle_claim(&request, micros);
        let is_new = arbiter != *self.of(world);
        if is_new {
            let displaced = arbiter_holder(self.of(world)).map(|holder| claim_id(&holder).socket);
            if world.store.displaced & socket.bit() != 0 {
                return Err(format!(
                    "the register of {socket:?} was displaced, and takes the client ID back"
                ));
            }
            if let Some(displaced) = displaced.filter(|displaced| *displaced != socket) {
                world.store.displaced |= displaced.bit();
            }
            world.clock += 2;
        }
        self.put(world, arbiter, is_new)?;
        Ok(match answer {
            Claimed::Taken { claim, previous } => Answer::Taken {
                claim: ClaimId {
                    epoch: small(claim.epoch.0),
                    node,
                    socket,
                    provisional: false,
                },
                previous: previous.map(|holder| claim_id(&holder)),
            },
            Claimed::Late { holder } => Answer::Late {
                app: claim_id(&holder).socket.app,
            },
        })
    }

    pub(crate) fn restore(
        &mut self,
        world: &mut World,
        rules: &Rules,
        claim: ClaimId,
    ) -> Result<Written, String> {
        let holder = Holder {
            client_id: self.names.client.clone(),
            node: self.names.nodes[usize::from(claim.node)].clone(),
            claim: real_claim(claim),
            instance: self.names.apps[usize::from(claim.socket.app)].clone(),
            connection: u64::from(claim.socket.number),
            resume: rules.resumes[usize::from(claim.socket.app)],
        };
        let mut arbiter = match rules.broken {
            Some(Broken::RestoresOverAnything) => Arbiter::default(),
            _ => self.of(world).clone(),
        };
        let began = match claim.provisional {
            true => claim.epoch,
            false => world.socket(claim.socket).began,
        };
        let began = Epoch(u64::from(began));
        let answer = arbiter.handle_restore(&holder, began, &self.names.hashes);
        self.put(world, arbiter, false)?;
        Ok(match answer {
            Restored::Held => Written::Held,
            Restored::Beaten { by } => Written::Beaten { by: claim_id(&by) },
        })
    }

    pub(crate) fn release(
        &mut self,
        world: &mut World,
        rules: &Rules,
        claim: ClaimId,
    ) -> Result<(), String> {
        let mut arbiter = self.of(world).clone();
        let released = match (rules.broken, arbiter_holder(&arbiter)) {
            (Some(Broken::ReleasesWithoutComparing), Some(holder)) => holder.claim,
            _ => real_claim(claim),
        };
        arbiter.handle_release(&released, Departure::Lost, Tick::START);
        if released != real_claim(claim) && arbiter != *self.of(world) {
            return Err(format!(
                "the clean-up of {claim:?} removed {released:?} from the store"
            ));
        }
        self.put(world, arbiter, false)
    }

    /// It loses everything.
    pub(crate) fn empty(&mut self, world: &mut World) {
        world.store.arbiter = 0;
        world.store.replica = 0;
        world.store.displaced = 0;
    }

    /// Takes a new state; `claimed`: a claim was made, and so its epoch.
    fn put(&mut self, world: &mut World, arbiter: Arbiter, claimed: bool) -> Result<(), String> {
        if arbiter == *self.of(world) {
            return Ok(());
        }
        let before = self.epoch(world);
        let number = match self.numbers.get(&arbiter) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.states.len()).expect("so many states are not met");
                self.states.push(arbiter.clone());
                self.numbers.insert(arbiter, number);
                number
            }
        };
        if self.has_replica {
            world.store.replica = world.store.arbiter;
        }
        world.store.arbiter = number;
        let after = self.epoch(world);
        if after < before || (claimed && after == before) {
            return Err(format!(
                "the store replaced epoch {} by epoch {}",
                before.0, after.0
            ));
        }
        Ok(())
    }
}

fn clock(world: &World, rules: &Rules) -> u64 {
    match rules.broken {
        Some(Broken::NoClock) => 0,
        _ => u64::from(world.clock.saturating_sub(world.store.behind)),
    }
}

fn arbiter_holder(arbiter: &Arbiter) -> Option<Holder> {
    arbiter.record(Tick::START)?.holder
}

fn nonce(socket: SocketId) -> u64 {
    u64::from(socket.app) * SOCKETS as u64 + u64::from(socket.number)
}

fn real_claim(claim: ClaimId) -> Claim {
    let provisional = if claim.provisional { PROVISIONAL } else { 0 };
    Claim {
        epoch: Epoch(u64::from(claim.epoch)),
        incarnation: Incarnation(u64::from(claim.node)),
        nonce: nonce(claim.socket) + provisional,
    }
}

fn claim_id(holder: &Holder) -> ClaimId {
    ClaimId {
        epoch: small(holder.claim.epoch.0),
        node: small(holder.claim.incarnation.0),
        socket: SocketId {
            app: u8::from(holder.instance.as_str() == "B"),
            number: small(holder.connection),
        },
        provisional: holder.claim.nonce >= PROVISIONAL,
    }
}

fn small(number: u64) -> u8 {
    u8::try_from(number).expect("numbers stay small in the model")
}
