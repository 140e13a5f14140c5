//! A node that does what a test says: the gRPC service and the tunnels' side of one.

mod arrival;
mod relay;
mod script;
mod service;
mod tunnel;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use clientmcp_cluster::member::{Member, MemberState, Role};
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::secret::Secrets;
use clientmcp_proto::headers::{CLUSTER_KEY, RELAY_PATH};
use clientmcp_proto::v1;
use clientmcp_proto::v1::bridge_server::BridgeServer;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tower_service::Service as _;

use crate::http_client::PATIENCE;

pub(crate) use arrival::Arrival;
pub(crate) use script::{RESULT, Script, TOOLS, refused};

use service::Served;
use tunnel::FakeTunnel;

pub(crate) struct FakeNode {
    member: Member,
    state: Arc<State>,
    calls: tokio::sync::Mutex<mpsc::UnboundedReceiver<Arrival>>,
    cancels: tokio::sync::Mutex<mpsc::UnboundedReceiver<v1::Cancel>>,
    give_ups: tokio::sync::Mutex<mpsc::UnboundedReceiver<v1::GiveUp>>,
    cancel_requests: tokio::sync::Mutex<mpsc::UnboundedReceiver<v1::CancelRequestRequest>>,
    tunnels: tokio::sync::Mutex<mpsc::UnboundedReceiver<FakeTunnel>>,
    links: watch::Receiver<usize>,
    serving: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

struct State {
    member: Member,
    secrets: Secrets,
    script: Mutex<Script>,
    calls: mpsc::UnboundedSender<Arrival>,
    cancels: mpsc::UnboundedSender<v1::Cancel>,
    give_ups: mpsc::UnboundedSender<v1::GiveUp>,
    cancel_requests: mpsc::UnboundedSender<v1::CancelRequestRequest>,
    tunnels: mpsc::UnboundedSender<FakeTunnel>,
    links: watch::Sender<usize>,
    asked: AtomicUsize,
    drains: AtomicUsize,
    relayed: AtomicUsize,
}

impl FakeNode {
    pub(crate) async fn start(name: &str, secrets: &Secrets) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve(name, secrets, listener)
    }

    fn serve(name: &str, secrets: &Secrets, listener: TcpListener) -> Self {
        let addr: SocketAddr = listener.local_addr().unwrap();
        let member = Member {
            id: MemberId::parse(name).unwrap(),
            incarnation: Incarnation(rand::random()),
            role: Role::Node,
            state: MemberState::Ready,
            address: addr.to_string(),
            admin_address: addr.to_string(),
            public_url: None,
            version: "0".to_owned(),
        };
        let (calls, calls_rx) = mpsc::unbounded_channel();
        let (cancels, cancels_rx) = mpsc::unbounded_channel();
        let (give_ups, give_ups_rx) = mpsc::unbounded_channel();
        let (cancel_requests, cancel_requests_rx) = mpsc::unbounded_channel();
        let (tunnels, tunnels_rx) = mpsc::unbounded_channel();
        let (links, links_rx) = watch::channel(0);
        let state = Arc::new(State {
            member: member.clone(),
            secrets: secrets.clone(),
            script: Mutex::new(Script::new()),
            calls,
            cancels,
            give_ups,
            cancel_requests,
            tunnels,
            links,
            asked: AtomicUsize::new(0),
            drains: AtomicUsize::new(0),
            relayed: AtomicUsize::new(0),
        });
        let serving = tokio::spawn(accept(listener, state.clone()));
        Self {
            member,
            state,
            calls: tokio::sync::Mutex::new(calls_rx),
            cancels: tokio::sync::Mutex::new(cancels_rx),
            give_ups: tokio::sync::Mutex::new(give_ups_rx),
            cancel_requests: tokio::sync::Mutex::new(cancel_requests_rx),
            tunnels: tokio::sync::Mutex::new(tunnels_rx),
            links: links_rx,
            serving: Mutex::new(Some(serving)),
        }
    }

    pub(crate) fn member(&self) -> &Member {
        &self.member
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.state.script.lock().unwrap()
    }

    /// Where the node says that the client ID is.
    pub(crate) fn as_elsewhere(&self, epoch: u64) -> v1::Elsewhere {
        v1::Elsewhere {
            node_id: self.member.id.to_string(),
            incarnation: self.member.incarnation.0,
            epoch,
            address: self.member.address.clone(),
        }
    }

    /// How often it was asked anything at all.
    pub(crate) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// How many routers said that they stop.
    pub(crate) fn drains(&self) -> usize {
        self.state.drains.load(Ordering::SeqCst)
    }

    /// How many connections it passed on to another node.
    pub(crate) fn relayed(&self) -> usize {
        self.state.relayed.load(Ordering::SeqCst)
    }

    /// Waits for a router's link.
    pub(crate) async fn linked(&self) {
        let mut links = self.links.clone();
        let linked = links.wait_for(|links| *links > 0);
        tokio::time::timeout(PATIENCE, linked)
            .await
            .unwrap()
            .unwrap();
    }

    pub(crate) async fn next_call(&self) -> Arrival {
        next(&self.calls).await
    }

    pub(crate) async fn next_cancel(&self) -> v1::Cancel {
        next(&self.cancels).await
    }

    /// The next call that its app is to stop, whether or not it is in flight here.
    pub(crate) async fn next_give_up(&self) -> v1::GiveUp {
        next(&self.give_ups).await
    }

    pub(crate) async fn next_cancel_request(&self) -> v1::CancelRequestRequest {
        next(&self.cancel_requests).await
    }

    pub(crate) async fn next_tunnel(&self) -> FakeTunnel {
        next(&self.tunnels).await
    }

    /// Whether a call was cancelled so far.
    pub(crate) async fn was_cancelled(&self) -> bool {
        self.cancels.lock().await.try_recv().is_ok()
    }

    /// The app registers these tools.
    pub(crate) async fn register(&self, tools: &str) {
        let watchers = {
            let mut script = self.script();
            script.tools = tools.to_owned();
            script.registered = true;
            script.watchers.clone()
        };
        let state = self.script().state();
        for (_, watcher) in watchers {
            let event = v1::watch_event::Event::State(state.clone());
            let _ = watcher.send(Ok(event_of(event))).await;
        }
    }

    /// The app says that a resource has changed, and this node finds everybody to be a watcher.
    pub(crate) async fn update(&self, params: &'static str) {
        let watchers = self.script().watchers.clone();
        for (_, watcher) in watchers {
            let event = v1::watch_event::Event::ResourceUpdated(params.into());
            let _ = watcher.send(Ok(event_of(event))).await;
        }
    }

    /// How many watch.
    pub(crate) async fn watched_by(&self, count: usize) {
        let watched = async {
            loop {
                let watchers = self
                    .script()
                    .watchers
                    .iter()
                    .filter(|(_, w)| !w.is_closed())
                    .count();
                if watchers >= count {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, watched).await.unwrap();
    }

    /// Whether nobody watches.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.script()
            .watchers
            .iter()
            .all(|(_, watcher)| watcher.is_closed())
    }

    /// Ends all watches as if the node had lost them.
    pub(crate) fn break_watches(&self) {
        self.script().watchers.clear();
    }

    /// Ends all links.
    pub(crate) fn cut_links(&self) {
        for outbox in self.script().outboxes.drain(..) {
            outbox.close();
        }
    }

    /// The process dies: all its connections end.
    pub(crate) async fn kill(&self) {
        let serving = self.serving.lock().unwrap().take();
        if let Some(serving) = serving {
            serving.abort();
            let _ = serving.await;
        }
    }
}

async fn next<T>(receiver: &tokio::sync::Mutex<mpsc::UnboundedReceiver<T>>) -> T {
    let mut receiver = receiver.lock().await;
    let next = tokio::time::timeout(PATIENCE, receiver.recv()).await;
    next.expect("nothing arrives").unwrap()
}

fn event_of(event: v1::watch_event::Event) -> v1::WatchEvent {
    v1::WatchEvent { event: Some(event) }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(converse(stream, state.clone()));
    }
}

async fn converse(stream: TcpStream, state: Arc<State>) {
    let bridge = BridgeServer::new(Served(state.clone()))
        .max_decoding_message_size(16 * 1024 * 1024)
        .max_encoding_message_size(16 * 1024 * 1024);
    let service =
        hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
            let (mut bridge, state) = (bridge.clone(), state.clone());
            async move {
                state.asked.fetch_add(1, Ordering::SeqCst);
                let shown = request.headers()[CLUSTER_KEY].to_str().unwrap();
                assert!(state.secrets.is_cluster_key(shown));
                if request.uri().path() == RELAY_PATH {
                    let response = relay::answer(&state, request).await;
                    return Ok(
                        response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
                    );
                }
                let response = bridge.call(request).await?;
                Ok::<_, std::convert::Infallible>(response.map(BodyExt::boxed_unsync))
            }
        });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(10_000);
    let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let _ = serving.await;
}
