//! Notes on legacy sessions.

use std::time::Duration;

use clientmcp_cluster::store::SESSIONS;
use clientmcp_core::message::LogLevel;
use clientmcp_core::session_note::SessionNote;

use crate::{World, client, ms};

const HOUR_MS: u64 = 3_600_000;

async fn note(world: &World, session: &str, note: &SessionNote, ttl: Duration) {
    let app = client("app");
    let noted = world.store.note_session(&app, session, note, ttl);
    noted.await.unwrap();
}

async fn noted(world: &World, name: &str) -> Vec<(String, SessionNote)> {
    let mut notes = world.store.sessions(&client(name)).await.unwrap();
    notes.sort_by(|a, b| a.0.cmp(&b.0));
    notes
}

async fn names(world: &World) -> Vec<String> {
    let notes = noted(world, "app").await;
    notes.into_iter().map(|(session, _)| session).collect()
}

fn watching(uris: &[&str]) -> SessionNote {
    SessionNote {
        log_level: Some(LogLevel::Warning),
        uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        ..SessionNote::default()
    }
}

pub(crate) async fn sessions_are_noted_by_client(world: &World) {
    assert_eq!(noted(world, "app").await, []);
    let odd = watching(&["x:1 2", "x:\"\\", "x:ä"]);
    note(world, "s2", &odd, ms(HOUR_MS)).await;
    note(world, "s1", &watching(&["x:1"]), ms(HOUR_MS)).await;
    note(world, "s1", &SessionNote::default(), Duration::MAX).await;
    note(world, "s3", &SessionNote::ended(), Duration::MAX).await;
    let expected = [
        ("s1".to_owned(), SessionNote::default()),
        ("s2".to_owned(), odd),
        ("s3".to_owned(), SessionNote::ended()),
    ];
    assert_eq!(noted(world, "app").await, expected);
    assert_eq!(noted(world, "other").await, []);
}

pub(crate) async fn a_session_that_was_ended_stays_so(world: &World) {
    note(world, "s", &watching(&["x:1"]), ms(HOUR_MS)).await;
    note(world, "s", &SessionNote::ended(), ms(HOUR_MS)).await;
    note(world, "s", &watching(&["x:2"]), ms(HOUR_MS)).await;
    note(world, "s", &SessionNote::ended(), ms(HOUR_MS)).await;
    let expected = [("s".to_owned(), SessionNote::ended())];
    assert_eq!(noted(world, "app").await, expected);
}

pub(crate) async fn notes_on_sessions_are_forgotten_after_their_time(world: &World) {
    note(world, "long", &SessionNote::ended(), ms(HOUR_MS)).await;
    note(world, "short", &SessionNote::ended(), ms(20)).await;
    note(world, "shorter", &watching(&["x:1"]), ms(20)).await;
    note(world, "renewed", &watching(&["x:1"]), ms(20)).await;
    note(world, "renewed", &watching(&["x:1"]), ms(HOUR_MS)).await;
    world.elapse(ms(60)).await;
    assert_eq!(names(world).await, ["long", "renewed"]);
}

pub(crate) async fn notes_on_sessions_are_limited(world: &World) {
    note(world, "short", &SessionNote::ended(), ms(20)).await;
    world.elapse(ms(60)).await;
    for n in 0..SESSIONS as u64 + 5 {
        let until = ms(HOUR_MS + n * 1_000);
        let session = format!("s{n:04}");
        note(world, &session, &SessionNote::ended(), until).await;
    }
    let kept = names(world).await;
    assert_eq!(kept.len(), SESSIONS);
    assert_eq!(kept[0], "s0005", "those that end first are forgotten first");
}
