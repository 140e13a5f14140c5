//! Two instances of one app register at nearly the same time, each at a node of its own (in direct
//! mode, so that it is known at which). One of them is the newest; it alone must be left.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clientmcp_sdk::{App, Status};
use futures_util::future::join_all;
use rand::RngExt as _;
use tokio::time::Instant;

use crate::agents::{Agents, Style, Tokens};
use crate::apps::{self, Ledger, Work, client_id};
use crate::audit::{Book, Durations};
use crate::chaos::stage::Stage;
use crate::process::{Answer, Redis, Signal};

/// Between the two, at most.
const APART_MS: u64 = 20;
/// The store is slow, or away, for so long.
const TROUBLE: Duration = Duration::from_millis(1_500);
/// It is clear by then who is left: the store may be away, and the SDK backs off.
const SETTLED_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// One app with its present instance.
#[derive(Debug)]
struct Lane {
    app: u32,
    present: Option<App>,
}

/// What a takeover needs.
struct Place<'a> {
    urls: [String; 2],
    tokens: &'a Tokens,
    ledger: &'a Arc<Ledger>,
    agents: &'a Agents,
    book: &'a Book,
    redis: &'a Redis,
}

/// What is done to the store during a takeover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    Slow,
    Away,
}

pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let lanes = stage.sizes.apps.max(1);
    let mut lanes: Vec<Lane> = (0..lanes).map(|app| Lane { app, present: None }).collect();
    let mut took = Durations::none();
    let mut done = 0;
    let mut wave = 0;
    while done < stage.sizes.times {
        let trouble = match stage.rng.random_range(0..20) {
            0 | 1 => Trouble::Slow,
            2 => Trouble::Away,
            _ => Trouble::None,
        };
        let mut draw = || (stage.rng.random_range(0..=APART_MS), stage.rng.random());
        let draws: Vec<(u64, bool)> = lanes.iter().map(|_| draw()).collect();
        let place = Place {
            urls: [0, 1].map(|node: usize| stage.cluster.nodes[node].public_url()),
            tokens: &stage.tokens,
            ledger: &stage.ledger,
            agents: &stage.agents,
            book: &stage.book,
            redis: &stage.cluster.redis,
        };
        let takeovers = lanes.iter_mut().zip(draws).map(|(lane, (apart, swap))| {
            let apart = Duration::from_millis(apart);
            place.takeover(lane, wave, apart, swap)
        });
        let (troubled, results) = tokio::join!(make(&place, trouble), join_all(takeovers));
        troubled?;
        for result in results {
            done += 1;
            match result {
                Ok(time) => took.record(time),
                Err(error) => {
                    stage.failed += 1;
                    stage.complain(format!("takeover {done} (store: {trouble:?}): {error:#}"));
                }
            }
        }
        wave += 1;
    }
    let summary = took.summary();
    stage.note(format!(
        "{done} takeovers; until it was clear who is left: p50 {:.0} ms, p99 {:.0} ms, longest {:.0} ms",
        summary.p50_ms, summary.p99_ms, summary.max_ms
    ));
    for lane in lanes {
        if let Some(app) = lane.present {
            app.close().await;
        }
    }
    Ok(())
}

async fn make(place: &Place<'_>, trouble: Trouble) -> anyhow::Result<()> {
    match trouble {
        Trouble::None => {}
        Trouble::Slow => {
            let ms = TROUBLE.as_millis().to_string();
            place.redis.ask(&["CLIENT", "PAUSE", &ms, "ALL"]).await?;
        }
        Trouble::Away => {
            place.redis.signal(Signal::Stop).await?;
            tokio::time::sleep(TROUBLE).await;
            place.redis.signal(Signal::Continue).await?;
        }
    }
    Ok(())
}

impl Place<'_> {
    /// Connects two instances; checks that one is left, that it serves, and that the store's
    /// record names it. Returns how long it took until it was clear which.
    async fn takeover(
        &self,
        lane: &mut Lane,
        wave: u32,
        apart: Duration,
        swap: bool,
    ) -> anyhow::Result<Duration> {
        let app = lane.app;
        let begin = |which: usize| {
            let instance = format!("w{wave}-{which}");
            let url = &self.urls[which ^ usize::from(swap)];
            apps::connect(app, &instance, url, self.tokens, self.ledger)
        };
        let began = Instant::now();
        let first = begin(0);
        tokio::time::sleep(apart).await;
        let first_was_online = is_online(&first);
        let second = begin(1);
        let former = lane.present.take();
        let left = settled(former.as_ref(), [&first, &second]).await?;
        let took = began.elapsed();
        let newest = if left == 0 { &first } else { &second };
        lane.present = Some(newest.clone());
        ensure!(
            left == 1 || !first_was_online,
            "the first instance was online before the second began, and took over from it"
        );
        self.check(app, &format!("w{wave}-{left}")).await?;
        Ok(took)
    }

    async fn check(&self, app: u32, instance: &str) -> anyhow::Result<()> {
        let style = Style {
            legacy: false,
            fresh: true,
        };
        let due = self.book.now();
        let call = self.agents.call(app, Work::Instant, style, due, false);
        let said = call.await;
        ensure!(
            said.instance.as_deref() == Some(instance),
            "{instance} is left; a call is answered: {}, by {:?}",
            said.outcome,
            said.instance
        );
        let key = format!("clientmcp:client:{{{}}}", client_id(app));
        let command = ["HMGET", &key, "instance", "departed"];
        let expected = Answer::List(vec![Answer::Text(instance.to_owned()), Answer::Nil]);
        // What was registered while the store was away is written when it is back.
        let deadline = Instant::now() + SETTLED_WITHIN;
        loop {
            let record = self.redis.ask(&command).await;
            match record {
                Ok(record) if record == expected => return Ok(()),
                record if Instant::now() >= deadline => {
                    bail!("{instance} is left; the store's record is {record:?}")
                }
                _ => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }
}

/// Which of two is left, once the other and the former instance have stopped.
async fn settled(former: Option<&App>, instances: [&App; 2]) -> anyhow::Result<usize> {
    let settling = async {
        loop {
            let former_stopped = former.is_none_or(is_stopped);
            match instances.map(is_stopped) {
                [true, true] => bail!("none is left"),
                [false, true] if former_stopped && is_online(instances[0]) => return Ok(0),
                [true, false] if former_stopped && is_online(instances[1]) => return Ok(1),
                _ => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    };
    let settled = tokio::time::timeout(SETTLED_WITHIN, settling).await;
    settled.with_context(|| {
        let state = |app: &App| format!("{:?}", *app.status().borrow());
        format!(
            "not settled after {SETTLED_WITHIN:?}: former {:?}, first {}, second {}",
            former.map(state),
            state(instances[0]),
            state(instances[1])
        )
    })?
}

fn is_online(app: &App) -> bool {
    matches!(*app.status().borrow(), Status::Online(_))
}

fn is_stopped(app: &App) -> bool {
    matches!(*app.status().borrow(), Status::Stopped(_))
}
