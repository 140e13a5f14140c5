//! A model of the claim protocol, searched through (SPEC.md §4.6, §4.10, §7.4; ARCHITECTURE.md,
//! "Epochs fence").
//!
//! A world has one client ID, two or three nodes, a store, two instances of the app with a few
//! sockets each, and perhaps one call of an agent. Its steps are what nodes, apps and the router
//! do of their own accord, one at a time and in any order, and what goes wrong: each scenario
//! names what may, and how often. The search visits every world that can come about.
//!
//! What decides is the real code where it is pure: the store is an
//! [`Arbiter`](clientmcp_cluster::store::arbiter::Arbiter), which is what the memory store runs and
//! what the contract suite holds the scripts of the Redis store to; epochs come from
//! [`Epoch::next`](clientmcp_core::claim::Epoch::next). The steps of a node are written down again,
//! in `node.rs` and `claims.rs`, after `node/src/registry.rs` and `node/src/claims/`; those of the
//! router in `calls.rs`.
//!
//! # What must hold
//!
//! - (a) No epoch has two holders that the store knows of. Where nothing goes on by itself any
//!   more, whoever wants to be connected is held once, and the store names that holder; nobody is
//!   told that another instance took over when there is none. From everywhere such a rest can be
//!   reached.
//! - (b) A call runs once at most, and in one instance. It gets its answer as long as the instance
//!   remembers calls and no other one comes in between.
//! - (c) The store never replaces an epoch by a lower one, and a register that was displaced takes
//!   nothing back.
//! - (d) A clean-up removes nothing newer, neither in the store nor at a node.
//!
//! # What is assumed
//!
//! - A claim that was given up reaches the store before what its node sends later, or never.
//! - A register that reaches its node after its app has closed the socket is not brought to the
//!   store.
//! - A store that is emptied and whose clock is set back at once may hand out an epoch twice, to
//!   claims that still differ in run and nonce: (a) is asked for at rest only.
//! - A node that says nothing to a displacement because it is stopped reads its claims before it
//!   dispatches anything.
//!
//! Nodes that nothing has happened to are alike: only the first of them is tried.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod apps;
mod calls;
mod claims;
mod explore;
mod invariants;
mod node;
mod outages;
mod rules;
mod steps;
mod store;
mod world;

use explore::explore;
use rules::{Broken, Fault, Rules, Scenario};

const RESUMING: Rules = Rules {
    resumes: [true, true],
    broken: None,
};

const PLAIN: Rules = Rules {
    resumes: [false, false],
    broken: None,
};

const TAKEOVERS: Scenario = Scenario {
    name: "takeovers",
    nodes: 2,
    sockets: 2,
    may_happen: &[
        Fault::OtherInstance,
        Fault::Move,
        Fault::BrokenSocket,
        Fault::Quit,
        Fault::LostAnswer,
        Fault::LateClaim,
    ],
    faults: 2,
    call: false,
    rules: RESUMING,
};

const LOST_STORE: Scenario = Scenario {
    name: "a store that is away, emptied or replaced",
    nodes: 2,
    sockets: 2,
    may_happen: &[
        Fault::StoreAway,
        Fault::StoreEmptied,
        Fault::StoreFailsOver,
        Fault::OtherInstance,
        Fault::BrokenSocket,
        Fault::LostAnswer,
        Fault::LostMessage,
        Fault::LaggingEstimate,
        Fault::CutOff,
    ],
    faults: 2,
    call: false,
    rules: RESUMING,
};

const CLOCKS: Scenario = Scenario {
    name: "a store that loses its clock, and its data",
    nodes: 2,
    sockets: 3,
    may_happen: &[
        Fault::ClockSetBack,
        Fault::StoreEmptied,
        Fault::StoreAway,
        Fault::OtherInstance,
    ],
    faults: 3,
    call: false,
    rules: RESUMING,
};

const PAUSES: Scenario = Scenario {
    name: "nodes that pause or die",
    nodes: 2,
    sockets: 2,
    may_happen: &[
        Fault::Pause,
        Fault::Kill,
        Fault::OtherInstance,
        Fault::BrokenSocket,
        Fault::StoreAway,
    ],
    faults: 2,
    call: false,
    rules: RESUMING,
};

const THREE_NODES: Scenario = Scenario {
    name: "three nodes",
    nodes: 3,
    sockets: 2,
    may_happen: &[Fault::OtherInstance, Fault::Kill, Fault::StoreAway],
    faults: 3,
    call: false,
    rules: RESUMING,
};

const CALL: Scenario = Scenario {
    name: "a call to an app that remembers calls",
    nodes: 2,
    sockets: 2,
    may_happen: &[
        Fault::Kill,
        Fault::Pause,
        Fault::BrokenSocket,
        Fault::LinkLost,
    ],
    faults: 2,
    call: true,
    rules: RESUMING,
};

const MOVING_CALL: Scenario = Scenario {
    name: "a call to an app that moves and is replaced",
    may_happen: &[Fault::Move, Fault::OtherInstance, Fault::LinkLost],
    ..CALL
};

const PLAIN_CALL: Scenario = Scenario {
    name: "a call to an app that remembers none",
    rules: PLAIN,
    ..CALL
};

const PLAIN_MOVING_CALL: Scenario = Scenario {
    name: "a call to an app that remembers none, moves and is replaced",
    rules: PLAIN,
    ..MOVING_CALL
};

fn succeed(scenario: &Scenario) {
    match explore(scenario) {
        Ok(explored) => println!(
            "{}: {} worlds, {} at rest",
            scenario.name, explored.worlds, explored.at_rest
        ),
        Err(violation) => panic!("{}: {violation}", scenario.name),
    }
}

/// Without a rule the search finds what must not be.
fn fail(scenario: &Scenario, broken: Broken, what: &str) {
    let without = Scenario {
        rules: Rules {
            broken: Some(broken),
            ..scenario.rules
        },
        ..scenario.clone()
    };
    let violation = explore(&without).expect_err("the rule is good for something");
    println!("{broken:?}: {violation}");
    assert!(violation.what.contains(what), "{violation}");
}

#[test]
fn takeovers() {
    succeed(&TAKEOVERS);
}

#[test]
fn a_store_that_is_away_emptied_or_replaced() {
    succeed(&LOST_STORE);
}

#[test]
fn a_store_that_loses_its_clock_and_its_data() {
    succeed(&CLOCKS);
}

#[test]
fn nodes_that_pause_or_die() {
    succeed(&PAUSES);
}

#[test]
fn three_nodes() {
    succeed(&THREE_NODES);
}

#[test]
fn calls() {
    succeed(&CALL);
    succeed(&MOVING_CALL);
    succeed(&PLAIN_CALL);
    succeed(&PLAIN_MOVING_CALL);
}

/// One thing more goes wrong in each scenario: for whoever changes the protocol.
#[test]
#[ignore = "takes many minutes and some GiB"]
fn deeper() {
    for scenario in [
        TAKEOVERS,
        LOST_STORE,
        CLOCKS,
        PAUSES,
        THREE_NODES,
        CALL,
        PLAIN_CALL,
    ] {
        succeed(&Scenario {
            faults: scenario.faults + 1,
            ..scenario
        });
    }
}

#[test]
fn a_clean_up_that_does_not_compare_removes_a_newer_holder() {
    let what = "the clean-up of";
    fail(&TAKEOVERS, Broken::ReleasesWithoutComparing, what);
}

#[test]
fn a_claim_that_is_written_over_anything_goes_over_a_newer_one() {
    fail(&TAKEOVERS, Broken::RestoresOverAnything, "replaced epoch");
}

#[test]
fn epochs_without_a_clock_come_twice_from_an_emptied_store() {
    fail(&LOST_STORE, Broken::NoClock, "has two holders");
}

#[test]
fn a_displacement_that_does_not_compare_removes_a_newer_holder() {
    let what = "removed the newer";
    fail(&TAKEOVERS, Broken::DisplacesWithoutComparing, what);
}

#[test]
fn a_move_that_displaces_leaves_nobody() {
    let what = "each instance was told";
    fail(&TAKEOVERS, Broken::MovesDisplace, what);
}

#[test]
fn a_node_that_does_not_read_its_claims_again_serves_for_ever() {
    fail(&PAUSES, Broken::NeverReadsAgain, "at rest");
}

#[test]
fn a_call_that_is_delivered_again_to_any_app_runs_twice() {
    fail(&PLAIN_CALL, Broken::RedeliversToAll, "the call ran 2 times");
}
