//! The agent's side: MCP over HTTP in both eras, as pure functions (SPEC.md §5 to §9).

pub mod accept;
pub mod capability;
pub mod cors;
pub mod error;
pub mod header;
pub mod message;
pub mod method;
pub mod origin;
pub mod outcome;
pub mod params;
pub mod sentinel;
pub mod sse;
pub mod version;
