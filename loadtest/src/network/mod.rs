//! Where processes live: each has an address of its own, on loopback or in a network namespace.
//!
//! Loopback needs no rights. Namespaces need root, and are what it takes to cut two processes off
//! from each other in silence: no FIN, no RST, no ICMP.

mod namespaces;

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, bail};
use rand::RngExt as _;
use tokio::process::Command;

use namespaces::Namespaces;

/// How many runs may have networks at the same time on one machine.
const NUMBERS: u16 = 500;
/// A run holds this port on its first loopback address for as long as it has its number.
const LOCK_PORT: u16 = 9999;

/// The addresses of one run, unique on this machine for as long as this value lives.
#[derive(Debug)]
pub struct Network {
    number: u16,
    namespaces: Option<Namespaces>,
    hosts: u8,
    /// Holds the number: nobody else can listen there.
    _lock: TcpListener,
}

/// An address for one process.
#[derive(Debug, Clone)]
pub struct Host {
    /// What it is called.
    pub name: String,
    /// Its address.
    pub ip: Ipv4Addr,
    namespace: Option<String>,
}

impl Network {
    /// Addresses on loopback: 127.x.y.n.
    ///
    /// # Errors
    /// Too many runs at the same time.
    pub fn loopback() -> anyhow::Result<Self> {
        // Where two runs begin to look is random, so that they seldom look at the same.
        let first = rand::rng().random_range(0..NUMBERS);
        for number in (first..NUMBERS).chain(0..first) {
            if let Ok(lock) = TcpListener::bind((loopback(number, 1), LOCK_PORT)) {
                return Ok(Self {
                    number,
                    namespaces: None,
                    hosts: 1,
                    _lock: lock,
                });
            }
        }
        bail!("{NUMBERS} other runs have taken all loopback networks")
    }

    /// A network namespace for each process, on one bridge. They are removed when this is dropped.
    ///
    /// # Errors
    /// This user may not make namespaces, or a program (`ip`, `nft`) is missing.
    pub fn namespaces() -> anyhow::Result<Self> {
        let mut network = Self::loopback()?;
        network.namespaces = Some(
            Namespaces::new(network.number)
                .context("silence between processes needs root (CAP_NET_ADMIN), ip and nft")?,
        );
        Ok(network)
    }

    /// An address for another process.
    ///
    /// # Errors
    /// All are taken, or the namespace cannot be made.
    pub fn host(&mut self, name: &str) -> anyhow::Result<Host> {
        self.hosts = self.hosts.checked_add(1).context("a run has 254 hosts")?;
        let (ip, namespace) = match &mut self.namespaces {
            None => (loopback(self.number, self.hosts), None),
            Some(namespaces) => {
                let (ip, namespace) = namespaces.host(name, self.hosts)?;
                (ip, Some(namespace))
            }
        };
        Ok(Host {
            name: name.to_owned(),
            ip,
            namespace,
        })
    }

    /// Drops every packet between two hosts, in both directions, until [`Network::heal`].
    ///
    /// # Errors
    /// The hosts are on loopback, or `nft` refuses.
    pub fn cut(&self, one: &Host, other: &Host) -> anyhow::Result<()> {
        drop_from(one, other)?;
        drop_from(other, one)
    }

    /// Ends every silence of these two hosts.
    ///
    /// # Errors
    /// As for [`Network::cut`].
    pub fn heal(&self, one: &Host, other: &Host) -> anyhow::Result<()> {
        for host in [one, other] {
            namespaces::hear_all(namespace_of(host)?)?;
        }
        Ok(())
    }
}

impl Host {
    /// A command that runs at this host.
    #[must_use]
    pub fn command(&self, program: &std::path::Path) -> Command {
        match &self.namespace {
            None => Command::new(program),
            Some(namespace) => {
                // `ip netns exec` becomes the program, so signals reach it.
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace]).arg(program);
                command
            }
        }
    }
}

/// Each side drops what arrives: to drop what leaves would be an error that the sender sees.
fn drop_from(at: &Host, from: &Host) -> anyhow::Result<()> {
    namespaces::deafen(namespace_of(at)?, from.ip)
}

fn namespace_of(host: &Host) -> anyhow::Result<&str> {
    host.namespace
        .as_deref()
        .context("silence needs network namespaces")
}

fn loopback(number: u16, host: u8) -> Ipv4Addr {
    let [high, low] = (256 + number).to_be_bytes();
    Ipv4Addr::new(127, high, low, host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_share_no_address() {
        let mut one = Network::loopback().unwrap();
        let mut other = Network::loopback().unwrap();
        let hosts = [one.host("a"), one.host("b"), other.host("a")].map(Result::unwrap);
        assert_ne!(hosts[0].ip, hosts[1].ip);
        assert_ne!(hosts[0].ip, hosts[2].ip);
        assert!(hosts.iter().all(|host| host.ip.is_loopback()));
        assert!(one.cut(&hosts[0], &hosts[1]).is_err(), "not on loopback");
    }
}
