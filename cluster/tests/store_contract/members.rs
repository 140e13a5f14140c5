//! Members: leases, names, tombstones.

use clientmcp_cluster::member::{Lease, Member, MemberState, ObservedMember, Role, Standing};
use clientmcp_cluster::store::{Beat, ClaimRequest, Claimed, Joined};
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{Incarnation, InstanceId};

use crate::{World, client, hashes, ms, node};

const LEASE: Lease = Lease {
    lasts: ms(1_000),
    tombstone: ms(60_000),
};

fn member(name: &str, incarnation: u64) -> Member {
    Member {
        id: node(name),
        incarnation: Incarnation(incarnation),
        role: Role::Node,
        state: MemberState::Ready,
        address: format!("{name}:7000"),
        admin_address: format!("{name}:9090"),
        public_url: None,
        version: "0.1.0".into(),
    }
}

async fn join(world: &World, member: &Member) {
    assert_eq!(
        world.store.join(member, LEASE, None).await,
        Ok(Joined::Entered)
    );
}

async fn beat(world: &World, member: &Member) -> Beat {
    world.store.heartbeat(member, LEASE).await.unwrap()
}

async fn listed(world: &World) -> Vec<ObservedMember> {
    world.store.members().await.unwrap()
}

/// The only member that is listed.
async fn only(world: &World) -> ObservedMember {
    let mut members = listed(world).await;
    assert_eq!(members.len(), 1, "{members:?}");
    members.remove(0)
}

pub(crate) async fn an_empty_store_has_no_members(world: &World) {
    assert_eq!(listed(world).await, []);
}

pub(crate) async fn a_member_is_listed_as_it_describes_itself(world: &World) {
    let mut n1 = Member {
        public_url: Some("wss://n1.example.com/v1/connect".into()),
        ..member("n1", u64::MAX)
    };
    join(world, &n1).await;
    let ObservedMember { member, standing } = only(world).await;
    assert_eq!(member, n1);
    let Standing::Alive { lease } = standing else {
        panic!("{standing:?}");
    };
    assert!(lease > ms(0) && lease <= LEASE.lasts, "{lease:?}");

    n1.state = MemberState::Draining;
    assert!(matches!(beat(world, &n1).await, Beat::Renewed { .. }));
    assert_eq!(only(world).await.member, n1);
}

pub(crate) async fn members_are_sorted_by_name(world: &World) {
    for name in ["n2", "n10", "r1", "n1"] {
        join(world, &member(name, 1)).await;
    }
    let names: Vec<_> = listed(world)
        .await
        .into_iter()
        .map(|m| m.member.id)
        .collect();
    assert_eq!(names, [node("n1"), node("n10"), node("n2"), node("r1")]);
}

pub(crate) async fn a_lease_lapses_and_a_heartbeat_brings_it_back(world: &World) {
    let n1 = member("n1", 1);
    join(world, &n1).await;
    world.elapse(LEASE.lasts + ms(50)).await;
    let lapsed = only(world).await;
    assert_eq!(lapsed.member, n1);
    let Standing::Lapsed { ago } = lapsed.standing else {
        panic!("{lapsed:?}");
    };
    assert!(ago >= ms(49) && ago < LEASE.tombstone, "{ago:?}");

    assert!(matches!(beat(world, &n1).await, Beat::Renewed { .. }));
    assert!(matches!(only(world).await.standing, Standing::Alive { .. }));
}

pub(crate) async fn a_tombstone_is_forgotten_in_the_end(world: &World) {
    let short = Lease {
        lasts: ms(20),
        tombstone: ms(20),
    };
    let n1 = member("n1", 1);
    assert_eq!(
        world.store.join(&n1, short, None).await,
        Ok(Joined::Entered)
    );
    join(world, &member("n2", 1)).await;
    world.elapse(ms(60)).await;
    assert_eq!(only(world).await.member.id, node("n2"));
}

pub(crate) async fn who_leaves_is_listed_as_having_left(world: &World) {
    let n1 = member("n1", 1);
    join(world, &n1).await;
    world.store.leave(&n1.id, n1.incarnation).await.unwrap();
    assert!(matches!(only(world).await.standing, Standing::Left { .. }));

    world.elapse(ms(30)).await;
    world.store.leave(&n1.id, n1.incarnation).await.unwrap();
    let Standing::Left { ago } = only(world).await.standing else {
        panic!("a second leave changes nothing");
    };
    assert!(ago >= ms(29), "{ago:?}");
}

pub(crate) async fn a_heartbeat_that_arrives_after_the_leave_does_not_undo_it(world: &World) {
    let n1 = member("n1", 1);
    join(world, &n1).await;
    world.store.leave(&n1.id, n1.incarnation).await.unwrap();
    assert!(matches!(beat(world, &n1).await, Beat::Renewed { .. }));
    assert!(matches!(only(world).await.standing, Standing::Left { .. }));
}

pub(crate) async fn nobody_leaves_for_another_run(world: &World) {
    join(world, &member("n1", 2)).await;
    world
        .store
        .leave(&node("n1"), Incarnation(1))
        .await
        .unwrap();
    world
        .store
        .leave(&node("n2"), Incarnation(1))
        .await
        .unwrap();
    assert!(matches!(only(world).await.standing, Standing::Alive { .. }));
}

pub(crate) async fn a_name_is_taken_while_its_lease_runs(world: &World) {
    let (old, new) = (member("n1", 1), member("n1", 2));
    join(world, &old).await;
    join(world, &old).await;
    let taken = Ok(Joined::Taken(Box::new(old.clone())));
    assert_eq!(world.store.join(&new, LEASE, None).await, taken);
    let wrong = Some(Incarnation(3));
    assert_eq!(world.store.join(&new, LEASE, wrong).await, taken);
    assert_eq!(only(world).await.member, old);

    let right = Some(old.incarnation);
    assert_eq!(
        world.store.join(&new, LEASE, right).await,
        Ok(Joined::Entered)
    );
    assert_eq!(only(world).await.member, new);
}

pub(crate) async fn a_name_is_free_when_its_lease_lapsed_or_its_run_left(world: &World) {
    join(world, &member("n1", 1)).await;
    join(world, &member("n2", 1)).await;
    world
        .store
        .leave(&node("n2"), Incarnation(1))
        .await
        .unwrap();
    world.elapse(LEASE.lasts + ms(50)).await;
    join(world, &member("n1", 2)).await;
    join(world, &member("n2", 2)).await;
    for seen in listed(world).await {
        assert_eq!(seen.member.incarnation, Incarnation(2));
        assert!(matches!(seen.standing, Standing::Alive { .. }));
    }
}

pub(crate) async fn who_is_replaced_is_told(world: &World) {
    let (old, new) = (member("n1", 1), member("n1", 0xfedc_ba98_7654_3210));
    join(world, &old).await;
    let replaced = world.store.join(&new, LEASE, Some(old.incarnation)).await;
    assert_eq!(replaced, Ok(Joined::Entered));
    let by = new.incarnation;
    assert_eq!(beat(world, &old).await, Beat::Superseded { by });
    assert_eq!(only(world).await.member, new);
}

pub(crate) async fn who_is_missing_is_told_so_once(world: &World) {
    let n1 = member("n1", 1);
    let was_missing = || async {
        match beat(world, &n1).await {
            Beat::Renewed { was_missing, .. } => was_missing,
            Beat::Superseded { by } => panic!("superseded by {by}"),
        }
    };
    join(world, &n1).await;
    assert!(!was_missing().await, "it has just joined");
    world.empty().await;
    assert!(was_missing().await, "the store has lost it");
    assert!(!was_missing().await, "it is back");
    // A lease that lapsed is no loss of data.
    world.elapse(LEASE.lasts + ms(50)).await;
    assert!(!was_missing().await);
}

pub(crate) async fn the_stores_clock_goes_on_and_no_epoch_is_below_it(world: &World) {
    let clock = || async {
        match beat(world, &member("n1", 1)).await {
            Beat::Renewed { store_micros, .. } => store_micros,
            Beat::Superseded { by } => panic!("superseded by {by}"),
        }
    };
    let before = clock().await;
    world.elapse(ms(20)).await;
    let after = clock().await;
    assert!(after - before >= 20_000, "{before} {after}");
    let request = ClaimRequest {
        client_id: client("app"),
        node: node("n1"),
        incarnation: Incarnation(1),
        nonce: 1,
        seen: Epoch(0),
        began: Epoch(0),
        instance: InstanceId::parse("tab").unwrap(),
        connection: 1,
        moving: false,
        resume: false,
        hashes: hashes("first"),
    };
    let taken = world.store.claim(&request).await.unwrap();
    assert!(matches!(taken, Claimed::Taken { claim, .. } if claim.epoch.0 > after));
}
