//! The tools: each takes a known time, notes that it ran, and says for whom.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_sdk::{Context, Tool, ToolResult, Tools};
use serde::{Deserialize, Serialize};

use super::client_id;
use super::ledger::{Ledger, Run};

/// How long a call takes inside of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// No time at all: what probes call.
    Instant,
    /// 0.2 s.
    Short,
    /// 2 s.
    Long,
    /// 10 s: longer than a killed node is away.
    Longest,
}

/// All of them, shortest first.
pub const ALL: [Work; 4] = [Work::Instant, Work::Short, Work::Long, Work::Longest];

impl Work {
    /// How long the handler takes.
    #[must_use]
    pub fn time(self) -> Duration {
        Duration::from_millis(match self {
            Work::Instant => 0,
            Work::Short => 200,
            Work::Long => 2_000,
            Work::Longest => 10_000,
        })
    }

    /// The tool's name.
    #[must_use]
    pub fn tool(self) -> &'static str {
        match self {
            Work::Instant => "work_0",
            Work::Short => "work_200",
            Work::Long => "work_2000",
            Work::Longest => "work_10000",
        }
    }
}

#[derive(Deserialize)]
struct Arguments {
    tag: u64,
}

/// What a tool answers, as structured content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The call that was asked.
    pub tag: u64,
    /// The app that answers.
    pub client: String,
    /// Which instance of it.
    pub instance: String,
}

/// The tools of one instance of an app.
pub(super) fn tools(app: u32, instance: &str, ledger: &Arc<Ledger>) -> Tools {
    ALL.into_iter().fold(Tools::new(), |tools, work| {
        let (ledger, instance) = (ledger.clone(), instance.to_owned());
        let tool = Tool::new(work.tool(), format!("Takes {:?}", work.time()));
        tools.tool(tool, move |arguments: Arguments, _: Context| {
            let answer = Answer {
                tag: arguments.tag,
                client: client_id(app),
                instance: instance.clone(),
            };
            ledger.note(Run {
                tag: arguments.tag,
                app,
                instance: instance.clone(),
            });
            async move {
                if !work.time().is_zero() {
                    tokio::time::sleep(work.time()).await;
                }
                ToolResult::structured(&answer)
            }
        })
    })
}
