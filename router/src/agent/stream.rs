//! Long-lived streams: what GET streams and `subscriptions/listen` have in common.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::json::Json;
use clientmcp_core::limits::TOKEN_LEEWAY_S;
use clientmcp_core::mcp::listen::Filter;
use clientmcp_core::mcp::message::RequestId;
use clientmcp_core::mcp::notification;
use clientmcp_core::mcp::sse;
use clientmcp_core::token::CallGrant;
use tokio::time::Instant;

use crate::body::{Pieces, Response};
use crate::gateway::Gateway;
use crate::respond::{self, comments};
use crate::watch::{Sight, Watching};

/// No stream is open for longer, however long its token lasts.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// A stream to be.
pub(super) struct Stream {
    pub(super) gateway: Arc<Gateway>,
    pub(super) watching: Watching,
    pub(super) filter: Filter,
    /// The request that asked for it, in the modern era.
    pub(super) subscription: Option<RequestId>,
    /// Sent at once, with the head.
    pub(super) first: Bytes,
    /// Sent when the stream ends by the cluster's will.
    pub(super) last: Option<Bytes>,
    /// What a metric calls it.
    pub(super) kind: &'static str,
}

impl Stream {
    /// The response. The stream ends when its token does, when the router stops, or when what it
    /// watches says so; all of these are graceful.
    pub(super) fn respond(self, grant: &CallGrant) -> Response {
        let leeway = Duration::from_secs(TOKEN_LEEWAY_S);
        let ends = Instant::now() + grant.expires_in().saturating_add(leeway).min(LONGEST);
        let open = self.gateway.metrics.stream_opened(self.kind);
        respond::stream(async move |pieces| {
            let _open = open;
            self.run(&pieces, ends).await;
        })
    }

    async fn run(mut self, pieces: &Pieces, ends: Instant) {
        pieces.send(self.first.clone()).await;
        let every = self.gateway.config.timings.stream_comment;
        let closing = self.gateway.closing.clone();
        tokio::select! {
            () = self.tell(pieces) => {}
            () = comment(pieces, every) => {}
            () = closing.cancelled() => {}
            () = tokio::time::sleep_until(ends) => {}
        }
        if let Some(last) = &self.last {
            pieces.send(sse::event(last)).await;
        }
    }

    /// Tells what is seen, until that ends.
    async fn tell(&mut self, pieces: &Pieces) {
        loop {
            match self.watching.next().await {
                Sight::Changed(kinds) => {
                    for kind in kinds.into_iter().filter(|kind| self.filter.wants(*kind)) {
                        let subscription = self.subscription.as_ref();
                        if let Some(notice) = notification::list_changed(kind, subscription) {
                            pieces.send(sse::event(&notice)).await;
                        }
                    }
                }
                Sight::ResourceUpdated(params) => {
                    // The node has it from the app, and has checked it.
                    if let Ok(params) = Json::trusted(params) {
                        let subscription = self.subscription.as_ref();
                        let notice = notification::resource_updated(&params, subscription);
                        pieces.send(sse::event(&notice)).await;
                    }
                }
                Sight::Ended => return,
            }
        }
    }
}

/// Keeps a stream alive; never ends.
async fn comment(pieces: &Pieces, every: Duration) {
    let mut comments = comments(every);
    loop {
        comments.tick().await;
        pieces.send(Bytes::from_static(sse::COMMENT)).await;
    }
}
