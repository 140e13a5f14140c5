//! A connection without a socket.

use clientmcp_cluster::member::{Member, MemberState, Role};
use clientmcp_cluster::membership::Membership;
use clientmcp_cluster::store::{MemoryStore, Store};
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::registration::Hashes;
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{Claims, mint};
use clientmcp_proto::v1::Elsewhere;

use super::*;
use crate::clock::unix_seconds;
use crate::config::Config;
use crate::peers::Peers;

pub(crate) async fn node() -> Arc<NodeState> {
    let secrets = Secrets::new(["a secret of at least thirty-two bytes"]).unwrap();
    let config = Config::new(MemberId::parse("node-1").unwrap(), secrets);
    let incarnation = Incarnation(1);
    let member = Member {
        id: config.member_id.clone(),
        incarnation,
        role: Role::Node,
        state: MemberState::Ready,
        address: "127.0.0.1:1".into(),
        admin_address: "127.0.0.1:2".into(),
        public_url: None,
        version: "0".into(),
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let registry = prometheus::Registry::new();
    let nobody = |_| std::future::ready(None);
    let timings = &config.timings;
    let membership = Membership::start(store.clone(), member, timings, &registry, nobody)
        .await
        .unwrap();
    let peers = Peers::new(&config.secrets, &config.timings);
    let state = NodeState::new(
        &config,
        incarnation,
        String::new(),
        store,
        membership,
        peers,
        &registry,
    );
    Arc::new(state)
}

fn connect(node: &Arc<NodeState>) -> Arc<Connection> {
    let claims = Claims {
        client_id: ClientId::parse("desk-1").unwrap(),
        agent: None,
        serve: true,
        call: false,
        expires_at: unix_seconds() + 60,
        not_before: None,
    };
    let token = mint(&node.secrets, &claims);
    let grant = node.verify(&clientmcp_core::token::BearerToken::new(token));
    Connection::new(node.clone(), grant.unwrap(), None)
}

/// Holds the client ID, as after a register.
async fn hold(connection: &Arc<Connection>, epoch: u64) -> Claim {
    let node = &connection.node;
    let hashes = Hashes::empty();
    let registration = node.contents.registration(&*node.store, &hashes).await;
    let claim = Claim {
        epoch: Epoch(epoch),
        incarnation: node.incarnation,
        nonce: 1,
    };
    let input = ClaimInput {
        instance: InstanceId::parse("i1").unwrap(),
        connection: 1,
        moving: false,
        resume: false,
        hashes,
        contents: Vec::new(),
        again: false,
    };
    connection.take_over(
        claim,
        claim.epoch,
        &input,
        registration.unwrap().unwrap(),
        true,
    );
    claim
}

#[tokio::test]
async fn a_step_that_panics_ends_this_connection_and_no_other() {
    let node = node().await;
    let connection = connect(&node);
    hold(&connection, 5).await;
    assert_eq!(node.registry.count(), 1);

    let crashed = connection.step(|_, _| panic!("on purpose"));
    assert!(crashed.is_none());
    assert!(connection.has_ended());
    assert_eq!(node.registry.count(), 0, "its claim is given up");
    assert!(connection.is_idle());

    // Whatever comes later finds it ended, and harms nobody.
    connection.close(stopping());
    connection.displace(Successor::OtherInstance, Elsewhere::default());
    let next = connect(&node);
    hold(&next, 6).await;
    assert_eq!(node.registry.count(), 1);
    assert!(!next.has_ended());
}

#[tokio::test]
async fn an_older_claim_displaces_and_removes_nothing() {
    let node = node().await;
    let newer = connect(&node);
    let claim = hold(&newer, 9).await;
    let older = connect(&node);
    let late = hold(&older, 8).await;
    assert!(
        older.has_ended(),
        "it was superseded before it held anything"
    );
    assert!(!newer.has_ended());
    assert!(node.registry.remove(&newer.client_id, &late).is_none());
    assert!(node.registry.remove(&newer.client_id, &claim).is_some());
}
