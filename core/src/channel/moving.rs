//! Planned moves (SPEC.md §4.10).

use std::time::Duration;

use super::Channel;
use crate::message::{ClusterMessage, MoveReason};
use crate::tick::Tick;

impl Channel {
    /// Asks the app to open its next connection, at `url` or where it connected before, within
    /// `within` (SPEC.md §4.10). `false`: it is not one that can, or was asked already.
    pub fn ask_to_move(
        &mut self,
        now: Tick,
        reason: MoveReason,
        within: Duration,
        url: Option<String>,
    ) -> bool {
        if self.ended || self.asked_to_move || !self.resumes() {
            return false;
        }
        self.asked_to_move = true;
        let message = ClusterMessage::Move {
            reason,
            within,
            url,
        };
        self.send(now, &message);
        true
    }
}
