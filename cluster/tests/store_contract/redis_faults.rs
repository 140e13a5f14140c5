//! A Redis server that hangs, moves or steps down.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::member::{Lease, Member, MemberState, Role, Standing};
use clientmcp_cluster::membership::Membership;
use clientmcp_cluster::store::{ClaimRequest, Claimed, RedisStore, Store, StoreError};
use clientmcp_core::claim::{Claim, Epoch};
use clientmcp_core::ids::{Incarnation, InstanceId};
use clientmcp_core::timings::Timings;
use tokio::time::timeout;

use crate::redis_process::RedisProcess;
use crate::switch::Switch;
use crate::{client, hashes, ms, node};

const SECOND: Duration = Duration::from_secs(1);

const LEASE: Lease = Lease {
    lasts: Duration::from_secs(3),
    tombstone: Duration::from_secs(15),
};

fn request(nonce: u64, seen: Epoch) -> ClaimRequest {
    ClaimRequest {
        client_id: client("app"),
        node: node("n1"),
        incarnation: Incarnation(1),
        nonce,
        seen,
        began: Epoch::default(),
        instance: InstanceId::parse("tab").unwrap(),
        connection: nonce,
        moving: false,
        resume: true,
        hashes: hashes("first"),
    }
}

fn member() -> Member {
    Member {
        id: node("n1"),
        incarnation: Incarnation(1),
        role: Role::Node,
        state: MemberState::Ready,
        address: "n1:7000".into(),
        admin_address: "n1:9090".into(),
        public_url: None,
        version: "0.1.0".into(),
    }
}

async fn take(store: &RedisStore, nonce: u64, seen: Epoch) -> Claim {
    match store.claim(&request(nonce, seen)).await.unwrap() {
        Claimed::Taken { claim, .. } => claim,
        Claimed::Late { holder } => panic!("late behind {holder:?}"),
    }
}

#[tokio::test]
async fn a_connection_that_leads_nowhere_is_given_up() {
    let server = RedisProcess::start().await;
    let switch = Switch::to(server.port()).await;
    let store = RedisStore::connect(&switch.url()).await.unwrap();
    switch.strand();
    // The first try gets no answer, the second one goes out on a new connection.
    assert_eq!(timeout(SECOND * 3, store.ping()).await.unwrap(), Ok(()));
    assert_eq!(timeout(SECOND / 2, store.ping()).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_silent_connection_is_given_up_although_callers_do_not_wait() {
    let server = RedisProcess::start().await;
    let switch = Switch::to(server.port()).await;
    let store = RedisStore::connect(&switch.url()).await.unwrap();
    switch.strand();
    let mut impatient = 0;
    while timeout(ms(200), store.ping()).await.is_err() {
        impatient += 1;
        assert!(impatient < 20, "the silent connection is kept");
    }
    assert!(impatient >= 4, "{impatient}");
}

#[tokio::test]
async fn all_commands_that_wait_for_a_server_that_hangs_fail_in_time() {
    let server = RedisProcess::start().await;
    let store = Arc::new(RedisStore::connect(&server.url()).await.unwrap());
    let _: String = server.command("CLIENT PAUSE 2600 ALL").await;
    let waiting: Vec<_> = (1..200)
        .map(|nonce| {
            let store = store.clone();
            tokio::spawn(async move { store.claim(&request(nonce, Epoch(0))).await })
        })
        .collect();
    for claim in waiting {
        let answer = timeout(SECOND * 5 / 2, claim).await.unwrap().unwrap();
        assert!(
            matches!(answer, Err(StoreError::Unreachable(_))),
            "{answer:?}"
        );
    }
    while store.ping().await.is_err() {}
    // Whatever of it has run meanwhile: the next claim is above it.
    let before = store.record(&client("app")).await.unwrap();
    let claim = take(&store, 200, Epoch(0)).await;
    assert!(before.is_none_or(|before| claim.epoch > before.epoch));
}

#[tokio::test]
async fn a_server_that_hangs_stops_no_heartbeat_and_is_known_again() {
    let server = RedisProcess::start().await;
    let store = Arc::new(RedisStore::connect(&server.url()).await.unwrap());
    let timings = Timings {
        lease: ms(300),
        heartbeat: ms(100),
        ..Timings::default()
    };
    let probe = |_: Member| std::future::ready(None);
    let registry = prometheus::Registry::new();
    let n1 = Membership::start(store.clone(), member(), &timings, &registry, probe)
        .await
        .unwrap();
    let mut losses = n1.losses();
    while n1.store_micros().is_none() {
        tokio::time::sleep(ms(20)).await;
    }
    let clock = n1.store_micros();
    server.signal("STOP").await;
    while n1.store_answers() {
        tokio::time::sleep(ms(20)).await;
    }
    tokio::time::sleep(SECOND * 3 / 2).await;
    assert!(!n1.is_late(), "the task goes on");
    assert_eq!(n1.view().ring().members().len(), 1);
    assert!(n1.store_micros() > clock, "the clock is still estimated");
    assert!(!losses.has_changed().unwrap());
    server.signal("CONT").await;
    timeout(SECOND * 5, losses.changed())
        .await
        .unwrap()
        .unwrap();
    assert!(n1.store_answers());
    let members = store.members().await.unwrap();
    assert!(matches!(members[0].standing, Standing::Alive { .. }));
}

#[tokio::test]
async fn a_server_that_stepped_down_is_left_for_its_successor() {
    let (old, new) = (RedisProcess::start().await, RedisProcess::start().await);
    let switch = Switch::to(old.port()).await;
    let store = RedisStore::connect(&switch.url()).await.unwrap();
    let first = take(&store, 1, Epoch(0)).await;
    let _: String = old.command("REPLICAOF 127.0.0.1 1").await;
    switch.turn_to(new.port());
    // It still answers, and would refuse for ever.
    let second = take(&store, 2, first.epoch).await;
    assert!(second.epoch > first.epoch);
    let _: Vec<String> = new.command("HKEYS clientmcp:client:{app}").await;
    assert!(store.renew(&[(client("app"), second)]).await.unwrap()[0]);
}

#[tokio::test]
async fn a_replica_refuses_until_it_is_promoted() {
    let server = RedisProcess::start().await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    let _: String = server.command("REPLICAOF 127.0.0.1 1").await;
    for _ in 0..2 {
        let refused = store.claim(&request(1, Epoch(0))).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        let refused = store.heartbeat(&member(), LEASE).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    }
    let _: String = server.command("REPLICAOF NO ONE").await;
    take(&store, 1, Epoch(0)).await;
}
