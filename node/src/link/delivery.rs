//! A call as its router sends it.

use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::channel::{CallRequest, Origin};
use clientmcp_core::ids::{CallId, ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::json::Json;
use clientmcp_core::mcp::version::Era;
use clientmcp_core::message::{Call as AppCall, CallContext, CancelReason};
use clientmcp_core::registration::{ContentHash, Kind};
use clientmcp_proto::link::CallKey;
use clientmcp_proto::v1;
use tokio::time::Instant;

use super::frames::reason;
use super::replies::call_id;
use crate::bridge;
use crate::state::NodeState;

/// A call that is to be brought to its app.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) client_id: ClientId,
    pub(super) session: Option<String>,
    pub(super) arrived: Instant,
    /// Attach to the call if it runs, and never start it.
    pub(super) attach_only: bool,
    /// Runs of nodes that the router cannot reach.
    pub(super) unreachable: Vec<(MemberId, Incarnation)>,
    pub(super) request: CallRequest,
    /// It is no call: this one, which the app may run, was given up.
    pub(super) gives_up: Option<(CallId, CancelReason)>,
}

/// What is wrong with a call: its router speaks another language.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("{0} cannot be read")]
pub(super) struct Unreadable(&'static str);

impl Delivery {
    /// Whether the app may have got it before.
    pub(super) fn again(&self) -> bool {
        self.request.call.attempt > 0
    }

    /// Whether it is of no use once the connection that had it is gone.
    pub(super) fn is_bound_to_connection(&self) -> bool {
        self.attach_only && self.gives_up.is_none()
    }

    pub(super) fn deadline(&self) -> Instant {
        self.arrived + self.request.call.deadline
    }

    /// A session that has set the level of its log messages gets them by that.
    pub(super) fn note_log_level(&mut self, node: &NodeState) {
        let session = self.session.as_deref();
        let noted = session.and_then(|session| node.registry.log_level(&self.client_id, session));
        if let Some(level) = noted {
            let call = &mut self.request.call;
            call.context = CallContext::with_log_level(&call.context, level);
        }
    }

    /// Whether its agent has cancelled it while its app was looked for.
    pub(super) fn was_cancelled(&self, node: &NodeState) -> bool {
        let origin = self.request.origin.as_ref();
        origin.is_some_and(|origin| node.waiting.was_cancelled(&self.client_id, origin))
    }

    /// Whether it has waited as long as apps are expected back.
    pub(super) fn has_waited(&self, node: &NodeState) -> bool {
        self.arrived.elapsed() >= node.timings.grace
    }

    pub(super) fn read(id: CallId, call: v1::Call, params: Bytes) -> Result<Self, Unreadable> {
        let era = match call.era() {
            v1::Era::Legacy => Era::Legacy,
            v1::Era::Modern => Era::Modern,
            v1::Era::Unspecified => return Err(Unreadable("the era")),
        };
        let session = some(call.session_id);
        let origin = match &session {
            Some(session) if !call.request_id.is_empty() => Some(Origin {
                session: session.clone(),
                request_id: json(call.request_id, "the request id")?,
            }),
            _ => None,
        };
        let hashes = [
            (Kind::Tools, call.tools_hash),
            (Kind::Prompts, call.prompts_hash),
            (Kind::Resources, call.resources_hash),
            (Kind::Rest, call.rest_hash),
        ];
        let instance = some(call.instance).map(|instance| InstanceId::parse(&instance));
        let root_id = CallKey::read(&call.root_id).map_or(id, call_id);
        Ok(Self {
            client_id: ClientId::parse(&call.client_id).map_err(|_| Unreadable("the client ID"))?,
            arrived: Instant::now(),
            attach_only: call.attach_only,
            gives_up: call.give_up.and_then(|given_up| {
                let reason = reason(given_up.reason());
                Some((call_id(CallKey::read(&given_up.call_id)?), reason))
            }),
            unreachable: bridge::unreachable(&call.unreachable),
            request: CallRequest {
                call: AppCall {
                    id,
                    root_id,
                    round: call.round,
                    attempt: call.attempt,
                    method: call.method,
                    params: json(params, "the params")?,
                    deadline: Duration::from_millis(call.deadline_ms),
                    traceparent: some(call.traceparent),
                    tracestate: some(call.tracestate),
                    context: json(call.context, "the context")?,
                },
                era,
                instance: instance
                    .transpose()
                    .map_err(|_| Unreadable("the instance"))?,
                checked: checked(&hashes)?,
                origin,
            },
            session,
        })
    }
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// The contents that a call was checked against; an empty text stands for none.
fn checked(hashes: &[(Kind, String)]) -> Result<Vec<(Kind, ContentHash)>, Unreadable> {
    let named = hashes.iter().filter(|(_, text)| !text.is_empty());
    let read = |(kind, text): &(Kind, String)| Some((*kind, ContentHash::parse(text)?));
    let read = named.map(|hash| read(hash).ok_or(Unreadable("a content's hash")));
    read.collect()
}

/// The router has checked it. An attach has neither params nor context.
fn json(text: Bytes, what: &'static str) -> Result<Json, Unreadable> {
    if text.is_empty() {
        return Ok(Json::EMPTY_OBJECT);
    }
    Json::trusted(text).map_err(|_| Unreadable(what))
}
