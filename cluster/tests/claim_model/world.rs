//! What there is: a store, nodes, and two instances of one app with their sockets.
//!
//! Everything is small and plain, so that a world is copied, compared and hashed at once.

/// Nodes at most.
pub(crate) const NODES: usize = 3;
/// Instances of the app: A is there from the beginning, B may come.
pub(crate) const APPS: usize = 2;
/// Sockets that one instance opens at most, one after the other or, when it moves, beside each
/// other.
pub(crate) const SOCKETS: usize = 3;
/// Errands of one node that are under way at most.
pub(crate) const ERRANDS: usize = 4;

/// Everything, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct World {
    /// The time: it goes on with every epoch that is made.
    pub(crate) clock: u8,
    pub(crate) store: Store,
    pub(crate) nodes: [Node; NODES],
    pub(crate) apps: [App; APPS],
    pub(crate) sockets: [[Socket; SOCKETS]; APPS],
    pub(crate) call: Call,
    /// So much may still go wrong.
    pub(crate) faults: u8,
}

/// The store. What it has of the client ID is an [`Arbiter`](clientmcp_cluster::store::arbiter),
/// named by its number in [`crate::store::Arbiters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) arbiter: u16,
    /// What it had before the last change: a replica that lags has this.
    pub(crate) replica: u16,
    /// Its clock is so far behind the time.
    pub(crate) behind: u8,
    pub(crate) is_up: bool,
    /// Sockets whose claim was displaced by a later one, as bits.
    pub(crate) displaced: u8,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    #[default]
    Running,
    Paused,
    Dead,
}

/// A socket by its instance and its number within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SocketId {
    pub(crate) app: u8,
    pub(crate) number: u8,
}

impl SocketId {
    pub(crate) fn bit(self) -> u8 {
        1 << (self.app * SOCKETS as u8 + self.number)
    }
}

/// A claim. Its nonce is the socket, and whether it was made without the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClaimId {
    pub(crate) epoch: u8,
    pub(crate) node: u8,
    pub(crate) socket: SocketId,
    pub(crate) provisional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Holding {
    pub(crate) claim: ClaimId,
    pub(crate) written: bool,
}

/// What a node does beside serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Errand {
    /// Gives a claim up in the store.
    Release(ClaimId),
    /// Looks whether the claim of a socket, which got no answer, was made.
    ReadBack(SocketId),
    /// Tells the former holder that it holds no more.
    Tell { to: u8, by: ClaimId },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) life: Life,
    /// It was paused and has not read its claims again.
    pub(crate) fenced: bool,
    /// It has no way to the store.
    pub(crate) cut_off: bool,
    pub(crate) holding: Option<Holding>,
    /// The highest epoch that it knows of, and whose it is.
    pub(crate) seen: u8,
    pub(crate) newest: Option<u8>,
    /// A claim that the store does not have and that is about to be written again.
    pub(crate) rewriting: Option<ClaimId>,
    /// The claim of this socket was given up on its way to the store, and may still arrive.
    pub(crate) stray: Option<SocketId>,
    pub(crate) errands: [Option<Errand>; ERRANDS],
}

impl Node {
    pub(crate) fn add(&mut self, errand: Errand) {
        if self.errands.contains(&Some(errand)) {
            return;
        }
        let free = self.errands.iter_mut().find(|slot| slot.is_none());
        *free.expect("no node has so many errands") = Some(errand);
        self.errands.sort_unstable();
    }

    pub(crate) fn remove(&mut self, errand: Errand) {
        for slot in &mut self.errands {
            slot.take_if(|it| *it == errand);
        }
        self.errands.sort_unstable();
    }
}

/// How a node closes a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// 1000: the next socket of the instance took over.
    Normal,
    /// 1012 or 1013: connect again.
    Again,
    /// 4409: another instance took over.
    Replaced,
}

/// How far a socket is at its node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    #[default]
    Unused,
    /// Its register is on the way to its node.
    Arriving,
    /// Its claim is on the way to the store.
    Claiming { tries: u8 },
    /// The store granted the claim; the former holder is told.
    MakingWay { claim: ClaimId },
    /// The claim was made without the store; nodes from this one on are to be asked yet.
    Asking {
        claim: ClaimId,
        next: u8,
        beaten: bool,
    },
    /// It serves, or has served.
    Settled,
}

impl Stage {
    pub(crate) fn is_registering(self) -> bool {
        !matches!(self, Stage::Unused | Stage::Settled)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Socket {
    pub(crate) node: u8,
    pub(crate) stage: Stage,
    /// When its register reached its node, by the store.
    pub(crate) began: u8,
    /// An earlier socket stood when it registered.
    pub(crate) moving: bool,
    /// The app has it open.
    pub(crate) open: bool,
    /// It carries nothing any more, and its ends do not all know it yet.
    pub(crate) broken: bool,
    /// The node knows that it has ended, or has ended it.
    pub(crate) ended: bool,
    /// The close frame that is on its way to the app.
    pub(crate) closing: Option<Code>,
    /// A call waits at the node to be written.
    pub(crate) queued: bool,
    /// A call is on its way to the app.
    pub(crate) down: bool,
    /// Its answer is on its way to the node.
    pub(crate) up: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct App {
    pub(crate) opened: u8,
    /// It wants to be connected.
    pub(crate) wants: bool,
    /// It was closed by its user.
    pub(crate) quit: bool,
    /// How often it ran the call.
    pub(crate) ran: u8,
    /// It remembers that it ran the call.
    pub(crate) remembers: bool,
}

/// The one call of an agent, at its router, and at the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) router: Router,
    pub(crate) attempt: u8,
    /// The instance that it is meant for.
    pub(crate) app: Option<u8>,
    /// The socket to which the call went at each node, as long as it waits for an answer there.
    pub(crate) at: [Option<SocketId>; NODES],
    /// The link between the router and the node, on which the node's answer would come.
    pub(crate) link: Option<u8>,
}

/// What the router knows of its call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Router {
    /// There is none.
    #[default]
    Idle,
    /// It is to be sent.
    ToSend,
    /// It was sent to a node, which has not said what became of it.
    Sent,
    /// The agent has its answer.
    Answered,
    /// The agent was told that the outcome is unknown.
    Unknown,
}

impl World {
    /// Instance A wants to be connected, and nothing has happened.
    pub(crate) fn new(nodes: u8, faults: u8) -> Self {
        let mut world = Self {
            clock: 0,
            store: Store {
                arbiter: 0,
                replica: 0,
                behind: 0,
                is_up: true,
                displaced: 0,
            },
            nodes: Default::default(),
            apps: Default::default(),
            sockets: Default::default(),
            call: Call::default(),
            faults,
        };
        for missing in &mut world.nodes[usize::from(nodes)..] {
            missing.life = Life::Dead;
        }
        world.apps[0].wants = true;
        world
    }

    pub(crate) fn node(&mut self, node: u8) -> &mut Node {
        &mut self.nodes[usize::from(node)]
    }

    pub(crate) fn socket(&mut self, id: SocketId) -> &mut Socket {
        &mut self.sockets[usize::from(id.app)][usize::from(id.number)]
    }

    pub(crate) fn is_running(&self, node: u8) -> bool {
        self.nodes[usize::from(node)].life == Life::Running
    }

    pub(crate) fn reaches_store(&self, node: u8) -> bool {
        self.store.is_up && !self.nodes[usize::from(node)].cut_off
    }

    /// Whether the claim of a socket may reach the store yet.
    pub(crate) fn is_on_the_way(&self, id: SocketId) -> bool {
        let socket = self.sockets[usize::from(id.app)][usize::from(id.number)];
        let stray = self.nodes[usize::from(socket.node)].stray;
        matches!(socket.stage, Stage::Arriving | Stage::Claiming { .. }) || stray == Some(id)
    }

    /// Sockets that were opened.
    pub(crate) fn socket_ids(&self) -> Vec<SocketId> {
        let ids = (0..APPS as u8).flat_map(|app| {
            (0..self.apps[usize::from(app)].opened).map(move |number| SocketId { app, number })
        });
        ids.collect()
    }
}
