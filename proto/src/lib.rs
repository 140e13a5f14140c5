//! The typed contract between routers and nodes, and the link that carries calls.
//!
//! `clientmcp/v1/bridge.proto` is the contract; [`v1`] is what is generated from it.

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
