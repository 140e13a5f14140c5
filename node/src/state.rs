//! What all tasks of a node share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use clientmcp_cluster::member::Member;
use clientmcp_cluster::membership::Membership;
use clientmcp_cluster::store::Store;
use clientmcp_core::close::Closing;
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::limits::CLAIM_TTL_MS;
use clientmcp_core::secret::Secrets;
use clientmcp_core::timings::Timings;
use clientmcp_core::token::{BearerToken, ScopeError, ServeGrant, TokenError, Verifier};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Admission;
use crate::answers::Answers;
use crate::asking::Question;
use crate::clock::{self, Clock};
use crate::config::Config;
use crate::connection::Connection;
use crate::content::Contents;
use crate::limits;
use crate::lookout::Lookouts;
use crate::mark::Mark;
use crate::metrics::Metrics;
use crate::peers::Peers;
use crate::registry::Registry;
use crate::waiting::Waiting;

/// One node.
#[derive(Debug)]
pub(crate) struct NodeState {
    /// The node's name.
    pub(crate) member_id: MemberId,
    /// This run of it.
    pub(crate) incarnation: Incarnation,
    /// Where others reach its internal port.
    pub(crate) address: String,
    pub(crate) timings: Arc<Timings>,
    pub(crate) secrets: Secrets,
    pub(crate) verifier: Verifier,
    pub(crate) clock: Clock,
    pub(crate) store: StoreHandle,
    pub(crate) membership: Membership,
    pub(crate) peers: Peers,
    pub(crate) registry: Arc<Registry>,
    pub(crate) contents: Contents,
    pub(crate) metrics: Metrics,
    /// Registers that are brought to the store at the same time.
    pub(crate) registers: Semaphore,
    /// Client IDs that are looked for in the store at the same time.
    pub(crate) lookups: Semaphore,
    /// Tunnels that may stand.
    pub(crate) tunnel_places: Arc<Semaphore>,
    /// App sockets and what they have begun, so that a stop can wait for them.
    pub(crate) sockets: TaskTracker,
    /// Releases and displacements under way.
    pub(crate) errands: TaskTracker,
    /// No new sockets are taken.
    pub(crate) draining: CancellationToken,
    /// Links end, once what they have to say is out.
    pub(crate) end_links: CancellationToken,
    /// Whatever still runs is dropped.
    pub(crate) abort: CancellationToken,
    /// Client IDs that are looked for.
    pub(crate) lookouts: Arc<Lookouts>,
    /// Calls that wait for their apps to come back.
    pub(crate) waiting: Arc<Waiting>,
    /// Agents' answers, and calls that wait for them.
    pub(crate) answers: Arc<Answers>,
    /// Lets registers in at a bounded rate.
    pub(crate) admission: Admission,
    /// Pauses of this process after which the claims were read again.
    pub(crate) pauses_mended: AtomicU64,
    /// A claim was made that is not written yet.
    pub(crate) unwritten: Notify,
    /// Others have the store and this node does not: its apps move to them.
    pub(crate) cut_off: AtomicBool,
    /// By what is noticed that the store has lost data.
    pub(crate) mark: Mark,
    /// Whether the store answers this node, and whether it answers any other.
    store_of_mine: Question<bool>,
    store_of_peers: Question<bool>,
    numbers: AtomicU64,
    open: Mutex<BTreeMap<u64, Weak<Connection>>>,
}

/// The store, with a `Debug` that shows nothing.
#[derive(Clone)]
pub(crate) struct StoreHandle(pub(crate) Arc<dyn Store>);

impl std::ops::Deref for StoreHandle {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl std::fmt::Debug for StoreHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl NodeState {
    pub(crate) fn new(
        config: &Config,
        incarnation: Incarnation,
        address: String,
        store: Arc<dyn Store>,
        membership: Membership,
        peers: Peers,
        registry: &prometheus::Registry,
    ) -> Self {
        let claim_ttl = Duration::from_millis(CLAIM_TTL_MS);
        let content_ttl = claim_ttl + config.timings.registration_retention;
        Self {
            member_id: config.member_id.clone(),
            incarnation,
            address,
            timings: Arc::new(config.timings),
            secrets: config.secrets.clone(),
            verifier: Verifier::new(&config.secrets),
            clock: Clock::start(),
            store: StoreHandle(store),
            membership,
            peers,
            registry: Arc::default(),
            contents: Contents::new(content_ttl),
            metrics: Metrics::new(registry),
            registers: Semaphore::new(limits::REGISTERS_AT_ONCE),
            lookups: Semaphore::new(limits::LOOKUPS_AT_ONCE),
            tunnel_places: Arc::new(Semaphore::new(limits::CONNECTIONS)),
            sockets: TaskTracker::new(),
            errands: TaskTracker::new(),
            draining: CancellationToken::new(),
            end_links: CancellationToken::new(),
            abort: CancellationToken::new(),
            lookouts: Arc::default(),
            waiting: Arc::default(),
            answers: Arc::default(),
            admission: Admission::new(),
            pauses_mended: AtomicU64::new(0),
            unwritten: Notify::new(),
            cut_off: AtomicBool::new(false),
            mark: Mark::new(incarnation, config.timings.lease),
            store_of_mine: Question::default(),
            store_of_peers: Question::default(),
            numbers: AtomicU64::new(1),
            open: Mutex::default(),
        }
    }

    /// Enters a socket that is served.
    pub(crate) fn enter_socket(&self, connection: &Arc<Connection>) {
        self.metrics.sockets.inc();
        let entry = Arc::downgrade(connection);
        self.open().insert(connection.number, entry);
    }

    /// Takes a socket off the list.
    pub(crate) fn leave_socket(&self, number: u64) {
        self.metrics.sockets.dec();
        self.open().remove(&number);
    }

    /// The sockets that are served, in the order in which they came.
    pub(crate) fn open_sockets(&self) -> Vec<Arc<Connection>> {
        self.open().values().filter_map(Weak::upgrade).collect()
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Connection>>> {
        // Nothing that runs under the lock panics half-way.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task that a stop waits for, and that is dropped with everything else when the node
    /// is.
    pub(crate) fn errand(
        &self,
        errand: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let abort = self.abort.clone();
        self.errands.spawn(async move {
            tokio::select! {
                biased;
                () = abort.cancelled() => {}
                () = errand => {}
            }
        })
    }

    /// Numbers sockets and links, for logs and for telling them apart.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a request is meant for this run of this node.
    pub(crate) fn is_me(&self, node: &str, incarnation: u64) -> bool {
        self.member_id.as_str() == node && self.incarnation.0 == incarnation
    }

    /// Whether nothing may be dispatched: the node was paused, or is just waking up, and what it
    /// holds may be out of date.
    pub(crate) fn is_fenced(&self) -> bool {
        let mended = self.pauses_mended.load(Ordering::Acquire);
        self.membership.is_late() || self.membership.pause_count() != mended
    }

    /// Whether others have the store and this node does not.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut_off.load(Ordering::Relaxed)
    }

    /// The other nodes that are there, as far as this one knows.
    pub(crate) fn other_nodes(&self) -> Vec<Member> {
        let view = self.membership.view();
        let others = view.nodes().filter(|node| node.id != self.member_id);
        others.cloned().collect()
    }

    /// Whether any other node has the store.
    pub(crate) async fn peers_have_store(&self) -> bool {
        let asking = async {
            let others = self.other_nodes();
            let asked = others.iter().map(|it| self.peers.has_store(&it.address));
            futures_util::future::join_all(asked).await.contains(&true)
        };
        self.store_of_peers.ask(limits::STORE_AGAIN, asking).await
    }

    /// Whether the store answers this node, as of now.
    pub(crate) async fn has_store(&self) -> bool {
        let asking = async {
            let asked = tokio::time::timeout(self.timings.heartbeat, self.store.ping());
            matches!(asked.await, Ok(Ok(_)))
        };
        self.store_of_mine.ask(limits::STORE_AGAIN, asking).await
    }

    /// Verifies an app's token.
    pub(crate) fn verify(&self, token: &BearerToken) -> Result<ServeGrant, Closing> {
        self.verifier
            .verify(token.as_str(), clock::unix_seconds())
            .map_err(TokenError::closing)?
            .serve()
            .map_err(ScopeError::closing)
    }
}
