//! What an agent's request asks of its app: the same in each round.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_core::ids::{ClientId, Subject};
use clientmcp_core::mcp::call::{self, Admitted};
use clientmcp_core::mcp::offer::Offer;
use clientmcp_core::mcp::outcome::Reply;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::task;
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
    context: Bytes,
    /// The same for a call that may become a task, if the agent takes tasks.
    task_context: Option<Bytes>,
    /// Who makes it.
    pub(crate) subject: Subject,
    _share: Option<Share>,
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
        let (client_id, subject) = (grant.client_id().clone(), grant.subject().clone());
        Self::of(gateway, client_id, subject, request, check, Some(share))
    }

    /// What goes on with a task that another request has begun.
    pub(crate) fn of_task(
        gateway: &Arc<Gateway>,
        client_id: ClientId,
        subject: Subject,
        request: Arc<Request>,
    ) -> Arc<Self> {
        let check = Box::new(call::check_next);
        Self::of(gateway, client_id, subject, request, check, None)
    }

    fn of(
        gateway: &Arc<Gateway>,
        client_id: ClientId,
        subject: Subject,
        request: Arc<Request>,
        check: Check,
        share: Option<Share>,
    ) -> Arc<Self> {
        let context = |tasks| request.context(&subject, tasks).to_json().into_bytes();
        let takes_tasks = task::is_taken_by(&request);
        Arc::new(Self {
            gateway: gateway.clone(),
            client_id,
            context: context(false),
            task_context: takes_tasks.then(|| context(true)),
            subject,
            request,
            check,
            _share: share,
        })
    }

    /// Whether its answer may be a task.
    pub(crate) fn takes_tasks(&self) -> bool {
        self.task_context.is_some()
    }

    /// What the app is told of the agent with a call; `task`: the call may become a task.
    pub(crate) fn context(&self, task: bool) -> Bytes {
        let of_task = self.task_context.as_ref().filter(|_| task);
        of_task.unwrap_or(&self.context).clone()
    }
}
