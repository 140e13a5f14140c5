//! The process that holds app WebSockets.
//!
//! [`Node::start`] brings one up; [`Config`] is all that it is told. What decides about an app's
//! connection stands in [`clientmcp_core::channel`]; this crate feeds it: the socket, the links
//! to routers, the store and the clock.

mod admission;
mod answers;
mod asking;
mod bridge;
mod claims;
mod clock;
mod config;
mod connection;
mod content;
mod drain;
mod early_cancels;
mod limits;
mod link;
mod listener;
mod lookout;
mod mark;
mod metrics;
mod moving;
mod peers;
mod places;
mod registry;
mod relay;
mod socket;
mod start;
mod state;
mod status;
mod tunnels;
mod upgrade;
mod waiting;

pub use config::Config;
pub use start::{Node, StartError};
