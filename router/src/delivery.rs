//! When a call is delivered again, and when not (SPEC.md §7.4).

use std::sync::{Arc, Weak};

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::limits::RUNS_LOST_PER_CALL;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::gateway::Gateway;
use crate::links::Run;

/// Deliveries of one call: how many there were, and what became of them.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    attempt: u32,
    attach_only: bool,
    /// Runs of nodes that were lost under the call since it last made progress.
    runs_lost: Vec<Run>,
}

/// How a call was lost that may have reached its app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loss {
    /// With the link to this run of a node: the node may be gone.
    Run(Run),
    /// With the app's socket; the node said so.
    Socket,
    /// The app has moved, and its calls with it.
    Moved,
}

/// What follows from a loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is delivered again, to the same instance.
    Deliver,
    /// It is attached to where it runs, and started nowhere.
    Attach(Run),
    /// Nobody can say any more how it ends.
    GiveUp,
}

impl Delivery {
    /// 0 for the first delivery.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The app remembers no calls: it must not get this one twice.
    pub(crate) fn attach_only(&self) -> bool {
        self.attach_only
    }

    /// The call makes progress: whatever was lost before was not its fault.
    pub(crate) fn handle_progress(&mut self) {
        self.runs_lost.clear();
    }

    /// The call was lost; `resumes` if its app remembers calls.
    pub(crate) fn handle_loss(&mut self, loss: Loss, resumes: bool) -> Next {
        self.attempt += 1;
        if let Loss::Run(run) = &loss
            && !self.runs_lost.contains(run)
        {
            self.runs_lost.push(run.clone());
        }
        if self.runs_lost.len() >= RUNS_LOST_PER_CALL {
            // A call that kills nodes must not walk through the cluster.
            return Next::GiveUp;
        }
        match loss {
            _ if resumes => Next::Deliver,
            Loss::Run(run) => {
                self.attach_only = true;
                Next::Attach(run)
            }
            Loss::Socket | Loss::Moved => Next::GiveUp,
        }
    }
}

/// Cancels a call that is given up while it is between holders: its app may run it. It waits for
/// wherever the app appears.
#[derive(Debug)]
pub(crate) struct Abandoned {
    gateway: Weak<Gateway>,
    client_id: ClientId,
    call: Option<Uuid>,
}

impl Abandoned {
    pub(crate) fn new(gateway: &Arc<Gateway>, client_id: &ClientId) -> Self {
        Self {
            gateway: Arc::downgrade(gateway),
            client_id: client_id.clone(),
            call: None,
        }
    }

    /// The call is between holders.
    pub(crate) fn arm(&mut self, call: Uuid) {
        self.call = Some(call);
    }

    /// It was sent again, or has ended.
    pub(crate) fn disarm(&mut self) {
        self.call = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let (Some(call), Some(gateway)) = (self.call, self.gateway.upgrade()) else {
            return;
        };
        if Handle::try_current().is_err() {
            return;
        }
        let client_id = self.client_id.clone();
        tokio::spawn(async move {
            let cancelling = async {
                let mut route = gateway.placement.route(&client_id);
                if let Ok(peer) = route.next().await {
                    let call_id = Bytes::copy_from_slice(call.as_bytes());
                    peer.cancel_wherever(call_id, &client_id);
                }
            };
            tokio::select! {
                () = cancelling => {}
                () = gateway.abort.cancelled() => {}
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_core::ids::{Incarnation, MemberId};

    fn run(n: u64) -> Run {
        Run {
            member: MemberId::parse("node").unwrap(),
            incarnation: Incarnation(n),
        }
    }

    #[test]
    fn an_app_that_remembers_gets_it_again() {
        let mut delivery = Delivery::default();
        for (n, loss) in [Loss::Socket, Loss::Moved, Loss::Run(run(1)), Loss::Socket]
            .into_iter()
            .enumerate()
        {
            assert_eq!(delivery.attempt() as usize, n);
            assert_eq!(delivery.handle_loss(loss, true), Next::Deliver);
            assert!(!delivery.attach_only());
        }
    }

    #[test]
    fn an_app_that_does_not_is_attached_to_where_it_is() {
        let mut delivery = Delivery::default();
        let next = delivery.handle_loss(Loss::Run(run(1)), false);
        assert_eq!(next, Next::Attach(run(1)));
        assert!(delivery.attach_only() && delivery.attempt() == 1);
        assert_eq!(delivery.handle_loss(Loss::Socket, false), Next::GiveUp);
        let mut delivery = Delivery::default();
        assert_eq!(delivery.handle_loss(Loss::Moved, false), Next::GiveUp);
    }

    #[test]
    fn a_call_that_kills_nodes_is_given_up() {
        let mut delivery = Delivery::default();
        let mut lose = |n| delivery.handle_loss(Loss::Run(run(n)), true);
        assert_eq!(lose(1), Next::Deliver);
        assert_eq!(lose(1), Next::Deliver, "the same run again, after a blip");
        assert_eq!(lose(2), Next::Deliver);
        assert_eq!(lose(3), Next::GiveUp);
    }

    #[test]
    fn progress_clears_the_call_of_suspicion() {
        let mut delivery = Delivery::default();
        for n in 0..10 {
            assert_eq!(delivery.handle_loss(Loss::Run(run(n)), true), Next::Deliver);
            if n % 2 == 1 {
                delivery.handle_progress();
            }
        }
    }
}
