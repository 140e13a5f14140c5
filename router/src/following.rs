//! Following a client ID wherever it goes: what streams from nodes are opened by.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::ids::ClientId;
use clientmcp_proto::v1;

use crate::links::{Peer, Run};
use crate::placement::{Placement, Route};

/// Between two searches that found nobody.
const SEARCH_AGAIN: Duration = Duration::from_secs(1);

/// One client ID, and the search for the node to ask about it, for as long as somebody wants to
/// know.
#[derive(Debug)]
pub(crate) struct Following {
    placement: Arc<Placement>,
    client_id: ClientId,
    route: Route,
    /// The node that was asked last has answered for the client ID.
    found: bool,
}

impl Following {
    pub(crate) fn new(placement: &Arc<Placement>, client_id: &ClientId) -> Self {
        Self {
            placement: placement.clone(),
            client_id: client_id.clone(),
            route: placement.route(client_id),
            found: false,
        }
    }

    pub(crate) fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// Runs of nodes that this router cannot reach.
    pub(crate) fn unreachable(&self) -> Vec<v1::Target> {
        self.placement.unreachable()
    }

    /// The node to ask next. While nobody can be asked, this waits. Cancel safe.
    pub(crate) async fn peer(&mut self) -> Arc<Peer> {
        loop {
            match self.route.next().await {
                Ok(peer) => return peer,
                Err(unplaced) => {
                    tracing::debug!(client_id = %self.client_id, ?unplaced, "nobody can be asked");
                    tokio::time::sleep(SEARCH_AGAIN).await;
                    self.route = self.placement.route(&self.client_id);
                }
            }
        }
    }

    /// Resolves when another node than this is to be asked. Cancel safe.
    pub(crate) async fn leaves(&self, run: &Run) {
        self.placement.leaves(&self.client_id, run).await;
    }

    /// The node answers for the client ID.
    pub(crate) fn found(&mut self) {
        self.found = true;
    }

    /// Whether the node that was asked last has answered for the client ID.
    pub(crate) fn is_found(&self) -> bool {
        self.found
    }

    /// The node could not be asked.
    pub(crate) fn missed(&mut self, run: &Run) {
        self.route.not_here(run);
    }

    /// The node named another one.
    pub(crate) fn follow(&mut self, run: &Run, to: &v1::Elsewhere) {
        if std::mem::take(&mut self.found) {
            self.route = self.placement.route(&self.client_id);
        }
        self.route.elsewhere(run, to);
    }

    /// The node has nothing more to say.
    pub(crate) fn reopen(&mut self, run: &Run) {
        self.found = false;
        self.route = self.placement.route(&self.client_id);
        self.route.not_here(run);
    }

    /// Another node is to be asked, at once.
    pub(crate) fn turn(&mut self) {
        self.found = false;
        self.route = self.placement.route(&self.client_id);
    }
}
