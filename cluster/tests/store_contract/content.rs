//! Contents of registrations.

use bytes::Bytes;
use clientmcp_core::limits;
use clientmcp_core::registration::{ContentHash, Kind};

use crate::{World, ms};

const HOUR_MS: u64 = 3_600_000;

fn hash(text: &str) -> ContentHash {
    ContentHash::of(Kind::Tools, text.as_bytes())
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
