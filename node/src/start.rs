//! How a node starts and stops.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::admin::{self, AdminServer};
use clientmcp_cluster::listener::{Connections, serve};
use clientmcp_cluster::member::{Member, MemberState, Role};
use clientmcp_cluster::membership::{JoinError, Membership};
use clientmcp_cluster::metrics::registry as metrics_registry;
use clientmcp_cluster::store::{Store, StoreError};
use clientmcp_cluster::tasks::Tasks;
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::mcp::origin::{InvalidEntry, OriginPolicy};
use clientmcp_proto::headers;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Status;
use tower_service::Service as _;

use crate::bridge::Bridge;
use crate::claims;
use crate::config::Config;
use crate::drain;
use crate::limits;
use crate::listener::{Response, protocol};
use crate::moving;
use crate::peers::Peers;
use crate::relay;
use crate::state::NodeState;
use crate::status;
use crate::upgrade::{self, Door};

/// Why a node could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port cannot be had.
    #[error("{flag} {addr}: {error}")]
    Bind {
        /// The flag that names it.
        flag: &'static str,
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// An allowed origin cannot be read.
    #[error("--allowed-origin: {0}")]
    Origin(#[from] InvalidEntry),
    /// Another process has the node's name.
    #[error("--id {id}: another process with this ID answers at {address}")]
    NameTaken {
        /// The name.
        id: MemberId,
        /// Where the other process answers.
        address: String,
    },
    /// The store cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<JoinError> for StartError {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Taken { id, address } => Self::NameTaken { id, address },
            JoinError::Store(error) => Self::Store(error),
        }
    }
}

/// What the server for operators waits for.
type StatusAnswer = Pin<Box<dyn Future<Output = serde_json::Value> + Send>>;

/// A running node. Dropping it stops it at once: sockets and links end without a word.
#[derive(Debug)]
pub struct Node {
    state: Arc<NodeState>,
    addr: SocketAddr,
    public_addr: Option<SocketAddr>,
    admin: AdminServer,
    tasks: Tasks,
    connections: Vec<Connections>,
    /// Ends what runs when the node is dropped.
    abort: [DropGuard; 2],
}

impl Node {
    /// Starts a node.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start(config: Config, store: Arc<dyn Store>) -> Result<Self, StartError> {
        // Ports first: all that follows tells others where this node is, and a port that is taken
        // must be noticed before anybody was told.
        let listener = bind("--listen", config.listen).await?;
        let admin_listener = bind("--admin-listen", config.admin_listen).await?;
        let public_listener = match config.public_listen {
            Some(addr) => Some(bind("--public-listen", addr).await?),
            None => None,
        };
        let addr = local_addr(&listener, "--listen", config.listen)?;
        let admin_addr = local_addr(&admin_listener, "--admin-listen", config.admin_listen)?;
        let public = match (&public_listener, config.public_listen) {
            (Some(listener), Some(addr)) => {
                let addr = local_addr(listener, "--public-listen", addr)?;
                // A proxy on this host passes on the name by which apps reach it.
                let hosts = public_host(&config);
                let policy =
                    OriginPolicy::new(addr.ip().is_loopback(), &hosts, &config.allowed_origins)?;
                Some((addr, policy))
            }
            _ => None,
        };
        let public_addr = public.as_ref().map(|(addr, _)| *addr);

        // From here on the node is on the ring. Routers that come before it serves wait in the
        // listener's backlog.
        let registry = metrics_registry(Role::Node);
        let incarnation = Incarnation(rand::random());
        let peers = Peers::new(&config.secrets, &config.timings);
        let member = describe(&config, incarnation, addr, admin_addr, public_addr);
        let probe = |other: Member| {
            let peers = &peers;
            async move { peers.identify(&other.address).await.ok() }
        };
        let address = member.address.clone();
        let membership =
            Membership::start(store.clone(), member, &config.timings, &registry, probe).await?;
        let state = Arc::new(NodeState::new(
            &config,
            incarnation,
            address,
            store,
            membership,
            peers,
            &registry,
        ));
        state.mark.set(&*state.store).await?;

        // The tasks that keep what the node holds.
        let tasks = Tasks::new();
        tasks.spawn(
            "keeping claims",
            until_told(tasks.stop().clone(), claims::keep(state.clone())),
        );
        tasks.spawn(
            "moving apps",
            until_told(tasks.stop().clone(), moving::rebalance(state.clone())),
        );

        // Serving last: whoever is answered finds everything in place.
        let mut node = Self {
            admin: serve_admin(&state, admin_listener, registry, config.admin_listen)?,
            abort: [
                state.abort.clone().drop_guard(),
                tasks.stop().clone().drop_guard(),
            ],
            connections: Vec::new(),
            state,
            addr,
            public_addr,
            tasks,
        };
        node.serve_internal(listener);
        if let (Some(listener), Some((_, policy))) = (public_listener, public) {
            node.serve_public(listener, policy);
        }
        tracing::info!(node = %node.state.member_id, incarnation = %incarnation, %addr, "node started");
        Ok(node)
    }

    /// Where the internal port is.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where the public port is, if there is one.
    #[must_use]
    pub fn public_addr(&self) -> Option<SocketAddr> {
        self.public_addr
    }

    /// Where the port for operators is.
    #[must_use]
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin.addr()
    }

    /// This run of the node.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.state.incarnation
    }

    /// Resolves, with the reason, if a part of the node ends although nobody told it to: the
    /// process has to stop then.
    pub async fn failed(&self) -> String {
        tokio::select! {
            task = self.tasks.failed() => format!("the task \"{task}\" has ended"),
            failure = self.state.membership.failed() => failure.to_string(),
        }
    }

    /// Stops. While others may not have noticed yet, for
    /// [`Timings::pre_drain`](clientmcp_core::timings::Timings::pre_drain), what is here is served
    /// as before; then apps move to other nodes, and calls end, within
    /// [`Timings::drain`](clientmcp_core::timings::Timings::drain); and some seconds more.
    /// Dropping the future stops at once.
    pub async fn stop(self) {
        let Self {
            state,
            admin,
            tasks,
            connections,
            abort,
            ..
        } = self;
        // No new sockets, and off the ring, so that apps that are told to come back find others.
        state.draining.cancel();
        let draining = state.membership.set_state(MemberState::Draining);
        if !matches!(timeout(limits::STORE_WAIT, draining).await, Ok(Ok(()))) {
            tracing::debug!("the store was not told of the drain");
        }
        drain::let_go(&state).await;
        // Routers get the last answers; what the store must know is told.
        state.end_links.cancel();
        state.errands.close();
        let _ = timeout(limits::STORE_WAIT, state.errands.wait()).await;
        let _ = timeout(limits::STORE_WAIT, state.membership.leave()).await;
        // Listeners at last: until now, others could ask where an app is.
        for connections in &connections {
            connections.drain(Duration::from_secs(1)).await;
        }
        tasks.end().await;
        admin.stop().await;
        drop(abort);
        tracing::info!(node = %state.member_id, "node stopped");
    }

    fn serve_internal(&mut self, listener: TcpListener) {
        let state = self.state.clone();
        let bridge = Bridge::server(state.clone());
        self.serve("internal listener", listener, move |request| {
            let (state, mut bridge) = (state.clone(), bridge.clone());
            async move {
                if let Some(refusal) = check_cluster_key(&state, &request) {
                    return refusal;
                }
                if request.uri().path() == headers::RELAY_PATH {
                    return relay::answer(&state, request).await;
                }
                if request.version() != http::Version::HTTP_2 {
                    return upgrade::plain(http::StatusCode::NOT_FOUND, "not found");
                }
                match bridge.call(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
        });
    }

    fn serve_public(&mut self, listener: TcpListener, policy: OriginPolicy) {
        let state = self.state.clone();
        let door = Door::Public(Arc::new(policy));
        self.serve("public listener", listener, move |request| {
            std::future::ready(upgrade::answer(&state, &door, request))
        });
    }

    fn serve<H, A>(&mut self, name: &'static str, listener: TcpListener, handle: H)
    where
        H: Fn(http::Request<Incoming>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Response> + Send + 'static,
    {
        let connections = Connections::new(limits::CONNECTIONS, &self.state.abort);
        self.connections.push(connections.clone());
        let protocol = protocol(&self.state.timings);
        let within = limits::FIRST_REQUEST_TIMEOUT;
        let serving = serve(listener, connections, protocol, within, handle);
        let stop = self.tasks.stop().clone();
        self.tasks.spawn(name, async move {
            serving.await;
            // It ends when the connections drain, which is before the tasks are told to end.
            stop.cancelled().await;
        });
    }
}

/// The host of the public URL, if there is one.
fn public_host(config: &Config) -> Vec<String> {
    let url = config.public_url.as_deref().unwrap_or_default();
    let uri = url.parse::<http::Uri>().unwrap_or_default();
    uri.host().map(str::to_owned).into_iter().collect()
}

/// Runs a task that never ends by itself.
async fn until_told(stop: CancellationToken, task: impl Future<Output = ()>) {
    tokio::select! {
        () = task => {}
        () = stop.cancelled() => {}
    }
}

async fn bind(flag: &'static str, addr: SocketAddr) -> Result<TcpListener, StartError> {
    let bound = TcpListener::bind(addr).await;
    bound.map_err(|error| StartError::Bind { flag, addr, error })
}

fn local_addr(
    listener: &TcpListener,
    flag: &'static str,
    addr: SocketAddr,
) -> Result<SocketAddr, StartError> {
    let local = listener.local_addr();
    local.map_err(|error| StartError::Bind { flag, addr, error })
}

/// The node as the others see it.
fn describe(
    config: &Config,
    incarnation: Incarnation,
    addr: SocketAddr,
    admin_addr: SocketAddr,
    public_addr: Option<SocketAddr>,
) -> Member {
    let address = config.advertise.clone().unwrap_or_else(|| addr.to_string());
    let public_url = public_addr.map(|addr| {
        let url = config.public_url.clone();
        url.unwrap_or_else(|| format!("ws://{}{}", reachable(addr, &address), upgrade::PATH))
    });
    Member {
        id: config.member_id.clone(),
        incarnation,
        role: Role::Node,
        state: MemberState::Ready,
        admin_address: reachable(admin_addr, &address),
        address,
        public_url,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Where others reach a port: an unspecified address means every one of this host, so its name
/// is taken from where they reach the other port.
fn reachable(addr: SocketAddr, advertised: &str) -> String {
    match advertised.rsplit_once(':') {
        Some((host, _)) if addr.ip().is_unspecified() => format!("{host}:{}", addr.port()),
        _ => addr.to_string(),
    }
}

fn serve_admin(
    state: &Arc<NodeState>,
    listener: TcpListener,
    registry: prometheus::Registry,
    addr: SocketAddr,
) -> Result<AdminServer, StartError> {
    let ready = {
        let state = state.clone();
        Arc::new(move || status::ready(&state))
    };
    let status = {
        let state = state.clone();
        Arc::new(move || -> StatusAnswer {
            let status = status::status(&state);
            Box::pin(std::future::ready(status))
        })
    };
    let flag = "--admin-listen";
    admin::serve(listener, registry, ready, status).map_err(|error| StartError::Bind {
        flag,
        addr,
        error,
    })
}

/// Whoever comes to the internal port belongs to the cluster, or gets nothing from it.
fn check_cluster_key(state: &NodeState, request: &http::Request<Incoming>) -> Option<Response> {
    let shown = request.headers().get(headers::CLUSTER_KEY);
    let shown = shown.and_then(|key| key.to_str().ok());
    if shown.is_some_and(|key| state.secrets.is_cluster_key(key)) {
        return None;
    }
    let refused = "this port is for processes of the cluster";
    tracing::debug!("request without the cluster's key");
    Some(if request.version() == http::Version::HTTP_2 {
        Status::unauthenticated(refused).into_http()
    } else {
        upgrade::plain(http::StatusCode::FORBIDDEN, refused)
    })
}
