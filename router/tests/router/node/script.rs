//! What a scripted node answers.

use std::collections::HashSet;

use bytes::Bytes;
use clientmcp_core::registration::{ContentHash, Kind};
use clientmcp_proto::link::Outbox;
use clientmcp_proto::v1::{self, NodeFrame, outcome};
use tokio::sync::mpsc;
use tonic::Status;

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

/// What the node answers.
pub(crate) struct Script {
    pub(crate) tools: String,
    pub(crate) resources: String,
    pub(crate) rest: String,
    pub(crate) connected: bool,
    /// The app's instance.
    pub(crate) instance: String,
    /// Whether it remembers calls.
    pub(crate) resume: bool,
    /// Whether a registration is remembered.
    pub(crate) registered: bool,
    pub(crate) absent: v1::absent::Why,
    pub(crate) elsewhere: Option<v1::Elsewhere>,
    pub(crate) ended: HashSet<String>,
    /// What sessions have asked for.
    pub(crate) changes: Vec<(String, v1::change_session_request::Change)>,
    /// How many such changes are accepted.
    pub(crate) room_for_changes: usize,
    /// What was asked of those who began to watch.
    pub(crate) watches: Vec<v1::WatchRequest>,
    /// The status that refuses tunnels.
    pub(crate) refuse_tunnels: Option<u16>,
    /// Whether calls may be attached to.
    pub(crate) attaches: bool,
    /// Where it passes bytes on to, for a router that cannot reach that node.
    pub(crate) relays_to: Option<String>,
    pub(super) watchers: Vec<(String, mpsc::Sender<Result<v1::WatchEvent, Status>>)>,
    pub(super) waiters: Vec<(
        v1::AwaitAnswers,
        mpsc::Sender<Result<v1::AnswersEvent, Status>>,
    )>,
    pub(super) outboxes: Vec<Outbox<NodeFrame>>,
}

impl Script {
    pub(super) fn new() -> Self {
        Self {
            tools: TOOLS.to_owned(),
            resources: "{}".to_owned(),
            rest: REST.to_owned(),
            connected: true,
            instance: "i1".to_owned(),
            resume: false,
            registered: true,
            absent: v1::absent::Why::Gone,
            elsewhere: None,
            ended: HashSet::new(),
            changes: Vec::new(),
            room_for_changes: usize::MAX,
            watches: Vec::new(),
            refuse_tunnels: None,
            attaches: false,
            relays_to: None,
            watchers: Vec::new(),
            waiters: Vec::new(),
            outboxes: Vec::new(),
        }
    }

    fn hashes(&self) -> v1::Hashes {
        let hash = |kind, text: &str| ContentHash::of(kind, text.as_bytes()).to_string();
        v1::Hashes {
            tools: hash(Kind::Tools, &self.tools),
            prompts: Kind::Prompts.empty_hash().to_string(),
            resources: hash(Kind::Resources, &self.resources),
            rest: hash(Kind::Rest, &self.rest),
        }
    }

    pub(super) fn state(&self) -> v1::State {
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

    pub(super) fn describe(&self, request: &v1::DescribeRequest) -> v1::DescribeResponse {
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
                self.resources.clone().into(),
            ),
            rest: unless(known.rest == hashes.rest, self.rest.clone().into()),
            hashes: Some(hashes),
            instance: self.instance.clone(),
            resume: self.resume,
        });
        response
    }

    /// What is answered to a call without asking the test; `None` for what a test answers.
    pub(super) fn verdict(&self, call: &v1::Call) -> Option<outcome::Outcome> {
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
        if call.give_up.is_some() {
            return Some(Outcome::Cancelled(v1::Cancelled {}));
        }
        if call.attach_only && self.attaches {
            return None;
        }
        if call.attach_only {
            // The app remembers nothing, and this node has forgotten.
            return Some(Outcome::Lost(v1::Lost {
                not_delivered: false,
                r#final: true,
            }));
        }
        if call.instance != self.instance {
            return Some(refused(v1::refused::Why::OtherInstance));
        }
        if call.attempt > 0 {
            return None;
        }
        let hashes = self.hashes();
        let is_stale = |meant: &str, is: &str| !meant.is_empty() && meant != is;
        if is_stale(&call.tools_hash, &hashes.tools)
            || is_stale(&call.resources_hash, &hashes.resources)
            || is_stale(&call.rest_hash, &hashes.rest)
        {
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

fn at(at: v1::describe_response::At) -> v1::DescribeResponse {
    v1::DescribeResponse {
        at: Some(at),
        registration: None,
    }
}
