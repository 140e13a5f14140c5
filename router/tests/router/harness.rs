//! A router, its store, and tokens.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clientmcp_cluster::member::{Lease, Member};
use clientmcp_cluster::store::memory::MemoryStore;
use clientmcp_cluster::store::{Joined, Store};
use clientmcp_core::ids::{ClientId, MemberId};
use clientmcp_core::secret::Secrets;
use clientmcp_core::timings::Timings;
use clientmcp_core::token::{Claims, mint};
use clientmcp_router::{Config, Router};

use crate::http_client::{Answer, Connection, PATIENCE};
use crate::node::FakeNode;

pub(crate) const CLIENT_ID: &str = "app-1";
const SECRET: &str = "a secret for tests, 32 bytes at least";

/// A router and the nodes that it knows.
pub(crate) struct Cluster {
    pub(crate) router: Router,
    pub(crate) nodes: Vec<FakeNode>,
    pub(crate) store: Arc<MemoryStore>,
}

pub(crate) fn secrets() -> Secrets {
    Secrets::new([SECRET]).unwrap()
}

/// Intervals short enough to wait for, and long enough for a busy machine.
pub(crate) fn timings() -> Timings {
    let ms = Duration::from_millis;
    Timings {
        heartbeat: ms(100),
        lease: ms(1_000),
        connect_timeout: ms(500),
        probe_interval: ms(200),
        probe_timeout: ms(800),
        stream_after: ms(400),
        stream_comment: ms(300),
        call_deadline: ms(10_000),
        orphan: ms(600),
        pre_drain: ms(0),
        drain: ms(5_000),
        ..Timings::default()
    }
}

impl Cluster {
    /// A router with one node that serves [`CLIENT_ID`] and its tools.
    pub(crate) async fn start() -> Self {
        Self::with(1, |_| {}).await
    }

    /// A router with so many nodes.
    pub(crate) async fn with(nodes: usize, configure: impl FnOnce(&mut Config)) -> Self {
        let store = Arc::new(MemoryStore::new());
        let mut started = Vec::new();
        for number in 0..nodes {
            let node = FakeNode::start(&format!("node-{number}"), &secrets()).await;
            enter(&store, node.member()).await;
            started.push(node);
        }
        let mut config = Config::new(MemberId::parse("router-1").unwrap(), secrets());
        config.timings = timings();
        configure(&mut config);
        let router = Router::start(config, store.clone()).await.unwrap();
        let cluster = Self {
            router,
            nodes: started,
            store,
        };
        for node in &cluster.nodes {
            node.linked().await;
        }
        tokio::time::timeout(PATIENCE, cluster.links_up())
            .await
            .unwrap();
        cluster
    }

    /// A node knows of its link a moment before the router does.
    async fn links_up(&self) {
        let request = Request::new("GET", "/status").to_bytes();
        loop {
            let mut admin = Connection::open(self.router.admin_addr()).await;
            let page = admin.exchange(&request).await.json();
            let members = page["members"].as_array().unwrap();
            let up = members.iter().filter(|member| member["linkUp"] == true);
            if up.count() == self.nodes.len() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.router.addr()
    }

    /// All nodes.
    pub(crate) fn nodes(&self) -> &[FakeNode] {
        &self.nodes
    }

    pub(crate) fn node(&self) -> &FakeNode {
        &self.nodes[0]
    }

    /// The node that the ring gives [`CLIENT_ID`] to, and another one.
    pub(crate) fn owner_and_other(&self) -> (&FakeNode, &FakeNode) {
        let ids: Vec<MemberId> = self
            .nodes
            .iter()
            .map(|node| node.member().id.clone())
            .collect();
        let ring = clientmcp_cluster::ring::Ring::new(&ids);
        let owner = ring
            .owner(&ClientId::parse(CLIENT_ID).unwrap())
            .unwrap()
            .clone();
        let of = |is_owner: bool| {
            let found = self
                .nodes
                .iter()
                .find(|n| (n.member().id == owner) == is_owner);
            found.unwrap()
        };
        (of(true), of(false))
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.addr()).await
    }

    /// Sends one request on a connection of its own.
    pub(crate) async fn send(&self, request: &Request) -> Answer {
        self.connect().await.exchange(&request.to_bytes()).await
    }
}

/// Makes a node a member for as long as a test lasts.
pub(crate) async fn enter(store: &MemoryStore, member: &Member) {
    let lease = Lease {
        lasts: Duration::from_secs(600),
        tombstone: Duration::from_secs(15),
    };
    match store.join(member, lease, None).await.unwrap() {
        Joined::Entered => {}
        Joined::Taken(_) => panic!("the name is taken"),
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// A token for [`CLIENT_ID`].
pub(crate) fn token(serve: bool, call: bool, lasts_s: i64) -> String {
    mint(
        &secrets(),
        &Claims {
            client_id: ClientId::parse(CLIENT_ID).unwrap(),
            agent: None,
            serve,
            call,
            expires_at: now().saturating_add_signed(lasts_s),
            not_before: None,
        },
    )
}

pub(crate) fn agent_token() -> String {
    token(false, true, 3600)
}

/// A request, by its parts. Each may be changed before it is sent.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: vec![("Host".to_owned(), "localhost".to_owned())],
            body: Vec::new(),
        }
    }

    /// A POST with a token, of JSON.
    pub(crate) fn post(body: impl Into<Vec<u8>>) -> Self {
        let mut request = Self::new("POST", "/mcp")
            .header("Authorization", &format!("Bearer {}", agent_token()))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        request.body = body.into();
        request
    }

    /// A request of 2026-07-28, complete.
    pub(crate) fn modern(id: &str, method: &str, params: &str) -> Self {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let comma = if params.is_empty() { "" } else { "," };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}{meta}}}}}"#
        );
        let mut request = Self::post(body)
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method);
        if let Some(name) = params
            .split("\"name\":\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
        {
            request = request.header("Mcp-Name", name);
        }
        request
    }

    /// A modern call of a tool.
    pub(crate) fn modern_call(tool: &str) -> Self {
        Self::modern(
            "1",
            "tools/call",
            &format!(r#""name":"{tool}","arguments":{{}}"#),
        )
    }

    /// A request of a legacy session.
    pub(crate) fn legacy(session: &str, body: &str) -> Self {
        Self::post(body)
            .header("Mcp-Session-Id", session)
            .header("MCP-Protocol-Version", "2025-11-25")
    }

    /// A legacy call of a tool, with the id 7.
    pub(crate) fn legacy_call(session: &str, tool: &str) -> Self {
        Self::legacy(
            session,
            &format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","_meta":{{"progressToken":0}}}}}}"#
            ),
        )
    }

    pub(crate) fn initialize(version: &str) -> Self {
        Self::post(format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
        ))
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a header in place of all of this name.
    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(have, _)| !have.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let has = |wanted: &str| {
            self.headers
                .iter()
                .any(|(n, _)| n.eq_ignore_ascii_case(wanted))
        };
        if !self.body.is_empty() && !has("content-length") && !has("transfer-encoding") {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        } else if self.body.is_empty() && self.method == "POST" && !has("content-length") {
            bytes.extend_from_slice(b"Content-Length: 0\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl Cluster {
    /// Begins a legacy session.
    pub(crate) async fn session(&self, version: &str) -> String {
        let answer = self.send(&Request::initialize(version)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("mcp-session-id").unwrap().to_owned()
    }
}
