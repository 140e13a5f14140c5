//! The audit: what agents were told against what apps ran, from outside.

mod book;
mod classify;
mod durations;
mod gap;
mod leaks;
mod verdict;

pub use book::{Ask, Book, Call, Tally};
pub use classify::{Outcome, Said, classify};
pub use durations::{Durations, Summary};
pub use gap::{Fault, Gaps};
pub use leaks::{Gauges, Leaks, ProcessState};
pub use verdict::{RouterKill, Verdict, judge};
