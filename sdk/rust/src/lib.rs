//! Offer tools, prompts and resources of a running program to AI agents through a ClientMCP cluster.
//!
//! The program dials out, registers what it offers and answers calls; agents reach it over MCP at
//! the cluster's address. The connection is kept: lost ones are replaced, tokens are renewed, and a
//! call that runs while the connection is lost is answered once it is back.
//!
//! ```no_run
//! # async fn demo(my_token: String) -> Result<(), Box<dyn std::error::Error>> {
//! use clientmcp_sdk::{App, Context, Tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct SetColor {
//!     color: String,
//! }
//!
//! let app = App::builder("wss://bridge.example.com/v1/connect")
//!     .token(my_token)
//!     .server_info("demo", "1.0.0")
//!     .typed_tool(
//!         Tool::new("set_color", "Sets the colour"),
//!         async |args: SetColor, _: Context| Ok(format!("it is {} now", args.color)),
//!     )
//!     .connect();
//! app.online().await?;
//! # Ok(())
//! # }
//! ```
//!
//! - **Arguments** are checked against the tool's schema and read into the type of the handler's
//!   first parameter; [`Tools::raw_tool`] passes parameters and results verbatim, to the byte.
//! - **[`Prompts`] and [`Resources`]** work alike, with arguments and variables that are completed.
//! - **Failures**: `?` on any error tells its text to the model; [`RpcError`] is a JSON-RPC error.
//!   A panic ends its call alone, and a result that no message can carry becomes an error that
//!   names the limit.
//! - **[`Context`]** tells a handler who calls and when nobody waits any more, sends progress and
//!   log messages, and asks the agent, its user and its model ([`Context::elicit`],
//!   [`Context::sample`]).
//! - **[`App::status`]** says where the connection stands.
//!
//! The protocol is SPEC.md §4 of the project.

mod alarm;
mod answer;
mod app;
mod asking;
mod builder;
mod calls;
mod completion;
mod content;
mod context;
mod definition;
mod dial;
mod dispatch;
mod driver;
mod event;
mod handler;
mod input;
mod link;
mod offers;
mod prompt;
mod prompts;
mod reconnect;
mod registration;
mod reply;
mod resource;
mod resources;
mod result;
mod run;
mod sampling;
mod schema;
mod seal;
mod session;
mod shelf;
mod socket;
mod status;
mod tls;
mod token;
mod tool;
mod tools;
mod uri_template;

pub use app::{App, WeakApp};
pub use builder::Builder;
pub use clientmcp_core::json::{Json, JsonError};
pub use clientmcp_core::message::LogLevel;
pub use completion::{Completion, CompletionRequest};
pub use content::{Content, ResourceContents};
pub use context::{CancelReason, Context, TaskOptions};
pub use driver::OfferError;
pub use input::{AskError, Elicited, InputRequests, InputResponses, Root};
pub use prompt::{Argument, Prompt, PromptResult};
pub use prompts::Prompts;
pub use registration::TooLarge;
pub use reply::{Answer, InputRequired, Reply, Structured};
pub use resource::{Resource, ResourceResult, ResourceTemplate};
pub use resources::Resources;
pub use result::{CallError, RpcError, ToolError, ToolResult};
pub use sampling::{Sampled, Sampling};
pub use schemars;
pub use status::{Online, Rejected, Status, Stopped};
pub use token::TokenReason;
pub use tool::{TaskSupport, Tool};
pub use tools::Tools;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
