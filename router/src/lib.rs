//! The process that faces the world: agents' HTTP and apps' WebSocket upgrades.
//!
//! A router keeps no state per agent or app beyond requests in flight. Its request path, top
//! down: `listener` accepts, `routes` says what is served where, `agent` is the agent endpoint
//! and `app` the apps' side. Below them, `calls` carries one call to its one answer, `placement`
//! knows which node to ask, and `links` are the ways there.

mod abandoned;
mod agent;
mod answer;
mod app;
mod authorize;
mod body;
mod bounded;
mod calls;
mod config;
mod delivery;
mod fetch;
mod following;
mod gateway;
mod limits;
mod links;
mod listener;
mod metrics;
mod notices;
mod order;
mod placement;
mod refusal;
mod registrations;
mod request_body;
mod respond;
mod rounds;
mod routes;
mod sessions;
mod start;
mod status;
mod tasks;
mod verdict;
mod verified;
mod watch;

pub use body::{Body, Response, Stalled};
pub use config::{Config, Extra};
pub use start::{Router, StartError};
