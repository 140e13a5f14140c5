//! The cluster as processes of its own on a real Redis: two routers, three nodes, the fixture app.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod failures;
mod losses;
mod secrecy;
mod start_errors;
mod working;

/// The fixture app.
const FIXTURE: &str = env!("CARGO_BIN_EXE_clientmcp-fixture");
