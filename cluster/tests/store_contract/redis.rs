//! What only Redis can do wrong: restarts, broken and silent connections, keys that stay for ever.

use std::time::Duration;

use bytes::Bytes;
use clientmcp_cluster::member::{Lease, Member, MemberState, Role, Standing};
use clientmcp_cluster::store::{ClaimRequest, Claimed, Departure, RedisStore, Store, StoreError};
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{Incarnation, InstanceId};
use clientmcp_core::registration::{ContentHash, Kind};
use clientmcp_core::session_note::SessionNote;
use tokio::time::timeout;

use crate::redis_process::RedisProcess;
use crate::{client, hashes, ms, node};

fn request(name: &str, nonce: u64) -> ClaimRequest {
    ClaimRequest {
        client_id: client(name),
        node: node("n1"),
        incarnation: Incarnation(1),
        nonce,
        seen: Epoch::default(),
        began: Epoch::default(),
        instance: InstanceId::parse("tab").unwrap(),
        connection: nonce,
        moving: false,
        resume: false,
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

const SECOND: Duration = Duration::from_secs(1);

const LEASE: Lease = Lease {
    lasts: Duration::from_secs(3),
    tombstone: Duration::from_secs(15),
};

async fn take(store: &RedisStore, request: &ClaimRequest) -> clientmcp_core::claim::Claim {
    match store.claim(request).await.unwrap() {
        Claimed::Taken { claim, .. } => claim,
        Claimed::Late { holder } => panic!("late behind {holder:?}"),
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_at_once() {
    let server = RedisProcess::start().await;
    let url = server.url();
    server.kill().await;
    let refused = timeout(SECOND * 2, RedisStore::connect(&url))
        .await
        .unwrap();
    let Err(StoreError::Unreachable(why)) = refused else {
        panic!("nobody listens there");
    };
    assert!(why.contains("127.0.0.1"), "{why}");
}

#[tokio::test]
async fn wrong_credentials_are_told_without_telling_them() {
    let server = RedisProcess::start_with(&["--requirepass", "right"]).await;
    let port = server.port();
    for url in [
        format!("redis://127.0.0.1:{port}"),
        format!("redis://:wrong@127.0.0.1:{port}"),
    ] {
        let refused = RedisStore::connect(&url).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        assert!(!refused.to_string().contains("wrong@"), "{refused}");
    }
    let right = format!("redis://:right@127.0.0.1:{port}");
    RedisStore::connect(&right)
        .await
        .unwrap()
        .ping()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_server_in_cluster_mode_is_refused_at_start() {
    let config = format!("clientmcp-nodes-{}.conf", std::process::id());
    let server =
        RedisProcess::start_with(&["--cluster-enabled", "yes", "--cluster-config-file", &config])
            .await;
    let refused = RedisStore::connect(&server.url()).await.unwrap_err();
    let _ = std::fs::remove_file(std::env::temp_dir().join(config));
    assert!(matches!(&refused, StoreError::Address(why) if why.contains("cluster mode")));
}

#[tokio::test]
async fn the_first_command_on_a_closed_connection_is_not_lost() {
    let server = RedisProcess::start().await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    let mut claim = take(&store, &request("app", 1)).await;
    for nonce in 2..20 {
        let _: i64 = server.command("CLIENT KILL TYPE normal").await;
        claim = take(&store, &request("app", nonce)).await;
        let _: i64 = server.command("CLIENT KILL TYPE normal").await;
        let renewed = store.renew(&[(client("app"), claim)]).await;
        assert_eq!(renewed, Ok(vec![true]));
    }
    let _: i64 = server.command("CLIENT KILL TYPE normal").await;
    let released = store
        .release(&client("app"), &claim, Departure::Clean, ms(1_000))
        .await;
    assert_eq!(released, Ok(true));
}

#[tokio::test]
async fn a_server_that_restarts_is_found_again() {
    let server = RedisProcess::start().await;
    let (url, port) = (server.url(), server.port());
    let store = RedisStore::connect(&url).await.unwrap();
    let first = take(&store, &request("app", 1)).await;
    server.kill().await;

    // A refused connection is known at once.
    let second = request("app", 2);
    let away = timeout(SECOND, store.claim(&second))
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(away, StoreError::Unreachable(_)), "{away:?}");

    let server = RedisProcess::start_at(port, &[])
        .await
        .expect("the port is still free");
    assert_eq!(
        store.renew(&[(client("app"), first)]).await,
        Ok(vec![false])
    );
    let second = take(&store, &request("app", 2)).await;
    assert!(second.epoch > first.epoch, "although all data were lost");
    drop(server);
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_sent_again() {
    let server = RedisProcess::start().await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    for nonce in 1..4 {
        let _: String = server.command("SCRIPT FLUSH").await;
        let claim = take(&store, &request("app", nonce)).await;
        let _: String = server.command("SCRIPT FLUSH").await;
        assert_eq!(store.renew(&[(client("app"), claim)]).await, Ok(vec![true]));
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_fails_commands_in_time() {
    let server = RedisProcess::start().await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    server.signal("STOP").await;
    let silent = timeout(SECOND * 3, store.ping())
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(silent, StoreError::Unreachable(_)), "{silent:?}");
    server.signal("CONT").await;
    assert_eq!(store.ping().await, Ok(()));
}

#[tokio::test]
async fn a_server_that_takes_no_writes_refuses() {
    let server = RedisProcess::start_with(&["--replicaof", "127.0.0.1", "1"]).await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    let refused = store.claim(&request("app", 1)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
}

#[tokio::test]
async fn every_key_has_a_time_to_live() {
    let server = RedisProcess::start().await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    store.join(&member(), LEASE, None).await.unwrap();
    store.heartbeat(&member(), LEASE).await.unwrap();
    store.members().await.unwrap();
    let claim = take(&store, &request("app", 1)).await;
    let claim2 = take(&store, &request("app", 2)).await;
    store
        .update(&client("app"), &claim2, &hashes("second"))
        .await
        .unwrap();
    store
        .renew(&[(client("app"), claim2), (client("none"), claim)])
        .await
        .unwrap();
    take(&store, &request("gone", 1)).await;
    let gone = take(&store, &request("gone", 2)).await;
    store
        .release(&client("gone"), &gone, Departure::Lost, ms(60_000))
        .await
        .unwrap();
    let hash = ContentHash::of(Kind::Tools, b"[]");
    store
        .put_content(&hash, Bytes::from_static(b"[]"), ms(60_000))
        .await
        .unwrap();
    store.touch_content(&hash, ms(90_000)).await.unwrap();
    store
        .note_session(&client("app"), "s1", &SessionNote::ended(), ms(60_000))
        .await
        .unwrap();
    store.leave(&node("n1"), Incarnation(1)).await.unwrap();

    let keys: Vec<String> = server.command("KEYS *").await;
    let mut expected = vec![
        "clientmcp:client:{app}".to_owned(),
        "clientmcp:client:{gone}".to_owned(),
        format!("clientmcp:content:{hash}"),
        "clientmcp:members".to_owned(),
        "clientmcp:sessions:{app}".to_owned(),
    ];
    let mut found = keys.clone();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    for key in keys {
        let ttl: i64 = server.command(&format!("PTTL {key}")).await;
        assert!(ttl > 0, "{key} has {ttl}");
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_keeps_nobody_alive() {
    let server = RedisProcess::start().await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    store.join(&member(), LEASE, None).await.unwrap();
    // The same entry as if it had been written when the clock was an hour ahead.
    let set_back = "EVAL local~e=redis.call('HGET',KEYS[1],ARGV[1])~\
        e=string.gsub(e,'^(%x+)~(%d+)',function(i,t)~\
        return~i..'~'..string.format('%.0f',t+3600000)~end)~\
        return~redis.call('HSET',KEYS[1],ARGV[1],e) 1 clientmcp:members n1";
    let mut words = set_back.split(' ').map(|word| word.replace('~', " "));
    let mut command = redis::cmd(&words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    let _: i64 = command
        .query_async(&mut server.plain().await)
        .await
        .unwrap();

    let seen = store.members().await.unwrap();
    assert_eq!(seen[0].standing, Standing::Alive { lease: LEASE.lasts });
}

#[tokio::test]
async fn what_cannot_be_read_is_told_from_what_is_not_there() {
    let server = RedisProcess::start().await;
    let store = RedisStore::connect(&server.url()).await.unwrap();
    take(&store, &request("app", 1)).await;
    let _: i64 = server
        .command("HSET clientmcp:client:{app} tools garbage")
        .await;
    let corrupt = store.record(&client("app")).await.unwrap_err();
    assert!(matches!(&corrupt, StoreError::Corrupt(what) if what.contains("garbage")));
    take(&store, &request("app", 2)).await;
    assert!(store.record(&client("app")).await.unwrap().is_some());
}
