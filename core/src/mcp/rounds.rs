//! Chains of rounds: how an app that asks for input gets it from a legacy agent (SPEC.md §7.7;
//! MCP 2026-07-28 "Multi Round-Trip Requests").
//!
//! An app knows the modern way alone: it answers a call with `input_required`, and is called again
//! with what it asked for. A modern agent does that by itself. For a legacy agent whoever carries
//! its call does it: the requests for input go out as requests of a server ([`question`]), and what
//! the agent answers ([`answer`]) goes into the params of the next call.
//!
//! [`Rounds`] is the state of one such chain, without I/O: the app's result goes in, and what
//! follows comes out; the agent's answers go in, until all are there. The same parts serve whoever
//! hands requests for input on in another way: [`asked::Asked`] reads them,
//! [`retry::with_input`] makes the params of the call that follows.

pub mod answer;
pub mod asked;
pub mod question;
pub mod retry;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::capability::Capabilities;
use super::error::RpcError;
use super::method::Method;
use super::notification;
use super::outcome::Failure;
use super::request::Request;
use super::version::Version;
use crate::json::{Json, Text};
use crate::limits;

use answer::Refusal;
use asked::{Asked, Kind};
use question::{Question, Unaskable};

/// The state of one chain of rounds.
#[derive(Debug)]
pub struct Rounds {
    method: Method,
    version: Version,
    capabilities: Capabilities,
    /// The params of the agent's request: each round sends them again.
    params: Json,
    /// How often the app has asked.
    asked: u32,
    /// `requestState` of the last round.
    state: Option<Json>,
    outstanding: Vec<Outstanding>,
    /// Bytes of the answers of this round.
    answer_bytes: usize,
    /// The URLs that the agent was sent to, over all rounds.
    visits: Vec<Visit>,
}

/// A request of ours, and its answer once it is there.
#[derive(Debug)]
struct Outstanding {
    id: String,
    key: String,
    kind: Kind,
    /// Which of the visits it is, if it is one.
    visit: Option<usize>,
    answer: Option<Json>,
}

/// An elicitation by URL.
#[derive(Debug)]
struct Visit {
    url: String,
    /// Its `elicitationId`.
    id: String,
    is_accepted: bool,
}

/// What follows from the app's result.
#[derive(Debug)]
pub enum Next {
    /// It is the answer to the agent's request.
    Answer,
    /// The agent is asked all of these. The call goes on with [`Rounds::next_params`] when it has
    /// answered.
    Ask(Vec<Question>),
    /// The app asked for nothing but to be called again.
    Again,
    /// The app's result breaks the protocol.
    Fault(RpcError),
    /// The agent cannot be asked.
    Failed(Failure),
}

/// What became of an agent's answer.
#[derive(Debug)]
pub enum Taken {
    /// It belongs to no request that waits: it is late, or was given twice.
    Unasked,
    /// Other requests wait for theirs.
    More,
    /// It was the last.
    All,
    /// It ends the call.
    Failed(Failure),
}

impl Rounds {
    /// The chain that a request begins.
    #[must_use]
    pub fn new(request: &Request) -> Self {
        Self {
            method: request.method,
            version: request.version,
            capabilities: request.capabilities.clone(),
            params: request.params.raw.clone(),
            asked: 0,
            state: None,
            outstanding: Vec::new(),
            answer_bytes: 0,
            visits: Vec::new(),
        }
    }

    /// The app answered with this result. `random` gives 128 fresh bits each time: who can name a
    /// request can answer it.
    pub fn handle_result(&mut self, result: &Bytes, random: impl FnMut() -> [u8; 16]) -> Next {
        match self.read(result, random) {
            Ok(next) => next,
            Err(error) => Next::Fault(error),
        }
    }

    fn read(&mut self, result: &Bytes, random: impl FnMut() -> [u8; 16]) -> Result<Next, RpcError> {
        let Some(asked) = Asked::in_result(result)? else {
            return Ok(Next::Answer);
        };
        if !self.method.may_ask() {
            return Err(asked::not_allowed());
        }
        if self.asked == limits::ROUNDS_PER_CALL {
            return Ok(Next::Failed(Failure::too_many_rounds()));
        }
        self.asked += 1;
        if let Some(missing) = self.capabilities.missing(&asked.required()) {
            return Ok(Next::Failed(Failure::missing_capability(&missing)));
        }
        if asked.requests.len() > limits::INPUT_REQUESTS_PER_ROUND {
            return Err(RpcError::app_fault(
                "The application asked for too many inputs at once",
            ));
        }
        self.state = asked.state.clone();
        self.answer_bytes = 0;
        self.outstanding.clear();
        let questions = match self.questions(&asked, random) {
            Ok(questions) => questions,
            Err(Unaskable::Fault(what)) => return Err(RpcError::app_fault(what)),
            Err(Unaskable::Unknown(what)) => {
                let failure = Failure::cannot_be_asked(what, self.version);
                return Ok(Next::Failed(failure));
            }
        };
        if questions.is_empty() {
            return Ok(Next::Again);
        }
        Ok(Next::Ask(questions))
    }

    fn questions(
        &mut self,
        asked: &Asked,
        mut random: impl FnMut() -> [u8; 16],
    ) -> Result<Vec<Question>, Unaskable> {
        let mut questions = Vec::with_capacity(asked.requests.len());
        for request in &asked.requests {
            let id = question::id(random());
            let visit = match request.kind {
                Kind::Url => Some(self.visit(request.params.as_ref(), &id)?),
                _ => None,
            };
            let named = visit.map(|at| self.visits[at].id.as_str());
            questions.push(Question::new(request, self.version, &id, named)?);
            self.outstanding.push(Outstanding {
                id,
                key: request.key.clone(),
                kind: request.kind,
                visit,
                answer: None,
            });
        }
        Ok(questions)
    }

    /// The visit that an elicitation by URL asks for. Its `elicitationId` is the app's own, or that
    /// under which the agent was sent to the same URL before, or a new one.
    fn visit(&mut self, params: Option<&Json>, new: &str) -> Result<usize, Unaskable> {
        let (url, own) = question::url(params)?;
        let is_it =
            |visit: &Visit| visit.url == url && own.as_ref().is_none_or(|own| *own == visit.id);
        let before = self.visits.iter().position(is_it);
        Ok(before.unwrap_or_else(|| {
            self.visits.push(Visit {
                url,
                id: own.unwrap_or_else(|| new.to_owned()),
                is_accepted: false,
            });
            self.visits.len() - 1
        }))
    }

    /// The agent answered the request with this id. An answer counts once; what nobody asked for
    /// changes nothing.
    pub fn handle_answer(&mut self, id: &str, answer: &Json) -> Taken {
        let waiting = |it: &&mut Outstanding| it.id == id && it.answer.is_none();
        let Some(outstanding) = self.outstanding.iter_mut().find(waiting) else {
            return Taken::Unasked;
        };
        let answer = match answer::read(answer, outstanding.kind) {
            Ok(answer) => answer,
            Err(Refusal(why)) => {
                // It was answered: there is nothing to take back.
                outstanding.answer = Some(Json::NULL);
                return Taken::Failed(Failure::input_refused(outstanding.kind.as_str(), &why));
            }
        };
        self.answer_bytes += answer.len();
        outstanding.answer = Some(answer);
        if self.answer_bytes > limits::MESSAGE_BYTES {
            return Taken::Failed(Failure::input_too_large());
        }
        if self.unanswered().next().is_some() {
            return Taken::More;
        }
        Taken::All
    }

    /// The ids of the requests that wait for an answer.
    pub fn unanswered(&self) -> impl Iterator<Item = &str> {
        let waiting = self.outstanding.iter().filter(|it| it.answer.is_none());
        waiting.map(|it| it.id.as_str())
    }

    /// Takes the requests back that wait for an answer: a notification for each.
    pub fn withdraw(&mut self, reason: &str) -> Vec<Bytes> {
        let withdrawn = self.unanswered();
        let withdrawn = withdrawn.map(|id| notification::cancelled(id, reason));
        let withdrawn = withdrawn.collect();
        self.outstanding.clear();
        withdrawn
    }

    /// The number of the round that follows: the first call was round 0.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.asked
    }

    /// The params of the next call: those of the agent's request, with the answers of this round
    /// and the app's state.
    ///
    /// # Errors
    /// -32600 if the params cannot be read.
    pub fn next_params(&mut self) -> Result<Json, RpcError> {
        let outstanding = std::mem::take(&mut self.outstanding);
        for it in &outstanding {
            if let Some(at) = it.visit {
                self.visits[at].is_accepted |= accepts(it.answer.as_ref());
            }
        }
        let answers = outstanding.iter().filter_map(|it| {
            let answer = it.answer.as_ref()?;
            Some((it.key.as_str(), answer))
        });
        retry::with_input(&self.params, answers, self.state.as_ref())
    }

    /// The app has given its answer: of each URL that the agent was sent to and that led to a
    /// success, its completion is told (MCP 2025-11-25 "Elicitation").
    #[must_use]
    pub fn completions(&mut self, result: &Bytes) -> Vec<Bytes> {
        if self.visits.is_empty() || is_error(result) {
            return Vec::new();
        }
        let visits = std::mem::take(&mut self.visits).into_iter();
        let accepted = visits.filter(|visit| visit.is_accepted);
        let told = accepted.map(|visit| notification::elicitation_complete(&visit.id));
        told.collect()
    }
}

fn accepts(answer: Option<&Json>) -> bool {
    let answer = answer.and_then(|answer| answer.value::<Value>().ok());
    answer.is_some_and(|answer| answer["action"] == "accept")
}

fn is_error(result: &Bytes) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Members {
        #[serde(default)]
        is_error: bool,
    }
    let text = Text::new(result.clone());
    let read = text.and_then(|text| text.read::<Members>());
    read.is_ok_and(|members| members.is_error)
}

#[cfg(test)]
mod tests;
