//! The agent's side: MCP over HTTP in both eras, as pure functions (SPEC.md §5 to §9).

pub mod accept;
pub mod capability;
pub mod cors;
pub mod era;
pub mod error;
pub mod header;
pub mod inbound;
pub mod legacy;
pub mod message;
pub mod meta;
pub mod method;
pub mod modern;
pub mod origin;
pub mod outcome;
pub mod params;
pub mod request;
pub mod sentinel;
pub mod session;
pub mod sse;
pub mod version;
