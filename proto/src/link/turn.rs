//! When a stream of frames gives what it has.

use std::task::Context;

/// A stream is woken by the first of many that have something to say, and would leave with that
/// alone: a runtime runs next what was woken last. So it lets all that can run go first, once each
/// time that it is woken.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// All others had their turn.
    is_mine: bool,
}

impl Turn {
    /// Whether others go first. The task is polled again after them.
    pub(crate) fn is_others(&mut self, context: &Context<'_>) -> bool {
        if std::mem::replace(&mut self.is_mine, true) {
            return false;
        }
        context.waker().wake_by_ref();
        true
    }

    /// Nothing is left to be said, until the stream is woken.
    pub(crate) fn over(&mut self) {
        self.is_mine = false;
    }
}
