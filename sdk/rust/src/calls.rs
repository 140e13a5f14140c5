//! The memory of calls (SPEC.md §7.4).
//!
//! It belongs to the instance, not to a socket: when the cluster delivers a call again, after it
//! lost a node or this application's socket, a running call is attached to, a finished one is
//! answered from here, and only an unknown one is run. So a call runs at most once. Where the
//! memory has had to forget, nothing is run on a guess.
//!
//! Pure: time is an argument. `handle_*` methods say what the world did.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use clientmcp_core::ids::CallId;
use clientmcp_core::limits;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::session::SocketId;

/// Bounds of the memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Age at which an answer that was not settled is dropped.
    pub(crate) answer_age: Duration,
    /// Answers that are kept at most.
    pub(crate) answers: usize,
    /// Bytes of answers that are kept at most.
    pub(crate) answer_bytes: usize,
    /// The longest deadline, until a longer one is seen.
    pub(crate) deadline: Duration,
    /// IDs of ended calls are kept for the longest deadline and this much longer.
    pub(crate) id_age_beyond_deadline: Duration,
    /// IDs of ended calls that are kept at most.
    pub(crate) ids: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            answer_age: Duration::from_secs(120),
            answers: 128,
            answer_bytes: 16 * 1024 * 1024,
            deadline: Duration::from_millis(limits::CALL_DEADLINE_MS),
            id_age_beyond_deadline: Duration::from_secs(60),
            ids: 65_536,
        }
    }
}

/// What to do with a call that was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It is new: run it.
    Run,
    /// It runs already; its answer goes to the socket of this delivery, and first what it said of
    /// becoming a task.
    Attached(Option<Utf8Bytes>),
    /// It has ended with this answer.
    Finished(Utf8Bytes),
    /// Nobody can say whether it ran.
    Unknown,
    /// It has been delivered since, elsewhere: whoever sent this does not wait any more.
    Outdated,
}

/// One delivery of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    pub(crate) id: CallId,
    /// 0 if it was not delivered before, as far as the cluster knows.
    pub(crate) attempt: u32,
    /// The time that remains to it.
    pub(crate) deadline: Duration,
    /// The socket that it came on.
    pub(crate) socket: SocketId,
}

#[derive(Debug)]
struct Running {
    /// The number of the latest delivery.
    attempt: u32,
    /// The socket of the latest delivery.
    socket: SocketId,
    /// Nobody waits for the answer.
    cancelled: bool,
    /// What it said of becoming a task.
    task: Option<Utf8Bytes>,
}

impl Running {
    fn new(delivered: Delivered, task: Option<Utf8Bytes>) -> Self {
        Self {
            attempt: delivered.attempt,
            socket: delivered.socket,
            cancelled: false,
            task,
        }
    }
}

#[derive(Debug)]
struct Answer {
    text: Utf8Bytes,
    /// The number of the latest delivery.
    attempt: u32,
    /// Its place in [`Calls::answer_order`].
    place: u64,
}

/// Calls that run, and what is remembered of those that ended.
#[derive(Debug)]
pub(crate) struct Calls {
    bounds: Bounds,
    longest_deadline: Duration,
    running: HashMap<CallId, Running>,
    ended: HashSet<CallId>,
    /// Ended calls, oldest first.
    ended_order: VecDeque<(CallId, Instant)>,
    /// Answers that nobody has confirmed.
    answers: HashMap<CallId, Answer>,
    /// The same, oldest first.
    answer_order: BTreeMap<u64, (CallId, Instant)>,
    answer_bytes: usize,
    next_place: u64,
    /// The greatest ID that was dropped before its time. Greater ones have not been dropped.
    forgotten_up_to: Option<CallId>,
}

impl Calls {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            longest_deadline: bounds.deadline,
            running: HashMap::new(),
            ended: HashSet::new(),
            ended_order: VecDeque::new(),
            answers: HashMap::new(),
            answer_order: BTreeMap::new(),
            answer_bytes: 0,
            next_place: 0,
            forgotten_up_to: None,
        }
    }

    /// The socket that a message about a running call belongs on; `None` if nobody wants it.
    pub(crate) fn socket_of(&self, id: CallId) -> Option<SocketId> {
        let call = self.running.get(&id)?;
        (!call.cancelled).then_some(call.socket)
    }

    /// A call was delivered, for the first time or again.
    pub(crate) fn handle_delivery(&mut self, delivered: Delivered, now: Instant) -> Delivery {
        self.expire(now);
        let Delivered { id, attempt, .. } = delivered;
        self.longest_deadline = self.longest_deadline.max(delivered.deadline);
        if let Some(call) = self.running.get_mut(&id) {
            if attempt < call.attempt {
                return Delivery::Outdated;
            }
            let task = call.task.clone();
            *call = Running::new(delivered, task.clone());
            return Delivery::Attached(task);
        }
        if let Some(answer) = self.answers.get_mut(&id) {
            if attempt < answer.attempt {
                return Delivery::Outdated;
            }
            answer.attempt = attempt;
            return Delivery::Finished(answer.text.clone());
        }
        let forgotten = attempt > 0 && Some(id) <= self.forgotten_up_to;
        if forgotten || self.ended.contains(&id) {
            return Delivery::Unknown;
        }
        self.running.insert(id, Running::new(delivered, None));
        Delivery::Run
    }

    /// A running call becomes a task, and says so. Returns the socket to say it on, if somebody
    /// waits for the call.
    pub(crate) fn handle_task(&mut self, id: CallId, text: Utf8Bytes) -> Option<SocketId> {
        let call = self.running.get_mut(&id)?;
        call.task = Some(text);
        (!call.cancelled).then_some(call.socket)
    }

    /// A call ended with this answer. Returns the socket to send it on, if somebody waits for it.
    pub(crate) fn handle_finished(
        &mut self,
        id: CallId,
        text: Utf8Bytes,
        now: Instant,
    ) -> Option<SocketId> {
        let call = self.running.remove(&id)?;
        self.ended.insert(id);
        self.ended_order.push_back((id, now));
        let place = self.next_place;
        self.next_place += 1;
        self.answer_bytes += text.len();
        let attempt = call.attempt;
        self.answers.insert(
            id,
            Answer {
                text,
                attempt,
                place,
            },
        );
        self.answer_order.insert(place, (id, now));
        self.expire(now);
        (!call.cancelled).then_some(call.socket)
    }

    /// The cluster gave a call up, and said so on this socket. Returns whether that is news for a
    /// call that runs: not if the call has been delivered on a later socket, whose node knows more.
    pub(crate) fn handle_cancel(&mut self, id: CallId, socket: SocketId) -> bool {
        self.running
            .get_mut(&id)
            .filter(|call| socket >= call.socket)
            .is_some_and(|call| !std::mem::replace(&mut call.cancelled, true))
    }

    /// The answers of these calls have arrived; only their IDs are worth keeping.
    pub(crate) fn handle_settled(&mut self, ids: impl IntoIterator<Item = CallId>) {
        for id in ids {
            self.drop_answer(id);
        }
    }

    /// Time has passed.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
    }

    /// When [`Calls::handle_timeout`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let answer = self.answer_order.first_key_value();
        let answer = answer.map(|(_, &(_, at))| at + self.bounds.answer_age);
        let id = self.ended_order.front();
        let id = id.map(|&(_, at)| at + self.id_age());
        [answer, id].into_iter().flatten().min()
    }

    fn id_age(&self) -> Duration {
        self.longest_deadline + self.bounds.id_age_beyond_deadline
    }

    fn expire(&mut self, now: Instant) {
        while let Some((_, &(id, at))) = self.answer_order.first_key_value() {
            let fits = self.answers.len() <= self.bounds.answers
                && self.answer_bytes <= self.bounds.answer_bytes;
            if fits && now < at + self.bounds.answer_age {
                break;
            }
            self.drop_answer(id);
        }
        let id_age = self.id_age();
        while let Some(&(id, at)) = self.ended_order.front() {
            let old = now >= at + id_age;
            if !old && self.ended.len() <= self.bounds.ids {
                break;
            }
            if !old {
                self.forgotten_up_to = self.forgotten_up_to.max(Some(id));
            }
            self.drop_answer(id);
            self.ended.remove(&id);
            self.ended_order.pop_front();
        }
        self.give_room_back();
    }

    fn drop_answer(&mut self, id: CallId) {
        if let Some(answer) = self.answers.remove(&id) {
            self.answer_order.remove(&answer.place);
            self.answer_bytes -= answer.text.len();
        }
    }

    /// After a burst.
    fn give_room_back(&mut self) {
        const KEPT: usize = 64;
        let wanted = KEPT.max(self.ended.len() * 2);
        if self.ended_order.capacity() > 2 * wanted {
            self.ended_order.shrink_to(wanted);
            self.ended.shrink_to(wanted);
        }
        if self.running.capacity() > KEPT && self.running.is_empty() {
            self.running.shrink_to(KEPT);
        }
    }
}

#[cfg(test)]
mod tests;
