//! The protocol of ClientMCP cluster without I/O and without a clock.
//!
//! Time and randomness are arguments. Nodes and routers drive what stands here; SPEC.md is the
//! normative text.

pub mod claim;
pub mod close;
pub mod ids;
pub mod json;
pub mod limits;
pub mod mcp;
pub mod registration;
pub mod secret;
pub mod tick;
pub mod timings;
pub mod token;
