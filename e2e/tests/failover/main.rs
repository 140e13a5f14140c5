//! Nodes, sockets and agents that are lost while calls run, on a whole cluster in this process.
//! Each test says which fault it holds against.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cancels;
mod deaths;
mod moves;
mod rounds;
mod scene;
mod takeovers;
