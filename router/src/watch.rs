//! The state of a client ID, as it is and as it changes, wherever it moves: what GET streams and
//! `subscriptions/listen` are made of.

use std::sync::Arc;

use bytes::Bytes;
use clientmcp_core::ids::ClientId;
use clientmcp_core::mcp::session::SessionKey;
use clientmcp_core::registration::{Hashes, Kind};
use clientmcp_proto::v1::{self, watch_event};
use tonic::Streaming;

use crate::following::Following;
use crate::links::{Peer, Run, Silence};
use crate::placement::Placement;
use crate::registrations::read_hashes;

/// What a watcher learns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sight {
    /// The content of these kinds changed, each once. Never empty.
    Changed(Vec<Kind>),
    /// Parameters of notifications/resources/updated.
    ResourceUpdated(Bytes),
    /// The session ended, or a newer stream of the same session took over.
    Ended,
}

/// A watch that outlives nodes and moves: it is opened again wherever the client ID went, and
/// what changed in between is told once.
#[derive(Debug)]
pub(crate) struct Watching {
    following: Following,
    watcher: Watcher,
    stream: Option<(Run, Streaming<v1::WatchEvent>)>,
    /// It was watching before: what happened since is not known.
    resumed: bool,
    seen: Seen,
}

/// Who watches.
#[derive(Debug, Clone)]
pub(crate) enum Watcher {
    /// The GET stream of a session: a newer one ends it. The session's note says of which
    /// resources it wants to hear.
    Session(SessionKey),
    /// A subscription, with the resources of which it wants to hear.
    Subscription(Vec<String>),
}

impl Watching {
    /// A watch that is opened when it is first asked. `seen` is what its agent may know already.
    pub(crate) fn new(
        placement: &Arc<Placement>,
        client_id: &ClientId,
        watcher: Watcher,
        seen: Hashes,
    ) -> Self {
        Self {
            following: Following::new(placement, client_id),
            watcher,
            stream: None,
            resumed: false,
            seen: Seen(seen),
        }
    }

    /// What is seen next. While nobody can be asked, this waits. After [`Sight::Ended`] nothing
    /// follows.
    pub(crate) async fn next(&mut self) -> Sight {
        loop {
            let Some((run, stream)) = &mut self.stream else {
                self.open().await;
                continue;
            };
            let run = run.clone();
            let event = match stream.message().await {
                Ok(Some(event)) => event.event,
                Ok(None) => {
                    self.reopen(&run);
                    continue;
                }
                Err(status) => {
                    tracing::debug!(node = %run, %status, "a watch broke");
                    self.reopen(&run);
                    continue;
                }
            };
            match event {
                Some(watch_event::Event::State(state)) => {
                    self.following.found();
                    let changed = self.seen.note(state.hashes.as_ref());
                    if !changed.is_empty() {
                        return Sight::Changed(changed);
                    }
                }
                Some(watch_event::Event::ResourceUpdated(params)) => {
                    return Sight::ResourceUpdated(params);
                }
                Some(watch_event::Event::SessionEnded(_) | watch_event::Event::Replaced(_)) => {
                    return Sight::Ended;
                }
                Some(watch_event::Event::Elsewhere(to)) => self.follow(&run, &to),
                Some(watch_event::Event::NotHere(_)) | None => self.reopen(&run),
            }
        }
    }

    async fn open(&mut self) {
        let peer = self.following.peer().await;
        match self.ask(&peer).await {
            Ok(stream) => self.stream = Some((peer.run(), stream)),
            Err(error) => {
                tracing::debug!(node = %peer.run(), %error, "a watch was not opened");
                self.following.missed(&peer.run());
            }
        }
    }

    async fn ask(&self, peer: &Peer) -> Result<Streaming<v1::WatchEvent>, Silence> {
        let (session_id, uris) = match &self.watcher {
            Watcher::Session(session) => (session.as_str().to_owned(), Vec::new()),
            Watcher::Subscription(uris) => (String::new(), uris.clone()),
        };
        let request = v1::WatchRequest {
            target: peer.target(),
            client_id: self.following.client_id().to_string(),
            session_id,
            unreachable: self.following.unreachable(),
            uris,
            resumed: self.resumed,
        };
        // The stream's head comes at once or the node is in trouble.
        let mut client = peer.bridge().client();
        peer.bridge().within(client.watch(request)).await
    }

    /// The node named another one.
    fn follow(&mut self, run: &Run, to: &v1::Elsewhere) {
        self.stream = None;
        self.resumed |= self.following.is_found();
        self.following.follow(run, to);
    }

    /// The node has nothing more to say.
    fn reopen(&mut self, run: &Run) {
        self.stream = None;
        self.resumed |= self.following.is_found();
        self.following.reopen(run);
    }
}

/// The hashes that were seen last.
#[derive(Debug)]
struct Seen(Hashes);

impl Seen {
    /// Notes the present hashes, and gives the kinds that differ from what was seen before. An
    /// app that never registered, or whose registration is forgotten, offers nothing.
    fn note(&mut self, present: Option<&v1::Hashes>) -> Vec<Kind> {
        let present = match present {
            None => Hashes::empty(),
            Some(present) => match read_hashes(present) {
                Some(present) => present,
                None => return Vec::new(),
            },
        };
        let before = std::mem::replace(&mut self.0, present);
        let differs = |kind: &Kind| before.get(*kind) != present.get(*kind);
        Kind::ALL.into_iter().filter(differs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_core::registration::ContentHash;

    fn hashes(tools: &str, rest: &str) -> v1::Hashes {
        let hash = |kind: Kind, text: &str| ContentHash::of(kind, text.as_bytes()).to_string();
        v1::Hashes {
            tools: hash(Kind::Tools, tools),
            prompts: Kind::Prompts.empty_hash().to_string(),
            resources: Kind::Resources.empty_hash().to_string(),
            rest: hash(Kind::Rest, rest),
        }
    }

    #[test]
    fn each_change_is_told_once() {
        let mut seen = Seen(Hashes::empty());
        let mut note = |tools, rest| seen.note(Some(&hashes(tools, rest)));
        assert_eq!(note("a", "x"), [Kind::Tools, Kind::Rest]);
        assert_eq!(note("a", "x"), []);
        assert_eq!(note("b", "x"), [Kind::Tools]);
        assert_eq!(note("b", "x"), []);
        assert_eq!(note("a", "y"), [Kind::Tools, Kind::Rest]);
    }

    #[test]
    fn an_app_that_never_registered_offers_nothing() {
        let mut seen = Seen(Hashes::empty());
        assert_eq!(seen.note(None), []);
        assert_eq!(seen.note(Some(&hashes("[1]", "{}"))), [Kind::Tools]);
        assert_eq!(seen.note(None), [Kind::Tools]);
    }
}
