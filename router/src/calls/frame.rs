//! A call on its way to a node.

use bytes::Bytes;
use clientmcp_core::mcp::version::Era;
use clientmcp_core::registration::Kind;
use clientmcp_core::tool::TaskMode;
use clientmcp_proto::v1;
use tokio::time::Instant;

use super::Call;

impl Call {
    /// The call as the node gets it; its params travel beside.
    pub(super) fn frame(&self) -> v1::Call {
        let request = &self.order.request;
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        let hash = |kind| {
            let known = self.known.as_ref();
            let known = known.filter(|_| self.against.contains(&kind));
            known.map_or_else(String::new, |known| {
                known.offer.hashes.get(kind).to_string()
            })
        };
        let session = request.session.as_ref();
        v1::Call {
            call_id: Bytes::copy_from_slice(self.id.as_bytes()),
            client_id: self.order.client_id.to_string(),
            method: request.method.as_str().to_owned(),
            params: Bytes::new(),
            params_bytes: 0,
            deadline_ms: u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX),
            root_id: Bytes::copy_from_slice(self.root_id.as_bytes()),
            round: self.round,
            attempt: self.delivery.attempt(),
            instance: self.delivery.instance(),
            attach_only: self.delivery.attach_only(),
            unreachable: self.order.gateway.placement.unreachable(),
            tools_hash: hash(Kind::Tools),
            prompts_hash: hash(Kind::Prompts),
            resources_hash: hash(Kind::Resources),
            rest_hash: hash(Kind::Rest),
            context: self.order.context(self.mode != TaskMode::Never),
            traceparent: request.trace.parent.clone().unwrap_or_default(),
            tracestate: request.trace.state.clone().unwrap_or_default(),
            era: match request.era() {
                Era::Legacy => v1::Era::Legacy,
                Era::Modern => v1::Era::Modern,
            }
            .into(),
            session_id: session.map_or_else(String::new, |s| s.key.as_str().to_owned()),
            request_id: Bytes::copy_from_slice(request.id.as_json().as_bytes()),
            give_up: None,
        }
    }
}
