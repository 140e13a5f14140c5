//! Calls that were taken, from then until they are forgotten.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;

use super::io::{Origin, Outcome};
use crate::ids::CallId;
use crate::json::Json;
use crate::limits;
use crate::mcp::version::Era;
use crate::message::LogLevel;
use crate::tick::Tick;

/// A call in flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) deadline: Tick,
    pub(super) era: Era,
    pub(super) origin: Option<Origin>,
    /// It was pulled from the outbox: the app may have it.
    pub(super) sent: bool,
    /// What the agent wants to hear while it runs.
    pub(super) wants: Wants,
    /// The last progress that passed.
    pub(super) reached: f64,
    /// It was delivered before, elsewhere or to an earlier connection.
    pub(super) again: bool,
    /// Its router is lost, and may attach again until then.
    pub(super) orphaned_until: Option<Tick>,
}

/// What an agent wants to hear of a call while it runs: what matters here of its context.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wants {
    pub(super) progress: bool,
    /// It may become a task.
    pub(super) tasks: bool,
    log_level: Option<LogLevel>,
}

impl Wants {
    pub(super) fn of(context: &Json) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct View<'a> {
            #[serde(default)]
            progress: bool,
            #[serde(default)]
            tasks: bool,
            #[serde(borrow, default)]
            log_level: Option<Cow<'a, str>>,
        }
        let Ok(view) = context.read::<View<'_>>() else {
            return Self::default();
        };
        Self {
            progress: view.progress,
            tasks: view.tasks,
            log_level: view.log_level.as_deref().and_then(LogLevel::parse),
        }
    }

    /// Whether a log message of this severity is wanted.
    pub(super) fn log(self, level: LogLevel) -> bool {
        self.log_level.is_some_and(|wanted| level >= wanted)
    }
}

/// An answer whose router is lost.
#[derive(Debug)]
struct Held {
    outcome: Outcome,
    until: Tick,
}

/// A cancel that found no call.
#[derive(Debug)]
struct EarlyCancel {
    names: CancelName,
    until: Tick,
}

/// What a cancel names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CancelName {
    Call(CallId),
    Request(Origin),
}

/// The calls of one connection. Ordered by their IDs, which is by age: nothing depends on the
/// order of a hash map.
#[derive(Debug, Default)]
pub(super) struct Flights {
    flights: BTreeMap<CallId, Flight>,
    held: BTreeMap<CallId, Held>,
    held_bytes: usize,
    answered: BTreeSet<CallId>,
    early: VecDeque<EarlyCancel>,
}

impl Flights {
    pub(super) fn len(&self) -> usize {
        self.flights.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// Gives memory back where nothing is remembered: the maps keep some when they are emptied.
    pub(super) fn trim(&mut self) {
        let known = self.held.len() + self.answered.len() + self.early.len();
        if self.flights.is_empty() && known == 0 {
            *self = Self::default();
        }
    }

    pub(super) fn insert(&mut self, id: CallId, flight: Flight) {
        self.flights.insert(id, flight);
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Flight> {
        self.flights.get_mut(&id)
    }

    /// Whether a call was taken before, as far as that is remembered.
    pub(super) fn knows(&self, id: CallId) -> bool {
        self.flights.contains_key(&id) || self.held.contains_key(&id) || self.answered(id)
    }

    pub(super) fn answered(&self, id: CallId) -> bool {
        self.answered.contains(&id)
    }

    /// The call of an agent's request, if it is in flight.
    pub(super) fn of_request(&self, session: &str, request_id: &Json) -> Option<CallId> {
        let is_it = |origin: &Origin| origin.session == session && origin.request_id == *request_id;
        self.flights
            .iter()
            .find(|(_, flight)| flight.origin.as_ref().is_some_and(is_it))
            .map(|(id, _)| *id)
    }

    /// Takes a call out of flight and remembers that it was answered.
    pub(super) fn take(&mut self, id: CallId) -> Option<Flight> {
        let flight = self.flights.remove(&id)?;
        self.remember(id);
        Some(flight)
    }

    fn remember(&mut self, id: CallId) {
        self.answered.insert(id);
        if self.answered.len() > limits::ANSWERED_CALLS_PER_APP {
            self.answered.pop_first();
        }
    }

    /// Forgets that a call was answered. `false`: that was not known.
    pub(super) fn forget(&mut self, id: CallId) -> bool {
        self.answered.remove(&id)
    }

    /// Keeps an answer for a router that may attach. What does not fit is held as lost: then the
    /// router learns that the outcome is unknown.
    pub(super) fn hold(&mut self, id: CallId, outcome: Outcome, until: Tick) {
        let bytes = payload_bytes(&outcome);
        let outcome = if self.held_bytes + bytes > limits::ORPHANED_ANSWER_BYTES_PER_APP {
            Outcome::Lost
        } else {
            outcome
        };
        self.held_bytes += payload_bytes(&outcome);
        self.held.insert(id, Held { outcome, until });
    }

    /// The answer that is held for a call.
    pub(super) fn release(&mut self, id: CallId) -> Option<Outcome> {
        let held = self.held.remove(&id)?;
        self.held_bytes -= payload_bytes(&held.outcome);
        Some(held.outcome)
    }

    /// Keeps a cancel for the call that is on its way. The oldest gives way.
    pub(super) fn cancel_early(&mut self, names: CancelName, until: Tick) {
        if self.early.len() == limits::EARLY_CANCELS_PER_APP {
            self.early.pop_front();
        }
        self.early.push_back(EarlyCancel { names, until });
    }

    /// Whether a call was cancelled before it arrived; the cancel is used up by that.
    pub(super) fn was_cancelled(&mut self, id: CallId, origin: Option<&Origin>, now: Tick) -> bool {
        self.forget_early(now);
        let at = self.early.iter().position(|early| match &early.names {
            CancelName::Call(named) => *named == id,
            CancelName::Request(named) => Some(named) == origin,
        });
        at.and_then(|at| self.early.remove(at)).is_some()
    }

    /// Drops the cancels whose calls have not come.
    pub(super) fn forget_early(&mut self, now: Tick) {
        while self.early.front().is_some_and(|early| early.until <= now) {
            self.early.pop_front();
        }
    }

    /// All calls in flight.
    pub(super) fn ids(&self) -> Vec<CallId> {
        self.flights.keys().copied().collect()
    }

    /// All calls whose answers are held.
    pub(super) fn held_ids(&self) -> Vec<CallId> {
        self.held.keys().copied().collect()
    }

    /// Calls whose deadline has passed.
    pub(super) fn overdue(&self, now: Tick) -> Vec<CallId> {
        self.ids_where(|flight| flight.deadline <= now)
    }

    /// Orphans that no router took over in time.
    pub(super) fn abandoned(&self, now: Tick) -> Vec<CallId> {
        self.ids_where(|flight| flight.orphaned_until.is_some_and(|until| until <= now))
    }

    /// Held answers that no router fetched in time.
    pub(super) fn unclaimed(&self, now: Tick) -> Vec<CallId> {
        let late = self.held.iter().filter(|(_, held)| held.until <= now);
        late.map(|(id, _)| *id).collect()
    }

    /// When the next of these runs out.
    pub(super) fn next_timeout(&self) -> Option<Tick> {
        let flights = self.flights.values();
        let flights = flights.flat_map(|flight| [Some(flight.deadline), flight.orphaned_until]);
        let held = self.held.values().map(|held| Some(held.until));
        let early = self.early.front().map(|early| early.until);
        flights.chain(held).chain([early]).flatten().min()
    }

    fn ids_where(&self, wanted: impl Fn(&Flight) -> bool) -> Vec<CallId> {
        let flights = self.flights.iter().filter(|(_, flight)| wanted(flight));
        flights.map(|(id, _)| *id).collect()
    }
}

fn payload_bytes(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Result(json) | Outcome::Error(json) => json.len(),
        _ => 0,
    }
}
