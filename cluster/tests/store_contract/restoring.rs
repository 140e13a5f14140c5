//! Claims that are written again, into a store that had lost them.

use clientmcp_cluster::store::{ClaimRequest, Restored};
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::Incarnation;

use crate::claims::{holder, record, release, request, take};
use crate::{World, client, hashes};

pub(crate) async fn a_lost_claim_is_restored(world: &World) {
    let lost = holder(
        &request(1, 7, "tab", 3),
        Claim {
            epoch: Epoch(1_785_000_000_000_000),
            incarnation: Incarnation(1),
            nonce: 7,
        },
    );
    let mine = [(client("app"), lost.claim)];
    assert_eq!(world.store.renew(&mine).await, Ok(vec![false]));
    for _ in 0..2 {
        assert_eq!(
            world.store.restore(&lost, Epoch(0), &hashes("mine")).await,
            Ok(Restored::Held)
        );
    }
    assert_eq!(world.store.renew(&mine).await, Ok(vec![true]));
    let record = record(world).await.unwrap();
    assert_eq!((record.holder, record.hashes), (Some(lost), hashes("mine")));
}

pub(crate) async fn a_claim_is_restored_only_over_a_lower_epoch(world: &World) {
    let (held, _) = take(world, &request(1, 7, "tab", 1)).await;
    let rival = |epoch: u64| {
        let claim = Claim {
            epoch: Epoch(epoch),
            incarnation: Incarnation(2),
            nonce: 8,
        };
        holder(&request(2, 8, "other", 1), claim)
    };
    let epoch = held.claim.epoch.0;
    for not_above in [epoch - 1, epoch] {
        let answer = world
            .store
            .restore(&rival(not_above), Epoch(0), &hashes("rival"))
            .await;
        assert_eq!(answer, Ok(Restored::Beaten { by: held.clone() }));
    }
    assert_eq!(record(world).await.unwrap().hashes, hashes("first"));
    let above = rival(epoch + 1);
    assert_eq!(
        world
            .store
            .restore(&above, Epoch(0), &hashes("rival"))
            .await,
        Ok(Restored::Held)
    );
    let beaten = Ok(Restored::Beaten { by: above.clone() });
    assert_eq!(
        world.store.restore(&held, Epoch(0), &hashes("first")).await,
        beaten
    );
    assert_eq!(record(world).await.unwrap().holder, Some(above.clone()));

    // What was released is not held again.
    assert!(release(world, &above.claim).await);
    let beaten = Ok(Restored::Beaten { by: above.clone() });
    assert_eq!(
        world
            .store
            .restore(&above, Epoch(0), &hashes("rival"))
            .await,
        beaten
    );
}

/// Two nodes that claimed while the store was away, in the same microsecond of its clock.
pub(crate) async fn of_two_claims_of_one_epoch_the_one_that_is_written_first_counts(world: &World) {
    let claimed = |run: u64, nonce: u64| {
        let claim = Claim {
            epoch: Epoch(1_785_000_000_000_000),
            incarnation: Incarnation(run),
            nonce,
        };
        holder(&request(run, nonce, &format!("tab-{run}"), 1), claim)
    };
    // Whichever is the greater one.
    for (first, second) in [
        (claimed(1, 8), claimed(2, 7)),
        (claimed(2, 7), claimed(1, 8)),
    ] {
        let restore = |holder: Holder| {
            let store = world.store.clone();
            async move {
                store
                    .restore(&holder, Epoch(0), &hashes("mine"))
                    .await
                    .unwrap()
            }
        };
        assert_eq!(restore(first.clone()).await, Restored::Held);
        let beaten = Restored::Beaten { by: first.clone() };
        assert_eq!(restore(second.clone()).await, beaten);
        assert_eq!(restore(first.clone()).await, Restored::Held);
        assert_eq!(record(world).await.unwrap().holder, Some(first));
        assert!(!release(world, &second.claim).await);
        world.empty().await;
    }
}

pub(crate) async fn what_was_released_is_not_brought_back_by_an_older_claim(world: &World) {
    let (older, _) = take(world, &request(1, 7, "tab", 1)).await;
    let (newer, _) = take(world, &request(2, 8, "tab", 2)).await;
    assert!(release(world, &newer.claim).await);
    let restored = world
        .store
        .restore(&older, Epoch(0), &hashes("first"))
        .await;
    assert_eq!(restored, Ok(Restored::Beaten { by: newer }));
    assert_eq!(record(world).await.unwrap().holder, None);
}

/// As after a failover to a server whose clock is behind: by construction, epochs far ahead of
/// the clock.
pub(crate) async fn an_emptied_store_with_an_older_clock_takes_nothing_back(world: &World) {
    let ahead = ClaimRequest {
        seen: Epoch(1 << 52),
        ..request(1, 7, "tab", 1)
    };
    let (first, _) = take(world, &ahead).await;
    world.empty().await;
    // Who has seen the claim goes above it.
    let aware = ClaimRequest {
        seen: first.claim.epoch,
        ..request(2, 8, "other", 1)
    };
    let (second, previous) = take(world, &aware).await;
    assert!(second.claim.epoch > first.claim.epoch);
    assert_eq!(previous, None);
    let beaten = Ok(Restored::Beaten { by: second });
    assert_eq!(
        world
            .store
            .restore(&first, Epoch(0), &hashes("first"))
            .await,
        beaten
    );

    world.empty().await;
    // Who has not is beaten by it when it is written again, and then comes above it.
    let (unaware, _) = take(world, &request(2, 9, "other", 1)).await;
    assert!(unaware.claim.epoch < first.claim.epoch);
    let restored = world
        .store
        .restore(&first, Epoch(0), &hashes("first"))
        .await;
    assert_eq!(restored, Ok(Restored::Held));
    let mine = [(client("app"), unaware.claim)];
    assert_eq!(world.store.renew(&mine).await, Ok(vec![false]));
    let (again, previous) = take(world, &request(2, 10, "other", 2)).await;
    assert!(again.claim.epoch > first.claim.epoch);
    assert_eq!(previous, Some(first));
}
