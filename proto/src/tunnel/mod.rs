//! Apps' WebSockets between a router and a node, all on one stream of the pair: the trunk.
//!
//! A WebSocket of its own would be a connection of its own between router and node: two sockets,
//! and two more crossings for each message. On the trunk, what many tunnels have to say leaves with
//! one write. Three rules keep one tunnel from holding up the others:
//!
//! - Bytes go in chunks of at most [`CHUNK_BYTES`], one chunk a turn, round-robin among tunnels.
//! - At most [`WINDOW_BYTES`] of one tunnel are under way each way, those that wait at the sender
//!   and at the receiver among them; more follows as the receiver gives credit.
//! - Whoever reads a trunk never waits: what has arrived is kept with its tunnel.
//!
//! ```text
//! (trunk, drain) = trunk()                      drain is the stream that tonic sends
//! router: trunk.open(headers) → answer, halves  node: trunk.handle(Open) → accept → halves
//! both:   trunk.handle(frame) for each frame; trunk.lose() when the stream ends
//! ```
//!
//! An idle tunnel has no buffers.

mod half;
mod state;
#[cfg(test)]
mod tests;
mod trunk;

pub use half::{Opening, Receiver, Sender};
pub use trunk::{Closed, Drain, Overrun, Trunk, trunk};

/// The largest chunk.
pub const CHUNK_BYTES: usize = 64 * 1024;
/// How much of one tunnel may be under way without credit.
pub const WINDOW_BYTES: usize = 256 * 1024;
