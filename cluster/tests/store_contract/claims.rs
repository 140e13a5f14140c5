//! Claims: who holds a client ID.

use std::collections::BTreeSet;

use clientmcp_cluster::store::{ClaimRequest, Claimed, Departure, Record};
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{Incarnation, InstanceId};

use crate::{World, client, hashes, ms, node};

/// A request of node `n<incarnation>` for the client ID "app".
pub(crate) fn request(
    incarnation: u64,
    nonce: u64,
    instance: &str,
    connection: u64,
) -> ClaimRequest {
    ClaimRequest {
        client_id: client("app"),
        node: node(&format!("n{incarnation}")),
        incarnation: Incarnation(incarnation),
        nonce,
        seen: Epoch::default(),
        began: Epoch::default(),
        instance: InstanceId::parse(instance).unwrap(),
        connection,
        moving: false,
        resume: true,
        hashes: hashes("first"),
    }
}

pub(crate) fn holder(request: &ClaimRequest, claim: Claim) -> Holder {
    Holder {
        client_id: request.client_id.clone(),
        node: request.node.clone(),
        claim,
        instance: request.instance.clone(),
        connection: request.connection,
        resume: request.resume,
    }
}

async fn claim(world: &World, request: &ClaimRequest) -> Claimed {
    world.store.claim(request).await.unwrap()
}

/// Claims, and gives the new holder and the displaced one.
pub(crate) async fn take(world: &World, request: &ClaimRequest) -> (Holder, Option<Holder>) {
    match claim(world, request).await {
        Claimed::Taken { claim, previous } => {
            assert_eq!(claim.incarnation, request.incarnation);
            assert_eq!(claim.nonce, request.nonce);
            (holder(request, claim), previous)
        }
        Claimed::Late { holder } => panic!("late behind {holder:?}"),
    }
}

pub(crate) async fn record(world: &World) -> Option<Record> {
    world.store.record(&client("app")).await.unwrap()
}

pub(crate) async fn release(world: &World, claim: &Claim) -> bool {
    let (id, retention) = (client("app"), ms(3_600_000));
    world
        .store
        .release(&id, claim, Departure::Lost, retention)
        .await
        .unwrap()
}

pub(crate) async fn a_first_claim_displaces_nobody(world: &World) {
    assert_eq!(record(world).await, None);
    let (held, previous) = take(world, &request(1, 7, "tab", 1)).await;
    assert_eq!(previous, None);
    let expected = Record {
        epoch: held.claim.epoch,
        instance: held.instance.clone(),
        resume: true,
        holder: Some(held),
        hashes: hashes("first"),
        departed: None,
    };
    assert_eq!(record(world).await, Some(expected));
    assert_eq!(world.store.record(&client("other")).await, Ok(None));
}

pub(crate) async fn a_claim_displaces_the_holder_and_has_a_higher_epoch(world: &World) {
    let (first, _) = take(world, &request(1, 7, "tab", 1)).await;
    let (second, displaced) = take(world, &request(2, 8, "other", 1)).await;
    assert_eq!(displaced, Some(first.clone()));
    assert!(second.claim.epoch > first.claim.epoch);
    let (third, displaced) = take(world, &request(1, 9, "other", 1)).await;
    assert_eq!(displaced, Some(second.clone()));
    assert!(third.claim.epoch > second.claim.epoch);
    assert_eq!(record(world).await.unwrap().holder, Some(third));
}

pub(crate) async fn an_epoch_is_above_what_the_node_has_seen(world: &World) {
    // Far ahead of any clock, as after a store's clock was set back.
    let far = Epoch(1 << 52);
    let ahead = ClaimRequest {
        seen: far,
        ..request(1, 7, "tab", 1)
    };
    let (first, _) = take(world, &ahead).await;
    assert_eq!(first.claim.epoch, Epoch(far.0 + 1));
    let (second, _) = take(world, &request(2, 8, "tab", 2)).await;
    assert_eq!(second.claim.epoch, Epoch(far.0 + 2));
}

pub(crate) async fn a_repeated_claim_gives_the_same_answer(world: &World) {
    take(world, &request(1, 7, "tab", 1)).await;
    let second = request(2, 8, "tab", 2);
    let answer = claim(world, &second).await;
    assert!(matches!(
        answer,
        Claimed::Taken {
            previous: Some(_),
            ..
        }
    ));
    assert_eq!(claim(world, &second).await, answer);
    assert_eq!(claim(world, &second).await, answer);
}

pub(crate) async fn a_repeated_claim_that_was_displaced_takes_nothing_back(world: &World) {
    let first = request(1, 7, "tab", 1);
    take(world, &first).await;
    for (run, instance) in [(2, "other"), (3, "third"), (4, "fourth")] {
        let (holder, _) = take(world, &request(run, run + 10, instance, 1)).await;
        assert_eq!(claim(world, &first).await, Claimed::Late { holder });
    }
}

pub(crate) async fn a_repeated_claim_that_was_released_takes_nothing_back(world: &World) {
    let first = request(1, 7, "tab", 1);
    let (holder, _) = take(world, &first).await;
    assert!(release(world, &holder.claim).await);
    assert_eq!(claim(world, &first).await, Claimed::Late { holder });
    assert_eq!(record(world).await.unwrap().holder, None);
}

pub(crate) async fn within_an_instance_the_higher_connection_wins(world: &World) {
    let (present, _) = take(world, &request(1, 7, "tab", 9)).await;
    let late = Claimed::Late { holder: present };
    assert_eq!(claim(world, &request(2, 8, "tab", 8)).await, late);
    assert_eq!(claim(world, &request(1, 9, "tab", 1)).await, late);
    // 10 is above 9 although it sorts before it as text; the same number is no older.
    let (present, _) = take(world, &request(2, 10, "tab", 10)).await;
    let (again, displaced) = take(world, &request(3, 11, "tab", 10)).await;
    assert_eq!(displaced, Some(present));
    let (_, displaced) = take(world, &request(1, 12, "other", 1)).await;
    assert_eq!(displaced, Some(again));
}

/// It would displace an instance that came after its own had already gone on.
pub(crate) async fn a_late_connection_of_a_displaced_instance_is_late_too(world: &World) {
    take(world, &request(1, 7, "tab", 2)).await;
    let (present, _) = take(world, &request(2, 8, "other", 1)).await;
    let late = claim(world, &request(1, 9, "tab", 1)).await;
    assert_eq!(late, Claimed::Late { holder: present });
    take(world, &request(1, 10, "tab", 3)).await;
}

pub(crate) async fn a_late_connection_is_late_after_a_departure_too(world: &World) {
    let (holder, _) = take(world, &request(1, 7, "tab", 2)).await;
    assert!(release(world, &holder.claim).await);
    let late = claim(world, &request(2, 8, "tab", 1)).await;
    assert_eq!(late, Claimed::Late { holder });
}

async fn ticket(world: &World) -> Epoch {
    world.store.ticket(&client("app")).await.unwrap()
}

pub(crate) async fn a_ticket_is_above_what_was_granted_and_changes_nothing(world: &World) {
    let first = ticket(world).await;
    assert_eq!(record(world).await, None);
    let far = Epoch(1 << 52);
    let ahead = ClaimRequest {
        seen: far,
        ..request(1, 7, "tab", 1)
    };
    let (held, _) = take(world, &ahead).await;
    assert!(held.claim.epoch > first);
    assert_eq!(ticket(world).await, Epoch(held.claim.epoch.0 + 1));
    assert_eq!(ticket(world).await, Epoch(held.claim.epoch.0 + 1));
    assert_eq!(record(world).await.unwrap().holder, Some(held));
}

/// However long it takes to get here, and whoever came in between.
pub(crate) async fn a_register_that_began_earlier_displaces_no_other_instance(world: &World) {
    let began = |began: Epoch, request: ClaimRequest| ClaimRequest { began, ..request };
    let first = ticket(world).await;
    let (held, _) = take(world, &began(first, request(1, 7, "tab", 1))).await;
    let (early, late) = (ticket(world).await, Epoch(ticket(world).await.0 + 1));
    for (run, instance) in [(2, "other"), (3, "third"), (4, "fourth")] {
        take(world, &began(late, request(run, run + 10, instance, 1))).await;
    }
    let present = record(world).await.unwrap().holder.unwrap();
    let behind = began(early, request(5, 20, "tab", 2));
    let answer = claim(world, &behind).await;
    assert_eq!(
        answer,
        Claimed::Late {
            holder: present.clone()
        }
    );
    // It has left by then; that makes the other no younger.
    assert!(release(world, &present.claim).await);
    assert_eq!(
        claim(world, &behind).await,
        Claimed::Late { holder: present }
    );
    // Connections of one instance go by their numbers alone.
    take(world, &began(early, request(6, 21, "fourth", 2))).await;
    assert!(held.claim.epoch < early);
}

/// Who has displaced the connection that it was to take over from has displaced it as well.
pub(crate) async fn a_move_displaces_no_other_instance(world: &World) {
    let moves = |request: ClaimRequest| ClaimRequest {
        moving: true,
        ..request
    };
    take(world, &moves(request(1, 7, "tab", 1))).await;
    take(world, &moves(request(2, 8, "tab", 2))).await;
    let (present, _) = take(world, &request(3, 9, "other", 1)).await;
    let late = Claimed::Late {
        holder: present.clone(),
    };
    assert_eq!(claim(world, &moves(request(1, 10, "tab", 3))).await, late);
    assert!(release(world, &present.claim).await);
    assert_eq!(claim(world, &moves(request(1, 11, "tab", 4))).await, late);
    // Who connects anew takes over.
    take(world, &request(1, 12, "tab", 5)).await;
}

/// However late it comes: who began in between is newer.
pub(crate) async fn a_move_is_as_old_as_what_it_takes_over_from(world: &World) {
    let began = |began: u64, request: ClaimRequest| ClaimRequest {
        began: Epoch(began),
        ..request
    };
    take(world, &began(1, request(1, 7, "tab", 1))).await;
    let moved = ClaimRequest {
        moving: true,
        ..began(3, request(2, 8, "tab", 2))
    };
    let (moved, _) = take(world, &moved).await;
    let (_, displaced) = take(world, &began(2, request(3, 9, "other", 1))).await;
    assert_eq!(displaced, Some(moved));
}

pub(crate) async fn only_the_holder_updates(world: &World) {
    let id = client("app");
    let (first, _) = take(world, &request(1, 7, "tab", 1)).await;
    let update = |claim: Claim, text: &'static str| {
        let (store, id) = (world.store.clone(), id.clone());
        async move { store.update(&id, &claim, &hashes(text)).await.unwrap() }
    };
    assert!(update(first.claim, "second").await);
    assert_eq!(record(world).await.unwrap().hashes, hashes("second"));
    for wrong in [
        Claim {
            epoch: Epoch(first.claim.epoch.0 + 1),
            ..first.claim
        },
        Claim {
            incarnation: Incarnation(9),
            ..first.claim
        },
        Claim {
            nonce: 9,
            ..first.claim
        },
    ] {
        assert!(!update(wrong, "third").await, "{wrong:?}");
    }
    let (second, _) = take(world, &request(2, 8, "tab", 2)).await;
    assert!(!update(first.claim, "third").await);
    assert_eq!(record(world).await.unwrap().hashes, hashes("first"));
    assert!(release(world, &second.claim).await);
    assert!(!update(second.claim, "third").await);
    assert_eq!(record(world).await.unwrap().hashes, hashes("first"));
}

/// The clean-up of a connection that was displaced, in all the orders in which it can come.
pub(crate) async fn only_the_holder_releases(world: &World) {
    let (first, _) = take(world, &request(1, 7, "tab", 1)).await;
    let (second, _) = take(world, &request(1, 8, "tab", 2)).await;
    assert!(!release(world, &first.claim).await);
    assert_eq!(
        world.store.renew(&[(client("app"), first.claim)]).await,
        Ok(vec![false])
    );
    assert_eq!(record(world).await.unwrap().holder, Some(second.clone()));

    assert!(release(world, &second.claim).await);
    assert!(
        release(world, &second.claim).await,
        "its answer may have been lost"
    );
    let (third, _) = take(world, &request(2, 9, "tab", 3)).await;
    assert!(!release(world, &second.claim).await);
    assert_eq!(record(world).await.unwrap().holder, Some(third));
}

pub(crate) async fn a_departure_is_dated_by_the_stores_clock(world: &World) {
    for (nonce, departure) in [
        (1, Departure::Clean),
        (2, Departure::Left),
        (3, Departure::Lost),
    ] {
        let (held, _) = take(world, &request(1, nonce, "tab", nonce)).await;
        let (id, hour) = (client("app"), ms(3_600_000));
        assert_eq!(
            world.store.release(&id, &held.claim, departure, hour).await,
            Ok(true)
        );
        world.elapse(ms(30)).await;
        // A second time does not start it again.
        assert_eq!(
            world.store.release(&id, &held.claim, departure, hour).await,
            Ok(true)
        );
        let record = record(world).await.unwrap();
        assert_eq!((record.epoch, record.holder), (held.claim.epoch, None));
        assert_eq!(record.hashes, hashes("first"));
        let (how, ago) = record.departed.unwrap();
        assert_eq!(how, departure);
        assert!(ago >= ms(29) && ago < ms(30_000), "{ago:?}");
    }
}

pub(crate) async fn a_registration_is_forgotten_after_its_retention(world: &World) {
    let (held, _) = take(world, &request(1, 7, "tab", 1)).await;
    let short = ms(20);
    let released = world
        .store
        .release(&client("app"), &held.claim, Departure::Lost, short)
        .await;
    assert_eq!(released, Ok(true));
    world.elapse(ms(60)).await;
    assert_eq!(record(world).await, None);
    let (next, previous) = take(world, &request(2, 8, "tab", 1)).await;
    assert_eq!(previous, None);
    assert!(next.claim.epoch > held.claim.epoch, "the clock is a floor");
}

pub(crate) async fn who_claims_after_a_departure_displaces_nobody(world: &World) {
    let (first, _) = take(world, &request(1, 7, "tab", 1)).await;
    assert!(release(world, &first.claim).await);
    let (second, previous) = take(world, &request(2, 8, "tab", 2)).await;
    assert_eq!(previous, None);
    assert!(second.claim.epoch > first.claim.epoch);
    assert_eq!(record(world).await.unwrap().departed, None);
}

pub(crate) async fn renewing_tells_which_claims_hold(world: &World) {
    assert_eq!(world.store.renew(&[]).await, Ok(vec![]));
    let mut claims = Vec::new();
    for n in 0..1_200 {
        let request = ClaimRequest {
            client_id: client(&format!("app-{n}")),
            ..request(1, n, "tab", 1)
        };
        let (held, _) = take(world, &request).await;
        claims.push((request.client_id, held.claim));
    }
    claims[0].1.nonce = 99;
    claims[700].0 = client("unknown");
    let last = claims.last().unwrap().clone();
    assert!(
        world
            .store
            .release(&last.0, &last.1, Departure::Clean, ms(1_000))
            .await
            .unwrap()
    );
    let held = world.store.renew(&claims).await.unwrap();
    let lost: Vec<usize> = (0..held.len()).filter(|n| !held[*n]).collect();
    assert_eq!((held.len(), lost), (1_200, vec![0, 700, 1_199]));
}

pub(crate) async fn who_was_there_last_is_remembered(world: &World) {
    for (nonce, instance, resume) in [(1, "tab", true), (2, "other", false), (3, "tab", false)] {
        let request = ClaimRequest {
            resume,
            ..request(1, nonce, instance, nonce)
        };
        let (held, _) = take(world, &request).await;
        let known = record(world).await.unwrap();
        assert_eq!((&known.instance, known.resume), (&held.instance, resume));
        assert_eq!(known.holder.unwrap().resume, resume);
        assert!(release(world, &held.claim).await);
        let known = record(world).await.unwrap();
        assert_eq!((known.instance, known.resume), (held.instance, resume));
    }
}

pub(crate) async fn numbers_of_64_bits_and_odd_names_survive(world: &World) {
    let odd = ClaimRequest {
        client_id: client("~a.b_c@d:e-F"),
        incarnation: Incarnation(u64::MAX - 1),
        ..request(1, u64::MAX, "_-Instance", u64::MAX)
    };
    let (held, _) = take(world, &odd).await;
    let stored = world.store.record(&odd.client_id).await.unwrap().unwrap();
    assert_eq!(stored.holder, Some(held.clone()));
    for near in [
        Claim {
            nonce: u64::MAX - 1,
            ..held.claim
        },
        Claim {
            incarnation: Incarnation(u64::MAX),
            ..held.claim
        },
        Claim {
            epoch: Epoch(held.claim.epoch.0 - 1),
            ..held.claim
        },
    ] {
        let mine = [(odd.client_id.clone(), near)];
        assert_eq!(world.store.renew(&mine).await, Ok(vec![false]), "{near:?}");
    }
    let late = ClaimRequest {
        connection: u64::MAX - 1,
        nonce: 1,
        ..odd
    };
    assert_eq!(claim(world, &late).await, Claimed::Late { holder: held });
}

pub(crate) async fn concurrent_claims_make_one_chain(world: &World) {
    let mut tasks = tokio::task::JoinSet::new();
    for n in 1..=50 {
        let store = world.store.clone();
        tasks.spawn(async move {
            let request = request(n, n, &format!("tab-{n}"), 1);
            match store.claim(&request).await.unwrap() {
                Claimed::Taken { claim, previous } => (claim, previous),
                Claimed::Late { holder } => panic!("late behind {holder:?}"),
            }
        });
    }
    let taken = tasks.join_all().await;
    let epochs: BTreeSet<_> = taken.iter().map(|(claim, _)| claim.epoch).collect();
    assert_eq!(epochs.len(), 50, "no epoch is handed out twice");
    let displaced: BTreeSet<_> = taken
        .iter()
        .filter_map(|(_, previous)| previous.as_ref().map(|holder| holder.claim.epoch))
        .collect();
    assert_eq!(displaced.len(), 49, "each is displaced by one other");
    let last = *epochs.last().unwrap();
    assert!(!displaced.contains(&last));
    assert_eq!(record(world).await.unwrap().epoch, last);
}
