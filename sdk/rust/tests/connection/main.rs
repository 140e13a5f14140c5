//! The SDK against a scripted cluster, over real sockets.

#![expect(clippy::unwrap_used, reason = "tests fail by it")]

mod calls;
mod closing;
mod losses;
mod offers;
mod registering;
mod rounds;
mod server;
mod tokens;
mod transport;

use clientmcp_sdk::{App, Builder, CallError, Context, Json, Tool, ToolError, ToolResult};
use serde_json::Value;

use crate::server::Server;

/// An application with a token and nothing else.
fn builder(server: &Server) -> Builder {
    App::builder(server.url()).token("secret-token")
}

/// A tool that answers the text `done`.
fn done(
    name: &str,
) -> (
    Tool,
    impl Fn(Value, Context) -> std::future::Ready<Outcome> + use<>,
) {
    let tool = Tool::new(name, "Is done at once");
    (tool, |_, _| std::future::ready(Ok("done".into())))
}

type Outcome = Result<ToolResult, CallError>;

/// A tool that runs until a test lets it end, and says when it has begun.
struct Gate {
    began: tokio::sync::mpsc::UnboundedReceiver<Context>,
    end: std::sync::Arc<tokio::sync::Notify>,
}

/// Adds the tool `wait`, which answers its number of runs.
fn gated(builder: Builder) -> (Builder, Gate) {
    let (sender, began) = tokio::sync::mpsc::unbounded_channel();
    let end = std::sync::Arc::new(tokio::sync::Notify::new());
    let ends = end.clone();
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let builder = builder.tool(Tool::new("wait", ""), move |_: Value, call: Context| {
        let run = runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        let (sender, ends) = (sender.clone(), ends.clone());
        async move {
            sender.send(call.clone()).unwrap();
            tokio::select! {
                () = ends.notified() => Ok(format!("run {run}")),
                reason = call.cancelled() => Err(ToolError::new(format!("{reason:?}")).into()),
            }
        }
    });
    (builder, Gate { began, end })
}

impl Gate {
    async fn began(&mut self) -> Context {
        server::soon(self.began.recv()).await.unwrap()
    }
}

fn json(text: &'static str) -> Json {
    Json::parse(text).unwrap()
}
