//! Agents: MCP over plain HTTP/1.1, in both eras, on a schedule that is fixed in advance. They
//! retry nothing.

mod balancer;
mod entry;
mod exchange;
mod load;
mod request;
mod schedule;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::StatusCode;

pub use balancer::{Backend, Balancer};
pub use entry::Entry;
pub use exchange::{Exchange, Pool, Response};
pub use load::Load;
pub use schedule::{Mix, Plan, Planned, Schedule};
pub use tokens::Tokens;

use crate::apps::{Work, client_id};
use crate::audit::{Ask, Book, Outcome, Said, classify};
use request::Request;

/// Longer than any call may take.
const PATIENCE: Duration = Duration::from_secs(150);
/// Apps of this number and above have modern agents alone: sessions take a while to begin.
const LEGACY_APPS: u32 = 100;
/// Sessions that begin at the same time.
const BEGINNING: usize = 16;

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// In a session of a 2025 revision, where the app's agent has one.
    pub legacy: bool,
    /// On a connection of its own.
    pub fresh: bool,
}

/// The agents of all apps.
#[derive(Debug)]
pub struct Agents {
    entry: Entry,
    tokens: Vec<String>,
    /// Of the first apps.
    sessions: Vec<String>,
    pool: Pool,
    book: Arc<Book>,
}

impl Agents {
    /// An agent for each app; those of the first that are online begin their sessions.
    ///
    /// # Errors
    /// A session cannot be begun.
    pub async fn start(
        entry: Entry,
        apps: u32,
        online: u32,
        tokens: &Tokens,
        book: &Arc<Book>,
    ) -> anyhow::Result<Self> {
        let mut agents = Self {
            entry,
            tokens: (0..apps).map(|app| tokens.agent(&client_id(app))).collect(),
            sessions: Vec::new(),
            pool: Pool::default(),
            book: book.clone(),
        };
        let sessions = stream::iter(0..online.min(LEGACY_APPS)).map(|app| agents.begin(app));
        agents.sessions = sessions.buffered(BEGINNING).try_collect().await?;
        Ok(agents)
    }

    /// Calls an app's tool and waits for the answer, which is noted in the book. `due` is when
    /// the call was to be made, since the start of the run.
    pub async fn call(
        &self,
        app: u32,
        work: Work,
        style: Style,
        due: Duration,
        probe: bool,
    ) -> Said {
        let session = self.sessions.get(app as usize).filter(|_| style.legacy);
        let tag = self.book.begin(Ask {
            app,
            work,
            legacy: session.is_some(),
            probe,
            due,
        });
        let token = &self.tokens[app as usize];
        let request = match session {
            Some(session) => Request::legacy_call(token, session, tag, work.tool()),
            None => Request::modern_call(token, tag, work.tool()),
        };
        let target = self.entry.pick(tag);
        let (exchange, router) = self.send(target, &request, style.fresh).await;
        let said = classify(tag, &client_id(app), exchange);
        self.book.end(tag, said.outcome.clone(), router);
        said
    }

    /// Waits for no answer any more on connections that are kept alive.
    pub fn hang_up(&self) {
        self.pool.clear();
    }

    async fn send(
        &self,
        target: SocketAddr,
        request: &Request,
        fresh: bool,
    ) -> (Exchange, Option<SocketAddr>) {
        let exchange = self.pool.exchange(target, request, fresh);
        let exchange = match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(exchange) => exchange,
            Err(_) => Exchange::broken("no answer in time"),
        };
        let router = self.entry.router(target, exchange.local);
        (exchange, router)
    }

    /// Initializes a session for an app's agent; returns its ID.
    async fn begin(&self, app: u32) -> anyhow::Result<String> {
        let begin = async {
            let token = &self.tokens[app as usize];
            let initialize = Request::initialize(token);
            let target = self.entry.pick(u64::from(app));
            let (exchange, _) = self.send(target, &initialize, true).await;
            let answer = exchange.answer.map_err(anyhow::Error::msg)?;
            ensure!(answer.status == StatusCode::OK, "{}", answer.status);
            let session = answer.session.context("there is no session ID")?;
            let (exchange, _) = self
                .send(target, &Request::initialized(token, &session), true)
                .await;
            let answer = exchange.answer.map_err(anyhow::Error::msg)?;
            ensure!(answer.status == StatusCode::ACCEPTED, "{}", answer.status);
            Ok(session)
        };
        begin.await.context("initialize")
    }
}

impl Said {
    /// Whether the app answered.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.outcome == Outcome::Ok
    }
}
