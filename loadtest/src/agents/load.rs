//! The load: calls as the schedule says, whatever became of those before.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::schedule::{Plan, Schedule};
use super::{Agents, Style};
use crate::apps::Work;
use crate::audit::Book;

/// Between the answer to a probe that failed and the next.
const PROBE_AGAIN: Duration = Duration::from_millis(50);
/// Probes of one fault begin at this rate at most, so that they are no storm of their own.
const PROBES_PER_SECOND: f64 = 2_000.0;
/// An app that is not back by then does not come back.
const PROBE_FOR: Duration = Duration::from_secs(60);

/// Calls that are made until it is stopped.
#[derive(Debug)]
pub struct Load {
    agents: Arc<Agents>,
    book: Arc<Book>,
    stopping: CancellationToken,
    calls: TaskTracker,
}

impl Load {
    /// Begins the sequence of a seed.
    #[must_use]
    pub fn start(agents: Arc<Agents>, book: Arc<Book>, seed: u64, plan: Plan) -> Self {
        let load = Self {
            agents,
            book,
            stopping: CancellationToken::new(),
            calls: TaskTracker::new(),
        };
        let making = make(
            load.agents.clone(),
            load.book.clone(),
            load.calls.clone(),
            Schedule::new(seed, plan),
        );
        tokio::spawn(load.stopping.clone().run_until_cancelled_owned(making));
        load
    }

    /// Calls each of these apps until it answers, which says how long it could not be called.
    /// Like every call these are noted in the book.
    pub fn probe(&self, apps: &[u32]) {
        for (index, &app) in apps.iter().enumerate() {
            let (agents, book) = (self.agents.clone(), self.book.clone());
            let delay = Duration::from_secs_f64(index as f64 / PROBES_PER_SECOND);
            self.calls.spawn(async move {
                tokio::time::sleep(delay).await;
                let deadline = Instant::now() + PROBE_FOR;
                let style = Style {
                    legacy: false,
                    fresh: true,
                };
                while Instant::now() < deadline {
                    let due = book.now();
                    let said = agents.call(app, Work::Instant, style, due, true).await;
                    if said.is_ok() {
                        return;
                    }
                    tokio::time::sleep(PROBE_AGAIN).await;
                }
            });
        }
    }

    /// Makes no more calls, and waits until each has its answer or none.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.calls.close();
        self.calls.wait().await;
        self.agents.hang_up();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

async fn make(agents: Arc<Agents>, book: Arc<Book>, calls: TaskTracker, schedule: Schedule) {
    let began = Instant::now();
    let offset = book.now();
    for planned in schedule {
        tokio::time::sleep_until(began + planned.at).await;
        let agents = agents.clone();
        calls.spawn(async move {
            let due = offset + planned.at;
            let style = planned.style;
            agents
                .call(planned.app, planned.work, style, due, false)
                .await
        });
    }
}
