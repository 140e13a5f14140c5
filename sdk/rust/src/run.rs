//! One run of a handler, which may take several calls of the agent (rounds).
//!
//! When a handler asks the agent for something, the call that it runs for is answered with that
//! request (`input_required`), and the handler waits on the [`Shelf`] until the agent calls again
//! with the answer. All that it asks before it waits goes out together.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clientmcp_core::ids::CallId;
use clientmcp_core::json::{Json, ObjectWriter};
use clientmcp_core::message::{Call, CallContext, LogLevel};
use futures_util::FutureExt as _;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::answer;
use crate::context::{CancelReason, Cancellation};
use crate::event::Event;
use crate::input::{AskError, InputRequest, InputRequests, InputResponses};
use crate::reply::Answer;
use crate::result::CallError;
use crate::seal::{ANSWERED_WITHIN, Binding};
use crate::shelf::{Handle, Shelf};

/// A cancel that is this much overdue was lost with its socket.
const LOST_CANCEL: Duration = Duration::from_secs(5);
/// How often an agent is asked that does not answer what it was asked.
const ASKED_AT_MOST: u32 = 3;
/// The methods whose calls may be answered with requests (MCP 2026-07-28).
const MAY_ASK: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// How a handler ended: with an answer, an error or a panic.
pub(crate) type Ending = Result<Answer<Json>, CallError>;

/// A call that a handler runs for: the first one, or one that brought answers.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) id: CallId,
    pub(crate) root_id: CallId,
    pub(crate) number: u32,
    pub(crate) deadline: Instant,
    pub(crate) capabilities: Json,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) wants_progress: bool,
    /// Whether the agent speaks a revision before 2026-07-28.
    pub(crate) legacy: bool,
    /// What the message with its answer may measure.
    pub(crate) limit: usize,
}

impl Round {
    pub(crate) fn of(call: &Call, caller: &CallContext, limit: usize, now: Instant) -> Self {
        // The names of revisions are dates.
        let legacy = caller.protocol_version.as_str() < "2026-07-28";
        Self {
            id: call.id,
            root_id: call.root_id,
            number: call.round,
            deadline: now + call.deadline,
            capabilities: caller.client_capabilities.clone(),
            // Agents of before say which level they want, or take what is of interest.
            log_level: caller.log_level.or(legacy.then_some(LogLevel::Info)),
            wants_progress: caller.progress,
            legacy,
            limit,
        }
    }
}

/// A run of a handler.
#[derive(Debug)]
pub(crate) struct Run {
    method: String,
    binding: Binding,
    cancellation: Cancellation,
    events: mpsc::Sender<Event>,
    shelf: Arc<Shelf>,
    state: Mutex<State>,
    /// Something was asked, or the agent has called again.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// The latest call.
    round: Round,
    waiting: Waiting,
    questions: Vec<Question>,
    /// Questions so far.
    asked: u32,
    /// Answers that came with the first call, to what had not been asked.
    brought: InputResponses,
}

/// Who waits for whom.
#[derive(Debug)]
enum Waiting {
    /// The agent for the handler.
    Agent,
    /// The handler for the agent, until then.
    Handler(Handle, Instant),
    /// Nobody: the agent did not call again in time.
    Nobody,
}

#[derive(Debug)]
struct Question {
    key: String,
    request: InputRequest,
    /// How often it was asked in vain.
    in_vain: u32,
    answer: oneshot::Sender<Result<Json, AskError>>,
}

impl Run {
    pub(crate) fn new(
        method: String,
        binding: Binding,
        (round, brought): (Round, InputResponses),
        shelf: Arc<Shelf>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            method,
            binding,
            cancellation: Cancellation::default(),
            events,
            shelf,
            state: Mutex::new(State {
                round,
                waiting: Waiting::Agent,
                questions: Vec::new(),
                asked: 0,
                brought,
            }),
            changed: Notify::new(),
        }
    }

    pub(crate) fn binding(&self) -> &Binding {
        &self.binding
    }

    pub(crate) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    pub(crate) fn events(&self) -> &mpsc::Sender<Event> {
        &self.events
    }

    /// The latest call.
    pub(crate) fn round(&self) -> Round {
        self.state().round.clone()
    }

    /// The call whose agent waits, if one does.
    pub(crate) fn open_round(&self) -> Option<Round> {
        let state = self.state();
        matches!(state.waiting, Waiting::Agent).then(|| state.round.clone())
    }

    /// Asks the agent; the answer fits the request. Without a key it gets one.
    pub(crate) async fn ask(
        &self,
        key: Option<String>,
        request: InputRequest,
    ) -> Result<Json, AskError> {
        let answer = self.question(key, request)?;
        tokio::select! {
            answer = answer => answer.unwrap_or(Err(AskError::Unanswered)),
            reason = self.cancellation.cancelled() => Err(AskError::Cancelled(reason)),
        }
    }

    fn question(
        &self,
        key: Option<String>,
        request: InputRequest,
    ) -> Result<oneshot::Receiver<Result<Json, AskError>>, AskError> {
        if !MAY_ASK.contains(&self.method.as_str()) {
            let method = self.method.clone();
            return Err(AskError::NotHere { method });
        }
        let mut state = self.state();
        if matches!(state.waiting, Waiting::Nobody) {
            return Err(AskError::Unanswered);
        }
        request.check(&state.round.capabilities)?;
        state.asked += 1;
        let number = state.asked;
        let mut key = key.unwrap_or_else(|| format!("input-{number}"));
        if state.questions.iter().any(|question| question.key == key) {
            key = format!("{key}-{number}");
        }
        let (sender, answer) = oneshot::channel();
        if let Some(brought) = state.brought.take(&key)
            && request.check_answer(&brought).is_ok()
        {
            _ = sender.send(Ok(brought));
            return Ok(answer);
        }
        state.questions.push(Question {
            key,
            request,
            in_vain: 0,
            answer: sender,
        });
        self.changed.notify_one();
        Ok(answer)
    }

    /// The agent has called again, with these answers. What they leave open is asked again.
    pub(crate) fn resume(&self, round: Round, responses: &InputResponses) {
        let mut state = self.state();
        state.round = round;
        state.waiting = Waiting::Agent;
        for mut question in std::mem::take(&mut state.questions) {
            let problem = match responses.get(&question.key) {
                None => "there was none".to_owned(),
                Some(answer) => match question.request.check_answer(answer) {
                    Ok(()) => {
                        // Whoever asked may have stopped waiting.
                        _ = question.answer.send(Ok(answer.clone()));
                        continue;
                    }
                    Err(problem) => problem,
                },
            };
            question.in_vain += 1;
            if question.in_vain >= ASKED_AT_MOST {
                _ = question.answer.send(Err(AskError::Unfit(problem)));
            } else {
                state.questions.push(question);
            }
        }
        self.changed.notify_one();
    }

    /// Runs a handler to its end, and returns the call that waits for its answer, if one does. A
    /// panic ends the handler, and nothing else.
    pub(crate) async fn drive(
        self: &Arc<Self>,
        handler: impl Future<Output = Ending>,
    ) -> (Option<Round>, Ending) {
        let handler = AssertUnwindSafe(handler).catch_unwind();
        tokio::pin!(handler);
        let mut ended = None;
        loop {
            if ended.is_some() && !self.is_handlers_turn() {
                break;
            }
            let timeout = self.timeout();
            tokio::select! {
                // The handler first: what it asks in one go is sent in one message.
                biased;
                ending = &mut handler, if ended.is_none() => ended = Some(ending),
                () = self.changed.notified() => self.send_questions().await,
                _ = self.cancellation.cancelled(), if ended.is_some() => {}
                () = sleep_until(timeout) => self.handle_timeout(),
            }
        }
        self.take_from_shelf();
        let ending = ended.expect("the loop ends after it");
        let ending = ending.unwrap_or_else(|_| {
            tracing::error!(method = self.method, "a handler panicked");
            Err(answer::panicked(&self.method))
        });
        (self.open_round(), ending)
    }

    /// Whether the agent may still call again, so that the end of the handler waits for that.
    fn is_handlers_turn(&self) -> bool {
        let cancelled = self.cancellation.reason().is_some();
        matches!(self.state().waiting, Waiting::Handler(..)) && !cancelled
    }

    fn take_from_shelf(&self) {
        let mut state = self.state();
        if let Waiting::Handler(handle, _) = state.waiting {
            self.shelf.give_up(handle);
            state.waiting = Waiting::Nobody;
        }
    }

    /// When nobody can be waiting any more.
    fn timeout(&self) -> Instant {
        let state = self.state();
        let far = Instant::now() + ANSWERED_WITHIN;
        match state.waiting {
            Waiting::Agent if self.cancellation.reason().is_none() => {
                state.round.deadline + LOST_CANCEL
            }
            Waiting::Handler(_, until) => until,
            Waiting::Agent | Waiting::Nobody => far,
        }
    }

    fn handle_timeout(&self) {
        let mut state = self.state();
        match state.waiting {
            Waiting::Agent if Instant::now() >= state.round.deadline + LOST_CANCEL => {
                self.cancellation.cancel(CancelReason::Timeout);
            }
            // If it was taken from the shelf just now, the agent has called in time.
            Waiting::Handler(handle, until)
                if Instant::now() >= until && self.shelf.give_up(handle) =>
            {
                state.waiting = Waiting::Nobody;
                for question in state.questions.drain(..) {
                    _ = question.answer.send(Err(AskError::Unanswered));
                }
            }
            _ => {}
        }
    }

    /// Answers the call with what was asked, if it waits and something was.
    async fn send_questions(self: &Arc<Self>) {
        let Some((id, frame)) = self.suspend() else {
            return;
        };
        // The loop has ended if nobody receives it: so has the application.
        _ = self.events.send(Event::Finished(id, frame)).await;
    }

    fn suspend(self: &Arc<Self>) -> Option<(CallId, Json)> {
        let mut state = self.state();
        state
            .questions
            .retain(|question| !question.answer.is_closed());
        if state.questions.is_empty() || !matches!(state.waiting, Waiting::Agent) {
            return None;
        }
        let Some(handle) = self.shelf.put(Arc::clone(self)) else {
            for question in state.questions.drain(..) {
                _ = question.answer.send(Err(AskError::TooMany));
            }
            return None;
        };
        state.waiting = Waiting::Handler(handle, Instant::now() + ANSWERED_WITHIN);
        let mut requests = InputRequests::new();
        for question in &state.questions {
            requests = requests.with(&question.key, question.request.clone());
        }
        let Round {
            id, legacy, limit, ..
        } = state.round;
        let result = input_required(&requests, &handle.to_text(), legacy);
        Some((id, answer::answer(id, &self.method, Ok(result), limit)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// MCP's `InputRequiredResult`.
pub(crate) fn input_required(requests: &InputRequests, state: &str, legacy: bool) -> Json {
    let mut result = ObjectWriter::new();
    result
        .name("resultType", "input_required")
        .raw("inputRequests", &requests.to_json(legacy))
        .string("requestState", state);
    result.finish()
}

#[cfg(test)]
mod tests;
