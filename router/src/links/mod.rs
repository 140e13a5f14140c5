//! The links to the nodes: one long-lived stream for each pair of router and node, kept open by a
//! task of its own.

mod bridge;
mod feed;
mod peer;
mod relay;
mod session;
mod trunk;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use clientmcp_cluster::member::{Member, MemberState, Role};
use clientmcp_cluster::view::View;
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::limits;
use clientmcp_core::timings::Timings;
use clientmcp_proto::link::Limits;
use clientmcp_proto::v1;
use rand::seq::IteratorRandom as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use bridge::{ClusterKey, Silence};
pub(crate) use feed::{End, Event, News};
pub(crate) use peer::Peer;
pub(crate) use session::{InFlight, NotSent, Receipt, Settling};
pub(crate) use trunk::NoTrunk;

use peer::Surroundings;

use crate::bounded::Bounded;
use crate::metrics::Metrics;

/// Nodes that were named by others and are not linked to yet.
const STRANGERS: usize = 64;
/// Runs that are remembered to be gone.
const ENDED: usize = 1_024;

/// One run of a member: what every request between processes is addressed to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) member: MemberId,
    pub(crate) incarnation: Incarnation,
}

impl Run {
    /// The run that a member describes.
    pub(crate) fn of(member: &Member) -> Self {
        Self {
            member: member.id.clone(),
            incarnation: member.incarnation,
        }
    }

    /// Names it in a request.
    pub(crate) fn target(&self) -> v1::Target {
        v1::Target {
            node_id: self.member.to_string(),
            incarnation: self.incarnation.0,
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.member, self.incarnation)
    }
}

/// How the link to a run of a node stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing<P> {
    /// It stands; the node can be asked.
    Up(P),
    /// It is being established for the first time.
    Coming,
    /// It was lost, could not be established, or has ended with its node.
    Down,
}

/// The sizes of a link. `queue_bytes` bounds what waits to be sent, or what is half received.
fn link_limits(queue_bytes: usize) -> Limits {
    Limits {
        chunk_bytes: limits::LINK_CHUNK_BYTES,
        window_bytes: limits::LINK_WINDOW_BYTES,
        payload_bytes: limits::MESSAGE_BYTES,
        queue_bytes,
    }
}

/// The links of this router.
#[derive(Debug)]
pub(crate) struct Links {
    peers: RwLock<HashMap<Run, Arc<Peer>>>,
    /// Runs that had a link once and are gone.
    ended: Mutex<Bounded<Run, ()>>,
    changed: watch::Sender<u64>,
    strangers: mpsc::Sender<(Run, String)>,
    introduced: Mutex<Option<mpsc::Receiver<(Run, String)>>>,
    router: Run,
    key: ClusterKey,
    timings: Timings,
    metrics: Arc<Metrics>,
}

impl Links {
    /// No links yet. `router` is how this router introduces itself.
    pub(crate) fn new(
        router: Run,
        key: ClusterKey,
        timings: &Timings,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (strangers, introduced) = mpsc::channel(STRANGERS);
        Self {
            peers: RwLock::default(),
            ended: Mutex::new(Bounded::new(ENDED)),
            changed: watch::Sender::new(0),
            strangers,
            introduced: Mutex::new(Some(introduced)),
            router,
            key,
            timings: *timings,
            metrics,
        }
    }

    /// One run of a node, if it is or was in the view and its link is kept.
    pub(crate) fn peer(&self, run: &Run) -> Option<Arc<Peer>> {
        self.read().get(run).cloned()
    }

    /// How the link to a run stands.
    pub(crate) fn standing(&self, run: &Run) -> Standing<Arc<Peer>> {
        match self.peer(run) {
            Some(peer) if peer.is_up() => Standing::Up(peer),
            Some(peer) if peer.is_down() => Standing::Down,
            Some(_) => Standing::Coming,
            // Nobody may say any more that it is gone: views forget as well.
            None if self.ended().get(run).is_some() => Standing::Down,
            None => Standing::Coming,
        }
    }

    /// Runs whose links are down.
    pub(crate) fn down(&self) -> Vec<Run> {
        let peers = self.read();
        let down = peers.iter().filter(|(_, peer)| peer.is_down());
        down.map(|(run, _)| run.clone()).collect()
    }

    /// Whether any link stands.
    pub(crate) fn is_any_up(&self) -> bool {
        self.read().values().any(|peer| peer.is_up())
    }

    /// A node that no view has named yet, but another node has.
    pub(crate) fn introduce(&self, run: &Run, address: &str) {
        if !address.is_empty() && self.peer(run).is_none() {
            let stranger = (run.clone(), address.to_owned());
            // If there is no room, it is introduced again by the next answer that names it.
            let _ = self.strangers.try_send(stranger);
        }
    }

    /// Tells all nodes that this router stops.
    pub(crate) fn announce_drain(&self, within: Duration) {
        for peer in self.read().values() {
            peer.announce_drain(within);
        }
    }

    /// Another node, through which one may be reached that cannot be reached directly. Any of
    /// them: some may not reach it either.
    fn detour(&self, around: &Run) -> Option<Arc<Peer>> {
        let peers = self.read();
        let others = peers
            .iter()
            .filter(|(run, peer)| *run != around && peer.is_up() && !peer.is_relayed());
        let (_, peer) = others.choose(&mut rand::rng())?;
        Some(peer.clone())
    }

    /// To be woken when a link comes up or goes down.
    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Keeps a link to each node of the view until told to stop.
    pub(crate) async fn follow(
        self: Arc<Self>,
        mut views: watch::Receiver<Arc<View>>,
        stop: CancellationToken,
    ) {
        let around = Surroundings {
            router: self.router.clone(),
            changed: self.changed.clone(),
            stop: stop.clone(),
            links: Arc::downgrade(&self),
        };
        let introduced = {
            let mut introduced = self
                .introduced
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            introduced.take()
        };
        let Some(mut introduced) = introduced else {
            return;
        };
        let mut keeping: JoinSet<Run> = JoinSet::new();
        loop {
            let view = views.borrow_and_update().clone();
            self.reconcile(&view, &around, &mut keeping);
            tokio::select! {
                changed = views.changed() => if changed.is_err() {
                    // This router has left the cluster; what it knows stays as it is.
                    stop.cancelled().await;
                },
                Some((run, address)) = introduced.recv() => {
                    self.keep(&stranger(run, address), &around, &mut keeping);
                }
                Some(ended) = keeping.join_next() => match ended {
                    Ok(run) => {
                        self.ended().insert(run.clone(), (), 1);
                        self.write().remove(&run);
                    }
                    Err(error) => {
                        tracing::error!(%error, "a link's task failed");
                        return;
                    }
                },
                () = stop.cancelled() => {
                    while keeping.join_next().await.is_some() {}
                    return;
                }
            }
        }
    }

    /// Starts links to nodes that are new, and lets those of nodes that are gone end.
    fn reconcile(&self, view: &View, around: &Surroundings, keeping: &mut JoinSet<Run>) {
        for (run, peer) in self.read().iter() {
            let is_present = view.member(&run.member).map(Run::of).as_ref() == Some(run);
            // One that was introduced by others may join later.
            if !is_present && (!peer.is_stranger() || peer.is_down()) {
                peer.retire();
            }
        }
        for member in view.nodes() {
            self.keep(member, around, keeping);
        }
    }

    /// Keeps a link to a node, if there is none yet.
    fn keep(&self, member: &Member, around: &Surroundings, keeping: &mut JoinSet<Run>) {
        let run = Run::of(member);
        let mut peers = self.write();
        if let Some(peer) = peers.get(&run) {
            peer.make_known();
            return;
        }
        match Peer::new(
            member.clone(),
            &self.key,
            &self.timings,
            self.metrics.clone(),
            around,
        ) {
            Ok(peer) => {
                let peer = Arc::new(peer);
                let around = around.clone();
                keeping.spawn({
                    let (peer, run) = (peer.clone(), run.clone());
                    async move {
                        peer.keep_link(around).await;
                        run
                    }
                });
                // A run that was out of reach for long may be back.
                self.ended().remove(&run);
                peers.insert(run, peer);
            }
            Err(error) => {
                tracing::warn!(node = %member.id, address = member.address, %error,
                    "a node's address cannot be used");
            }
        }
    }

    fn ended(&self) -> MutexGuard<'_, Bounded<Run, ()>> {
        // Nothing that runs under the lock panics half-way.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<Run, Arc<Peer>>> {
        // Nothing that runs under the lock panics half-way.
        self.peers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<Run, Arc<Peer>>> {
        self.peers.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A node of which only the address is known.
fn stranger(run: Run, address: String) -> Member {
    Member {
        id: run.member,
        incarnation: run.incarnation,
        role: Role::Node,
        state: MemberState::Ready,
        admin_address: String::new(),
        address,
        public_url: None,
        version: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_that_is_gone_is_not_waited_for_unless_it_is_linked_again() {
        let run = |name| Run {
            member: MemberId::parse(name).unwrap(),
            incarnation: Incarnation(1),
        };
        let registry = prometheus::Registry::new();
        let links = Arc::new(Links::new(
            run("router"),
            ClusterKey::new("key"),
            &Timings::default(),
            Arc::new(Metrics::new(&registry)),
        ));
        assert!(matches!(links.standing(&run("new")), Standing::Coming));
        links.ended().insert(run("gone"), (), 1);
        assert!(matches!(links.standing(&run("gone")), Standing::Down));

        let around = Surroundings {
            router: run("router"),
            changed: links.changed.clone(),
            stop: CancellationToken::new(),
            links: Arc::downgrade(&links),
        };
        let mut keeping = JoinSet::new();
        let address = "127.0.0.1:1".to_owned();
        links.keep(&stranger(run("gone"), address), &around, &mut keeping);
        assert!(matches!(links.standing(&run("gone")), Standing::Coming));
    }
}
