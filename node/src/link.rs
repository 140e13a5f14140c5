//! A link: the one stream that carries all calls between a router and this node.
//!
//! One task reads it. Answers are put into its outbox by whoever has them, and leave by the
//! stream's own task. A call that finds its app here is handed over at once; one that does not is
//! looked for in a task of its own, so that the store holds nobody up.

mod calls;
mod delivery;
mod frames;
mod replies;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clientmcp_core::ids::CallId;
use clientmcp_proto::link::{Drain, Outbox, outbox};
use clientmcp_proto::v1::NodeFrame;
use tokio::task::AbortHandle;

use crate::connection::Connection;
use crate::limits;

pub(crate) use frames::{serve, welcome, who_is_here};

/// The node's end of a link.
#[derive(Debug)]
pub(crate) struct Link {
    /// For logs, and for telling links apart.
    number: u64,
    outbox: Outbox<NodeFrame>,
    calls: Mutex<Calls>,
}

/// Calls of one link.
#[derive(Debug, Default)]
struct Calls {
    /// Where each call runs.
    running: HashMap<CallId, Weak<Connection>>,
    /// Calls that were answered to an app that wants to know that the answer arrived.
    unsettled: HashMap<CallId, Weak<Connection>>,
    /// Calls whose app is being looked for.
    sought: HashMap<CallId, AbortHandle>,
    /// Nobody reads this link any more.
    lost: bool,
}

impl Link {
    fn new(number: u64) -> (Arc<Self>, Drain<NodeFrame>) {
        let (outbox, drain) = outbox(limits::LINK);
        let link = Arc::new(Self {
            number,
            outbox,
            calls: Mutex::default(),
        });
        (link, drain)
    }

    /// Whether both are the same link.
    pub(crate) fn is(&self, other: &Link) -> bool {
        self.number == other.number
    }

    fn begins(&self, id: CallId, connection: &Arc<Connection>) {
        let running = Arc::downgrade(connection);
        self.calls().running.insert(id, running);
    }

    /// The app of a call was found. `false`: the call was given up meanwhile, and goes nowhere.
    /// From here on a cancel reaches the app as well.
    fn found(&self, id: CallId, connection: &Arc<Connection>) -> bool {
        let mut calls = self.calls();
        if !calls.sought.contains_key(&id) {
            return false;
        }
        calls.running.insert(id, Arc::downgrade(connection));
        true
    }

    fn runs_at(&self, id: CallId) -> Option<Arc<Connection>> {
        self.calls().running.get(&id).and_then(Weak::upgrade)
    }

    fn is_lost(&self) -> bool {
        self.calls().lost
    }

    /// Takes a call off the list. If its app remembers calls, it waits to be settled.
    fn ends(&self, id: CallId, remembered: bool) {
        let mut calls = self.calls();
        let Some(connection) = calls.running.remove(&id) else {
            return;
        };
        // A router that settles nothing does not fill the table.
        if remembered && calls.unsettled.len() < limits::UNSETTLED_CALLS {
            calls.unsettled.insert(id, connection);
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        // Nothing that runs under the lock panics half-way.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
