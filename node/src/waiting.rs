//! Calls that wait for an app to come back (SPEC.md §7.5).
//!
//! They are bounded, for each client ID in number and for the whole process in bytes. A register
//! here wakes them at once. One elsewhere is seen in the store's record, which is read for all
//! calls of a client ID together, four times in a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clientmcp_core::channel::Origin;
use clientmcp_core::ids::ClientId;
use clientmcp_core::limits;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::places::{self, Place, Unreachable};
use crate::state::NodeState;

/// Between two looks at the record of a client ID.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(limits::WAITING_POLL_MS);

/// All calls that wait at this node.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Room>);

#[derive(Debug, Default)]
struct Room {
    queues: HashMap<ClientId, Queue>,
    bytes: usize,
    numbers: u64,
}

#[derive(Debug, Default)]
struct Queue {
    calls: Vec<Entry>,
    look: Arc<Look>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    origin: Option<Origin>,
    cancelled: CancellationToken,
}

/// What the store said last, and when. Locked while it is asked.
type Look = tokio::sync::Mutex<Option<(Instant, Place)>>;

impl Waiting {
    /// Takes a place in the queue of a client ID. `None`: too many calls or bytes wait already.
    pub(crate) fn enter(
        self: &Arc<Self>,
        client_id: &ClientId,
        bytes: usize,
        origin: Option<Origin>,
    ) -> Option<Waiter> {
        let mut room = self.lock();
        let waiting = room.queues.get(client_id).map_or(0, |q| q.calls.len());
        let is_full = waiting >= limits::CALLS_WAITING_PER_CLIENT_ID;
        if is_full || room.bytes + bytes > limits::WAITING_BYTES {
            return None;
        }
        room.bytes += bytes;
        room.numbers += 1;
        let number = room.numbers;
        let cancelled = CancellationToken::new();
        let queue = room.queues.entry(client_id.clone()).or_default();
        queue.calls.push(Entry {
            number,
            origin,
            cancelled: cancelled.clone(),
        });
        Some(Waiter {
            waiting: self.clone(),
            client_id: client_id.clone(),
            number,
            bytes,
            look: queue.look.clone(),
            cancelled,
        })
    }

    /// Cancels the call that an agent's request became, if it waits here.
    pub(crate) fn cancel(&self, client_id: &ClientId, origin: &Origin) {
        let room = self.lock();
        let calls = room.queues.get(client_id).map(|queue| &queue.calls);
        for call in calls.into_iter().flatten() {
            if call.origin.as_ref() == Some(origin) {
                call.cancelled.cancel();
            }
        }
    }

    /// How many calls wait.
    pub(crate) fn count(&self) -> usize {
        self.lock().queues.values().map(|q| q.calls.len()).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Room> {
        // Nothing that runs under the lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call's place in the queue; dropping it leaves.
#[derive(Debug)]
pub(crate) struct Waiter {
    waiting: Arc<Waiting>,
    client_id: ClientId,
    number: u64,
    bytes: usize,
    look: Arc<Look>,
    /// Its agent has cancelled it.
    pub(crate) cancelled: CancellationToken,
}

impl Waiter {
    /// Where the client ID is, as of at most [`LOOK_AGAIN`] ago.
    pub(crate) async fn look(&self, node: &Arc<NodeState>, unreachable: &Unreachable) -> Place {
        let mut last = self.look.lock().await;
        match &*last {
            Some((at, place)) if at.elapsed() < LOOK_AGAIN && unreachable.is_empty() => {
                place.clone()
            }
            _ => {
                let place = places::find(node, &self.client_id, None, unreachable).await;
                *last = Some((Instant::now(), place.clone()));
                place
            }
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut room = self.waiting.lock();
        room.bytes -= self.bytes;
        if let Some(queue) = room.queues.get_mut(&self.client_id) {
            queue.calls.retain(|call| call.number != self.number);
            if queue.calls.is_empty() {
                room.queues.remove(&self.client_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_core::json::Json;

    fn client(name: &str) -> ClientId {
        ClientId::parse(name).unwrap()
    }

    #[test]
    fn calls_of_one_client_id_are_bounded_in_number() {
        let waiting = Arc::new(Waiting::default());
        let enter = |name| waiting.enter(&client(name), 1, None);
        let mut inside: Vec<_> = (0..limits::CALLS_WAITING_PER_CLIENT_ID)
            .map(|_| enter("a").expect("room"))
            .collect();
        assert!(enter("a").is_none());
        assert!(enter("b").is_some(), "others have a queue of their own");
        inside.pop();
        assert!(enter("a").is_some());
        drop(inside);
        assert_eq!(waiting.count(), 0);
    }

    #[test]
    fn calls_of_all_are_bounded_in_bytes() {
        let waiting = Arc::new(Waiting::default());
        let half = limits::WAITING_BYTES / 2;
        let first = waiting.enter(&client("a"), half, None);
        let second = waiting.enter(&client("b"), half, None);
        assert!(first.is_some() && second.is_some());
        assert!(waiting.enter(&client("c"), 1, None).is_none());
        drop(first);
        assert!(waiting.enter(&client("c"), 1, None).is_some());
    }

    #[test]
    fn a_cancel_finds_the_call_that_waits() {
        let waiting = Arc::new(Waiting::default());
        let origin = |id: &str| Origin {
            session: "s".to_owned(),
            request_id: Json::parse(id.to_owned()).unwrap(),
        };
        let one = waiting.enter(&client("a"), 0, Some(origin("1"))).unwrap();
        let text = waiting
            .enter(&client("a"), 0, Some(origin("\"1\"")))
            .unwrap();
        waiting.cancel(&client("b"), &origin("1"));
        assert!(!one.cancelled.is_cancelled());
        waiting.cancel(&client("a"), &origin("1"));
        assert!(one.cancelled.is_cancelled());
        assert!(!text.cancelled.is_cancelled(), "the type of an id counts");
    }
}
