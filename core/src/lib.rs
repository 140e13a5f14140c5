//! The protocol of ClientMCP cluster without I/O and without a clock.
//!
//! Time and randomness are arguments. Nodes and routers drive what stands here; SPEC.md is the
//! normative text.

pub mod claim;
pub mod ids;
pub mod limits;
pub mod registration;
