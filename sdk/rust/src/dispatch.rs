//! Runs the calls of agents: one task for each handler, whose end is an event. A call that brings
//! the answers that a handler waits for goes to that handler.

use std::collections::HashMap;
use std::sync::Arc;

use clientmcp_core::ids::CallId;
use clientmcp_core::json::Json;
use clientmcp_core::message::{Call, CallContext};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::answer;
use crate::context::{CancelReason, Context};
use crate::event::Event;
use crate::input::InputResponses;
use crate::offers::{Found, Handlers, Offers};
use crate::reply::{Answer, InputRequired};
use crate::result::{CallError, RpcError};
use crate::run::{Ending, Round, Run, input_required};
use crate::seal::{ANSWERED_WITHIN, Binding, Seal};
use crate::shelf::Shelf;

/// The handlers, and the calls that they run.
#[derive(Debug)]
pub(crate) struct Dispatch {
    handlers: Handlers,
    running: HashMap<CallId, Arc<Run>>,
    shelf: Arc<Shelf>,
    seal: Arc<Seal>,
    events: mpsc::Sender<Event>,
}

/// What a call leads to.
enum Prepared {
    /// A handler that waited runs on.
    Resumed,
    /// A handler begins.
    Begun(Box<Begun>),
}

struct Begun {
    found: Found,
    context: Context,
    run: Arc<Run>,
}

impl Dispatch {
    pub(crate) fn new(offers: &Offers, events: mpsc::Sender<Event>) -> Self {
        Self {
            handlers: offers.handlers(),
            running: HashMap::new(),
            shelf: Arc::default(),
            seal: Arc::new(Seal::new(Instant::now().into_std())),
            events,
        }
    }

    /// Replaces the handlers. Calls that run are not touched.
    pub(crate) fn set_offers(&mut self, offers: &Offers) {
        self.handlers = offers.handlers();
    }

    /// Runs a call; [`Event::Finished`] follows, its frame at most `limit` bytes long.
    pub(crate) fn run(&mut self, call: Call, limit: usize) {
        let (id, method) = (call.id, call.method.clone());
        let events = self.events.clone();
        match self.prepare(call, limit) {
            Ok(Prepared::Resumed) => {}
            Ok(Prepared::Begun(begun)) => {
                let seal = Arc::clone(&self.seal);
                tokio::spawn(async move {
                    let Begun {
                        found,
                        context,
                        run,
                    } = *begun;
                    let handler = async { (found.handler)(context).await };
                    let (Some(round), ending) = run.drive(handler).await else {
                        return;
                    };
                    let result = result(ending, &round, run.binding(), &seal);
                    let frame = answer(round.id, &method, result, round.limit);
                    // The loop has ended if nobody receives it: so has the application.
                    _ = events.send(Event::Finished(round.id, frame)).await;
                });
            }
            Err(error) => {
                let frame = answer(id, &method, Err(error), limit);
                tokio::spawn(async move { events.send(Event::Finished(id, frame)).await });
            }
        }
    }

    /// A call ended.
    pub(crate) fn handle_finished(&mut self, id: CallId) {
        self.running.remove(&id);
    }

    /// Nobody waits for a call any more.
    pub(crate) fn cancel(&self, id: CallId, reason: CancelReason) {
        if let Some(run) = self.running.get(&id) {
            run.cancellation().cancel(reason);
        }
    }

    /// Nobody waits for anything any more.
    pub(crate) fn cancel_all(&self, reason: CancelReason) {
        for run in self.running.values() {
            run.cancellation().cancel(reason);
        }
        for run in self.shelf.all() {
            run.cancellation().cancel(reason);
        }
    }

    fn prepare(&mut self, call: Call, limit: usize) -> Result<Prepared, CallError> {
        let caller = CallContext::read(&call.context)
            .map_err(|error| RpcError::invalid_params(error.to_string()))?;
        let now = Instant::now();
        let round = Round::of(&call, &caller, limit, now);
        let binding = Binding::of(caller.subject.as_str(), &call.method, &call.params);
        let brought = request_state(&call.params);
        if let Some(text) = &brought
            && let Some(run) = self.shelf.take(text, &binding)
        {
            self.running.insert(call.id, Arc::clone(&run));
            run.resume(round, &InputResponses::of(&call.params));
            return Ok(Prepared::Resumed);
        }
        let found = self.handlers.find(&call, round.legacy)?;
        let state = match brought {
            Some(text) if !found.raw => {
                let state = self.seal.open(&text, &binding, now.into_std());
                Some(state.ok_or_else(foreign_state)?)
            }
            _ => None,
        };
        let responses = InputResponses::of(&call.params);
        // An agent that answers what it is always asked saves a round.
        let brought = match state {
            None => responses.clone(),
            Some(_) => InputResponses::default(),
        };
        let run = Arc::new(Run::new(
            call.method.clone(),
            binding,
            (round, brought),
            Arc::clone(&self.shelf),
            self.events.clone(),
        ));
        self.running.insert(call.id, Arc::clone(&run));
        let context = Context::new(
            (call, caller),
            (found.arguments.clone(), found.uri.clone()),
            (state, responses),
            Arc::clone(&run),
        );
        Ok(Prepared::Begun(Box::new(Begun {
            found,
            context,
            run,
        })))
    }
}

/// What a handler's end is sent as: its result, or what it asks for, with its state sealed.
fn result(
    ending: Ending,
    round: &Round,
    binding: &Binding,
    seal: &Seal,
) -> Result<Json, CallError> {
    match ending? {
        Answer::Result(result) => Ok(result),
        Answer::InputRequired(InputRequired { requests, state }) => {
            for (_, request) in &requests.0 {
                request.check(&round.capabilities)?;
            }
            let expires = Instant::now() + ANSWERED_WITHIN;
            let state = seal.close(&state, binding, expires.into_std());
            Ok(input_required(&requests, &state, round.legacy))
        }
    }
}

/// What the agent brings back of a former round.
fn request_state(params: &Json) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct View {
        #[serde(default)]
        request_state: Option<String>,
    }
    params.read::<View>().ok()?.request_state
}

fn foreign_state() -> RpcError {
    RpcError::invalid_params(
        "requestState is not, or no longer, one of this call: begin again without it",
    )
}
