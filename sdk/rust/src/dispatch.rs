//! Runs the calls of agents: one task for each, whose end is an event.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::ids::CallId;
use clientmcp_core::json::{Json, JsonError};
use clientmcp_core::message::{Call, CallContext};
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::answer;
use crate::context::{CancelReason, Cancellation, Context};
use crate::event::Event;
use crate::result::{CallError, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, ToolError};
use crate::tools::{Handler, Tools};

/// A cancel that is this much overdue was lost with its socket.
const LOST_CANCEL: Duration = Duration::from_secs(5);

/// The handlers, and the calls that they run.
#[derive(Debug)]
pub(crate) struct Dispatch {
    handlers: Handlers,
    running: HashMap<CallId, Arc<Cancellation>>,
    events: mpsc::Sender<Event>,
}

struct Handlers(HashMap<String, Handler>);

impl std::fmt::Debug for Handlers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Dispatch {
    pub(crate) fn new(tools: &Tools, events: mpsc::Sender<Event>) -> Self {
        Self {
            handlers: Handlers(tools.handlers()),
            running: HashMap::new(),
            events,
        }
    }

    /// Replaces the handlers. Calls that run are not touched.
    pub(crate) fn set_tools(&mut self, tools: &Tools) {
        self.handlers = Handlers(tools.handlers());
    }

    /// Runs a call; [`Event::Finished`] follows, its frame at most `limit` bytes long.
    pub(crate) fn run(&mut self, call: Call, limit: usize) {
        let cancellation = Arc::new(Cancellation::default());
        self.running.insert(call.id, Arc::clone(&cancellation));
        let id = call.id;
        let deadline = Instant::now() + call.deadline;
        let prepared = self.prepare(call, deadline, &cancellation);
        let events = self.events.clone();
        tokio::spawn(async move {
            let outcome = match prepared {
                Ok((handler, context)) => {
                    run_handler(&handler, context, deadline, &cancellation).await
                }
                Err(error) => Err(error),
            };
            let frame = answer(id, outcome, limit);
            // The loop has ended if nobody receives it: so has the application.
            _ = events.send(Event::Finished(id, frame)).await;
        });
    }

    /// A call ended.
    pub(crate) fn handle_finished(&mut self, id: CallId) {
        self.running.remove(&id);
    }

    /// Nobody waits for a call any more.
    pub(crate) fn cancel(&self, id: CallId, reason: CancelReason) {
        if let Some(cancellation) = self.running.get(&id) {
            cancellation.cancel(reason);
        }
    }

    /// Nobody waits for any call any more.
    pub(crate) fn cancel_all(&self, reason: CancelReason) {
        for cancellation in self.running.values() {
            cancellation.cancel(reason);
        }
    }

    fn prepare(
        &self,
        call: Call,
        deadline: Instant,
        cancellation: &Arc<Cancellation>,
    ) -> Result<(Handler, Context), CallError> {
        if call.method != "tools/call" {
            let message = format!("the application does not offer {}", call.method);
            return Err(RpcError::new(METHOD_NOT_FOUND, message).into());
        }
        let (name, arguments) = tool_call(&call.params)?;
        let Some(handler) = self.handlers.0.get(&name) else {
            return Err(RpcError::new(INVALID_PARAMS, format!("Unknown tool: {name}")).into());
        };
        let caller = CallContext::read(&call.context).map_err(|error| invalid_params(&error))?;
        let context = Context::new(
            (call, caller),
            arguments,
            deadline.into_std(),
            Arc::clone(cancellation),
            self.events.clone(),
        );
        Ok((Arc::clone(handler), context))
    }
}

/// Reads which tool is called, and its arguments: `{}` if there are none.
fn tool_call(params: &Json) -> Result<(String, Json), RpcError> {
    let call: ToolCall = params.read().map_err(|error| invalid_params(&error))?;
    let arguments = call
        .arguments
        .map_or(Json::EMPTY_OBJECT, |raw| params.part(raw));
    if !arguments.is_object() {
        return Err(RpcError::new(INVALID_PARAMS, "arguments must be an object"));
    }
    Ok((call.name, arguments))
}

fn invalid_params(error: &JsonError) -> RpcError {
    RpcError::new(INVALID_PARAMS, error.to_string())
}

/// Runs a handler to its end. A panic ends its call, and nothing else.
async fn run_handler(
    handler: &Handler,
    context: Context,
    deadline: Instant,
    cancellation: &Cancellation,
) -> Result<Json, CallError> {
    let id = context.call_id();
    let run = AssertUnwindSafe(async { handler(context).await }).catch_unwind();
    tokio::pin!(run);
    let ended = tokio::select! {
        ended = &mut run => ended,
        () = tokio::time::sleep_until(deadline + LOST_CANCEL) => {
            cancellation.cancel(CancelReason::Timeout);
            run.await
        }
    };
    ended.unwrap_or_else(|_| {
        tracing::error!(call = id, "a tool's handler panicked");
        Err(ToolError::new("the tool failed: its handler panicked").into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: &'static str) -> Result<(String, Json), RpcError> {
        tool_call(&Json::parse(params).unwrap())
    }

    #[test]
    fn arguments_are_an_object_or_absent() {
        let empty = Ok(("a".to_owned(), Json::EMPTY_OBJECT));
        assert_eq!(read(r#"{"name":"a"}"#), empty);
        assert_eq!(read(r#"{"name":"a","arguments":null}"#), empty);
        let (_, arguments) = read(r#"{"name":"a","arguments":{ "x":1.0 },"_meta":{}}"#).unwrap();
        assert_eq!(arguments.as_str(), r#"{ "x":1.0 }"#);
        for bad in [
            r#"{"name":"a","arguments":[]}"#,
            "{}",
            "[]",
            r#"{"name":1}"#,
        ] {
            assert_eq!(read(bad).unwrap_err().code, INVALID_PARAMS, "{bad}");
        }
    }
}
