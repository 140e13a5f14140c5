//! Network namespaces on a bridge, by `ip` and `nft`.

use std::net::Ipv4Addr;
use std::process::Command;

use anyhow::{Context, ensure};

/// The bridge, in its own namespace.
const BRIDGE: &str = "bridge";
/// The table of a namespace that drops what is to be silent.
const TABLE: [&str; 2] = ["inet", "clientmcp_silence"];

/// The namespaces of one run. They, their links and the bridge go when this is dropped.
#[derive(Debug)]
pub(super) struct Namespaces {
    number: u16,
}

impl Namespaces {
    /// A bridge for the run of this number. What a run of that number left behind is removed: it
    /// does not run any more, for the number was free.
    ///
    /// The bridge has a namespace too, so that no rule of this machine's firewall is asked about
    /// what crosses it.
    pub(super) fn new(number: u16) -> anyhow::Result<Self> {
        let namespaces = Self { number };
        namespaces.remove();
        let switch = namespaces.switch();
        run("ip", &["netns", "add", &switch])?;
        let within = |args: &[&str]| run("ip", &[&["-n", &switch], args].concat());
        within(&["link", "add", BRIDGE, "type", "bridge"])?;
        within(&["link", "set", BRIDGE, "up"])?;
        let own = namespaces.own_link();
        namespaces.plug("p1", &["name", &own])?;
        let address = format!("{}/24", namespaces.address(1));
        run("ip", &["addr", "add", &address, "dev", &own])?;
        run("ip", &["link", "set", &own, "up"])?;
        Ok(namespaces)
    }

    /// A namespace with an address.
    pub(super) fn host(&mut self, name: &str, host: u8) -> anyhow::Result<(Ipv4Addr, String)> {
        let namespace = format!("{}{name}", self.prefix());
        let ip = self.address(host);
        let address = format!("{ip}/24");
        run("ip", &["netns", "add", &namespace])?;
        self.plug(&format!("p{host}"), &["name", "eth0", "netns", &namespace])?;
        let within = |args: &[&str]| run("ip", &[&["-n", &namespace], args].concat());
        within(&["addr", "add", &address, "dev", "eth0"])?;
        within(&["link", "set", "eth0", "up"])?;
        within(&["link", "set", "lo", "up"])?;
        Ok((ip, namespace))
    }

    /// A cable from a port of the bridge to this other end.
    fn plug(&self, port: &str, end: &[&str]) -> anyhow::Result<()> {
        let switch = self.switch();
        let near = [
            "link", "add", port, "netns", &switch, "type", "veth", "peer",
        ];
        run("ip", &[&near[..], end].concat())?;
        let set = ["-n", &switch, "link", "set", port, "master", BRIDGE, "up"];
        run("ip", &set)
    }

    /// Of the range for benchmarks (RFC 2544), which no network uses.
    fn address(&self, host: u8) -> Ipv4Addr {
        let [high, low] = self.number.to_be_bytes();
        Ipv4Addr::new(198, 18 + high, low, host)
    }

    /// The end of this machine's own cable.
    fn own_link(&self) -> String {
        format!("cmcp{}", self.number)
    }

    fn switch(&self) -> String {
        format!("{}switch", self.prefix())
    }

    fn prefix(&self) -> String {
        format!("clientmcp-{}-", self.number)
    }

    fn remove(&self) {
        let list = Command::new("ip").args(["netns", "list"]).output();
        let list = list.map(|output| output.stdout).unwrap_or_default();
        let list = String::from_utf8_lossy(&list).into_owned();
        let names = list.lines().filter_map(|line| line.split(' ').next());
        for name in names.filter(|name| name.starts_with(&self.prefix())) {
            // Its end of the cable goes with it, and the cable with its end.
            let _ = run("ip", &["netns", "del", name]);
        }
        // A namespace outlives its name while a process in it does, but the cable need not. It is
        // gone already where the namespace is.
        let _ = run("ip", &["link", "del", &self.own_link()]);
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Drops what arrives in a namespace from an address.
pub(super) fn deafen(namespace: &str, from: Ipv4Addr) -> anyhow::Result<()> {
    let chain = "{ type filter hook input priority 0 ; }";
    nft(namespace, &["add", "table", TABLE[0], TABLE[1]])?;
    nft(
        namespace,
        &["add", "chain", TABLE[0], TABLE[1], "input", chain],
    )?;
    let rule = ["add", "rule", TABLE[0], TABLE[1], "input", "ip", "saddr"];
    nft(
        namespace,
        &[&rule[..], &[&from.to_string(), "drop"]].concat(),
    )
}

/// Drops nothing any more.
pub(super) fn hear_all(namespace: &str) -> anyhow::Result<()> {
    nft(namespace, &["delete", "table", TABLE[0], TABLE[1]])
}

fn nft(namespace: &str, args: &[&str]) -> anyhow::Result<()> {
    run("ip", &[&["netns", "exec", namespace, "nft"], args].concat())
}

fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let command = || format!("{program} {}", args.join(" "));
    let output = Command::new(program)
        .args(args)
        .output()
        .with_context(command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", command(), said.trim());
    Ok(())
}
