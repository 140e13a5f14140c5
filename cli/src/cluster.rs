//! A whole cluster in this process: what `clientmcp dev` runs, and what scenario tests start.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clientmcp_cluster::store::Store;
use clientmcp_cluster::store::memory::MemoryStore;
use clientmcp_core::ids::{ClientId, MemberId};
use clientmcp_core::secret::Secrets;
use clientmcp_core::timings::Timings;
use clientmcp_node::Node;
use clientmcp_router::Router;

use crate::demo::{Demo, Session};

/// What a cluster is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the first router listens; further ones take free ports of the same address.
    pub listen: SocketAddr,
    /// Where the first router's admin server listens.
    pub admin_listen: SocketAddr,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of routers.
    pub routers: usize,
    /// The cluster's secrets.
    pub secrets: Secrets,
    /// Its intervals.
    pub timings: Timings,
    /// The client ID that [`Cluster::session`] speaks of.
    pub client_id: ClientId,
    /// How long the tokens of [`Cluster::session`] are valid.
    pub token_ttl: Duration,
    /// Origins of pages that may call, beside loopback and the router's own host.
    pub allowed_origins: Vec<String>,
}

impl Options {
    /// One router and three nodes on free loopback ports.
    #[must_use]
    pub fn new(secrets: Secrets, client_id: ClientId) -> Self {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            listen: loopback,
            admin_listen: loopback,
            nodes: 3,
            routers: 1,
            secrets,
            timings: Timings::default(),
            client_id,
            token_ttl: Duration::from_secs(24 * 3600),
            allowed_origins: Vec::new(),
        }
    }
}

/// A running cluster. Dropping it drops its processes' tasks; [`Cluster::stop`] ends them in order.
pub struct Cluster {
    routers: Vec<Router>,
    nodes: Vec<Node>,
    demo: Arc<Demo>,
}

impl Cluster {
    /// Starts it on a store of its own; it serves when this returns.
    ///
    /// # Errors
    /// What kept a member from starting, with the flag that would change it.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        Self::start_on(Arc::new(MemoryStore::new()), options).await
    }

    /// Starts it on a given store, so that tests can look into it or break it.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub async fn start_on(store: Arc<dyn Store>, options: Options) -> anyhow::Result<Self> {
        // Nodes first: a router is ready once the ring has somebody on it.
        let mut nodes = Vec::with_capacity(options.nodes);
        for number in 1..=options.nodes {
            let mut config =
                clientmcp_node::Config::new(member_id("node", number)?, options.secrets.clone());
            config.timings = options.timings;
            config.allowed_origins.clone_from(&options.allowed_origins);
            nodes.push(
                Node::start(config, store.clone())
                    .await
                    .with_context(|| format!("node-{number}"))?,
            );
        }

        // The first router's address is in what the demo hands out, and the demo is in the
        // router's configuration: the listener tells it once it is bound.
        let demo = Arc::new(Demo::new(
            options.secrets.clone(),
            options.client_id.clone(),
            options.token_ttl,
        ));
        let mut routers = Vec::with_capacity(options.routers);
        for number in 1..=options.routers {
            let mut config = clientmcp_router::Config::new(
                member_id("router", number)?,
                options.secrets.clone(),
            );
            config.timings = options.timings;
            config.allowed_origins.clone_from(&options.allowed_origins);
            if number == 1 {
                config.listen = options.listen;
                config.admin_listen = options.admin_listen;
                let demo = demo.clone();
                config.extra = Some(Arc::new(move |head| demo.respond(head)));
            } else {
                config.listen.set_ip(options.listen.ip());
            }
            let router = Router::start(config, store.clone())
                .await
                .with_context(|| format!("router-{number}"))?;
            if number == 1 {
                demo.serve_at(router.addr(), router.admin_addr());
            }
            routers.push(router);
        }
        Ok(Self {
            routers,
            nodes,
            demo,
        })
    }

    /// Addresses, and tokens for the cluster's client ID that begin now.
    #[must_use]
    pub fn session(&self) -> Session {
        self.demo.session()
    }

    /// The routers, in the order of their numbers.
    #[must_use]
    pub fn routers(&self) -> &[Router] {
        &self.routers
    }

    /// The nodes, in the order of their numbers.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Takes a node out, to be stopped by the caller.
    pub fn take_node(&mut self, index: usize) -> Node {
        self.nodes.remove(index)
    }

    /// Takes a router out, to be stopped by the caller.
    pub fn take_router(&mut self, index: usize) -> Router {
        self.routers.remove(index)
    }

    /// Waits until a member ends unasked, which is fatal, and says why.
    pub async fn failed(&self) -> anyhow::Error {
        let nodes = self
            .nodes
            .iter()
            .map(|node| Box::pin(async { anyhow::Error::msg(node.failed().await) }) as Failing<'_>);
        let routers = self.routers.iter().map(|router| {
            Box::pin(async { anyhow::Error::msg(router.failed().await) }) as Failing<'_>
        });
        let (error, _, _) = futures_util::future::select_all(nodes.chain(routers)).await;
        error
    }

    /// Stops it: routers first, so that agents' streams end before the apps are told to go.
    pub async fn stop(self) {
        futures_util::future::join_all(self.routers.into_iter().map(Router::stop)).await;
        futures_util::future::join_all(self.nodes.into_iter().map(Node::stop)).await;
    }
}

/// A member's failure, awaited beside the others'.
type Failing<'a> = std::pin::Pin<Box<dyn Future<Output = anyhow::Error> + Send + 'a>>;

fn member_id(role: &str, number: usize) -> anyhow::Result<MemberId> {
    Ok(MemberId::parse(&format!("{role}-{number}"))?)
}
