//! A legacy agent's request whose app asks for input: the agent is asked on the request's stream,
//! and the app is called again with what it answers (SPEC.md §7.7).
//!
//! What follows from what is decided in the core ([`clientmcp_core::mcp::rounds`]); here the
//! requests go out, and time passes. While the agent is asked no call is in flight: neither the
//! loss of a node nor that of the app's socket matters, and the next call finds the app wherever
//! it is then.

mod answers;

use std::sync::Arc;

use clientmcp_core::json::Json;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::outcome::{Failure, Reply};
use clientmcp_core::mcp::rounds::question::Question;
use clientmcp_core::mcp::rounds::{Next as Wanted, Rounds, Taken};
use clientmcp_core::timings::Timings;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::calls::Call;
use crate::notices::Said;
use crate::order::Order;
use crate::verdict::{Answered, Verdict};
use answers::{Answers, Heard};

/// When to try again what could not be asked.
const NOT_ASKED_RETRY_MS: u64 = 1_000;

/// Carries a legacy agent's request through all its rounds. `is_streamed`: its answer may be an
/// event stream, on which alone an agent can be asked.
pub(crate) async fn carry(
    order: Arc<Order>,
    is_streamed: bool,
    said: mpsc::Sender<Said>,
) -> Answered {
    let mut call = Call::new(&order);
    let root_id = call.id();
    let mut chain = Chain {
        rounds: Rounds::new(&order.request),
        order,
        is_streamed,
        said,
    };
    loop {
        let mut answered = call.run(&chain.said).await;
        match chain.follow(&answered.verdict).await {
            Next::Over => return answered,
            Next::Ended(verdict) => {
                answered.verdict = verdict;
                return answered;
            }
            Next::Again(params) => {
                let round = chain.rounds.round();
                call = Call::of_round(&chain.order, Some(root_id), round, params);
            }
        }
    }
}

/// What follows from the end of a call.
enum Next {
    /// It is the end of its request.
    Over,
    /// Its request ends with this.
    Ended(Verdict),
    /// The app is called again with these params.
    Again(Json),
}

/// A round that ended without its answers.
struct Ended {
    verdict: Verdict,
    /// What a metric calls it.
    label: &'static str,
    /// What the agent is told with what is taken back.
    reason: &'static str,
}

impl Ended {
    fn with(failure: Failure, label: &'static str, reason: &'static str) -> Self {
        Self {
            verdict: Verdict::Failed(failure),
            label,
            reason,
        }
    }
}

/// One request, and how far it has come.
struct Chain {
    order: Arc<Order>,
    rounds: Rounds,
    is_streamed: bool,
    said: mpsc::Sender<Said>,
}

impl Chain {
    async fn follow(&mut self, verdict: &Verdict) -> Next {
        let Verdict::Result(result) = verdict else {
            return Next::Over;
        };
        let ready = match self.rounds.handle_result(result, rand::random) {
            Wanted::Answer => {
                for completed in self.rounds.completions(result) {
                    self.say(completed).await;
                }
                return Next::Over;
            }
            Wanted::Fault(error) => Err(self.refused(error)),
            Wanted::Failed(failure) => Err(Verdict::Failed(failure)),
            Wanted::Again => {
                tokio::time::sleep(self.timings().round_pause).await;
                Ok(())
            }
            Wanted::Ask(_) if !self.is_streamed => Err(Verdict::Failed(Failure::no_stream())),
            Wanted::Ask(questions) => self.ask(questions).await,
        };
        let params = ready.and_then(|()| {
            let params = self.rounds.next_params();
            params.map_err(|error| self.refused(error))
        });
        params.map_or_else(Next::Ended, Next::Again)
    }

    /// Asks the agent, and waits for all its answers.
    async fn ask(&mut self, questions: Vec<Question>) -> Result<(), Verdict> {
        let Some(session) = self.order.request.session.as_ref().map(|it| it.key.clone()) else {
            return Err(Verdict::Failed(Failure::no_stream()));
        };
        let waiting = self.order.gateway.metrics.input_awaited();
        let methods: Vec<_> = questions.iter().map(|it| it.kind.as_str()).collect();
        let mut answers = Answers::new(
            &self.order.gateway.placement,
            &self.order.client_id,
            session,
            self.order.request.id.clone(),
            questions.iter().map(|it| it.id.clone()).collect(),
        );
        for question in questions {
            tracing::debug!(
                request = question.id,
                method = question.kind.as_str(),
                "agent asked"
            );
            if !self.say(question.message).await {
                // The agent's stream is gone, and with it whoever could be asked.
                return Err(Verdict::Cancelled);
            }
        }
        let ended = self.hear(&mut answers).await;
        answers.finish().await;
        drop(waiting);
        let outcome = ended
            .as_ref()
            .map_or_else(|ended| ended.label, |()| "answered");
        for method in methods {
            self.order.gateway.metrics.input_asked(method, outcome);
        }
        let Err(ended) = ended else {
            return Ok(());
        };
        for withdrawn in self.rounds.withdraw(ended.reason) {
            self.say(withdrawn).await;
        }
        Err(ended.verdict)
    }

    /// Hears answers until all are there, or the call ends without them.
    async fn hear(&mut self, answers: &mut Answers) -> Result<(), Ended> {
        let within = self.timings().input_deadline;
        let deadline = Instant::now() + within;
        let closing = self.order.gateway.closing.clone();
        loop {
            let heard = tokio::select! {
                heard = answers.next() => heard,
                () = tokio::time::sleep_until(deadline) => {
                    let failure = Failure::no_input_within(within);
                    return Err(Ended::with(failure, "timeout", "no answer came in time"));
                }
                () = closing.cancelled() => {
                    let failure = Failure::not_asked(NOT_ASKED_RETRY_MS);
                    return Err(Ended::with(failure, "stopped", "the server stops"));
                }
            };
            match heard {
                Heard::Answer(id, answer) => {
                    let taken = match Json::parse(answer) {
                        Ok(answer) => self.rounds.handle_answer(&id, &answer),
                        Err(_) => Taken::Unasked,
                    };
                    answers.taken(id);
                    match taken {
                        Taken::Unasked | Taken::More => {}
                        Taken::All => return Ok(()),
                        Taken::Failed(failure) => {
                            return Err(Ended::with(failure, "refused", "the call has ended"));
                        }
                    }
                }
                Heard::Cancelled => {
                    return Err(Ended {
                        verdict: Verdict::Cancelled,
                        label: "cancelled",
                        reason: "the call was cancelled",
                    });
                }
                Heard::SessionEnded => {
                    return Err(Ended {
                        verdict: self.refused(RpcError::session_not_found()),
                        label: "session_ended",
                        reason: "the session has ended",
                    });
                }
                Heard::TooMany => {
                    let failure = Failure::not_asked(NOT_ASKED_RETRY_MS);
                    let reason = "too many calls wait for input";
                    return Err(Ended::with(failure, "too_many", reason));
                }
            }
        }
    }

    fn refused(&self, error: RpcError) -> Verdict {
        Verdict::Refused(Reply::Error(self.order.request.refuse(error)))
    }

    fn timings(&self) -> &Timings {
        &self.order.gateway.config.timings
    }

    /// `false`: nobody listens any more.
    async fn say(&self, message: bytes::Bytes) -> bool {
        self.said.send(Said::Message(message)).await.is_ok()
    }
}
