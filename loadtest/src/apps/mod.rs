//! Apps on the SDK, with tools that take a known time and note each run.

mod ledger;
mod work;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clientmcp_sdk::{App, Status};
use futures_util::{StreamExt as _, stream};

pub use ledger::{Ledger, Run};
pub use work::{ALL, Answer, Work};

use crate::agents::Tokens;

/// Apps that connect at the same time while a fleet starts; below what one node admits.
const CONNECTING: usize = 100;
/// An app that is not online by then does not come online.
const ONLINE_WITHIN: Duration = Duration::from_secs(60);

/// The client ID of an app by its number.
#[must_use]
pub fn client_id(app: u32) -> String {
    format!("app-{app}")
}

/// Connected apps, by number.
#[derive(Debug)]
pub struct Fleet {
    apps: Vec<App>,
}

impl Fleet {
    /// Connects this many apps, through these URLs in turn; all are online when this returns.
    ///
    /// # Errors
    /// One of them does not come online.
    pub async fn start(
        count: u32,
        urls: &[String],
        tokens: &Tokens,
        ledger: &Arc<Ledger>,
    ) -> anyhow::Result<Self> {
        ensure!(!urls.is_empty(), "there is nothing to connect to");
        let connecting = stream::iter(0..count).map(|number| {
            let url = &urls[number as usize % urls.len()];
            let instance = format!("first-{number}");
            async move {
                let app = connect(number, &instance, url, tokens, ledger);
                online(&app).await.with_context(|| client_id(number))?;
                anyhow::Ok(app)
            }
        });
        let mut connecting = connecting.buffered(CONNECTING);
        let mut apps = Vec::with_capacity(count as usize);
        while let Some(app) = connecting.next().await {
            apps.push(app?);
        }
        Ok(Self { apps })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.apps.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.apps.is_empty()
    }

    /// How many are online, as they see it themselves.
    #[must_use]
    pub fn online(&self) -> usize {
        let online = |app: &&App| matches!(*app.status().borrow(), Status::Online(_));
        self.apps.iter().filter(online).count()
    }

    /// What each app that is not online says of its connection.
    #[must_use]
    pub fn away(&self) -> Vec<String> {
        let away = |(number, app): (usize, &App)| match &*app.status().borrow() {
            Status::Online(_) => None,
            status => Some(format!("app-{number} is not online: {status:?}")),
        };
        self.apps.iter().enumerate().filter_map(away).collect()
    }
}

/// Connects an app: one run of the program behind a client ID.
#[must_use]
pub fn connect(
    number: u32,
    instance: &str,
    url: &str,
    tokens: &Tokens,
    ledger: &Arc<Ledger>,
) -> App {
    let builder = App::builder(url)
        .token(tokens.app(&client_id(number)))
        .instance(instance)
        .server_info("loadtest", env!("CARGO_PKG_VERSION"))
        .tools(work::tools(number, instance, ledger));
    builder.connect()
}

/// Waits until agents can call it.
///
/// # Errors
/// It stops, or takes too long.
pub async fn online(app: &App) -> anyhow::Result<()> {
    match tokio::time::timeout(ONLINE_WITHIN, app.online()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(stopped)) => bail!("{stopped}"),
        Err(_) => bail!("not online after {ONLINE_WITHIN:?}"),
    }
}
