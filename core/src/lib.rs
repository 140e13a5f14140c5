//! The protocol of ClientMCP cluster without I/O and without a clock.
//!
//! Time and randomness are arguments. Nodes and routers drive what stands here; SPEC.md is the
//! normative text.

#![warn(clippy::iter_over_hash_type)]

pub mod channel;
pub mod claim;
pub mod close;
pub mod handshake;
pub mod ids;
pub mod json;
pub mod limits;
pub mod mcp;
pub mod message;
pub mod prompt;
pub mod register;
pub mod registration;
pub mod resource;
pub mod secret;
pub mod session_note;
pub mod tick;
pub mod timings;
pub mod token;
pub mod tool;

/// Texts for property tests; a file apart, so that tests of other crates can include it too.
#[cfg(test)]
#[path = "../testing/json.rs"]
mod texts;
