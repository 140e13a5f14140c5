//! The store that fails on command, and what a caller can do about it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::store::faulty::{Fault, Operation};
use clientmcp_cluster::store::{
    ClaimRequest, Claimed, FaultyStore, MemoryStore, Store, StoreError,
};
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::registration::{ContentHash, Hashes, Kind};
use tokio::time::timeout;

fn faulty() -> Arc<FaultyStore> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))
}

fn is_unreachable<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unreachable(_)))
}

fn request(nonce: u64, instance: &str) -> ClaimRequest {
    let hash = |kind| ContentHash::of(kind, b"");
    ClaimRequest {
        client_id: ClientId::parse("app").unwrap(),
        node: MemberId::parse("n1").unwrap(),
        incarnation: Incarnation(1),
        nonce,
        seen: Epoch::default(),
        began: Epoch::default(),
        instance: InstanceId::parse(instance).unwrap(),
        connection: 1,
        moving: false,
        resume: false,
        hashes: Hashes {
            tools: hash(Kind::Tools),
            prompts: hash(Kind::Prompts),
            resources: hash(Kind::Resources),
            rest: hash(Kind::Rest),
        },
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_read_back() {
    let store = faulty();
    store.inject(Operation::Claim, Fault::LostAnswer);
    let lost = store.claim(&request(1, "tab")).await;
    assert!(is_unreachable(&lost));
    let record = store
        .record(&request(1, "tab").client_id)
        .await
        .unwrap()
        .unwrap();
    let Claimed::Taken { claim, previous } = store.claim(&request(1, "tab")).await.unwrap() else {
        panic!("nobody else has claimed");
    };
    assert_eq!((claim, previous), (record.holder.unwrap().claim, None));
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_takes_nothing_from_who_came_later() {
    let store = faulty();
    store.inject(Operation::Claim, Fault::LostAnswer);
    let lost = store.claim(&request(1, "tab")).await;
    assert!(is_unreachable(&lost));
    store.claim(&request(2, "other")).await.unwrap();
    let Claimed::Late { holder } = store.claim(&request(1, "tab")).await.unwrap() else {
        panic!("it was displaced in between");
    };
    assert_eq!(holder.claim.nonce, 2);
}

#[tokio::test(start_paused = true)]
async fn faults_come_one_by_one_and_all_at_once() {
    let store = faulty();
    store.inject(Operation::Ping, Fault::Unreachable);
    store.inject(Operation::Ping, Fault::Delay(Duration::from_secs(3)));
    assert!(is_unreachable(&store.ping().await));
    let short = Duration::from_secs(2);
    assert!(timeout(short, store.ping()).await.is_err(), "it is late");
    store.ping().await.unwrap();
    store.break_down(Fault::Unreachable);
    assert!(is_unreachable(&store.ping().await));
    assert!(is_unreachable(&store.members().await));
    store.heal();
    store.ping().await.unwrap();
    assert_eq!(
        (store.calls(Operation::Ping), store.calls(Operation::Claim)),
        (5, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn what_hangs_fails_when_the_store_is_healed() {
    let store = faulty();
    store.break_down(Fault::Hang);
    let hanging = tokio::spawn({
        let store = store.clone();
        async move { store.ping().await }
    });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!hanging.is_finished());
    store.heal();
    assert!(is_unreachable(&hanging.await.unwrap()));
}
