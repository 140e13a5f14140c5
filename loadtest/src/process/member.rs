//! A node or a router as a process that can be ended and started again under its name.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use http::StatusCode;

use super::admin::{self, Page};
use super::{Process, Signal};
use crate::network::Host;

/// Where a member listens, at its own address.
const PORT: u16 = 9000;
const ADMIN_PORT: u16 = 9090;
const PUBLIC_PORT: u16 = 9001;

/// A process that is not ready by then does not get ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// What a member does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Holds the sockets of apps.
    Node,
    /// Faces agents and apps.
    Router,
}

impl Role {
    fn subcommand(self) -> &'static str {
        match self {
            Role::Node => "node",
            Role::Router => "router",
        }
    }
}

/// The program, and what each member is told.
#[derive(Debug, Clone)]
pub struct Binary {
    /// `clientmcp`.
    pub program: PathBuf,
    /// The URL of the store.
    pub redis_url: String,
    /// The file with the secret.
    pub secret_file: PathBuf,
    /// The level of the logs.
    pub log: String,
    /// Flags for every member, beside those that each needs.
    pub flags: Vec<String>,
}

/// A member of the cluster.
#[derive(Debug)]
pub struct Member {
    role: Role,
    host: Host,
    binary: Binary,
    log: PathBuf,
    process: Option<Process>,
}

impl Member {
    /// A member that does not run yet; its log goes to this folder.
    #[must_use]
    pub fn new(role: Role, host: Host, binary: Binary, folder: &Path) -> Self {
        let log = folder.join(format!("{}.log", host.name));
        Self {
            role,
            host,
            binary,
            log,
            process: None,
        }
    }

    /// Its name in the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.host.name
    }

    /// What it does.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its place in the network.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Where it listens: for the world (a router), or for other processes (a node).
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        (self.host.ip, PORT).into()
    }

    /// Where operators reach it.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        (self.host.ip, ADMIN_PORT).into()
    }

    /// Where apps reach a node directly.
    #[must_use]
    pub fn public_url(&self) -> String {
        format!("ws://{}:{PUBLIC_PORT}/v1/connect", self.host.ip)
    }

    /// The process, while it is meant to run.
    #[must_use]
    pub fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    /// Starts it; it may not be ready yet when this returns.
    ///
    /// # Errors
    /// It runs already, or cannot be started.
    pub fn start(&mut self) -> anyhow::Result<()> {
        ensure!(self.process.is_none(), "{} runs already", self.name());
        let mut command = self.host.command(&self.binary.program);
        command
            .args([self.role.subcommand(), "--id", self.name()])
            .args(["--listen", &self.addr().to_string()])
            .args(["--admin-listen", &self.admin().to_string()])
            .args(["--redis-url", &self.binary.redis_url])
            .args(["--log", &self.binary.log, "--secret-file"])
            .arg(&self.binary.secret_file)
            .args(&self.binary.flags);
        if self.role == Role::Node {
            let listen = format!("{}:{PUBLIC_PORT}", self.host.ip);
            command.args([
                "--public-listen",
                &listen,
                "--public-url",
                &self.public_url(),
            ]);
        }
        self.process = Some(Process::start(self.name(), &mut command, &self.log)?);
        Ok(())
    }

    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// It ends, or takes too long.
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        let admin = self.admin();
        let process = self.process.as_mut().context("it was not started")?;
        process
            .wait_until("ready", READY_WITHIN, async || is_ready(admin).await)
            .await
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// It does not run.
    pub async fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let process = self.process.as_ref().context("it does not run")?;
        process.signal(signal).await
    }

    /// Kills it (SIGKILL).
    ///
    /// # Errors
    /// It does not run.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        let mut process = self.process.take().context("it does not run")?;
        process.kill().await
    }

    /// Stops it in good order (SIGTERM), and waits until it is gone.
    ///
    /// # Errors
    /// It takes longer than this, or its exit code is not 0.
    pub async fn stop(&mut self, within: Duration) -> anyhow::Result<()> {
        let mut process = self.process.take().context("it does not run")?;
        process.signal(Signal::Terminate).await?;
        let status = process.ended(within).await?;
        ensure!(status.success(), "{} ended with {status}", self.name());
        Ok(())
    }

    /// How it ended although nobody ended it; `None` while it runs or was ended.
    pub fn ended_unasked(&mut self) -> Option<String> {
        let status = self.process.as_mut()?.has_ended()?;
        Some(format!("{} ended unasked with {status}", self.name()))
    }

    /// A page of its admin port.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn page(&self, path: &str) -> anyhow::Result<Page> {
        admin::fetch(self.admin(), path).await
    }
}

/// Whether the process with this admin port takes work.
pub(crate) async fn is_ready(admin: SocketAddr) -> bool {
    let page = admin::fetch(admin, "/readyz").await;
    page.is_ok_and(|page| page.status == StatusCode::OK)
}
