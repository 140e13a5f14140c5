//! `clientmcp status`: the members of a running cluster, as one of its routers sees them.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use clap::Args;
use comfy_table::{Table, presets};
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// A router answers within this time or is not well.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest page that is read.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// Shows the members of a cluster: state, share of the ring, connections, calls in flight.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  clientmcp status                                  asks the router whose admin port is 127.0.0.1:9090
  clientmcp status --url http://router-1:9090 --json")]
pub struct Status {
    /// A router's admin port
    #[arg(
        long,
        env = "CLIENTMCP_ADMIN_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:9090"
    )]
    url: Uri,
    /// Print the router's answer as JSON
    #[arg(long, env = "CLIENTMCP_JSON")]
    json: bool,
}

impl Status {
    pub(super) fn run(self) -> anyhow::Result<()> {
        super::block_on(async move {
            let page = tokio::time::timeout(PATIENCE, fetch(&self.url))
                .await
                .unwrap_or_else(|_| bail!("no answer within {} s", PATIENCE.as_secs()))
                .with_context(|| format!("--url {}", self.url))?;
            if self.json {
                println!("{page}");
            } else {
                print!("{}", picture(&page));
            }
            Ok(())
        })
    }
}

async fn fetch(url: &Uri) -> anyhow::Result<Value> {
    ensure!(url.scheme_str() == Some("http"), "must begin with http://");
    let host = url.host().context("names no host")?;
    let authority = format!("{host}:{}", url.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(&authority)
        .await
        .context("no router answers there")?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get("/status")
        .header(header::HOST, &authority)
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        ensure!(
            response.status() == StatusCode::OK,
            "answered {}: is this the admin port of a router?",
            response.status()
        );
        let page = Limited::new(response.into_body(), PAGE_BYTES)
            .collect()
            .await;
        let page = page.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
        serde_json::from_slice(&page)
            .context("the answer is not JSON: is this the admin port of a router?")
    };
    let (page, _) = tokio::join!(exchange, connection);
    page
}

/// The page for people.
fn picture(page: &Value) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "MEMBER",
        "ROLE",
        "STATE",
        "ADDRESS",
        "RING",
        "CONNECTIONS",
        "CALLS",
        "VERSION",
    ]);
    for member in page["members"].as_array().into_iter().flatten() {
        table.add_row([
            text(&member["id"]),
            text(&member["role"]),
            text(&member["state"]),
            text(&member["address"]),
            member["ringShare"]
                .as_f64()
                .map_or_else(String::new, |share| format!("{:.1} %", share * 100.0)),
            text(&member["connections"]),
            text(&member["calls"]),
            text(&member["version"]),
        ]);
    }
    let store = match page["storeAnswers"].as_bool() {
        Some(true) => "answers",
        Some(false) => "DOES NOT ANSWER",
        None => "unknown",
    };
    format!(
        "{table}\n\nSeen by {}. The store {store}.\n",
        text(&page["member"])
    )
}

/// A value as a cell: nothing for what is not known.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_becomes_a_table() {
        let page = json!({"member": "router-1", "storeAnswers": true, "members": [
            {"id": "node-1", "role": "node", "state": "ready", "address": "10.0.0.1:9000",
             "ringShare": 0.3333, "connections": 12, "calls": 3, "version": "0.1.0"},
            {"id": "router-1", "role": "router", "state": "ready", "address": "10.0.0.2:8080"},
        ]});
        let shown = picture(&page);
        let node = shown.lines().find(|line| line.contains("node-1")).unwrap();
        for cell in ["ready", "10.0.0.1:9000", "33.3 %", "12", "0.1.0"] {
            assert!(node.contains(cell), "{node:?} lacks {cell}");
        }
        assert!(shown.contains("The store answers."));
    }
}
