//! A cluster of real processes on this machine: Redis, nodes, routers, on free loopback ports.

use std::net::SocketAddr;
use std::path::PathBuf;

use http::{Method, StatusCode};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::exchange::Request;
use crate::process::{Folder, Process, free_address, program};
use crate::tokens::Tokens;
use crate::waiting::{poll, until};

/// The client ID of the deployment's app.
pub const CLIENT: &str = "demo";

const SECRET: &str = "the secret of the process tests is not too short";

/// A node or a router.
#[derive(Debug)]
pub struct MemberProcess {
    /// The process.
    pub process: Process,
    /// Where it listens: for agents and apps, or for other processes.
    pub addr: SocketAddr,
    /// Where operators reach it.
    pub admin: SocketAddr,
    /// Where apps reach a node directly; unused by routers.
    pub public: SocketAddr,
}

impl MemberProcess {
    /// A page of the admin port, once it can be had.
    pub async fn page(&self, path: &str) -> Option<(StatusCode, String)> {
        // A connection that is refused is no failure here: the process may be starting.
        TcpStream::connect(self.admin).await.ok()?;
        let response = Request::new(Method::GET, path).send(self.admin).await;
        let status = response.status;
        Some((
            status,
            String::from_utf8_lossy(&response.bytes().await).into_owned(),
        ))
    }

    async fn ready(&mut self) {
        let admin = self.admin;
        self.process
            .wait_until("ready", async || {
                if TcpStream::connect(admin).await.is_err() {
                    return false;
                }
                Request::new(Method::GET, "/readyz")
                    .send(admin)
                    .await
                    .status
                    == StatusCode::OK
            })
            .await;
    }
}

/// Redis, two routers and three nodes.
#[derive(Debug)]
pub struct Deployment {
    /// Tokens that it accepts.
    pub tokens: Tokens,
    /// The Redis server.
    pub redis: Process,
    /// Its URL.
    pub redis_url: String,
    /// Nodes `n1` to `n3`.
    pub nodes: Vec<MemberProcess>,
    /// Routers `r1` and `r2`.
    pub routers: Vec<MemberProcess>,
    secret_file: PathBuf,
    log: String,
    /// Last: the logs go when nobody writes them any more.
    folder: Folder,
}

impl Deployment {
    /// Starts it, logging at this level; it is ready when this returns.
    pub async fn start(log: &str) -> Self {
        let folder = Folder::new();
        let (redis, redis_url) = start_redis(&folder).await;
        let mut deployment = Self {
            tokens: Tokens::new(SECRET),
            redis,
            redis_url,
            nodes: Vec::new(),
            routers: Vec::new(),
            secret_file: folder.write("secret", SECRET),
            log: log.to_owned(),
            folder,
        };
        for name in ["n1", "n2", "n3"] {
            let node = deployment.start_member("node", name);
            deployment.nodes.push(node);
        }
        for name in ["r1", "r2"] {
            let router = deployment.start_member("router", name);
            deployment.routers.push(router);
        }
        for member in deployment.nodes.iter_mut().chain(&mut deployment.routers) {
            member.ready().await;
        }
        let nodes = deployment.nodes.len();
        for router in &deployment.routers {
            until("the router knows all nodes", async || {
                deployment.status(router).await.ready_nodes() == nodes
            })
            .await;
        }
        deployment
    }

    /// The secret that its tokens are signed with.
    #[must_use]
    pub fn secret(&self) -> &'static str {
        SECRET
    }

    /// Where its files are.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// A command with what every member is told, but for its name and ports.
    #[must_use]
    pub fn member_command(&self, role: &str) -> Command {
        let mut command = Command::new(program("clientmcp"));
        command
            .arg(role)
            .args(["--redis-url", &self.redis_url, "--secret-file"])
            .arg(&self.secret_file);
        command
    }

    /// Starts the fixture app of [`CLIENT`] through a router; it is online when this returns.
    pub async fn fixture(&self, fixture: &str, router: usize) -> Process {
        let mut command = Command::new(fixture);
        command.env(
            "CLIENTMCP_URL",
            format!("ws://{}/v1/connect", self.routers[router].addr),
        );
        command.env("CLIENTMCP_TOKEN", self.tokens.app(CLIENT));
        let mut app = Process::start("fixture", &mut command, self.folder.path());
        app.wait_for_lines("online", 1).await;
        app
    }

    /// What `clientmcp status --json` says by a router.
    ///
    /// # Panics
    /// If it fails.
    pub async fn status(&self, router: &MemberProcess) -> Status {
        let url = format!("http://{}", router.admin);
        let mut command = Command::new(program("clientmcp"));
        let output = command
            .args(["status", "--json", "--url", &url])
            .output()
            .await
            .expect("the program starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Status(serde_json::from_slice(&output.stdout).expect("--json gives JSON"))
    }

    /// The index of the node that holds the one app, once a router knows.
    pub async fn holder(&self) -> usize {
        poll("a node holds the app", async || {
            let holder = self.status(self.alive_router()).await.holder()?;
            ["n1", "n2", "n3"].iter().position(|name| *name == holder)
        })
        .await
    }

    fn alive_router(&self) -> &MemberProcess {
        let router = self
            .routers
            .iter()
            .find(|router| router.process.is_running());
        router.expect("a router runs")
    }

    /// Starts a node that was killed again, under its name and at its addresses. It need not be
    /// ready when this returns.
    pub fn start_again(&mut self, node: usize) {
        let MemberProcess {
            addr,
            admin,
            public,
            ..
        } = self.nodes[node];
        let name = format!("n{}", node + 1);
        self.nodes[node] = self.start_member_at("node", &name, [addr, admin, public]);
    }

    fn start_member(&self, role: &str, name: &str) -> MemberProcess {
        self.start_member_at(role, name, [free_address(), free_address(), free_address()])
    }

    fn start_member_at(&self, role: &str, name: &str, at: [SocketAddr; 3]) -> MemberProcess {
        let [addr, admin, public] = at;
        let mut command = self.member_command(role);
        if role == "node" {
            let url = format!("ws://{public}/v1/connect");
            command.args(["--public-listen", &public.to_string(), "--public-url", &url]);
        }
        command.args([
            "--id",
            name,
            "--listen",
            &addr.to_string(),
            "--admin-listen",
            &admin.to_string(),
            "--log",
            &self.log,
        ]);
        let process = Process::start(name, &mut command, self.folder.path());
        MemberProcess {
            process,
            addr,
            admin,
            public,
        }
    }
}

/// The page that `clientmcp status --json` prints.
#[derive(Debug, Clone)]
pub struct Status(pub Value);

impl Status {
    /// The members of a role.
    pub fn members(&self, role: &str) -> impl Iterator<Item = &Value> {
        let members = self.0["members"].as_array().expect("a list of members");
        members.iter().filter(move |member| member["role"] == role)
    }

    /// How many nodes are ready.
    #[must_use]
    pub fn ready_nodes(&self) -> usize {
        self.members("node")
            .filter(|node| node["state"] == "ready")
            .count()
    }

    /// The node that holds the one app.
    #[must_use]
    pub fn holder(&self) -> Option<String> {
        let holder = self.members("node").find(|node| node["connections"] == 1)?;
        holder["id"].as_str().map(str::to_owned)
    }
}

async fn start_redis(folder: &Folder) -> (Process, String) {
    let addr = free_address();
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &addr.port().to_string()]);
    command
        .args(["--save", "", "--appendonly", "no", "--dir"])
        .arg(folder.path());
    let mut redis = Process::start("redis", &mut command, folder.path());
    redis.wait_for_lines("Ready to accept connections", 1).await;
    (redis, format!("redis://{addr}"))
}
