//! Batches of 2025-03-26 sessions: answered as JSON, when the last of them is answered.

use std::sync::Arc;

use clientmcp_core::mcp::body;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::inbound::Entry;
use clientmcp_core::mcp::session::Session;
use futures_util::future::join_all;
use http::StatusCode;

use super::{Asking, input, legacy};
use crate::answer::Answer;
use crate::body::Response;
use crate::refusal;

/// Answers a batch; its requests run at the same time.
pub(super) async fn answer(
    asking: &Asking,
    session: &Session,
    entries: Vec<Entry>,
) -> Result<Response, RpcError> {
    legacy::check_session(asking, session).await?;
    let entries = entries.into_iter();
    let answers = join_all(entries.map(|entry| answer_entry(asking, session, entry))).await;
    let messages: Vec<_> = answers
        .into_iter()
        .flatten()
        .map(|answer| answer.message)
        .collect();
    if messages.is_empty() {
        return Ok(refusal::accepted());
    }
    Ok(refusal::json(StatusCode::OK, body::batch(&messages)))
}

async fn answer_entry(asking: &Asking, session: &Session, entry: Entry) -> Option<Answer> {
    match entry {
        Entry::Request(request) => asking.entry(Arc::from(request)).await,
        Entry::Refused(error) => Some(error.into()),
        Entry::Notice(notice) => {
            // Nobody is told whether a notice arrived.
            if let Err(error) = legacy::notice(asking, session, notice).await {
                tracing::debug!(code = error.code, "a notice of a batch was not delivered");
            }
            None
        }
        Entry::Response(response) => {
            if let Err(error) = input::answer(asking, session, &response).await {
                tracing::debug!(code = error.code, "an answer in a batch was not delivered");
            }
            None
        }
    }
}
