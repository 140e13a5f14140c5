//! The typed contract between routers and nodes, and the link that carries calls.
//!
//! `clientmcp/v1/bridge.proto` is the contract; [`v1`] is what is generated from it. [`link`] is
//! what both ends of a link need to share one stream fairly, [`headers`] names what travels
//! beside the messages, and [`transport`] sets up connections between processes.

pub mod headers;
pub mod link;
pub mod transport;
pub mod tunnel;

/// Messages, client and server of `clientmcp.v1`.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    unreachable_pub,
    unused_qualifications
)]
pub mod v1 {
    tonic::include_proto!("clientmcp.v1");
}
