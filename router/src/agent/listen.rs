//! `subscriptions/listen`: the modern stream of changes (MCP "Subscriptions").

use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::listen::Filter;
use clientmcp_core::mcp::notification;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::sse;

use super::Asking;
use super::stream::Stream;
use crate::body::Response;
use crate::watch::{Watcher, Watching};

/// Opens a subscription.
pub(super) async fn answer(asking: &Asking, request: &Request) -> Result<Response, RpcError> {
    let refuse = |error| request.refuse(error);
    asking.accept.require_events().map_err(refuse)?;
    let client_id = asking.grant.client_id();
    let described = asking.gateway.registrations.describe(client_id, None).await;
    let offer = described.map_err(|error| refuse(error.into()))?.offer();
    let filter = Filter::honoured(request, &offer)?;
    let acknowledged = notification::acknowledged(&request.id, &filter);
    let ended = notification::subscription_ended(&request.id, &offer.rest.server_info);
    let stream = Stream {
        gateway: asking.gateway.clone(),
        watching: Watching::new(
            &asking.gateway.placement,
            client_id,
            Watcher::Subscription(filter.uris.clone()),
            offer.hashes,
        ),
        filter,
        subscription: Some(request.id.clone()),
        first: sse::event(&acknowledged),
        last: Some(ended),
        kind: "listen",
    };
    Ok(stream.respond(&asking.grant))
}
