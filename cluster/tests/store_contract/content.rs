//! Contents of registrations, and ended sessions.

use bytes::Bytes;
use clientmcp_cluster::store::ENDED_SESSIONS;
use clientmcp_core::limits;
use clientmcp_core::registration::{ContentHash, Kind};

use crate::{World, client, ms};

const HOUR_MS: u64 = 3_600_000;

fn hash(text: &str) -> ContentHash {
    ContentHash::of(Kind::Tools, text.as_bytes())
}

async fn ended(world: &World, name: &str) -> Vec<String> {
    let mut sessions = world.store.ended_sessions(&client(name)).await.unwrap();
    sessions.sort();
    sessions
}

pub(crate) async fn the_store_answers(world: &World) {
    assert_eq!(world.store.ping().await, Ok(()));
}

pub(crate) async fn content_is_kept_by_its_hash(world: &World) {
    assert_eq!(world.store.content(&hash("a")).await, Ok(None));
    assert_eq!(
        world.store.touch_content(&hash("a"), ms(HOUR_MS)).await,
        Ok(false)
    );
    let bytes = Bytes::from_static(b"[\"\0\xff\r\n\"]");
    for _ in 0..2 {
        world
            .store
            .put_content(&hash("a"), bytes.clone(), ms(HOUR_MS))
            .await
            .unwrap();
    }
    assert_eq!(world.store.content(&hash("a")).await, Ok(Some(bytes)));
    assert_eq!(world.store.content(&hash("b")).await, Ok(None));
}

pub(crate) async fn content_is_forgotten_after_its_time(world: &World) {
    let content = Bytes::from_static(b"[]");
    world
        .store
        .put_content(&hash("a"), content.clone(), ms(20))
        .await
        .unwrap();
    world.elapse(ms(60)).await;
    assert_eq!(world.store.content(&hash("a")).await, Ok(None));
    assert_eq!(
        world.store.touch_content(&hash("a"), ms(HOUR_MS)).await,
        Ok(false)
    );
    world
        .store
        .put_content(&hash("a"), content.clone(), ms(HOUR_MS))
        .await
        .unwrap();
    assert_eq!(world.store.content(&hash("a")).await, Ok(Some(content)));
}

pub(crate) async fn the_longer_time_counts(world: &World) {
    let content = Bytes::from_static(b"[]");
    for name in ["put", "touched"] {
        world
            .store
            .put_content(&hash(name), content.clone(), ms(HOUR_MS))
            .await
            .unwrap();
    }
    world
        .store
        .put_content(&hash("put"), content.clone(), ms(20))
        .await
        .unwrap();
    assert_eq!(
        world.store.touch_content(&hash("touched"), ms(20)).await,
        Ok(true)
    );
    world
        .store
        .put_content(&hash("renewed"), content.clone(), ms(1_000))
        .await
        .unwrap();
    assert_eq!(
        world
            .store
            .touch_content(&hash("renewed"), ms(HOUR_MS))
            .await,
        Ok(true)
    );
    world.elapse(ms(1_050)).await;
    for name in ["put", "touched", "renewed"] {
        assert_eq!(
            world.store.content(&hash(name)).await,
            Ok(Some(content.clone())),
            "{name}"
        );
    }
}

pub(crate) async fn the_largest_registration_fits(world: &World) {
    let large = Bytes::from(vec![b'x'; limits::MESSAGE_BYTES]);
    world
        .store
        .put_content(&hash("large"), large.clone(), ms(HOUR_MS))
        .await
        .unwrap();
    assert_eq!(world.store.content(&hash("large")).await, Ok(Some(large)));
}

pub(crate) async fn ended_sessions_are_remembered_by_client(world: &World) {
    assert_eq!(ended(world, "app").await, [""; 0]);
    let endless = std::time::Duration::MAX;
    for (session, ttl) in [
        ("s2", ms(HOUR_MS)),
        ("s1", ms(HOUR_MS)),
        ("s1", ms(HOUR_MS)),
        ("endless", endless),
    ] {
        world
            .store
            .end_session(&client("app"), session, ttl)
            .await
            .unwrap();
    }
    assert_eq!(ended(world, "app").await, ["endless", "s1", "s2"]);
    assert_eq!(ended(world, "other").await, [""; 0]);
}

pub(crate) async fn ended_sessions_are_forgotten_after_their_time(world: &World) {
    world
        .store
        .end_session(&client("app"), "long", ms(HOUR_MS))
        .await
        .unwrap();
    world
        .store
        .end_session(&client("app"), "short", ms(20))
        .await
        .unwrap();
    world.elapse(ms(60)).await;
    assert_eq!(ended(world, "app").await, ["long"]);
}

pub(crate) async fn ended_sessions_are_limited(world: &World) {
    let id = client("app");
    for n in 0..ENDED_SESSIONS as u64 + 5 {
        let until = ms(HOUR_MS + n * 1_000);
        world
            .store
            .end_session(&id, &format!("s{n:04}"), until)
            .await
            .unwrap();
    }
    let sessions = ended(world, "app").await;
    assert_eq!(sessions.len(), ENDED_SESSIONS);
    assert_eq!(
        sessions[0], "s0005",
        "those that end first are forgotten first"
    );
}
