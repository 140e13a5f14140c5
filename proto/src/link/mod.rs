//! What both ends of a link need, generic over the direction.
//!
//! A link is one long-lived stream of frames each way between a router and a node; all calls of
//! the pair share it. Three rules keep one call from holding up the others:
//!
//! - Small frames go first, in the order in which they were sent.
//! - A payload above [`Limits::inline_bytes`] is announced by its first frame and follows in
//!   chunks, one chunk a turn, round-robin among calls ([`outbox()`]).
//! - At most [`Limits::window_bytes`] of one payload are under way; more follows as the receiver
//!   gives credit ([`Assembler`]).
//!
//! ```text
//! sender:   (outbox, drain) = outbox(limits)     drain is the stream that tonic sends
//! receiver: assembler.begin(first frame) … assembler.chunk(…) → credit frame / whole payload
//! sender:   outbox.credit(call, bytes)           when a credit frame arrives
//! ```

mod assembler;
mod call_key;
mod frame;
mod limits;
mod outbox;
mod queue;
#[cfg(test)]
mod tests;
mod turn;

pub use assembler::{Arrived, AssembleError, Assembler, Begun};
pub use call_key::CallKey;
pub use frame::Frame;
pub use limits::Limits;
pub use outbox::{Drain, Outbox, outbox};
pub use queue::{SendError, Withdrawn};
pub(crate) use turn::Turn;
