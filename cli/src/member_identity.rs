//! Names and addresses by which the members of a cluster know each other.

use std::net::SocketAddr;

use anyhow::Context;
use clap::Args;
use clientmcp_core::ids::MemberId;

/// Who this process is.
#[derive(Debug, Args)]
pub(crate) struct MemberIdentity {
    /// Name of this process in the cluster, unique; the host's name where it is absent
    #[arg(long, env = "CLIENTMCP_MEMBER_ID", value_name = "NAME")]
    id: Option<String>,
    /// Where the other processes reach this one, if not at --listen (behind a name or a port map)
    #[arg(long, env = "CLIENTMCP_ADVERTISE", value_name = "HOST:PORT")]
    advertise: Option<String>,
}

impl MemberIdentity {
    /// The checked name.
    pub(crate) fn member_id(&self) -> anyhow::Result<MemberId> {
        let name = match &self.id {
            Some(name) => name.clone(),
            None => std::fs::read_to_string("/proc/sys/kernel/hostname")
                .context("--id: the host's name cannot be read; name this process")?
                .trim()
                .to_owned(),
        };
        MemberId::parse(&name).with_context(|| format!("--id {name}"))
    }

    /// The address for others. An unspecified listen address is none.
    pub(crate) fn advertise(&self, listen: SocketAddr) -> anyhow::Result<Option<String>> {
        match &self.advertise {
            Some(address) => {
                let port = address
                    .rsplit_once(':')
                    .filter(|(host, _)| !host.is_empty());
                let port = port.and_then(|(_, port)| port.parse::<u16>().ok());
                anyhow::ensure!(
                    port.is_some_and(|port| port > 0),
                    "--advertise {address}: must be HOST:PORT"
                );
                Ok(Some(address.clone()))
            }
            None if !listen.ip().is_unspecified() => Ok(None),
            None => anyhow::bail!(
                "--advertise: --listen {listen} names no address that others can reach; say where they reach this process"
            ),
        }
    }
}
