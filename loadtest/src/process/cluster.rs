//! A cluster: Redis, nodes, routers, each a process at an address of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::redis::Answer;
use super::{Binary, Folder, Member, Redis, Role};
use crate::apps::client_id;
use crate::audit::ProcessState;
use crate::network::Network;

/// How large a cluster is, and where.
#[derive(Debug)]
pub struct Shape {
    /// `clientmcp`.
    pub program: PathBuf,
    /// The level of the processes' logs.
    pub log: String,
    /// The secret that tokens are signed with.
    pub secret: String,
    /// Flags for every member, beside those that each needs.
    pub flags: Vec<String>,
    /// How many nodes.
    pub nodes: u32,
    /// How many routers.
    pub routers: u32,
    /// Each process in a network namespace of its own, so that two can be cut off from each other.
    pub namespaces: bool,
}

/// A running cluster. It is killed when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    /// The store.
    pub redis: Redis,
    /// `n1`, `n2`, …
    pub nodes: Vec<Member>,
    /// `r1`, `r2`, …
    pub routers: Vec<Member>,
    binary: Binary,
    /// After the processes: its addresses are free when they are gone.
    network: Network,
    /// Last: the logs go when nobody writes them any more.
    folder: Folder,
}

impl Cluster {
    /// Starts it; every member is ready when this returns.
    ///
    /// # Errors
    /// A process does not start, or network namespaces are asked for and cannot be had.
    pub async fn start(shape: Shape) -> anyhow::Result<Self> {
        let mut network = match shape.namespaces {
            true => Network::namespaces()?,
            false => Network::loopback()?,
        };
        let folder = Folder::new()?;
        let mut redis = Redis::new(network.host("redis")?, folder.path());
        redis.start().await?;
        let binary = Binary {
            program: shape.program,
            redis_url: redis.url(),
            secret_file: folder.write("secret", &shape.secret)?,
            log: shape.log,
            flags: shape.flags,
        };
        let mut cluster = Self {
            redis,
            nodes: Vec::new(),
            routers: Vec::new(),
            binary,
            network,
            folder,
        };
        for _ in 0..shape.nodes {
            cluster.add(Role::Node)?;
        }
        for _ in 0..shape.routers {
            cluster.add(Role::Router)?;
        }
        for member in cluster.members_mut() {
            member.ready().await?;
        }
        Ok(cluster)
    }

    /// Starts another member.
    ///
    /// # Errors
    /// It does not start.
    pub fn add(&mut self, role: Role) -> anyhow::Result<&mut Member> {
        let (members, letter) = match role {
            Role::Node => (&mut self.nodes, 'n'),
            Role::Router => (&mut self.routers, 'r'),
        };
        let host = self
            .network
            .host(&format!("{letter}{}", members.len() + 1))?;
        let mut member = Member::new(role, host, self.binary.clone(), self.folder.path());
        member.start()?;
        members.push(member);
        members.last_mut().context("it was just added")
    }

    /// Every node and router.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.nodes.iter().chain(&self.routers)
    }

    /// The same, to be started and ended.
    pub fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.nodes.iter_mut().chain(&mut self.routers)
    }

    /// Where its files are.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What cuts processes off from each other.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Which node holds each app, as the store's records say.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn holders(&self, apps: u32) -> anyhow::Result<Vec<Option<String>>> {
        let command = |app| {
            let key = format!("clientmcp:client:{{{}}}", client_id(app));
            ["HMGET", &key, "node", "departed"]
                .map(str::to_owned)
                .to_vec()
        };
        let commands: Vec<_> = (0..apps).map(command).collect();
        let answers = self.redis.ask_all(&commands).await?;
        Ok(answers.iter().map(holder).collect())
    }

    /// What keeps the cluster from being whole: members that are not ready, routers that do not
    /// see every node, apps without a holder. `None` if nothing does.
    pub async fn lacks(&self, apps: usize) -> Option<String> {
        let running = |member: &&Member| member.process().is_some();
        let nodes = self.nodes.iter().filter(running).count();
        let mut held = 0;
        for member in self.members().filter(running) {
            if !super::is_ready(member.admin()).await {
                return Some(format!("{} is not ready", member.name()));
            }
            match member.role() {
                Role::Router => {
                    let seen = nodes_seen(member).await.unwrap_or_default();
                    if seen != nodes {
                        return Some(format!("{} sees {seen} of {nodes} nodes", member.name()));
                    }
                }
                Role::Node => {
                    let state = ProcessState::read(member).await;
                    held += state.gauge("clientmcp_node_apps");
                }
            }
        }
        (held != apps).then(|| format!("nodes hold {held} of {apps} apps"))
    }

    /// Waits until nothing is lacking.
    ///
    /// # Errors
    /// Something is, for longer than this.
    pub async fn whole(&self, apps: usize, within: Duration) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + within;
        while let Some(lacking) = self.lacks(apps).await {
            let late = tokio::time::Instant::now() >= deadline;
            ensure!(!late, "not whole after {within:?}: {lacking}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}

/// How many ready nodes a router has links to.
async fn nodes_seen(router: &Member) -> anyhow::Result<usize> {
    let page: Value = serde_json::from_str(&router.page("/status").await?.text)?;
    let members = page["members"].as_array().context("a list of members")?;
    let ready = |member: &&Value| member["state"] == "ready" && member["linkUp"] == true;
    Ok(members.iter().filter(ready).count())
}

fn holder(record: &Answer) -> Option<String> {
    let Answer::List(fields) = record else {
        return None;
    };
    match &fields[..] {
        [Answer::Text(node), Answer::Nil] => Some(node.clone()),
        _ => None,
    }
}

/// How many apps each node holds.
#[must_use]
pub fn shares(holders: &[Option<String>]) -> HashMap<&str, usize> {
    let mut shares = HashMap::new();
    for node in holders.iter().flatten() {
        *shares.entry(node.as_str()).or_default() += 1;
    }
    shares
}
