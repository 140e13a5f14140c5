//! GET: the stream of a legacy session, on which changes of lists and resources are told.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::legacy;
use clientmcp_core::mcp::listen::Filter;
use clientmcp_core::mcp::sse;
use http::HeaderMap;

use super::stream::Stream;
use crate::authorize;
use crate::body::Response;
use crate::gateway::{Gateway, unix_seconds};
use crate::watch::{Watcher, Watching};

/// Opens the stream of a session; a newer one ends it.
pub(super) async fn answer(
    gateway: &Arc<Gateway>,
    headers: &HeaderMap,
) -> Result<Response, RpcError> {
    let grant = authorize::call(gateway, headers)?;
    let session = legacy::open_stream(headers, &gateway.sessions, &grant, unix_seconds())?;
    let client_id = grant.client_id();
    let described = gateway
        .registrations
        .describe(client_id, Some(&session.key))
        .await?;
    let seen = described.offer().hashes;
    let stream = Stream {
        gateway: gateway.clone(),
        watching: Watching::new(
            &gateway.placement,
            client_id,
            Watcher::Session(session.key),
            seen,
        ),
        filter: Filter::all_lists(),
        subscription: None,
        first: Bytes::from_static(sse::COMMENT),
        last: None,
        kind: "get",
    };
    Ok(stream.respond(&grant))
}
