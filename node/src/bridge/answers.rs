//! Where agents' answers to requests of a server meet whoever carries the call (SPEC.md §7.7).

use std::sync::Arc;

use clientmcp_core::channel::Origin;
use clientmcp_core::ids::ClientId;
use clientmcp_core::json::Json;
use clientmcp_proto::v1::answers_event::Event;
use clientmcp_proto::v1::{
    Accepted, AnswerRequest, AnswerResponse, AnswersEvent, AnswersRequest, AwaitAnswers, Cancelled,
    GivenAnswer, NotHere, SessionEnded, TooManyWait, answer_response, answers_request, watch_event,
};
use futures_util::stream;
use tonic::{Status, Streaming};

use super::watch::Watcher;
use super::{AnswersEvents, client_id, unreachable};
use crate::answers::{Awaiting, Heard};
use crate::limits;
use crate::state::NodeState;

/// Offers an answer until it is taken, the client ID has moved, or nobody came for it in time.
pub(super) async fn answer(
    node: &Arc<NodeState>,
    checked: Result<(), NotHere>,
    request: AnswerRequest,
) -> Result<AnswerResponse, Status> {
    let at = match checked {
        Ok(()) => offer(node, request).await?,
        Err(not_here) => answer_response::At::NotHere(not_here),
    };
    Ok(AnswerResponse { at: Some(at) })
}

async fn offer(
    node: &Arc<NodeState>,
    request: AnswerRequest,
) -> Result<answer_response::At, Status> {
    use answer_response::At;

    let client_id = client_id(&request.client_id)?;
    let session = request.session_id;
    let away = unreachable(&request.unreachable);
    let watcher = Watcher::of_whereabouts(node.clone(), &client_id, session.clone(), away);
    let Ok(mut watcher) = watcher else {
        return Ok(At::SessionEnded(SessionEnded {}));
    };
    let count = |outcome| node.metrics.answers.with_label_values(&[outcome]).inc();
    let given = node
        .answers
        .give(&client_id, &session, &request.request_id, request.answer);
    let Some(mut giving) = given else {
        count("dropped");
        return Ok(At::Accepted(Accepted {}));
    };
    let left = async {
        loop {
            match watcher.next().await {
                Some(watch_event::Event::State(_)) => {}
                Some(watch_event::Event::Elsewhere(to)) => return At::Elsewhere(to),
                Some(watch_event::Event::SessionEnded(ended)) => return At::SessionEnded(ended),
                Some(watch_event::Event::NotHere(not_here)) => return At::NotHere(not_here),
                _ => std::future::pending().await,
            }
        }
    };
    Ok(tokio::select! {
        biased;
        () = giving.taken() => {
            count("taken");
            At::Accepted(Accepted {})
        }
        at = left => at,
        () = tokio::time::sleep(node.timings.answer_kept) => {
            count("unclaimed");
            At::Accepted(Accepted {})
        }
    })
}

/// Waits for answers on behalf of a router.
pub(super) async fn answers(
    node: Arc<NodeState>,
    check: impl Fn(&AwaitAnswers) -> Result<(), NotHere>,
    mut frames: Streaming<AnswersRequest>,
) -> Result<AnswersEvents, Status> {
    let first = tokio::time::timeout(limits::HELLO_TIMEOUT, frames.message())
        .await
        .map_err(|_| Status::deadline_exceeded("nothing was asked for"))??;
    let Some(answers_request::Frame::Await(request)) = first.and_then(|first| first.frame) else {
        return Err(Status::invalid_argument("the first frame says what for"));
    };
    if let Err(not_here) = check(&request) {
        return Ok(only(Event::NotHere(not_here)));
    }
    let client_id = client_id(&request.client_id)?;
    let session = request.session_id.clone();
    let away = unreachable(&request.unreachable);
    let Ok(watcher) = Watcher::of_whereabouts(node.clone(), &client_id, session, away) else {
        return Ok(only(Event::SessionEnded(SessionEnded {})));
    };
    let Some(awaiting) = wait(&node, &client_id, request)? else {
        return Ok(only(Event::TooManyWait(TooManyWait {})));
    };
    let waiter = Waiter {
        watcher,
        awaiting,
        frames,
        is_at_home: false,
        is_over: false,
    };
    let events = stream::unfold(waiter, |mut waiter| async {
        let event = waiter.next().await?;
        let event = AnswersEvent { event: Some(event) };
        Some((Ok(event), waiter))
    });
    Ok(Box::pin(events))
}

fn wait(
    node: &NodeState,
    client_id: &ClientId,
    request: AwaitAnswers,
) -> Result<Option<Awaiting>, Status> {
    let request_id = Json::parse(request.agent_request_id)
        .map_err(|_| Status::invalid_argument("the request id is no JSON"))?;
    let origin = Origin {
        session: request.session_id,
        request_id,
    };
    Ok(node.answers.wait(client_id, origin, request.request_ids))
}

fn only(event: Event) -> AnswersEvents {
    let event = AnswersEvent { event: Some(event) };
    Box::pin(stream::iter([Ok(event)]))
}

/// A router that waits.
struct Waiter {
    watcher: Watcher,
    awaiting: Awaiting,
    frames: Streaming<AnswersRequest>,
    /// It was told that the client ID is at home here.
    is_at_home: bool,
    is_over: bool,
}

impl Waiter {
    /// The next event; `None` after the last one, and when the router has heard enough.
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            let event = tokio::select! {
                biased;
                frame = self.frames.message() => match frame {
                    Ok(Some(frame)) => {
                        if let Some(answers_request::Frame::Taken(request_id)) = frame.frame {
                            self.awaiting.take(&request_id);
                        }
                        continue;
                    }
                    Ok(None) | Err(_) => return None,
                },
                heard = self.awaiting.next(), if self.is_at_home => match heard {
                    Heard::Answer(request_id, answer) => {
                        Event::Answer(GivenAnswer { request_id, answer })
                    }
                    Heard::Cancelled => Event::Cancelled(Cancelled {}),
                    Heard::SessionEnded => Event::SessionEnded(SessionEnded {}),
                },
                seen = self.watcher.next() => match seen? {
                    watch_event::Event::State(_) if self.is_at_home => continue,
                    watch_event::Event::State(_) => Event::Awaiting(Accepted {}),
                    watch_event::Event::Elsewhere(to) => Event::Elsewhere(to),
                    watch_event::Event::NotHere(not_here) => Event::NotHere(not_here),
                    watch_event::Event::SessionEnded(ended) => Event::SessionEnded(ended),
                    // It belongs to no stream, and asked for no resources.
                    _ => continue,
                },
            };
            self.is_at_home |= matches!(event, Event::Awaiting(_));
            self.is_over = !matches!(event, Event::Awaiting(_) | Event::Answer(_));
            return Some(event);
        }
        None
    }
}
