//! The subcommands of `clientmcp`, and the in-process cluster that `clientmcp dev` and the
//! scenario tests start.
//!
//! Flags become a valid configuration in two steps: what was typed (the `clap` structs in
//! [`command`]), then what is valid (the `Config` of a node or router). No component reads the
//! environment itself.

pub mod cluster;
pub mod command;
mod demo;
mod intervals;
mod logging;
mod member_identity;
mod process;
mod secret_source;
mod shutdown;
mod store_source;
