//! What every store must do, asked of every store there is: memory, and a real Redis.
//!
//! Needs `redis-server` in the PATH. Each case has a store, or a server, of its own. The memory
//! store runs on paused time; Redis has a clock of its own, which is waited for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreement;
mod claims;
mod content;
mod members;
mod redis;
mod redis_faults;
mod redis_process;
mod restoring;
mod sessions;
mod switch;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::store::{MemoryStore, RedisStore, Store};
use clientmcp_core::ids::{ClientId, MemberId};
use clientmcp_core::registration::{self, ContentHash, Hashes};

use self::redis_process::RedisProcess;

/// A store on its own.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    kind: Kind,
}

enum Kind {
    Memory(Arc<MemoryStore>),
    Redis(Box<RedisProcess>),
}

impl World {
    fn memory() -> Self {
        let store = Arc::new(MemoryStore::new());
        Self {
            store: store.clone(),
            kind: Kind::Memory(store),
        }
    }

    async fn redis() -> Self {
        let server = RedisProcess::start().await;
        Self {
            store: Arc::new(RedisStore::connect(&server.url()).await.unwrap()),
            kind: Kind::Redis(Box::new(server)),
        }
    }

    /// The store loses everything.
    pub(crate) async fn empty(&self) {
        match &self.kind {
            Kind::Memory(store) => store.forget(),
            Kind::Redis(server) => {
                let _: String = server.command("FLUSHALL").await;
            }
        }
    }

    /// Lets time pass in the store.
    pub(crate) async fn elapse(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn client(name: &str) -> ClientId {
    ClientId::parse(name).unwrap()
}

pub(crate) fn node(name: &str) -> MemberId {
    MemberId::parse(name).unwrap()
}

/// The hashes of a registration that is told from others by `text`.
pub(crate) fn hashes(text: &str) -> Hashes {
    let hash = |kind| ContentHash::of(kind, text.as_bytes());
    Hashes {
        tools: hash(registration::Kind::Tools),
        prompts: hash(registration::Kind::Prompts),
        resources: hash(registration::Kind::Resources),
        rest: hash(registration::Kind::Rest),
    }
}

macro_rules! contract {
    ($($group:ident: $($case:ident)*;)*) => {
        mod on_memory {
            $(mod $group {
                $(#[tokio::test(start_paused = true)]
                async fn $case() {
                    crate::$group::$case(&crate::World::memory()).await;
                })*
            })*
        }

        mod on_redis {
            $(mod $group {
                $(#[tokio::test]
                async fn $case() {
                    crate::$group::$case(&crate::World::redis().await).await;
                })*
            })*
        }
    };
}

contract! {
    members:
        an_empty_store_has_no_members
        a_member_is_listed_as_it_describes_itself
        members_are_sorted_by_name
        a_lease_lapses_and_a_heartbeat_brings_it_back
        a_tombstone_is_forgotten_in_the_end
        who_leaves_is_listed_as_having_left
        a_heartbeat_that_arrives_after_the_leave_does_not_undo_it
        nobody_leaves_for_another_run
        a_name_is_taken_while_its_lease_runs
        a_name_is_free_when_its_lease_lapsed_or_its_run_left
        who_is_replaced_is_told
        who_is_missing_is_told_so_once
        the_stores_clock_goes_on_and_no_epoch_is_below_it;
    claims:
        a_first_claim_displaces_nobody
        a_claim_displaces_the_holder_and_has_a_higher_epoch
        an_epoch_is_above_what_the_node_has_seen
        a_repeated_claim_gives_the_same_answer
        a_repeated_claim_that_was_displaced_takes_nothing_back
        a_repeated_claim_that_was_released_takes_nothing_back
        within_an_instance_the_higher_connection_wins
        a_late_connection_of_a_displaced_instance_is_late_too
        a_late_connection_is_late_after_a_departure_too
        a_ticket_is_above_what_was_granted_and_changes_nothing
        a_register_that_began_earlier_displaces_no_other_instance
        a_move_displaces_no_other_instance
        a_move_is_as_old_as_what_it_takes_over_from
        only_the_holder_updates
        only_the_holder_releases
        a_departure_is_dated_by_the_stores_clock
        a_registration_is_forgotten_after_its_retention
        who_claims_after_a_departure_displaces_nobody
        renewing_tells_which_claims_hold
        who_was_there_last_is_remembered
        numbers_of_64_bits_and_odd_names_survive
        concurrent_claims_make_one_chain;
    restoring:
        a_lost_claim_is_restored
        a_claim_is_restored_only_over_a_lower_epoch
        of_two_claims_of_one_epoch_the_one_that_is_written_first_counts
        what_was_released_is_not_brought_back_by_an_older_claim
        an_emptied_store_with_an_older_clock_takes_nothing_back;
    content:
        the_store_answers
        content_is_kept_by_its_hash
        content_is_forgotten_after_its_time
        the_longer_time_counts
        the_largest_registration_fits;
    sessions:
        sessions_are_noted_by_client
        a_session_that_was_ended_stays_so
        notes_on_sessions_are_forgotten_after_their_time
        notes_on_sessions_are_limited;
    tasks:
        a_task_is_created_once_and_found_again
        a_change_counts_on_the_stamp_that_it_was_made_on
        a_task_is_driven_by_one_at_a_time
        a_task_whose_driver_is_lost_is_listed_and_taken_over
        a_driver_that_has_lost_its_task_is_told
        what_needs_no_driver_is_not_listed_until_it_does
        a_task_is_forgotten_after_its_time;
}
