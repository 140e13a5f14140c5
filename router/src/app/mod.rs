//! The app's side: WebSockets that are passed on to the nodes.

pub(crate) mod connect;
pub(crate) mod locate;
mod relay;
mod tunnel;
mod websocket;
