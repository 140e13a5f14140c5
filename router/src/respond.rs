//! How the answer to a call travels: as JSON if it comes quickly, else as a stream
//! (SPEC.md §7.1).
//!
//! No head is sent in the first second, so that a quick error keeps its HTTP status. Then head
//! and first comment leave together, and a comment follows each second; progress or a log message
//! starts the stream earlier. From then on every error goes in-stream.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::mcp::accept::Accept;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::outcome::Reply;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::sse;
use clientmcp_core::mcp::version::Era;
use http::StatusCode;
use tokio::sync::mpsc;

use crate::answer::{self, Answer};
use crate::body::{Body, Pieces, Response};
use crate::calls::Call;
use crate::notices::{Notices, Said};
use crate::order::Order;
use crate::refusal;
use crate::rounds;
use crate::tasks;
use crate::verdict::{Answered, Verdict};

/// Messages that wait for the stream.
const SAID: usize = 8;

/// Runs a call and answers with what comes of it.
pub(crate) async fn respond(order: Arc<Order>, accept: Accept) -> Response {
    let gateway = order.gateway.clone();
    let mut running = Running::start(order, accept.events);
    if !accept.events {
        return match running.finish().await {
            Some(answer) => answer.into_response(),
            None => refusal::accepted(),
        };
    }
    let every = gateway.config.timings.stream_after;
    let first = match tokio::time::timeout(every, running.next()).await {
        Ok(Next::Notice(notice)) => notice,
        Ok(Next::Over(Some(answer))) => return deliver(answer, accept),
        Ok(Next::Over(None)) => return stream(async |_| {}),
        Err(_) => Bytes::from_static(sse::COMMENT),
    };
    let open = gateway.metrics.stream_opened("call");
    stream(async move |pieces| {
        let _open = open;
        pieces.send(first).await;
        carry_on(running, &pieces, every).await;
    })
}

/// Runs a call to its end: for batches, which are answered as a whole.
pub(crate) async fn collect(order: Arc<Order>) -> Option<Answer> {
    Running::start(order, false).finish().await
}

/// An answer that is there at once: as JSON or, to an agent that accepts nothing else, as a stream
/// of one event. An error keeps its HTTP status.
pub(crate) fn deliver(answer: Answer, accept: Accept) -> Response {
    if accept.json || answer.status() != StatusCode::OK {
        return answer.into_response();
    }
    let event = sse::event(&answer.message);
    stream(async move |pieces| pieces.send(event).await)
}

/// A stream of events.
pub(crate) fn stream<F>(produce: impl FnOnce(Pieces) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut response = Response::new(Body::events(produce));
    sse::apply_headers(response.headers_mut());
    response
}

/// The rest of a stream that has begun.
async fn carry_on(mut running: Running, pieces: &Pieces, every: Duration) {
    let mut comments = comments(every);
    loop {
        tokio::select! {
            next = running.next() => match next {
                Next::Notice(notice) => pieces.send(notice).await,
                Next::Over(answer) => return send_last(pieces, answer).await,
            },
            _ = comments.tick() => pieces.send(Bytes::from_static(sse::COMMENT)).await,
        }
    }
}

/// Ticks for comments, the first after one interval.
pub(crate) fn comments(every: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}

async fn send_last(pieces: &Pieces, answer: Option<Answer>) {
    if let Some(answer) = answer {
        pieces.send(sse::event(&answer.message)).await;
    }
}

/// A call that somebody listens to.
struct Running {
    request: Arc<Request>,
    /// Ends with the answer.
    answer: Pin<Box<dyn Future<Output = Answered> + Send>>,
    answered: Option<Answered>,
    said: mpsc::Receiver<Said>,
    notices: Notices,
}

enum Next {
    /// An event of the stream.
    Notice(Bytes),
    /// The answer, if there is to be one.
    Over(Option<Answer>),
}

impl Running {
    /// Starts a call. A modern one runs inside its response: whoever drops that cancels it. A
    /// legacy one runs by itself: a lost response means nothing (SPEC.md §7.2). `is_streamed`: the
    /// answer may be an event stream.
    fn start(order: Arc<Order>, is_streamed: bool) -> Self {
        let (sender, said) = mpsc::channel(SAID);
        let request = order.request.clone();
        let answer: Pin<Box<dyn Future<Output = Answered> + Send>> = match request.era() {
            Era::Modern if order.takes_tasks() => Box::pin(tasks::carry(order, sender)),
            Era::Modern => Box::pin(async move { Call::new(&order).run(&sender).await }),
            Era::Legacy => {
                let carried = rounds::carry(order, is_streamed, sender);
                let task = tokio::spawn(carried);
                Box::pin(async move {
                    task.await.unwrap_or_else(|error| {
                        tracing::error!(%error, "a call's task failed");
                        Answered::of(Verdict::Refused(Reply::Error(RpcError::internal())))
                    })
                })
            }
        };
        Self {
            notices: Notices::new(&request),
            request,
            answer,
            answered: None,
            said,
        }
    }

    /// What comes next; may be dropped and asked again. Nothing follows the answer.
    async fn next(&mut self) -> Next {
        loop {
            let said = match self.answered.take() {
                None => tokio::select! {
                    biased;
                    Some(said) = self.said.recv() => said,
                    answered = &mut self.answer => {
                        self.answered = Some(answered);
                        continue;
                    }
                },
                // What came before the answer goes before it.
                Some(answered) => match self.said.try_recv() {
                    Ok(said) => {
                        self.answered = Some(answered);
                        said
                    }
                    Err(_) => return Next::Over(answer::of_call(&self.request, answered)),
                },
            };
            if let Some(notice) = self.notices.render(said) {
                return Next::Notice(sse::event(&notice));
            }
        }
    }

    /// The answer, without what comes before it.
    async fn finish(mut self) -> Option<Answer> {
        loop {
            if let Next::Over(answer) = self.next().await {
                return answer;
            }
        }
    }
}
