//! The agent's answers to the requests of one round, through whichever router they come: they
//! meet at the node that answers for the client ID, wherever that is.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::mcp::message::RequestId;
use clientmcp_core::mcp::session::SessionKey;
use clientmcp_proto::v1::answers_event::Event;
use clientmcp_proto::v1::{self, answers_request};
use futures_util::stream;
use tokio::sync::mpsc;
use tonic::Streaming;

use crate::following::Following;
use crate::links::{Peer, Run, Silence};
use crate::placement::Placement;

/// The node has so long to hear that the last answer was taken.
const LAST_WORD: Duration = Duration::from_secs(1);

/// What is heard.
#[derive(Debug)]
pub(super) enum Heard {
    /// An answer, and which request it is to. The same may be heard again: it is
    /// [`taken`](Answers::taken) each time.
    Answer(String, Bytes),
    /// The agent has cancelled the request for which it was asked.
    Cancelled,
    /// Its session was ended.
    SessionEnded,
    /// Too many calls of the client ID wait for input.
    TooMany,
}

/// The answers to the requests of one round.
#[derive(Debug)]
pub(super) struct Answers {
    following: Following,
    session: SessionKey,
    agent_request: RequestId,
    /// Requests whose answers are waited for.
    waiting: Vec<String>,
    stream: Option<Open>,
}

#[derive(Debug)]
struct Open {
    run: Run,
    says: mpsc::UnboundedSender<v1::AnswersRequest>,
    hears: Streaming<v1::AnswersEvent>,
}

impl Answers {
    /// Answers that are listened for when the next one is asked for. `agent_request` is the
    /// request for which the agent was asked.
    pub(super) fn new(
        placement: &Arc<Placement>,
        client_id: &ClientId,
        session: SessionKey,
        agent_request: RequestId,
        waiting: Vec<String>,
    ) -> Self {
        Self {
            following: Following::new(placement, client_id),
            session,
            agent_request,
            waiting,
            stream: None,
        }
    }

    /// What is heard next. While nobody can be asked, this waits. Cancel safe.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            let Some(open) = &mut self.stream else {
                self.open().await;
                continue;
            };
            let run = open.run.clone();
            let event = tokio::select! {
                event = open.hears.message() => event,
                () = self.following.leaves(&run) => {
                    self.stream = None;
                    self.following.turn();
                    continue;
                }
            };
            match event {
                Ok(Some(event)) => {
                    if let Some(heard) = self.handle(&run, event.event) {
                        return heard;
                    }
                }
                Ok(None) => self.reopen(&run),
                Err(status) => {
                    tracing::debug!(node = %run, %status, "answers are listened for again");
                    self.reopen(&run);
                }
            }
        }
    }

    fn handle(&mut self, run: &Run, event: Option<Event>) -> Option<Heard> {
        match event {
            Some(Event::Awaiting(_)) => self.following.found(),
            Some(Event::Answer(given)) => {
                return Some(Heard::Answer(given.request_id, given.answer));
            }
            Some(Event::Cancelled(_)) => return Some(Heard::Cancelled),
            Some(Event::SessionEnded(_)) => return Some(Heard::SessionEnded),
            Some(Event::TooManyWait(_)) => return Some(Heard::TooMany),
            Some(Event::Elsewhere(to)) => {
                self.stream = None;
                self.following.follow(run, &to);
            }
            Some(Event::NotHere(_)) | None => self.reopen(run),
        }
        None
    }

    /// An answer has arrived: whoever brought it is told.
    pub(super) fn taken(&mut self, request_id: String) {
        self.waiting.retain(|waiting| *waiting != request_id);
        if let Some(open) = &self.stream {
            // If the stream has ended in this moment, the answer comes again on the next one.
            let _ = open
                .says
                .send(frame(answers_request::Frame::Taken(request_id)));
        }
    }

    /// Nothing more is listened for; the node hears what was said last.
    pub(super) async fn finish(mut self) {
        let Some(Open {
            says, mut hears, ..
        }) = self.stream.take()
        else {
            return;
        };
        drop(says);
        let ended = async { while let Ok(Some(_)) = hears.message().await {} };
        // A node that does not hear it lets go by itself.
        let _ = tokio::time::timeout(LAST_WORD, ended).await;
    }

    async fn open(&mut self) {
        let peer = self.following.peer().await;
        let run = peer.run();
        match self.ask(&peer).await {
            Ok((says, hears)) => self.stream = Some(Open { run, says, hears }),
            Err(error) => {
                tracing::debug!(node = %run, %error, "answers are not listened for");
                self.following.missed(&run);
            }
        }
    }

    async fn ask(
        &self,
        peer: &Peer,
    ) -> Result<
        (
            mpsc::UnboundedSender<v1::AnswersRequest>,
            Streaming<v1::AnswersEvent>,
        ),
        Silence,
    > {
        // One frame for each answer: bounded by what is asked.
        let (says, said) = mpsc::unbounded_channel();
        let first = v1::AwaitAnswers {
            target: peer.target(),
            client_id: self.following.client_id().to_string(),
            session_id: self.session.as_str().to_owned(),
            agent_request_id: Bytes::copy_from_slice(self.agent_request.as_json().as_bytes()),
            request_ids: self.waiting.clone(),
            unreachable: self.following.unreachable(),
        };
        // The receiver is here.
        let _ = says.send(frame(answers_request::Frame::Await(first)));
        let said = stream::unfold(said, |mut said| async {
            let frame = said.recv().await?;
            Some((frame, said))
        });
        let mut client = peer.bridge().client();
        let hears = peer.bridge().within(client.answers(said)).await?;
        Ok((says, hears))
    }

    fn reopen(&mut self, run: &Run) {
        self.stream = None;
        self.following.reopen(run);
    }
}

fn frame(frame: answers_request::Frame) -> v1::AnswersRequest {
    v1::AnswersRequest { frame: Some(frame) }
}
