//! A cluster in this process, and who takes part in a scenario.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_cli::cluster::{Cluster, Options};
use clientmcp_cluster::store::{FaultyStore, MemoryStore};
use clientmcp_core::ids::ClientId;
use clientmcp_core::mcp::version::Version;
use clientmcp_core::timings::Timings;
use clientmcp_node::Node;
use clientmcp_router::Router;
use http::Method;

use crate::exchange::Request;
use crate::modern::Modern;
use crate::raw_app::{RawApp, registration, text_result, tool};
use crate::session::Session;
use crate::tokens::Tokens;
use crate::waiting::poll;

/// The client ID of a scenario that needs one alone.
pub const CLIENT: &str = "demo";

const SECRET: &str = "the secret of the end-to-end tests is long enough";

/// A running cluster, its store, and tokens for it.
pub struct Scenario {
    /// The cluster.
    pub cluster: Cluster,
    /// Its store, which counts what it is asked and fails on command.
    pub store: Arc<FaultyStore>,
    /// Tokens that it accepts.
    pub tokens: Tokens,
}

impl Scenario {
    /// Three routers and three nodes whose intervals are short.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// The same, changed by the test.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start_with(change: impl FnOnce(&mut Options)) -> Self {
        let tokens = Tokens::new(SECRET);
        let client = ClientId::parse(CLIENT).expect("it is a client ID");
        let mut options = Options::new(tokens.secrets(), client);
        options.routers = 3;
        options.timings = short_timings();
        change(&mut options);
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let cluster = Cluster::start_on(store.clone(), options)
            .await
            .expect("the cluster starts");
        Self {
            cluster,
            store,
            tokens,
        }
    }

    /// The address of a router, counted from 0 and around.
    #[must_use]
    pub fn router(&self, index: usize) -> SocketAddr {
        let routers = self.cluster.routers();
        routers[index % routers.len()].addr()
    }

    /// An app of [`CLIENT`] with these tools, registered through the first router.
    pub async fn app(&self, tools: &[&str]) -> RawApp {
        let mut app = RawApp::connect(self.router(0), &self.tokens.app(CLIENT)).await;
        let tools: Vec<String> = tools.iter().map(|name| tool(name)).collect();
        app.register(registration("app", &format!("[{}]", tools.join(","))))
            .await;
        app
    }

    /// An app of [`CLIENT`] whose one tool `echo` answers with its arguments as text.
    pub async fn echo(&self) -> crate::raw_app::Serving {
        self.app(&["echo"])
            .await
            .serve(|call| vec![call.result(&text_result(&call.arguments()))])
    }

    /// The sum of a metric over all its labels and all routers.
    pub async fn of_routers(&self, metric: &str) -> f64 {
        let members = self.cluster.routers().iter().map(Router::admin_addr);
        sum(members, metric).await
    }

    /// The sum of a metric over all its labels and all nodes. The name may go on with the first
    /// label: `name{label="value"`.
    pub async fn of_nodes(&self, metric: &str) -> f64 {
        let members = self.cluster.nodes().iter().map(Node::admin_addr);
        sum(members, metric).await
    }

    /// The index of the node that holds the one app.
    pub async fn holder(&self) -> usize {
        poll("a node holds the app", async || {
            for (index, node) in self.cluster.nodes().iter().enumerate() {
                let admin = std::iter::once(node.admin_addr());
                if sum(admin, "clientmcp_node_apps").await > 0.0 {
                    return Some(index);
                }
            }
            None
        })
        .await
    }

    /// A modern agent of [`CLIENT`].
    #[must_use]
    pub fn modern(&self) -> Modern {
        Modern::new(self.tokens.agent(CLIENT))
    }

    /// A session of [`CLIENT`] that was begun at the first router, and declares client capabilities
    /// (a JSON object).
    pub async fn capable_session(&self, version: Version, capabilities: &str) -> Session {
        let token = self.tokens.agent(CLIENT);
        Session::begin_with(self.router(0), &token, version, capabilities).await
    }

    /// A session of [`CLIENT`] that was begun at the first router.
    pub async fn session(&self, version: Version) -> Session {
        Session::begin(self.router(0), &self.tokens.agent(CLIENT), version).await
    }
}

async fn sum(members: impl Iterator<Item = SocketAddr>, metric: &str) -> f64 {
    let mut sum = 0.0;
    for admin in members {
        let page = Request::new(Method::GET, "/metrics")
            .send(admin)
            .await
            .bytes()
            .await;
        let page = String::from_utf8_lossy(&page).into_owned();
        assert!(page.contains("# TYPE"), "no metrics: {page}");
        for line in page.lines() {
            let (series, value) = line.rsplit_once(' ').unwrap_or((line, ""));
            let rest = series.strip_prefix(metric);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['{', ',', '}'])) {
                sum += value.parse::<f64>().expect("values of metrics are numbers");
            }
        }
    }
    sum
}

/// Short enough not to wait for, long enough not to be reached by chance on a busy machine. One
/// that stands still for seconds must lose no process of the cluster: raw apps do not come back.
fn short_timings() -> Timings {
    let ms = Duration::from_millis;
    Timings {
        lease: ms(60_000),
        probe_timeout: ms(60_000),
        stream_after: ms(300),
        task_after: ms(200),
        task_lease: ms(900),
        stream_comment: ms(300),
        grace: ms(500),
        grace_after_leaving: ms(300),
        early_cancel: ms(5_000),
        answer_kept: ms(2_000),
        round_pause: ms(100),
        pre_drain: ms(10),
        drain: ms(2_000),
        ..Timings::default()
    }
}
