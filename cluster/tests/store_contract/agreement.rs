//! The memory store and the Redis store give the same answers, whatever is asked in whatever
//! order. So what the model of the claim protocol shows of the one holds for the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clientmcp_cluster::store::{
    ClaimRequest, Departure, MemoryStore, Record, RedisStore, Store, StoreError,
};
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::redis_process::RedisProcess;
use crate::{client, hashes, ms, node};

/// Ahead of both clocks, so that these make no difference.
const FAR: u64 = 1 << 52;

/// One command. Claims are named by small numbers, so that commands meet.
#[derive(Debug, Clone)]
enum Command {
    Claim {
        nonce: u64,
        instance: usize,
        connection: u64,
        moving: bool,
        seen: u64,
        began: u64,
    },
    Ticket,
    Update(Known),
    Restore {
        claim: Known,
        instance: usize,
        connection: u64,
        began: u64,
    },
    Release(Known, Departure),
    Renew(Known),
}

/// A claim: one that was granted before, or one that nobody has made.
#[derive(Debug, Clone)]
enum Known {
    Granted(prop::sample::Index),
    Invented { epoch: u64, nonce: u64 },
}

fn known() -> impl Strategy<Value = Known> {
    let invented = (0..40_u64, 0..6_u64);
    prop_oneof![
        4 => any::<prop::sample::Index>().prop_map(Known::Granted),
        1 => invented.prop_map(|(epoch, nonce)| Known::Invented { epoch, nonce }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let departure = prop_oneof![
        Just(Departure::Clean),
        Just(Departure::Left),
        Just(Departure::Lost)
    ];
    prop_oneof![
        4 => (0..6_u64, 0..2_usize, 0..12_u64, any::<bool>(), 0..30_u64, 0..40_u64).prop_map(
            |(nonce, instance, connection, moving, seen, began)| Command::Claim {
                nonce, instance, connection, moving, seen, began,
            },
        ),
        1 => Just(Command::Ticket),
        1 => known().prop_map(Command::Update),
        2 => (known(), 0..2_usize, 0..12_u64, 0..40_u64).prop_map(
            |(claim, instance, connection, began)| Command::Restore {
                claim, instance, connection, began,
            },
        ),
        2 => (known(), departure).prop_map(|(claim, how)| Command::Release(claim, how)),
        1 => known().prop_map(Command::Renew),
    ]
}

/// What a store answers to a command, as text, and the claims that it knows.
struct Asked<'a> {
    store: &'a dyn Store,
    client_id: ClientId,
    granted: Vec<Claim>,
}

impl Asked<'_> {
    fn claim(&self, known: &Known) -> Claim {
        match known {
            Known::Granted(index) if !self.granted.is_empty() => *index.get(&self.granted),
            Known::Granted(_) => claim(0, 0),
            Known::Invented { epoch, nonce } => claim(*epoch, *nonce),
        }
    }

    async fn ask(&mut self, command: &Command) -> Result<String, StoreError> {
        let (store, id) = (self.store, &self.client_id);
        Ok(match command {
            Command::Claim {
                nonce,
                instance,
                connection,
                moving,
                seen,
                began,
            } => {
                let request = ClaimRequest {
                    client_id: id.clone(),
                    node: node("n1"),
                    incarnation: Incarnation(1),
                    nonce: *nonce,
                    seen: Epoch(FAR + seen),
                    began: Epoch(FAR + began),
                    instance: instance_id(*instance),
                    connection: *connection,
                    moving: *moving,
                    resume: connection % 2 == 0,
                    hashes: hashes(&nonce.to_string()),
                };
                let answer = store.claim(&request).await?;
                let holder = store.record(id).await?.and_then(|record| record.holder);
                self.granted.extend(holder.map(|holder| holder.claim));
                format!("{answer:?}")
            }
            Command::Ticket => match store.ticket(id).await? {
                far @ Epoch(FAR..) => format!("{far:?}"),
                _ => "by the clock".to_owned(),
            },
            Command::Update(known) => {
                let (claim, hashes) = (self.claim(known), hashes("updated"));
                format!("{:?}", store.update(id, &claim, &hashes).await?)
            }
            Command::Restore {
                claim,
                instance,
                connection,
                began,
            } => {
                let holder = Holder {
                    client_id: id.clone(),
                    node: node("n2"),
                    claim: self.claim(claim),
                    instance: instance_id(*instance),
                    connection: *connection,
                    resume: false,
                };
                format!(
                    "{:?}",
                    store
                        .restore(&holder, Epoch(FAR + began), &hashes("restored"))
                        .await?
                )
            }
            Command::Release(known, how) => {
                let (claim, hour) = (self.claim(known), ms(3_600_000));
                format!("{:?}", store.release(id, &claim, *how, hour).await?)
            }
            Command::Renew(known) => {
                let mine = [(id.clone(), self.claim(known))];
                format!("{:?}", store.renew(&mine).await?)
            }
        })
    }

    /// What the store knows, the time since a departure aside.
    async fn record(&self) -> Result<Option<Record>, StoreError> {
        let record = self.store.record(&self.client_id).await?;
        Ok(record.map(|record| Record {
            departed: record.departed.map(|(how, _)| (how, ms(0))),
            ..record
        }))
    }
}

fn claim(epoch: u64, nonce: u64) -> Claim {
    Claim {
        epoch: Epoch(FAR + epoch),
        incarnation: Incarnation(1),
        nonce,
    }
}

fn instance_id(number: usize) -> InstanceId {
    InstanceId::parse(["tab", "other"][number]).unwrap()
}

#[test]
fn the_stores_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(RedisProcess::start());
    let redis = runtime
        .block_on(RedisStore::connect(&server.url()))
        .unwrap();
    let memory = Arc::new(MemoryStore::new());
    let clients = AtomicU64::new(0);
    let mut runner = TestRunner::new(Config {
        cases: 300,
        failure_persistence: None,
        ..Config::default()
    });
    let commands = prop::collection::vec(command(), 1..25);
    let agree = |commands: Vec<Command>| {
        let number = clients.fetch_add(1, Ordering::Relaxed);
        let ask = |store| Asked {
            store,
            client_id: client(&format!("app-{number}")),
            granted: Vec::new(),
        };
        let (mut one, mut other) = (ask(&*memory), ask(&redis));
        for command in &commands {
            let (first, second) =
                runtime.block_on(async { (one.ask(command).await, other.ask(command).await) });
            prop_assert_eq!(first, second, "{:?}", command);
            let (first, second) =
                runtime.block_on(async { (one.record().await, other.record().await) });
            prop_assert_eq!(first, second, "after {:?}", command);
        }
        Ok(())
    };
    runner.run(&commands, agree).unwrap();
}
