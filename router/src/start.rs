//! The router's start and stop.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clientmcp_cluster::admin::{self, AdminServer};
use clientmcp_cluster::listener::{Connections, serve};
use clientmcp_cluster::member::{Member, MemberState, Role};
use clientmcp_cluster::membership::{JoinError, Membership};
use clientmcp_cluster::store::{Store, StoreError};
use clientmcp_cluster::tasks::Tasks;
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::mcp::origin::{InvalidEntry, OriginPolicy};
use clientmcp_core::mcp::session::SessionKeys;
use prometheus::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::gateway::Gateway;
use crate::limits;
use crate::links::{ClusterKey, Links, Run};
use crate::listener::protocol;
use crate::metrics::Metrics;
use crate::placement::Placement;
use crate::registrations::Registrations;
use crate::request_body::Bodies;
use crate::tasks::{Tasks as Drives, take_over};
use crate::verified::Verified;
use crate::{fetch, routes, status};

/// The options by which an operator says where to listen.
const LISTEN: &str = "--listen";
const ADMIN_LISTEN: &str = "--admin-listen";

/// Why a router did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port cannot be had.
    #[error("{flag} {address}: {source}")]
    Listen {
        /// Where it was configured.
        flag: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// An allowed host or origin is none.
    #[error("--allowed-{what}: {0}", what = .0.what())]
    Origin(#[from] InvalidEntry),
    /// Another process has the router's name.
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

/// A running router. Dropping it stops it at once: streams and sockets end without a word.
pub struct Router {
    addr: SocketAddr,
    incarnation: Incarnation,
    gateway: Arc<Gateway>,
    membership: Arc<Membership>,
    connections: Connections,
    draining: Arc<AtomicBool>,
    admin: AdminServer,
    /// Ends what runs when the router is dropped.
    _abort: [DropGuard; 2],
    tasks: Tasks,
}

impl Router {
    /// Starts a router: when this returns, it serves.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(config: Config, store: Arc<dyn Store>) -> Result<Self, StartError> {
        // Bind first: a router that cannot be reached must not become a member.
        let listener = bind(LISTEN, config.listen).await?;
        let admin_listener = bind(ADMIN_LISTEN, config.admin_listen).await?;
        let addr = local(LISTEN, &listener, config.listen)?;
        let admin_addr = local(ADMIN_LISTEN, &admin_listener, config.admin_listen)?;
        let origins = OriginPolicy::new(
            addr.ip().is_loopback(),
            &config.allowed_hosts,
            &config.allowed_origins,
        )?;

        // Then become a member: from here on the view is known and kept.
        let registry = clientmcp_cluster::metrics::registry(Role::Router);
        let member = describe(&config, addr, admin_addr);
        let membership = join(&config, store.clone(), &member, &registry).await?;

        // Links next, so that the first agent finds them standing or on their way.
        let tasks = Tasks::new();
        let metrics = Arc::new(Metrics::new(&registry));
        let gateway = assemble(config, origins, &member, &membership, store, metrics);
        let draining = Arc::new(AtomicBool::new(false));
        follow_links(&tasks, &gateway, &membership);
        let (taking, stop) = (gateway.clone(), tasks.stop().clone());
        tasks.spawn("taking tasks over", take_over(taking, stop));

        // Operators may look before the world may ask.
        let admin = serve_operators(
            admin_listener,
            registry,
            &gateway,
            &membership,
            member.clone(),
            draining.clone(),
        )
        .map_err(|source| StartError::Listen {
            flag: ADMIN_LISTEN,
            address: admin_addr,
            source,
        })?;

        // Serve last.
        let abort = [
            gateway.abort.clone().drop_guard(),
            tasks.stop().clone().drop_guard(),
        ];
        let connections = Connections::new(gateway.config.max_connections, &gateway.abort);
        serve_world(&tasks, listener, &connections, &gateway);
        tracing::info!(member = %member.id, incarnation = %member.incarnation, %addr, %admin_addr,
            "router started");
        Ok(Self {
            addr,
            incarnation: member.incarnation,
            gateway,
            membership,
            connections,
            draining,
            admin,
            _abort: abort,
            tasks,
        })
    }

    /// Where agents and apps connect.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where operators connect.
    #[must_use]
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin.addr()
    }

    /// This run of the router.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Resolves, with what went wrong, if the router cannot go on: a part of it ended unasked.
    /// The process should stop then.
    pub async fn failed(&self) -> String {
        tokio::select! {
            task = self.tasks.failed() => format!("the task \"{task}\" ended unasked"),
            failure = self.membership.failed() => failure.to_string(),
        }
    }

    /// Stops gracefully: calls under way end, streams end with their last word, apps move on.
    pub async fn stop(self) {
        let timings = &self.gateway.config.timings;
        // Say so first, and go on as before until load balancers have noticed.
        self.draining.store(true, Ordering::Relaxed);
        if let Err(error) = self.membership.set_state(MemberState::Draining).await {
            tracing::debug!(%error, "the store does not know yet that this router drains");
        }
        tokio::time::sleep(timings.pre_drain).await;

        // Apps whose sockets come through this router move to others while their calls go on.
        self.gateway.links.announce_drain(timings.drain / 3);

        // Long-lived streams end now, calls when they are answered, and those sockets of apps that
        // have not moved by then; new connections find nobody.
        self.gateway.closing.cancel();
        self.gateway.tunnels.close();
        self.gateway.errands.close();
        tokio::join!(
            self.connections.drain(timings.drain),
            wait(&self.gateway.tunnels, timings.drain),
            wait(&self.gateway.errands, timings.drain),
        );

        // Nothing needs the cluster any more.
        self.membership.leave().await;
        self.tasks.end().await;
        self.admin.stop().await;
        tracing::info!("router stopped");
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router")
            .field("addr", &self.addr)
            .field("incarnation", &self.incarnation)
            .finish_non_exhaustive()
    }
}

async fn bind(flag: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| StartError::Listen {
            flag,
            address,
            source,
        })
}

fn local(
    flag: &'static str,
    listener: &TcpListener,
    address: SocketAddr,
) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|source| StartError::Listen {
        flag,
        address,
        source,
    })
}

fn describe(config: &Config, addr: SocketAddr, admin_addr: SocketAddr) -> Member {
    let address = config.advertise.clone().unwrap_or_else(|| addr.to_string());
    // Operators reach a router where others do, unless the port is bound to an address of its own.
    let admin_address = match address.rsplit_once(':') {
        Some((host, _)) if admin_addr.ip().is_unspecified() => {
            format!("{host}:{}", admin_addr.port())
        }
        _ => admin_addr.to_string(),
    };
    Member {
        id: config.member_id.clone(),
        incarnation: Incarnation(rand::random()),
        role: Role::Router,
        state: MemberState::Ready,
        address,
        admin_address,
        public_url: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

async fn join(
    config: &Config,
    store: Arc<dyn Store>,
    member: &Member,
    registry: &Registry,
) -> Result<Arc<Membership>, StartError> {
    let within = config.timings.connect_timeout * 2;
    // A router's name is asked for where operators ask.
    let probe = |other: Member| async move {
        let page = fetch::json(&other.admin_address, "/status", within).await?;
        page.get("incarnation")?.as_str()?.parse().ok()
    };
    let membership =
        Membership::start(store, member.clone(), &config.timings, registry, probe).await?;
    Ok(Arc::new(membership))
}

fn assemble(
    config: Config,
    origins: OriginPolicy,
    member: &Member,
    membership: &Membership,
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
) -> Arc<Gateway> {
    let timings = &config.timings;
    let links = Arc::new(Links::new(
        Run::of(member),
        ClusterKey::new(&config.secrets.cluster_key()),
        timings,
        metrics.clone(),
    ));
    let placement = Placement::new(links.clone(), membership.changed(), timings);
    let placement = Arc::new(placement);
    Arc::new(Gateway {
        origins,
        sessions: SessionKeys::new(&config.secrets),
        tokens: Verified::new(&config.secrets),
        links,
        registrations: Arc::new(Registrations::new(placement.clone(), metrics.clone())),
        placement,
        metrics,
        bodies: Bodies::new(),
        tunnels: TaskTracker::new(),
        tasks: Drives::new(store, member.incarnation, config.timings.task_lease),
        errands: TaskTracker::new(),
        closing: CancellationToken::new(),
        abort: CancellationToken::new(),
        config,
    })
}

fn follow_links(tasks: &Tasks, gateway: &Arc<Gateway>, membership: &Membership) {
    let (links, views) = (gateway.links.clone(), membership.changed());
    let stop = tasks.stop().clone();
    tasks.spawn("links", async move { links.follow(views, stop).await });
}

fn serve_operators(
    listener: TcpListener,
    registry: Registry,
    gateway: &Arc<Gateway>,
    membership: &Arc<Membership>,
    member: Member,
    draining: Arc<AtomicBool>,
) -> std::io::Result<AdminServer> {
    let ready = Arc::new({
        let gateway = gateway.clone();
        move || match draining.load(Ordering::Relaxed) {
            true => Err("draining".to_owned()),
            false => gateway.readiness(),
        }
    });
    let (gateway, membership) = (gateway.clone(), membership.clone());
    let status = Arc::new(move || {
        let page = status::page(gateway.clone(), membership.clone(), member.clone());
        Box::pin(page) as _
    });
    admin::serve(listener, registry, ready, status)
}

fn serve_world(
    tasks: &Tasks,
    listener: TcpListener,
    connections: &Connections,
    gateway: &Arc<Gateway>,
) {
    let (connections, gateway) = (connections.clone(), gateway.clone());
    let stop = tasks.stop().clone();
    tasks.spawn("listener", async move {
        let handle = move |request| routes::answer(gateway.clone(), request);
        let within = limits::FIRST_REQUEST_TIMEOUT;
        serve(listener, connections, protocol(), within, handle).await;
        // It ends when connections drain, which is earlier than all others.
        stop.cancelled().await;
    });
}

async fn wait(tunnels: &TaskTracker, within: Duration) {
    if tokio::time::timeout(within, tunnels.wait()).await.is_err() {
        tracing::info!(left = tunnels.len(), "dropping sockets that have not ended");
    }
}
