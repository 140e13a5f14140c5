//! The gRPC service of a scripted node.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clientmcp_proto::link::{Arrived, Assembler, Begun, CallKey, Limits, Outbox, outbox};
use clientmcp_proto::v1::bridge_server::Bridge;
use clientmcp_proto::v1::{self, NodeFrame, node_frame, router_frame};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::arrival::Arrival;
use super::{State, event_of};

const LIMITS: Limits = Limits {
    chunk_bytes: 64 * 1024,
    window_bytes: 1024 * 1024,
    payload_bytes: 4 * 1024 * 1024,
    queue_bytes: 32 * 1024 * 1024,
};

pub(super) struct Served(pub(super) Arc<State>);

type TunnelFrames = Pin<Box<dyn Stream<Item = Result<v1::TunnelFrame, Status>> + Send>>;
type Frames = Pin<Box<dyn Stream<Item = Result<NodeFrame, Status>> + Send>>;

#[tonic::async_trait]
impl Bridge for Served {
    type LinkStream = Frames;
    type TrunkStream = TunnelFrames;
    type WatchStream = ReceiverStream<Result<v1::WatchEvent, Status>>;
    type AnswersStream = ReceiverStream<Result<v1::AnswersEvent, Status>>;

    async fn link(
        &self,
        request: Request<Streaming<v1::RouterFrame>>,
    ) -> Result<Response<Frames>, Status> {
        let mut frames = request.into_inner();
        let first = frames.message().await?.and_then(|frame| frame.frame);
        let Some(router_frame::Frame::Hello(hello)) = first else {
            return Err(Status::invalid_argument("no hello"));
        };
        let target = hello.target.unwrap();
        assert_eq!(target.incarnation, self.0.member.incarnation.0);
        let (outbox, drain) = outbox::<NodeFrame>(LIMITS);
        let welcome = v1::Welcome {
            node_id: self.0.member.id.to_string(),
            incarnation: self.0.member.incarnation.0,
        };
        outbox.send(node_frame::Frame::Welcome(welcome)).unwrap();
        self.0.script.lock().unwrap().outboxes.push(outbox.clone());
        let state = self.0.clone();
        tokio::spawn(async move {
            state.links.send_modify(|links| *links += 1);
            let mut assembler = Assembler::new(LIMITS);
            while let Ok(Some(frame)) = frames.message().await {
                if let Some(frame) = frame.frame {
                    handle(&state, &outbox, &mut assembler, frame);
                }
            }
            state.links.send_modify(|links| *links -= 1);
        });
        let frames: Frames = Box::pin(tokio_stream::StreamExt::map(drain, Ok));
        Ok(Response::new(frames))
    }

    async fn trunk(
        &self,
        request: Request<Streaming<v1::TunnelFrame>>,
    ) -> Result<Response<TunnelFrames>, Status> {
        let drain = super::tunnel::serve(&self.0, request.into_inner()).await?;
        let frames: TunnelFrames = Box::pin(tokio_stream::StreamExt::map(drain, Ok));
        Ok(Response::new(frames))
    }

    async fn describe(
        &self,
        request: Request<v1::DescribeRequest>,
    ) -> Result<Response<v1::DescribeResponse>, Status> {
        let script = self.0.script.lock().unwrap();
        Ok(Response::new(script.describe(&request.into_inner())))
    }

    async fn holds(
        &self,
        _: Request<v1::HoldsRequest>,
    ) -> Result<Response<v1::HoldsResponse>, Status> {
        Err(Status::unimplemented("nodes ask each other"))
    }

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        use v1::watch_event::Event;
        let request = request.into_inner();
        let session = request.session_id.clone();
        let (sender, receiver) = mpsc::channel(16);
        let mut script = self.0.script.lock().unwrap();
        script.watches.push(request);
        if let Some(to) = &script.elsewhere {
            let _ = sender.try_send(Ok(event_of(Event::Elsewhere(to.clone()))));
            return Ok(Response::new(ReceiverStream::new(receiver)));
        }
        let _ = sender.try_send(Ok(event_of(Event::State(script.state()))));
        for (other, watcher) in &script.watchers {
            if !session.is_empty() && *other == session {
                let _ = watcher.try_send(Ok(event_of(Event::Replaced(v1::Replaced {}))));
            }
        }
        script.watchers.push((session, sender));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn cancel_request(
        &self,
        request: Request<v1::CancelRequestRequest>,
    ) -> Result<Response<v1::CancelRequestResponse>, Status> {
        use v1::cancel_request_response::At;
        let request = request.into_inner();
        let ended = self
            .0
            .script
            .lock()
            .unwrap()
            .ended
            .contains(&request.session_id);
        let at = match ended {
            true => At::SessionEnded(v1::SessionEnded {}),
            false => At::Accepted(v1::Accepted {}),
        };
        let _ = self.0.cancel_requests.send(request);
        Ok(Response::new(v1::CancelRequestResponse { at: Some(at) }))
    }

    async fn change_session(
        &self,
        request: Request<v1::ChangeSessionRequest>,
    ) -> Result<Response<v1::ChangeSessionResponse>, Status> {
        use v1::change_session_response::At;
        let request = request.into_inner();
        assert!(request.ttl_s > 0);
        let mut script = self.0.script.lock().unwrap();
        let at = if script.ended.contains(&request.session_id) {
            At::SessionEnded(v1::SessionEnded {})
        } else if script.changes.len() == script.room_for_changes {
            At::TooMany(v1::TooMany {})
        } else {
            let change = request.change.expect("a change");
            script.changes.push((request.session_id, change));
            At::Accepted(v1::Accepted {})
        };
        Ok(Response::new(v1::ChangeSessionResponse { at: Some(at) }))
    }

    async fn end_session(
        &self,
        request: Request<v1::EndSessionRequest>,
    ) -> Result<Response<v1::EndSessionResponse>, Status> {
        use v1::end_session_response::At;
        let request = request.into_inner();
        assert!(request.ttl_s > 0);
        let mut script = self.0.script.lock().unwrap();
        let at = match script.ended.insert(request.session_id.clone()) {
            false => At::SessionEnded(v1::SessionEnded {}),
            true => At::Accepted(v1::Accepted {}),
        };
        for (session, watcher) in &script.watchers {
            if *session == request.session_id {
                let ended = v1::watch_event::Event::SessionEnded(v1::SessionEnded {});
                let _ = watcher.try_send(Ok(event_of(ended)));
            }
        }
        Ok(Response::new(v1::EndSessionResponse { at: Some(at) }))
    }

    async fn answer(
        &self,
        request: Request<v1::AnswerRequest>,
    ) -> Result<Response<v1::AnswerResponse>, Status> {
        use v1::answer_response::At;
        let request = request.into_inner();
        let given = v1::answers_event::Event::Answer(v1::GivenAnswer {
            request_id: request.request_id.clone(),
            answer: request.answer,
        });
        let script = self.0.script.lock().unwrap();
        for (awaited, waiter) in &script.waiters {
            let is_his = awaited.session_id == request.session_id;
            if is_his && awaited.request_ids.contains(&request.request_id) {
                let _ = waiter.try_send(Ok(answers_event(given.clone())));
            }
        }
        let at = Some(At::Accepted(v1::Accepted {}));
        Ok(Response::new(v1::AnswerResponse { at }))
    }

    async fn answers(
        &self,
        request: Request<Streaming<v1::AnswersRequest>>,
    ) -> Result<Response<Self::AnswersStream>, Status> {
        let mut frames = request.into_inner();
        let first = frames.message().await?.and_then(|first| first.frame);
        let Some(v1::answers_request::Frame::Await(awaited)) = first else {
            return Err(Status::invalid_argument("nothing is awaited"));
        };
        let (sender, receiver) = mpsc::channel(16);
        let awaiting = v1::answers_event::Event::Awaiting(v1::Accepted {});
        let _ = sender.try_send(Ok(answers_event(awaiting)));
        let state = self.0.clone();
        state.script.lock().unwrap().waiters.push((awaited, sender));
        // The stream ends when the router has heard enough.
        tokio::spawn(async move {
            while let Ok(Some(_)) = frames.message().await {}
            state.script.lock().unwrap().waiters.clear();
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn displace(
        &self,
        _: Request<v1::DisplaceRequest>,
    ) -> Result<Response<v1::DisplaceResponse>, Status> {
        Err(Status::unimplemented("nodes ask this of each other"))
    }

    async fn identify(
        &self,
        _: Request<v1::IdentifyRequest>,
    ) -> Result<Response<v1::IdentifyResponse>, Status> {
        let member = &self.0.member;
        Ok(Response::new(v1::IdentifyResponse {
            node_id: member.id.to_string(),
            incarnation: member.incarnation.0,
            ready: true,
            store_answers: true,
        }))
    }
}

fn answers_event(event: v1::answers_event::Event) -> v1::AnswersEvent {
    v1::AnswersEvent { event: Some(event) }
}

fn handle(
    state: &State,
    outbox: &Outbox<NodeFrame>,
    assembler: &mut Assembler<v1::Call>,
    frame: router_frame::Frame,
) {
    match frame {
        router_frame::Frame::Call(mut call) => {
            let key = CallKey::read(&call.call_id).unwrap();
            let within = std::mem::take(&mut call.params);
            let total = call.params_bytes;
            if let Begun::Whole(call, params) = assembler.begin(key, call, within, total).unwrap() {
                arrive(state, outbox, v1::Call { params, ..call });
            }
        }
        router_frame::Frame::Chunk(chunk) => {
            let key = CallKey::read(&chunk.call_id).unwrap();
            match assembler.chunk(key, &chunk.data).unwrap() {
                Arrived::Whole(call, params) => arrive(state, outbox, v1::Call { params, ..call }),
                Arrived::Partial { credit } if credit > 0 => {
                    let credit = v1::Credit {
                        call_id: chunk.call_id,
                        bytes: credit,
                    };
                    let _ = outbox.send(node_frame::Frame::Credit(credit));
                }
                Arrived::Partial { .. } | Arrived::Unknown => {}
            }
        }
        router_frame::Frame::Credit(credit) => {
            outbox.credit(CallKey::read(&credit.call_id).unwrap(), credit.bytes);
        }
        router_frame::Frame::Cancel(cancel) => {
            let _ = state.cancels.send(cancel);
        }
        router_frame::Frame::Draining(_) => {
            state.drains.fetch_add(1, Ordering::SeqCst);
        }
        router_frame::Frame::Hello(_) | router_frame::Frame::Settled(_) => {}
    }
}

fn arrive(state: &State, outbox: &Outbox<NodeFrame>, call: v1::Call) {
    if let Some(give_up) = &call.give_up {
        let _ = state.give_ups.send(give_up.clone());
    }
    let verdict = state.script.lock().unwrap().verdict(&call);
    let arrival = Arrival {
        call,
        outbox: outbox.clone(),
    };
    match verdict {
        Some(outcome) => arrival.answer(outcome),
        None => {
            let _ = state.calls.send(arrival);
        }
    }
}
