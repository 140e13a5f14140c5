//! What somebody watches of an app's resources, as the app is told (SPEC.md §4.11).

use std::time::Duration;

use super::{Channel, Output};
use crate::limits;
use crate::message::ClusterMessage;
use crate::registration::Kind;
use crate::tick::Tick;

/// What the app was told.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// The last set; `None` as long as nothing was told on this connection.
    told: Option<Vec<String>>,
    /// When it is told next.
    due: Option<Tick>,
}

impl Watched {
    pub(super) fn due(&self) -> Option<Tick> {
        self.due
    }
}

impl Channel {
    /// Somebody began or ceased to watch a resource. The app is told within
    /// [`limits::WATCHED_WITHIN_MS`], of all that changes meanwhile at once, if it has resources.
    pub fn handle_watch_changed(&mut self, now: Tick) {
        if self.has_resources() {
            let within = Duration::from_millis(limits::WATCHED_WITHIN_MS);
            self.watched.due.get_or_insert(now + within);
        }
    }

    /// The answer to [`Output::ListWatched`]: all that is watched, sorted.
    pub fn handle_watched(&mut self, now: Tick, mut uris: Vec<String>) {
        if !self.has_resources() {
            return;
        }
        let mut bytes = 0;
        uris.retain(|uri| {
            bytes += uri.len();
            bytes <= limits::WATCHED_BYTES_PER_APP
        });
        if self.watched.told.as_ref() == Some(&uris) {
            return;
        }
        let message = ClusterMessage::Subscriptions { uris: uris.clone() };
        self.watched.told = Some(uris);
        self.send(now, &message);
    }

    pub(super) fn ask_what_is_watched(&mut self, now: Tick) {
        if self.watched.due.take_if(|due| *due <= now).is_some() {
            self.outputs.push_back(Output::ListWatched);
        }
    }

    fn has_resources(&self) -> bool {
        let offered = self.hashes().map(|hashes| hashes.resources);
        !self.ended && offered.is_some_and(|hash| hash != Kind::Resources.empty_hash())
    }
}
