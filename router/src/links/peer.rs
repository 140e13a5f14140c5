//! One run of a node, and the ways to it.

mod keeping;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clientmcp_cluster::member::Member;
use clientmcp_core::timings::Timings;
use clientmcp_proto::tunnel::Trunk;
use clientmcp_proto::v1;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

use super::Run;
use super::bridge::{Bridge, ClusterKey};
use super::session::{InFlight, NotSent, Session, Settling};
use super::trunk::{self, NoTrunk};

pub(super) use keeping::Surroundings;

/// The link is being established for the first time.
const COMING: u8 = 0;
/// It stands.
const UP: u8 = 1;
/// It was lost, or could not be established.
const DOWN: u8 = 2;

/// How a node is reached.
#[derive(Debug)]
struct Way {
    bridge: Bridge,
    /// It leads through another node.
    is_relayed: bool,
    /// Carries the tunnels of apps; opened when the first one comes.
    trunk: Arc<tokio::sync::Mutex<Option<Trunk>>>,
    /// Cancelled when another way is taken.
    left: CancellationToken,
}

impl Way {
    fn new(bridge: Bridge, is_relayed: bool) -> Self {
        Self {
            bridge,
            is_relayed,
            trunk: Arc::default(),
            left: CancellationToken::new(),
        }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.left.cancel();
    }
}

/// One run of a node.
#[derive(Debug)]
pub(crate) struct Peer {
    member: Member,
    key: ClusterKey,
    /// This router, as it introduces itself.
    router: Run,
    /// Cancelled when the router ends.
    stop: CancellationToken,
    /// The way to it, at present.
    way: Mutex<Way>,
    state: AtomicU8,
    /// No view has named it yet.
    stranger: AtomicBool,
    timings: Timings,
    metrics: Arc<Metrics>,
    session: Mutex<Option<Arc<Session>>>,
    /// Cancelled, and replaced, each time the node cannot be reached.
    reach: Mutex<CancellationToken>,
    /// Cancelled when the node left the view: a link that breaks is not opened again.
    retired: CancellationToken,
}

impl Peer {
    pub(super) fn new(
        member: Member,
        key: &ClusterKey,
        timings: &Timings,
        metrics: Arc<Metrics>,
        around: &Surroundings,
    ) -> Result<Self, tonic::transport::Error> {
        Ok(Self {
            way: Mutex::new(Way::new(Bridge::new(&member.address, key, timings)?, false)),
            router: around.router.clone(),
            stop: around.stop.clone(),
            key: key.clone(),
            state: AtomicU8::new(COMING),
            stranger: AtomicBool::new(member.version.is_empty()),
            member,
            timings: *timings,
            metrics,
            session: Mutex::default(),
            reach: Mutex::default(),
            retired: CancellationToken::new(),
        })
    }

    /// Which run this is.
    pub(crate) fn run(&self) -> Run {
        Run::of(&self.member)
    }

    /// Names this run in a request.
    pub(crate) fn target(&self) -> Option<v1::Target> {
        Some(self.run().target())
    }

    /// For requests beside the link.
    pub(crate) fn bridge(&self) -> Bridge {
        lock(&self.way).bridge.clone()
    }

    /// The trunk that carries tunnels to it on the present way; opens one if there is none.
    ///
    /// # Errors
    /// Whatever keeps the node from being reached.
    pub(crate) async fn trunk(&self) -> Result<Trunk, NoTrunk> {
        // First: a node that is lost in this moment cuts this trunk as well.
        let reach = self.reach();
        let (bridge, trunk, left) = {
            let way = lock(&self.way);
            (way.bridge.clone(), way.trunk.clone(), way.left.clone())
        };
        let mut present = trunk.lock().await;
        if let Some(trunk) = present.as_ref().filter(|trunk| !trunk.is_closed()) {
            return Ok(trunk.clone());
        }
        let (trunk, frames) = trunk::open(&bridge, &self.router, &self.run()).await?;
        *present = Some(trunk.clone());
        let stop = self.stop.clone();
        let ends = trunk::Ends { reach, stop, left };
        tokio::spawn(trunk::read(trunk.clone(), frames, ends));
        Ok(trunk)
    }

    /// Whether it was tried and cannot be reached.
    pub(crate) fn is_down(&self) -> bool {
        self.state.load(Ordering::Relaxed) == DOWN
    }

    /// Whether it is reached through another node.
    pub(super) fn is_relayed(&self) -> bool {
        lock(&self.way).is_relayed
    }

    /// Whether no view has named it.
    pub(super) fn is_stranger(&self) -> bool {
        self.stranger.load(Ordering::Relaxed)
    }

    /// A view has named it.
    pub(super) fn make_known(&self) {
        self.stranger.store(false, Ordering::Relaxed);
    }

    /// This router stops: the apps whose tunnels come through it are to move.
    pub(super) fn announce_drain(&self, within: Duration) {
        if let Some(session) = self.session() {
            session.announce_drain(within);
        }
    }

    /// Whether the link stands.
    pub(crate) fn is_up(&self) -> bool {
        self.session().is_some()
    }

    /// Calls under way on the link.
    pub(crate) fn in_flight(&self) -> usize {
        self.session().map_or(0, |session| session.in_flight())
    }

    /// Sends a call.
    pub(crate) fn start(
        &self,
        call: v1::Call,
        params: Bytes,
        settling: Settling,
    ) -> Result<InFlight, NotSent> {
        match self.session() {
            Some(session) => session.start(call, params, settling),
            None => Err(NotSent::Down),
        }
    }

    /// Cancelled when the node turns out to be out of reach: tunnels to it end then, for a node
    /// that hangs or is cut off ends none.
    fn reach(&self) -> CancellationToken {
        lock(&self.reach).clone()
    }

    /// The node left the view.
    pub(super) fn retire(&self) {
        self.retired.cancel();
    }

    fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).clone()
    }

    fn lose_reach(&self) {
        std::mem::take(&mut *lock(&self.reach)).cancel();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing that runs under these locks panics half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
