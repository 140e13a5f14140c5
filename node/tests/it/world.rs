//! Nodes that share a store, with intervals scaled down.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clientmcp_cluster::store::{ClaimRequest, FaultyStore, MemoryStore, Record, Store};
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::registration::Hashes;
use clientmcp_core::secret::Secrets;
use clientmcp_core::timings::Timings;
use clientmcp_core::token::{self, Claims};
use clientmcp_node::{Config, Node};

/// Longer than anything in these tests takes; a test that waits so long has failed.
pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) const CLIENT: &str = "desk-1";

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) struct World {
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) memory: Arc<MemoryStore>,
    pub(crate) secrets: Secrets,
    pub(crate) timings: Timings,
}

impl World {
    pub(crate) fn new() -> Self {
        let timings = Timings {
            lease: ms(900),
            heartbeat: ms(200),
            pre_drain: ms(50),
            drain: ms(500),
            grace: ms(1_500),
            // Tests hold client IDs where they like.
            settle_ring: ms(60_000),
            ..Timings::default()
        };
        let memory = Arc::new(MemoryStore::new());
        Self {
            store: Arc::new(FaultyStore::new(memory.clone())),
            memory,
            secrets: Secrets::new(["a secret of at least thirty-two bytes"]).unwrap(),
            timings,
        }
    }

    pub(crate) fn with(change: impl FnOnce(&mut Timings)) -> Self {
        let mut world = Self::new();
        change(&mut world.timings);
        world
    }

    pub(crate) fn config(&self, name: &str) -> Config {
        let mut config = Config::new(MemberId::parse(name).unwrap(), self.secrets.clone());
        config.timings = self.timings;
        config
    }

    pub(crate) async fn node(&self, name: &str) -> Node {
        self.start(self.config(name)).await
    }

    pub(crate) async fn start(&self, config: Config) -> Node {
        Node::start(config, self.store.clone()).await.unwrap()
    }

    /// A token of an app that lasts an hour.
    pub(crate) fn token(&self, client_id: &str) -> String {
        self.token_for(client_id, true, 3600)
    }

    /// A token that ends so many seconds from now.
    pub(crate) fn token_for(&self, client_id: &str, serve: bool, ends_in_s: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let claims = Claims {
            client_id: ClientId::parse(client_id).unwrap(),
            agent: None,
            serve,
            call: !serve,
            expires_at: now.as_secs().saturating_add_signed(ends_in_s),
            not_before: None,
        };
        token::mint(&self.secrets, &claims)
    }

    pub(crate) async fn record(&self, client_id: &str) -> Option<Record> {
        let client_id = ClientId::parse(client_id).unwrap();
        self.store.record(&client_id).await.unwrap()
    }
}

/// Waits until something holds; asks again and again.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let asked = async {
        while !holds().await {
            tokio::time::sleep(ms(5)).await;
        }
    };
    if tokio::time::timeout(SOON, asked).await.is_err() {
        panic!("never happened: {what}");
    }
}

/// A claim of a node that is not there.
pub(crate) fn foreign_claim() -> ClaimRequest {
    ClaimRequest {
        client_id: ClientId::parse(CLIENT).unwrap(),
        node: MemberId::parse("node-9").unwrap(),
        incarnation: Incarnation(9),
        nonce: 9,
        seen: Epoch(0),
        began: Epoch(0),
        instance: InstanceId::parse("i9").unwrap(),
        connection: 1,
        moving: false,
        resume: false,
        hashes: Hashes::empty(),
    }
}
