//! What an agent's request asks of its app: the same in each round.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::mcp::call::Admitted;
use clientmcp_core::mcp::offer::Offer;
use clientmcp_core::mcp::outcome::Reply;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::token::CallGrant;

use crate::gateway::Gateway;
use crate::request_body::Share;

/// Checks a request against what the app offers.
pub(crate) type Check = Box<dyn Fn(&Request, &Offer) -> Result<Admitted, Reply> + Send + Sync>;

/// A request that goes to an app, by one call or more.
pub(crate) struct Order {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) request: Arc<Request>,
    pub(crate) check: Check,
    pub(crate) client_id: ClientId,
    /// What the app is told of the agent.
    pub(crate) context: Bytes,
    _share: Share,
}

impl Order {
    /// A request of an agent that may make it. `share` is that of its body.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        grant: &CallGrant,
        request: Arc<Request>,
        check: Check,
        share: Share,
    ) -> Arc<Self> {
        Arc::new(Self {
            gateway: gateway.clone(),
            client_id: grant.client_id().clone(),
            context: request.context(grant.subject()).to_json().into_bytes(),
            request,
            check,
            _share: share,
        })
    }
}
