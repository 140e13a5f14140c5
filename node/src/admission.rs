//! How fast registers are let in (SPEC.md §4.10).
//!
//! When many apps come at once, after another node was lost, each register gets a turn: the node
//! takes so many in a second and no more, so that calls to the apps that are here already keep
//! their pace. What would wait too long is told to come back. A client ID that registers again
//! and again waits for itself alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clientmcp_core::ids::ClientId;
use clientmcp_core::limits;
use tokio::time::Instant;

/// Client IDs whose rates are remembered before the quiet ones are forgotten.
const CLIENT_IDS: usize = 4_096;

/// The longest wait for a turn.
const LONGEST: Duration = Duration::from_millis(limits::REGISTER_TURN_MS);

/// The turns of a node.
#[derive(Debug)]
pub(crate) struct Admission(Mutex<Turns>);

#[derive(Debug)]
struct Turns {
    node: Rate,
    client_ids: HashMap<ClientId, Rate>,
}

/// A rate with a burst: the moment up to which turns are given away.
#[derive(Debug, Clone, Copy)]
struct Rate {
    interval: Duration,
    burst: Duration,
    given_until: Instant,
}

impl Rate {
    fn new(per_second: u32, burst: u32, now: Instant) -> Self {
        let interval = Duration::from_secs(1) / per_second;
        Self {
            interval,
            burst: interval * burst,
            given_until: now,
        }
    }

    /// How long the next one waits.
    fn wait(&self, now: Instant) -> Duration {
        (self.given_until + self.interval)
            .saturating_duration_since(now)
            .saturating_sub(self.burst)
    }

    fn give(&mut self, now: Instant) {
        self.given_until = self.given_until.max(now) + self.interval;
    }

    fn is_rested(&self, now: Instant) -> bool {
        self.given_until <= now
    }
}

impl Admission {
    pub(crate) fn new() -> Self {
        let (rate, burst) = (limits::REGISTERS_PER_SECOND, limits::REGISTERS_BURST);
        Self(Mutex::new(Turns {
            node: Rate::new(rate, burst, Instant::now()),
            client_ids: HashMap::new(),
        }))
    }

    /// Takes the next turn, and tells when it is. `Err`: too late for this one; when to try
    /// again.
    pub(crate) fn take_turn(&self, client_id: &ClientId) -> Result<Duration, Duration> {
        let now = Instant::now();
        let mut turns = self.lock();
        let wait = turns.node.wait(now);
        if wait > LONGEST {
            return Err(wait - LONGEST);
        }
        turns.node.give(now);
        if turns.client_ids.len() >= CLIENT_IDS {
            turns.client_ids.retain(|_, rate| !rate.is_rested(now));
        }
        let own = turns
            .client_ids
            .entry(client_id.clone())
            .or_insert_with(|| {
                let rate = limits::REGISTERS_PER_SECOND_OF_CLIENT_ID;
                Rate::new(rate, limits::REGISTERS_BURST_OF_CLIENT_ID, now)
            });
        let own_wait = own.wait(now).min(LONGEST);
        own.give(now);
        Ok(wait.max(own_wait))
    }

    /// When to come back, if no turn is to be had at present: for who has not even connected.
    pub(crate) fn full_for(&self) -> Option<Duration> {
        let wait = self.lock().node.wait(Instant::now());
        (wait > LONGEST).then(|| wait - LONGEST)
    }

    fn lock(&self) -> MutexGuard<'_, Turns> {
        // Nothing that runs under the lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(n: usize) -> ClientId {
        ClientId::parse(&format!("app-{n}")).unwrap()
    }

    /// Field report B44.
    #[tokio::test(start_paused = true)]
    async fn a_burst_is_let_in_and_the_rest_gets_its_turns() {
        let admission = Admission::new();
        let burst = limits::REGISTERS_BURST as usize;
        for n in 0..burst {
            assert_eq!(admission.take_turn(&client(n)), Ok(Duration::ZERO), "{n}");
        }
        let second = limits::REGISTERS_PER_SECOND as usize;
        let last = (0..second).map(|n| admission.take_turn(&client(n))).last();
        assert_eq!(last, Some(Ok(Duration::from_secs(1))));
        tokio::time::advance(Duration::from_secs(1)).await;
        let next = admission.take_turn(&client(0)).unwrap();
        assert_eq!(next, Duration::from_secs(1) / limits::REGISTERS_PER_SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn who_would_wait_too_long_is_told_to_come_back() {
        let admission = Admission::new();
        let mut waits = (0..).map(|n| admission.take_turn(&client(n)));
        let refused = waits.find_map(Result::err).unwrap();
        assert!(refused <= Duration::from_secs(1), "{refused:?}");
        assert!(admission.full_for().is_some());
        tokio::time::advance(LONGEST).await;
        assert_eq!(admission.full_for(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_id_that_flaps_waits_for_itself() {
        let admission = Admission::new();
        for _ in 0..limits::REGISTERS_BURST_OF_CLIENT_ID {
            assert_eq!(admission.take_turn(&client(1)), Ok(Duration::ZERO));
        }
        let next = admission.take_turn(&client(1)).unwrap();
        assert_eq!(next, Duration::from_millis(100));
        assert_eq!(admission.take_turn(&client(2)), Ok(Duration::ZERO));
    }
}
