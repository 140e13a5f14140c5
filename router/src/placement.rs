//! Which node to ask for a client ID: the owner on the ring, unless another node is known to hold
//! it.
//!
//! Nothing here must be right: a node that is asked in vain says where else to ask, and the cache
//! of holders is corrected by epochs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clientmcp_cluster::view::{View, Whereabouts};
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_core::limits::REDIRECTS;
use clientmcp_core::timings::Timings;
use clientmcp_proto::v1;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::bounded::Bounded;
use crate::limits;
use crate::links::{Links, Peer, Run};

/// Why nobody could be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unplaced {
    /// No node is ready.
    NoNode,
    /// The node in question could not be reached, or did not know better, for as long as a
    /// cluster takes to place its client IDs anew.
    OutOfReach,
}

/// Whom to ask for a client ID.
#[derive(Debug)]
enum Place {
    /// This node.
    Up(Arc<Peer>),
    /// This one, once the link to it stands that is being established.
    Coming(Run),
    /// Nobody can be reached.
    Down,
}

/// A node that is not the owner and holds a client ID all the same.
#[derive(Debug, Clone)]
struct Holder {
    run: Run,
    epoch: Epoch,
}

/// Where client IDs are.
#[derive(Debug)]
pub(crate) struct Placement {
    links: Arc<Links>,
    views: watch::Receiver<Arc<View>>,
    holders: Mutex<Bounded<ClientId, Holder>>,
    patience: Duration,
    /// As long as it takes to see a node that others see already.
    acquaintance: Duration,
}

impl Placement {
    pub(crate) fn new(
        links: Arc<Links>,
        views: watch::Receiver<Arc<View>>,
        timings: &Timings,
    ) -> Self {
        Self {
            links,
            views,
            holders: Mutex::new(Bounded::new(limits::HOLDERS_CACHED)),
            // A node that dies unseen leaves the ring within a lease and a heartbeat.
            acquaintance: timings.heartbeat * 2,
            patience: timings.lease + timings.heartbeat * 2 + timings.probe_timeout,
        }
    }

    /// The present view.
    pub(crate) fn view(&self) -> Arc<View> {
        self.views.borrow().clone()
    }

    /// This run, if its link stands.
    pub(crate) fn peer(&self, run: &Run) -> Option<Arc<Peer>> {
        self.links.peer(run).filter(|peer| peer.is_up())
    }

    /// Resolves when the link to this run stands.
    pub(crate) async fn comes_up(&self, run: &Run) -> Arc<Peer> {
        let mut links = self.links.changed();
        loop {
            links.borrow_and_update();
            if let Some(peer) = self.peer(run) {
                return peer;
            }
            // The sender lives as long as the links.
            let _ = links.changed().await;
        }
    }

    /// Begins to look for a node that answers for a client ID.
    pub(crate) fn route(self: &Arc<Self>, client_id: &ClientId) -> Route {
        Route {
            placement: self.clone(),
            client_id: client_id.clone(),
            deadline: Instant::now() + self.patience,
            redirects: 0,
            again: None,
            stranger_until: None,
        }
    }

    /// Whom to ask: the holder that is known; else the owner or, as long as it is out of reach,
    /// the next on the ring: there the app and its calls meet.
    fn place(&self, client_id: &ClientId) -> Option<Place> {
        let view = self.view();
        let holder = self
            .holders()
            .get(client_id)
            .map(|holder| holder.run.clone());
        let successors = view.ring().successors(client_id);
        let members = successors.filter_map(|id| view.member(id).map(Run::of));
        let mut nobody = None;
        for run in holder.into_iter().chain(members) {
            match self.links.peer(&run) {
                Some(peer) if peer.is_up() => return Some(Place::Up(peer)),
                Some(peer) if peer.is_down() => nobody = Some(Place::Down),
                _ => return Some(Place::Coming(run)),
            }
        }
        nobody
    }

    /// Runs that this router cannot reach, or knows to be gone: whoever is asked must not send it
    /// there, though its own view may be a heartbeat behind.
    pub(crate) fn unreachable(&self) -> Vec<v1::Target> {
        let view = self.view();
        let gone = view.lost().iter().map(|lost| Run::of(&lost.member));
        let gone = gone.filter(|run| self.peer(run).is_none());
        let mut unreachable = self.links.down();
        unreachable.extend(gone.map(|run| run.target()));
        unreachable
    }

    /// Whether it is of no use to ask this run.
    fn is_out_of_reach(&self, run: &Run) -> bool {
        match self.links.peer(run) {
            Some(peer) => peer.is_down(),
            None => {
                let view = self.view();
                let known = view.whereabouts(&run.member, run.incarnation);
                matches!(known, Whereabouts::Lost(_))
            }
        }
    }

    /// A node said who holds a client ID. Older news than what is known does not count.
    fn learn(&self, client_id: &ClientId, run: Run, epoch: Epoch) {
        let mut holders = self.holders();
        match holders.get(client_id) {
            Some(known) if known.epoch > epoch => {}
            _ => holders.insert(client_id.clone(), Holder { run, epoch }, 1),
        }
    }

    /// This run does not hold the client ID, or cannot be asked.
    fn forget(&self, client_id: &ClientId, run: &Run) {
        let mut holders = self.holders();
        if holders
            .get(client_id)
            .is_some_and(|known| known.run == *run)
        {
            holders.remove(client_id);
        }
    }

    fn holders(&self) -> MutexGuard<'_, Bounded<ClientId, Holder>> {
        // Nothing that runs under the lock panics half-way.
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One search for a node that answers: bounded in redirects and in time.
#[derive(Debug)]
pub(crate) struct Route {
    placement: Arc<Placement>,
    client_id: ClientId,
    deadline: Instant,
    redirects: usize,
    /// Not before: the last answer was of no use, and nothing has changed yet.
    again: Option<Instant>,
    /// A node that no view has named is waited for until then.
    stranger_until: Option<Instant>,
}

impl Route {
    /// The node to ask next, once the link to it stands. May be dropped and asked again.
    ///
    /// # Errors
    /// [`Unplaced`].
    pub(crate) async fn next(&mut self) -> Result<Arc<Peer>, Unplaced> {
        let mut links = self.placement.links.changed();
        let mut views = self.placement.views.clone();
        if let Some(again) = self.again {
            if again >= self.deadline {
                return Err(Unplaced::OutOfReach);
            }
            tokio::time::sleep_until(again).await;
            self.again = None;
        }
        loop {
            links.borrow_and_update();
            views.borrow_and_update();
            let coming = match self.placement.place(&self.client_id) {
                None => return Err(Unplaced::NoNode),
                Some(Place::Up(peer)) => return Ok(peer),
                Some(Place::Down) => None,
                // One that is gone holds nothing.
                Some(Place::Coming(run)) if self.is_gone(&run) => {
                    self.placement.forget(&self.client_id, &run);
                    continue;
                }
                Some(Place::Coming(run)) => Some(run),
            };
            tokio::select! {
                _ = links.changed() => {}
                _ = views.changed() => {}
                () = tokio::time::sleep_until(self.stranger_until.unwrap_or(self.deadline)) => {
                    if self.stranger_until.take().is_none() {
                        return Err(Unplaced::OutOfReach);
                    }
                    if let Some(run) = coming {
                        self.placement.forget(&self.client_id, &run);
                    }
                }
            }
        }
    }

    /// The node that was asked named another one. `false`: too many did.
    pub(crate) fn elsewhere(&mut self, asked: &Run, to: &v1::Elsewhere) -> bool {
        self.redirects += 1;
        let Ok(member) = MemberId::parse(&to.node_id) else {
            return false;
        };
        let run = Run {
            member,
            incarnation: Incarnation(to.incarnation),
        };
        self.placement.forget(&self.client_id, asked);
        if self.placement.is_out_of_reach(&run) {
            // Others reach it, and then so will this router, through one of them; or they are about
            // to learn that it is gone.
            self.redirects -= 1;
            self.again = Some(Instant::now() + limits::PLACE_AGAIN);
        } else {
            self.placement.links.introduce(&run, &to.address);
            self.placement.learn(&self.client_id, run, Epoch(to.epoch));
        }
        self.redirects <= REDIRECTS
    }

    /// The node that was asked could not say, or gave no answer: it is asked again a moment
    /// later, or whoever takes its place.
    pub(crate) fn not_here(&mut self, asked: &Run) {
        self.placement.forget(&self.client_id, asked);
        self.again = Some(Instant::now() + limits::PLACE_AGAIN);
    }

    /// Whether a run has left the view. One that was never seen is waited for a little: it may
    /// have joined a moment ago, and others know of it already.
    fn is_gone(&mut self, run: &Run) -> bool {
        let view = self.placement.view();
        self.stranger_until = match view.whereabouts(&run.member, run.incarnation) {
            Whereabouts::Present(_) => None,
            Whereabouts::Lost(_) => return true,
            Whereabouts::Unknown => {
                let until = Instant::now() + self.placement.acquaintance;
                Some(self.stranger_until.unwrap_or(until).min(self.deadline))
            }
        };
        false
    }
}
