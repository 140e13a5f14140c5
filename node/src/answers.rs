//! Agents' answers to requests of a server, on their way to whoever carries the call (SPEC.md
//! §7.7).
//!
//! Nothing is kept here but what somebody stands for: an answer lasts as long as the router that
//! brought it holds its request open, a wait as long as the router that carries the call does. Both
//! begin anew elsewhere when the client ID moves or this node is lost. Cancels that find nobody
//! waiting are kept for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::channel::Origin;
use clientmcp_core::ids::ClientId;
use clientmcp_core::limits;
use tokio::sync::{Notify, oneshot};

use crate::early_cancels::EarlyCancels;

/// Answers and waits of all client IDs.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    clients: HashMap<ClientId, Meeting>,
    numbers: u64,
    /// Cancels that found nobody.
    early: EarlyCancels,
}

/// What meets at one client ID.
#[derive(Debug, Default)]
struct Meeting {
    given: Vec<Given>,
    waits: Vec<Wait>,
}

#[derive(Debug)]
struct Given {
    number: u64,
    session: String,
    request_id: String,
    answer: Bytes,
    taken: oneshot::Sender<()>,
}

#[derive(Debug)]
struct Wait {
    number: u64,
    /// The agent's request for which it was asked.
    origin: Origin,
    request_ids: Vec<String>,
    last: Option<Heard>,
    wake: Arc<Notify>,
}

/// What somebody who waits hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// An answer, and which request it is to.
    Answer(String, Bytes),
    /// The agent has cancelled its request.
    Cancelled,
    /// Its session was ended.
    SessionEnded,
}

impl Answers {
    /// Offers an answer until the value is dropped. `None`: too many, or too large ones, are
    /// offered already that nobody waits for.
    pub(crate) fn give(
        self: &Arc<Self>,
        client_id: &ClientId,
        session: &str,
        request_id: &str,
        answer: Bytes,
    ) -> Option<Giving> {
        let mut table = self.lock();
        table.numbers += 1;
        let number = table.numbers;
        let meeting = table.clients.entry(client_id.clone()).or_default();
        if !meeting.has_room(session, request_id, answer.len()) {
            return None;
        }
        let (taken, taking) = oneshot::channel();
        meeting.given.push(Given {
            number,
            session: session.to_owned(),
            request_id: request_id.to_owned(),
            answer,
            taken,
        });
        for wait in &meeting.waits {
            if wait.wants(session, request_id) {
                wait.wake.notify_one();
            }
        }
        Some(Giving {
            answers: self.clone(),
            client_id: client_id.clone(),
            number,
            taking,
        })
    }

    /// Waits for the answers to these requests until the value is dropped. `None`: too many wait
    /// already.
    pub(crate) fn wait(
        self: &Arc<Self>,
        client_id: &ClientId,
        origin: Origin,
        request_ids: Vec<String>,
    ) -> Option<Awaiting> {
        let mut table = self.lock();
        table.numbers += 1;
        let number = table.numbers;
        let waits = |meeting: &Meeting| meeting.waits.len();
        if table.clients.get(client_id).map_or(0, waits) >= limits::INPUT_WAITS_PER_CLIENT_ID {
            return None;
        }
        let is_cancelled = table.early.take(client_id, &origin);
        let last = is_cancelled.then_some(Heard::Cancelled);
        let meeting = table.clients.entry(client_id.clone()).or_default();
        let wake = Arc::new(Notify::new());
        meeting.waits.push(Wait {
            number,
            origin,
            request_ids,
            last,
            wake: wake.clone(),
        });
        Some(Awaiting {
            answers: self.clone(),
            client_id: client_id.clone(),
            number,
            told: Vec::new(),
            wake,
        })
    }

    /// The agent has cancelled a request. If nobody waits for input in its name, the cancel is
    /// kept for so long.
    pub(crate) fn cancel(&self, client_id: &ClientId, origin: &Origin, keep: Duration) {
        let mut table = self.lock();
        let meeting = table.clients.get_mut(client_id);
        let is_heard = meeting
            .is_some_and(|meeting| meeting.say(|wait| wait.origin == *origin, &Heard::Cancelled));
        if !is_heard {
            table.early.keep(client_id, origin.clone(), keep);
        }
    }

    /// A session was ended: nobody answers in it any more.
    pub(crate) fn end_session(&self, client_id: &ClientId, session: &str) {
        let mut table = self.lock();
        if let Some(meeting) = table.clients.get_mut(client_id) {
            meeting.say(|wait| wait.origin.session == session, &Heard::SessionEnded);
        }
    }

    /// How many calls wait for input.
    pub(crate) fn count(&self) -> usize {
        self.lock().clients.values().map(|it| it.waits.len()).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing that runs under the lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Meeting {
    /// What somebody waits for has room, once: a flood of other answers does not keep it away.
    fn has_room(&self, session: &str, request_id: &str, bytes: usize) -> bool {
        let is_same = |it: &Given| it.session == session && it.request_id == request_id;
        if self
            .waits
            .iter()
            .any(|wait| wait.wants(session, request_id))
        {
            return !self.given.iter().any(is_same);
        }
        let kept: usize = self.given.iter().map(|it| it.answer.len()).sum();
        self.given.len() < limits::ANSWERS_KEPT_PER_CLIENT_ID
            && kept + bytes <= limits::ANSWER_BYTES_KEPT_PER_CLIENT_ID
    }

    /// Says a last word to some who wait; `false` if there are none of them.
    fn say(&mut self, to: impl Fn(&Wait) -> bool, word: &Heard) -> bool {
        let mut is_heard = false;
        for wait in self.waits.iter_mut().filter(|wait| to(wait)) {
            wait.last.get_or_insert_with(|| word.clone());
            wait.wake.notify_one();
            is_heard = true;
        }
        is_heard
    }

    fn is_unused(&self) -> bool {
        self.given.is_empty() && self.waits.is_empty()
    }
}

impl Wait {
    fn wants(&self, session: &str, request_id: &str) -> bool {
        self.origin.session == session && self.request_ids.iter().any(|id| id == request_id)
    }
}

impl Table {
    fn change(&mut self, client_id: &ClientId, change: impl FnOnce(&mut Meeting)) {
        if let Some(meeting) = self.clients.get_mut(client_id) {
            change(meeting);
            if meeting.is_unused() {
                self.clients.remove(client_id);
            }
        }
    }
}

/// An answer that is offered.
#[derive(Debug)]
pub(crate) struct Giving {
    answers: Arc<Answers>,
    client_id: ClientId,
    number: u64,
    taking: oneshot::Receiver<()>,
}

impl Giving {
    /// Resolves when it was taken. Cancel safe.
    pub(crate) async fn taken(&mut self) {
        // The table has the sender until then.
        if (&mut self.taking).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Giving {
    fn drop(&mut self) {
        let number = self.number;
        self.answers.lock().change(&self.client_id, |meeting| {
            meeting.given.retain(|given| given.number != number);
        });
    }
}

/// Somebody who waits.
#[derive(Debug)]
pub(crate) struct Awaiting {
    answers: Arc<Answers>,
    client_id: ClientId,
    number: u64,
    /// Answers that it has heard.
    told: Vec<u64>,
    wake: Arc<Notify>,
}

impl Awaiting {
    /// What is heard next. Cancel safe.
    pub(crate) async fn next(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.look() {
                return heard;
            }
            self.wake.notified().await;
        }
    }

    fn look(&mut self) -> Option<Heard> {
        let mut table = self.answers.lock();
        let meeting = table.clients.get_mut(&self.client_id)?;
        let wait = meeting.waits.iter().find(|it| it.number == self.number)?;
        if wait.last.is_some() {
            return wait.last.clone();
        }
        let is_new = |given: &&Given| {
            wait.wants(&given.session, &given.request_id) && !self.told.contains(&given.number)
        };
        let given = meeting.given.iter().find(is_new)?;
        self.told.push(given.number);
        Some(Heard::Answer(
            given.request_id.clone(),
            given.answer.clone(),
        ))
    }

    /// Whoever waits has the answer to this request, and so may have whoever gave it.
    pub(crate) fn take(&mut self, request_id: &str) {
        let told = &self.told;
        let mut table = self.answers.lock();
        let Some(meeting) = table.clients.get_mut(&self.client_id) else {
            return;
        };
        let is_it =
            |given: &mut Given| given.request_id == request_id && told.contains(&given.number);
        for given in meeting.given.extract_if(.., is_it) {
            // Whoever gave it may be gone.
            let _ = given.taken.send(());
        }
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        let number = self.number;
        self.answers.lock().change(&self.client_id, |meeting| {
            meeting.waits.retain(|wait| wait.number != number);
        });
    }
}

#[cfg(test)]
mod tests;
