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
use crate::links::{Links, Peer, Run, Standing};

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
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place<P> {
    /// This node.
    Up(P),
    /// This one, once the link to it stands that is being established.
    Coming(Run),
    /// Nobody can be reached.
    Down,
}

/// The first that can be reached, in the order in which they are given; `None` if there are none.
/// One whose link was lost, or could not be established, is passed over at once. One whose link is
/// being established for the first time is waited for.
fn first<P>(candidates: impl Iterator<Item = (Run, Standing<P>)>) -> Option<Place<P>> {
    let mut nobody = None;
    for (run, standing) in candidates {
        match standing {
            Standing::Up(peer) => return Some(Place::Up(peer)),
            Standing::Coming => return Some(Place::Coming(run)),
            Standing::Down => nobody = Some(Place::Down),
        }
    }
    nobody
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
    /// Apps that were lost are expected back for so long.
    grace: Duration,
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
            grace: timings.grace,
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

    /// Resolves when another node than this one is to be asked for a client ID: until then, who
    /// asks for it meets there.
    pub(crate) async fn leaves(&self, client_id: &ClientId, run: &Run) {
        let mut links = self.links.changed();
        let mut views = self.views.clone();
        loop {
            links.borrow_and_update();
            views.borrow_and_update();
            if matches!(self.place(client_id), Some(Place::Up(peer)) if peer.run() != *run) {
                return;
            }
            tokio::select! {
                _ = links.changed() => {}
                Ok(()) = views.changed() => {}
            }
        }
    }

    /// Begins to look for a node that answers for a client ID.
    pub(crate) fn route(self: &Arc<Self>, client_id: &ClientId) -> Route {
        Route {
            placement: self.clone(),
            client_id: client_id.clone(),
            deadline: Instant::now() + self.patience,
            insists: false,
            redirects: 0,
            again: None,
            stranger_until: None,
        }
    }

    /// Whom to ask: the holder that is known; else the owner or, as long as it is out of reach,
    /// the next on the ring: there the app and its calls meet.
    fn place(&self, client_id: &ClientId) -> Option<Place<Arc<Peer>>> {
        let view = self.view();
        let holder = self
            .holders()
            .get(client_id)
            .map(|holder| holder.run.clone());
        let successors = view.ring().successors(client_id);
        let members = successors.filter_map(|id| view.member(id).map(Run::of));
        let candidates = holder.into_iter().chain(members);
        first(candidates.map(|run| {
            let standing = self.links.standing(&run);
            (run, standing)
        }))
    }

    /// Who may take the socket of an app: in the order in which its calls look for it, those that
    /// cannot be reached last.
    pub(crate) fn takers(&self, client_id: &ClientId) -> Vec<Arc<Peer>> {
        let view = self.view();
        let successors = view.ring().successors(client_id);
        let mut peers: Vec<_> = successors
            .filter_map(|id| self.links.peer(&Run::of(view.member(id)?)))
            .collect();
        peers.sort_by_key(|peer| !peer.is_up());
        peers
    }

    /// Runs that this router cannot reach, or knows to be gone: whoever is asked must not send it
    /// there, though its own view may be a heartbeat behind.
    pub(crate) fn unreachable(&self) -> Vec<v1::Target> {
        let view = self.view();
        let gone = view.lost().iter().map(|lost| Run::of(&lost.member));
        let gone = gone.filter(|run| self.peer(run).is_none());
        let unreachable = self.links.down().into_iter().chain(gone);
        unreachable.map(|run| run.target()).collect()
    }

    /// Whether it is of no use to ask this run.
    fn is_out_of_reach(&self, run: &Run) -> bool {
        match self.links.standing(run) {
            Standing::Up(_) => false,
            Standing::Down => true,
            Standing::Coming => {
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

/// One search for a node that answers: bounded in time, and in redirects that follow each other
/// without a pause.
#[derive(Debug)]
pub(crate) struct Route {
    placement: Arc<Placement>,
    client_id: ClientId,
    deadline: Instant,
    /// That no node is ready is waited out.
    insists: bool,
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
                None if !self.insists => return Err(Unplaced::NoNode),
                None | Some(Place::Down) => None,
                Some(Place::Up(peer)) => return Ok(peer),
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

    /// Begins anew for a call that was on its way already: nodes have as long to be there again as
    /// its app has to come back.
    pub(crate) fn insist(&mut self) {
        self.insists = true;
        self.redirects = 0;
        self.deadline = Instant::now() + self.placement.grace + self.placement.patience;
    }

    /// The node that was asked named another one. That one is asked next, if it can be reached.
    /// Else others reach it, and then so will this router, through one of them; or they are about
    /// to learn that it is gone. They are asked again a moment later then, and so are nodes that
    /// name each other.
    pub(crate) fn elsewhere(&mut self, asked: &Run, to: &v1::Elsewhere) {
        self.placement.forget(&self.client_id, asked);
        let Ok(member) = MemberId::parse(&to.node_id) else {
            return self.pause();
        };
        let run = Run {
            member,
            incarnation: Incarnation(to.incarnation),
        };
        self.placement.links.introduce(&run, &to.address);
        if self.placement.is_out_of_reach(&run) {
            return self.pause();
        }
        self.placement.learn(&self.client_id, run, Epoch(to.epoch));
        self.redirects += 1;
        if self.redirects > REDIRECTS {
            self.redirects = 0;
            self.pause();
        }
    }

    /// The node that was asked could not say, or gave no answer: it is asked again a moment
    /// later, or whoever takes its place.
    pub(crate) fn not_here(&mut self, asked: &Run) {
        self.placement.forget(&self.client_id, asked);
        self.pause();
    }

    fn pause(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u64) -> Run {
        Run {
            member: MemberId::parse(&format!("node-{n}")).unwrap(),
            incarnation: Incarnation(n),
        }
    }

    /// Node 1 is the known holder, the others follow on the ring.
    fn place(standings: &[Standing<u64>]) -> Option<Place<u64>> {
        let runs = (1..).map(run);
        first(runs.zip(standings.iter().cloned()))
    }

    #[test]
    fn the_first_that_can_be_reached_is_asked() {
        use Standing::{Coming, Down, Up};
        for (standings, placed) in [
            (&[][..], None),
            (&[Up(1), Up(2)], Some(Place::Up(1))),
            (&[Down, Up(2), Up(3)], Some(Place::Up(2))),
            (&[Down, Down, Up(3)], Some(Place::Up(3))),
            (&[Coming, Up(2)], Some(Place::Coming(run(1)))),
            (&[Down, Coming, Up(3)], Some(Place::Coming(run(2)))),
            (&[Down, Down], Some(Place::Down)),
        ] {
            assert_eq!(place(standings), placed, "{standings:?}");
        }
    }
}
