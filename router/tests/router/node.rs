//! A node that does what a test says: the gRPC service and the tunnels' side of one.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use clientmcp_cluster::member::{Member, MemberState, Role};
use clientmcp_core::ids::{Incarnation, MemberId};
use clientmcp_core::registration::{ContentHash, Kind};
use clientmcp_core::secret::Secrets;
use clientmcp_proto::headers::{CLUSTER_KEY, INCARNATION, NODE};
use clientmcp_proto::link::{Arrived, Assembler, Begun, CallKey, Limits, Outbox, outbox};
use clientmcp_proto::v1::bridge_server::{Bridge, BridgeServer};
use clientmcp_proto::v1::{self, NodeFrame, node_frame, outcome, router_frame};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tower_service::Service as _;

use crate::http_client::PATIENCE;

/// What a tool of a fake app looks like.
pub(crate) const TOOLS: &str = r#"[
{"name":"fast","description":"d","inputSchema":{"type":"object"}},
{"name":"slow","inputSchema":{"type":"object"}},
{"name":"mirrored","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},
{"name":"hurried","inputSchema":{"type":"object"}}]"#;
const REST: &str =
    r#"{"serverInfo":{"name":"Notes","version":"1"},"toolOptions":{"hurried":{"timeoutMs":300}}}"#;

/// The result of the tool `fast`.
pub(crate) const RESULT: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

const LIMITS: Limits = Limits {
    chunk_bytes: 64 * 1024,
    window_bytes: 1024 * 1024,
    payload_bytes: 4 * 1024 * 1024,
    queue_bytes: 32 * 1024 * 1024,
};

/// A call that arrived, to be answered.
pub(crate) struct Arrival {
    pub(crate) call: v1::Call,
    outbox: Outbox<NodeFrame>,
}

/// A tunnel that was opened.
pub(crate) struct FakeTunnel {
    pub(crate) headers: http::HeaderMap,
    pub(crate) stream: TcpStream,
}

pub(crate) struct FakeNode {
    member: Member,
    state: Arc<State>,
    calls: tokio::sync::Mutex<mpsc::UnboundedReceiver<Arrival>>,
    cancels: tokio::sync::Mutex<mpsc::UnboundedReceiver<v1::Cancel>>,
    cancel_requests: tokio::sync::Mutex<mpsc::UnboundedReceiver<v1::CancelRequestRequest>>,
    tunnels: tokio::sync::Mutex<mpsc::UnboundedReceiver<FakeTunnel>>,
    links: watch::Receiver<usize>,
    serving: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

/// What the node answers.
pub(crate) struct Script {
    pub(crate) tools: String,
    pub(crate) rest: String,
    pub(crate) connected: bool,
    /// Whether a registration is remembered.
    pub(crate) registered: bool,
    pub(crate) absent: v1::absent::Why,
    pub(crate) elsewhere: Option<v1::Elsewhere>,
    pub(crate) ended: HashSet<String>,
    /// The status that refuses tunnels.
    pub(crate) refuse_tunnels: Option<u16>,
    watchers: Vec<(String, mpsc::Sender<Result<v1::WatchEvent, Status>>)>,
    outboxes: Vec<Outbox<NodeFrame>>,
}

struct State {
    member: Member,
    secrets: Secrets,
    script: Mutex<Script>,
    calls: mpsc::UnboundedSender<Arrival>,
    cancels: mpsc::UnboundedSender<v1::Cancel>,
    cancel_requests: mpsc::UnboundedSender<v1::CancelRequestRequest>,
    tunnels: mpsc::UnboundedSender<FakeTunnel>,
    links: watch::Sender<usize>,
    asked: AtomicUsize,
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
        let (cancel_requests, cancel_requests_rx) = mpsc::unbounded_channel();
        let (tunnels, tunnels_rx) = mpsc::unbounded_channel();
        let (links, links_rx) = watch::channel(0);
        let state = Arc::new(State {
            member: member.clone(),
            secrets: secrets.clone(),
            script: Mutex::new(Script::new()),
            calls,
            cancels,
            cancel_requests,
            tunnels,
            links,
            asked: AtomicUsize::new(0),
        });
        let serving = tokio::spawn(accept(listener, state.clone()));
        Self {
            member,
            state,
            calls: tokio::sync::Mutex::new(calls_rx),
            cancels: tokio::sync::Mutex::new(cancels_rx),
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
        }
    }

    /// How often it was asked anything at all.
    pub(crate) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
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

impl Script {
    fn new() -> Self {
        Self {
            tools: TOOLS.to_owned(),
            rest: REST.to_owned(),
            connected: true,
            registered: true,
            absent: v1::absent::Why::Gone,
            elsewhere: None,
            ended: HashSet::new(),
            refuse_tunnels: None,
            watchers: Vec::new(),
            outboxes: Vec::new(),
        }
    }

    fn hashes(&self) -> v1::Hashes {
        let hash = |kind, text: &str| ContentHash::of(kind, text.as_bytes()).to_string();
        v1::Hashes {
            tools: hash(Kind::Tools, &self.tools),
            prompts: Kind::Prompts.empty_hash().to_string(),
            resources: Kind::Resources.empty_hash().to_string(),
            rest: hash(Kind::Rest, &self.rest),
        }
    }

    fn state(&self) -> v1::State {
        v1::State {
            epoch: 1,
            connected: self.connected,
            hashes: self.registered.then(|| self.hashes()),
        }
    }

    fn absence(&self) -> v1::Absent {
        let mut absent = v1::Absent::default();
        absent.set_why(self.absent);
        absent
    }

    fn describe(&self, request: &v1::DescribeRequest) -> v1::DescribeResponse {
        use v1::describe_response::At;
        if self.ended.contains(&request.session_id) {
            return at(At::SessionEnded(v1::SessionEnded {}));
        }
        if let Some(to) = &self.elsewhere {
            return at(At::Elsewhere(to.clone()));
        }
        let mut response = match self.connected {
            true => at(At::Here(v1::Here { epoch: 1 })),
            false => at(At::Absent(self.absence())),
        };
        let hashes = self.hashes();
        let known = request.known.clone().unwrap_or_default();
        let unless = |same: bool, content: Bytes| if same { Bytes::new() } else { content };
        response.registration = self.registered.then(|| v1::Registration {
            tools: unless(known.tools == hashes.tools, self.tools.clone().into()),
            prompts: unless(
                known.prompts == hashes.prompts,
                Kind::Prompts.empty_content(),
            ),
            resources: unless(
                known.resources == hashes.resources,
                Kind::Resources.empty_content(),
            ),
            rest: unless(known.rest == hashes.rest, self.rest.clone().into()),
            hashes: Some(hashes),
        });
        response
    }

    /// What is answered to a call without asking the test; `None` for what a test answers.
    fn verdict(&self, call: &v1::Call) -> Option<outcome::Outcome> {
        use outcome::Outcome;
        if self.ended.contains(&call.session_id) {
            return Some(refused(v1::refused::Why::SessionEnded));
        }
        if let Some(to) = &self.elsewhere {
            return Some(Outcome::Elsewhere(to.clone()));
        }
        if !self.connected {
            return Some(Outcome::Absent(self.absence()));
        }
        let hashes = self.hashes();
        if call.tools_hash != hashes.tools || call.rest_hash != hashes.rest {
            return Some(refused(v1::refused::Why::Stale));
        }
        let is_fast = String::from_utf8_lossy(&call.params).contains("\"fast\"");
        is_fast.then(|| Outcome::Result(Bytes::from_static(RESULT.as_bytes())))
    }
}

pub(crate) fn refused(why: v1::refused::Why) -> outcome::Outcome {
    let mut refused = v1::Refused::default();
    refused.set_why(why);
    outcome::Outcome::Refused(refused)
}

fn event_of(event: v1::watch_event::Event) -> v1::WatchEvent {
    v1::WatchEvent { event: Some(event) }
}

fn at(at: v1::describe_response::At) -> v1::DescribeResponse {
    v1::DescribeResponse {
        at: Some(at),
        registration: None,
    }
}

impl Arrival {
    pub(crate) fn progress(&self, json: &str) {
        self.event(v1::event::Event::Progress(json.to_owned().into()));
    }

    pub(crate) fn log(&self, json: &str) {
        self.event(v1::event::Event::Log(json.to_owned().into()));
    }

    fn event(&self, event: v1::event::Event) {
        let event = v1::Event {
            call_id: self.call.call_id.clone(),
            event: Some(event),
        };
        let _ = self.outbox.send(node_frame::Frame::Event(event));
    }

    pub(crate) fn result(&self, json: &str) {
        self.answer(outcome::Outcome::Result(json.to_owned().into()));
    }

    pub(crate) fn error(&self, json: &str) {
        self.answer(outcome::Outcome::Error(json.to_owned().into()));
    }

    pub(crate) fn moved(&self, to: v1::Elsewhere) {
        let _ = self.outbox.send(node_frame::Frame::Moved(v1::Moved {
            call_id: self.call.call_id.clone(),
            to: Some(to),
        }));
    }

    pub(crate) fn answer(&self, mut outcome: outcome::Outcome) {
        let call_id = self.call.call_id.clone();
        let payload = match &mut outcome {
            outcome::Outcome::Result(payload) | outcome::Outcome::Error(payload) => {
                std::mem::take(payload)
            }
            _ => {
                let frame = v1::Outcome {
                    call_id,
                    outcome: Some(outcome),
                    payload_bytes: 0,
                };
                let _ = self.outbox.send(node_frame::Frame::Outcome(frame));
                return;
            }
        };
        let key = CallKey::read(&call_id).unwrap();
        let sent = self.outbox.send_payload(key, payload, |within, total| {
            let outcome = match outcome {
                outcome::Outcome::Result(_) => outcome::Outcome::Result(within),
                _ => outcome::Outcome::Error(within),
            };
            node_frame::Frame::Outcome(v1::Outcome {
                call_id,
                outcome: Some(outcome),
                payload_bytes: total,
            })
        });
        let _ = sent;
    }
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
                if request.uri().path() == "/v1/connect" {
                    let response = tunnel(&state, request);
                    return Ok(
                        response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
                    );
                }
                let response = bridge.call(request).await?;
                Ok::<_, std::convert::Infallible>(response.map(|body| body.boxed_unsync()))
            }
        });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(10_000);
    let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let _ = serving.await;
}

fn tunnel(
    state: &Arc<State>,
    mut request: http::Request<hyper::body::Incoming>,
) -> http::Response<Empty<Bytes>> {
    let headers = request.headers().clone();
    assert_eq!(headers[NODE], state.member.id.as_str());
    assert_eq!(headers[INCARNATION], state.member.incarnation.to_string());
    let refuse = state.script.lock().unwrap().refuse_tunnels;
    if let Some(status) = refuse {
        let response = http::Response::builder().status(status);
        return response.body(Empty::new()).unwrap();
    }
    let upgrade = hyper::upgrade::on(&mut request);
    let tunnels = state.tunnels.clone();
    tokio::spawn(async move {
        let upgraded = upgrade.await.unwrap();
        let parts = auto::upgrade::downcast::<TokioIo<TcpStream>>(upgraded).unwrap();
        let _ = tunnels.send(FakeTunnel {
            headers,
            stream: parts.io.into_inner(),
        });
    });
    http::Response::builder()
        .status(101)
        .header("upgrade", "websocket")
        .header("connection", "upgrade")
        .header("sec-websocket-accept", "made by the node")
        .header("sec-websocket-protocol", "clientmcp.v1")
        .body(Empty::new())
        .unwrap()
}

struct Served(Arc<State>);

type Frames = Pin<Box<dyn Stream<Item = Result<NodeFrame, Status>> + Send>>;

#[tonic::async_trait]
impl Bridge for Served {
    type LinkStream = Frames;
    type WatchStream = ReceiverStream<Result<v1::WatchEvent, Status>>;

    async fn link(
        &self,
        request: Request<Streaming<v1::RouterFrame>>,
    ) -> Result<Response<Frames>, Status> {
        let mut frames = request.into_inner();
        let first = frames.message().await?.and_then(|frame| frame.frame);
        let Some(router_frame::Frame::Hello(hello)) = first else {
            return Err(Status::invalid_argument("no hello"));
        };
        let target = hello.target.unwrap();
        assert_eq!(target.incarnation, self.0.member.incarnation.0);
        let (outbox, drain) = outbox::<NodeFrame>(LIMITS);
        let welcome = v1::Welcome {
            node_id: self.0.member.id.to_string(),
            incarnation: self.0.member.incarnation.0,
        };
        outbox.send(node_frame::Frame::Welcome(welcome)).unwrap();
        self.0.script.lock().unwrap().outboxes.push(outbox.clone());
        let state = self.0.clone();
        tokio::spawn(async move {
            state.links.send_modify(|links| *links += 1);
            let mut assembler = Assembler::new(LIMITS);
            while let Ok(Some(frame)) = frames.message().await {
                if let Some(frame) = frame.frame {
                    handle(&state, &outbox, &mut assembler, frame);
                }
            }
            state.links.send_modify(|links| *links -= 1);
        });
        let frames: Frames = Box::pin(tokio_stream::StreamExt::map(drain, Ok));
        Ok(Response::new(frames))
    }

    async fn describe(
        &self,
        request: Request<v1::DescribeRequest>,
    ) -> Result<Response<v1::DescribeResponse>, Status> {
        let script = self.0.script.lock().unwrap();
        Ok(Response::new(script.describe(&request.into_inner())))
    }

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        use v1::watch_event::Event;
        let session = request.into_inner().session_id;
        let (sender, receiver) = mpsc::channel(16);
        let mut script = self.0.script.lock().unwrap();
        if let Some(to) = &script.elsewhere {
            let _ = sender.try_send(Ok(event_of(Event::Elsewhere(to.clone()))));
            return Ok(Response::new(ReceiverStream::new(receiver)));
        }
        let _ = sender.try_send(Ok(event_of(Event::State(script.state()))));
        for (other, watcher) in &script.watchers {
            if !session.is_empty() && *other == session {
                let _ = watcher.try_send(Ok(event_of(Event::Replaced(v1::Replaced {}))));
            }
        }
        script.watchers.push((session, sender));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn cancel_request(
        &self,
        request: Request<v1::CancelRequestRequest>,
    ) -> Result<Response<v1::CancelRequestResponse>, Status> {
        use v1::cancel_request_response::At;
        let request = request.into_inner();
        let ended = self
            .0
            .script
            .lock()
            .unwrap()
            .ended
            .contains(&request.session_id);
        let at = match ended {
            true => At::SessionEnded(v1::SessionEnded {}),
            false => At::Accepted(v1::Accepted {}),
        };
        let _ = self.0.cancel_requests.send(request);
        Ok(Response::new(v1::CancelRequestResponse { at: Some(at) }))
    }

    async fn end_session(
        &self,
        request: Request<v1::EndSessionRequest>,
    ) -> Result<Response<v1::EndSessionResponse>, Status> {
        use v1::end_session_response::At;
        let request = request.into_inner();
        assert!(request.ttl_s > 0);
        let mut script = self.0.script.lock().unwrap();
        let at = match script.ended.insert(request.session_id.clone()) {
            false => At::SessionEnded(v1::SessionEnded {}),
            true => At::Accepted(v1::Accepted {}),
        };
        for (session, watcher) in &script.watchers {
            if *session == request.session_id {
                let ended = v1::watch_event::Event::SessionEnded(v1::SessionEnded {});
                let _ = watcher.try_send(Ok(event_of(ended)));
            }
        }
        Ok(Response::new(v1::EndSessionResponse { at: Some(at) }))
    }

    async fn displace(
        &self,
        _: Request<v1::DisplaceRequest>,
    ) -> Result<Response<v1::DisplaceResponse>, Status> {
        Err(Status::unimplemented("nodes ask this of each other"))
    }

    async fn identify(
        &self,
        _: Request<v1::IdentifyRequest>,
    ) -> Result<Response<v1::IdentifyResponse>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }
}

fn handle(
    state: &State,
    outbox: &Outbox<NodeFrame>,
    assembler: &mut Assembler<v1::Call>,
    frame: router_frame::Frame,
) {
    match frame {
        router_frame::Frame::Call(mut call) => {
            let key = CallKey::read(&call.call_id).unwrap();
            let within = std::mem::take(&mut call.params);
            let total = call.params_bytes;
            if let Begun::Whole(call, params) = assembler.begin(key, call, within, total).unwrap() {
                arrive(state, outbox, v1::Call { params, ..call });
            }
        }
        router_frame::Frame::Chunk(chunk) => {
            let key = CallKey::read(&chunk.call_id).unwrap();
            match assembler.chunk(key, &chunk.data).unwrap() {
                Arrived::Whole(call, params) => arrive(state, outbox, v1::Call { params, ..call }),
                Arrived::Partial { credit } if credit > 0 => {
                    let credit = v1::Credit {
                        call_id: chunk.call_id,
                        bytes: credit,
                    };
                    let _ = outbox.send(node_frame::Frame::Credit(credit));
                }
                Arrived::Partial { .. } | Arrived::Unknown => {}
            }
        }
        router_frame::Frame::Credit(credit) => {
            outbox.credit(CallKey::read(&credit.call_id).unwrap(), credit.bytes);
        }
        router_frame::Frame::Cancel(cancel) => {
            let _ = state.cancels.send(cancel);
        }
        router_frame::Frame::Hello(_) | router_frame::Frame::Settled(_) => {}
    }
}

fn arrive(state: &State, outbox: &Outbox<NodeFrame>, call: v1::Call) {
    let verdict = state.script.lock().unwrap().verdict(&call);
    let arrival = Arrival {
        call,
        outbox: outbox.clone(),
    };
    match verdict {
        Some(outcome) => arrival.answer(outcome),
        None => {
            let _ = state.calls.send(arrival);
        }
    }
}
