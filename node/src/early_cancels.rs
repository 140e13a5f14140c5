//! Cancels that came before what they cancel.

use std::collections::VecDeque;
use std::time::Duration;

use clientmcp_core::channel::Origin;
use clientmcp_core::ids::ClientId;
use tokio::time::Instant;

/// So many are kept, of all client IDs. The oldest gives way.
const EARLY_CANCELS: usize = 1_024;

/// Cancels that found nothing, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct EarlyCancels(VecDeque<EarlyCancel>);

#[derive(Debug)]
struct EarlyCancel {
    client_id: ClientId,
    origin: Origin,
    until: Instant,
}

impl EarlyCancels {
    /// Keeps a cancel for so long.
    pub(crate) fn keep(&mut self, client_id: &ClientId, origin: Origin, time: Duration) {
        if self.0.len() == EARLY_CANCELS {
            self.0.pop_front();
        }
        self.0.push_back(EarlyCancel {
            client_id: client_id.clone(),
            origin,
            until: Instant::now() + time,
        });
    }

    /// Whether a request was cancelled before; the cancel is used up by that.
    pub(crate) fn take(&mut self, client_id: &ClientId, origin: &Origin) -> bool {
        let now = Instant::now();
        while self.0.front().is_some_and(|early| early.until <= now) {
            self.0.pop_front();
        }
        let is_it = |early: &EarlyCancel| early.client_id == *client_id && early.origin == *origin;
        let at = self.0.iter().position(is_it);
        at.and_then(|at| self.0.remove(at)).is_some()
    }
}
