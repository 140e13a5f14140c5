//! Watching a client ID: its state as it is, then each change.
//!
//! The stream is pulled by the transport, so that a watch costs no task, and a slow reader sees
//! the latest state instead of a queue of old ones.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::ids::{ClientId, Incarnation, MemberId};
use clientmcp_proto::v1::absent::Why;
use clientmcp_proto::v1::watch_event::Event;
use clientmcp_proto::v1::{
    Elsewhere, NotHere, Replaced, SessionEnded, State, WatchEvent, WatchRequest, not_here,
};
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tonic::Status;

use super::describe::hashes;
use super::{Events, client_id, session};
use crate::asking::FRESH;
use crate::limits;
use crate::lookout::Lookout;
use crate::places::{self, Place};
use crate::registry::{Presence, SessionWasEnded, StreamEnd, Watching};
use crate::state::NodeState;

/// Begins to watch.
pub(super) fn watch(node: Arc<NodeState>, request: &WatchRequest) -> Result<Events, Status> {
    let client_id = client_id(&request.client_id)?;
    let session = session(&request.session_id);
    let uris = request.uris.clone();
    let Ok(watching) = node.registry.watch(&client_id, session, uris) else {
        return Ok(only(Event::SessionEnded(SessionEnded {})));
    };
    let session = session.map(str::to_owned);
    let unreachable = super::unreachable(&request.unreachable);
    let watcher = Watcher::new(
        node,
        &client_id,
        session,
        watching,
        unreachable,
        request.resumed,
    );
    let events = stream::unfold(watcher, |mut watcher| async {
        let event = watcher.next().await?;
        let event = WatchEvent { event: Some(event) };
        Some((Ok(event), watcher))
    });
    Ok(Box::pin(events))
}

/// The answer to a request that is not for this run.
pub(super) fn elsewhere(not_here: NotHere) -> Events {
    only(Event::NotHere(not_here))
}

fn only(event: Event) -> Events {
    let event = WatchEvent { event: Some(event) };
    Box::pin(stream::iter([Ok(event)]))
}

/// Sees where a client ID is.
pub(super) struct Watcher {
    node: Arc<NodeState>,
    session: Option<String>,
    unreachable: Vec<(MemberId, Incarnation)>,
    watching: Watching,
    /// The last state that was told.
    told: Option<State>,
    /// The epoch of the last connection that was told.
    connected: Option<u64>,
    /// The app was away, or the stream was: what became of its resources is not known.
    gap: bool,
    /// When something was told last.
    quiet_since: Instant,
    /// How old the record may be that is looked at next.
    age: Duration,
    /// Shared with all who look for this client ID.
    lookout: Arc<Lookout>,
    looks: watch::Receiver<u64>,
    is_over: bool,
}

/// What a watcher wakes for.
enum Wake {
    /// Something has changed here, a resource among it, or it is time to look again.
    Look,
    /// The session's stream has to end.
    End(StreamEnd),
    /// The node stops.
    Drain,
}

impl Watcher {
    /// Sees where a client ID is on behalf of a session, and is none of its streams.
    pub(super) fn of_whereabouts(
        node: Arc<NodeState>,
        client_id: &ClientId,
        session: String,
        unreachable: Vec<(MemberId, Incarnation)>,
    ) -> Result<Self, SessionWasEnded> {
        node.registry.connection(client_id, Some(&session))?;
        let watching = node.registry.watch(client_id, None, Vec::new())?;
        let session = Some(session);
        Ok(Self::new(
            node,
            client_id,
            session,
            watching,
            unreachable,
            false,
        ))
    }

    fn new(
        node: Arc<NodeState>,
        client_id: &ClientId,
        session: Option<String>,
        watching: Watching,
        unreachable: Vec<(MemberId, Incarnation)>,
        gap: bool,
    ) -> Self {
        let lookout = node.lookouts.of(client_id);
        Self {
            node,
            session,
            unreachable,
            watching,
            told: None,
            connected: None,
            gap,
            quiet_since: Instant::now(),
            age: FRESH,
            looks: lookout.looks(),
            lookout,
            is_over: false,
        }
    }

    /// The next event; `None` after the last one. May be dropped and asked again.
    pub(super) async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        loop {
            let event = self.look().await;
            self.is_over = !matches!(event, None | Some(Event::State(_)));
            if event.is_some() {
                return event;
            }
            if let Some(params) = self.watching.updates.next() {
                return Some(Event::ResourceUpdated(params));
            }
            let last = match self.wake().await {
                Wake::Look => continue,
                Wake::End(StreamEnd::Replaced) => Event::Replaced(Replaced {}),
                Wake::End(StreamEnd::SessionEnded) => Event::SessionEnded(SessionEnded {}),
                Wake::Drain => Event::NotHere(super::not_here(not_here::Why::Draining)),
            };
            self.is_over = true;
            return Some(last);
        }
    }

    /// What there is to tell, if anything.
    async fn look(&mut self) -> Option<Event> {
        let state = match self.watching.presence.current() {
            Presence::Here { epoch, hashes: h } => State {
                epoch: epoch.0,
                connected: true,
                hashes: Some(hashes(&h)),
            },
            Presence::MovedTo(to) => {
                return Some(Event::Elsewhere(Elsewhere {
                    node_id: to.node.to_string(),
                    incarnation: to.incarnation.0,
                    epoch: to.epoch.0,
                    address: to.address,
                }));
            }
            Presence::NotHere => return self.look_around().await,
        };
        self.tell(state)
    }

    /// A client ID that is not held here: the store knows.
    async fn look_around(&mut self) -> Option<Event> {
        let session = self.session.as_deref();
        let absent = |hashes| State {
            epoch: 0,
            connected: false,
            hashes,
        };
        // Whatever is read from here on is looked at, by this watcher as well.
        self.looks.mark_unchanged();
        let (lookout, unreachable) = (&self.lookout, &self.unreachable);
        let found = places::find_as_of(&self.node, lookout, session, unreachable, self.age);
        let state = match found.await {
            // It has just come: the presence tells of it.
            Place::Here(_) => return None,
            Place::SessionEnded => return Some(Event::SessionEnded(SessionEnded {})),
            Place::Elsewhere(elsewhere) => return Some(Event::Elsewhere(elsewhere)),
            Place::Absent(_, Some(last)) => absent(Some(hashes(&last.hashes))),
            Place::Absent(why, None) if why.why() != Why::Away => absent(None),
            // Nothing is known, and nothing was told yet: that is all there is to tell.
            Place::Absent(..) | Place::Unknown if self.told.is_none() => absent(None),
            Place::Absent(..) | Place::Unknown => return None,
        };
        self.tell(state)
    }

    fn tell(&mut self, state: State) -> Option<Event> {
        if self.told.as_ref() == Some(&state) {
            return None;
        }
        self.note_gap(&state);
        self.told = Some(state.clone());
        self.quiet_since = Instant::now();
        Some(Event::State(state))
    }

    /// After a gap, everything that is watched may have changed.
    fn note_gap(&mut self, state: &State) {
        if !state.connected {
            self.gap = true;
            return;
        }
        let before = self.connected.replace(state.epoch);
        self.gap |= before.is_some_and(|before| before != state.epoch);
        if std::mem::take(&mut self.gap) {
            self.watching.update_all();
        }
    }

    async fn wake(&mut self) -> Wake {
        // The longer nothing has changed, the less often; and not many watchers at the same moment.
        let look_again = (self.quiet_since.elapsed() / 2)
            .clamp(limits::WATCH_POLL_INTERVAL, limits::WATCH_POLL_MAX)
            .mul_f64(rand::random_range(1.0..1.5));
        let is_connected = self.told.as_ref().is_some_and(|told| told.connected);
        let Watching {
            presence,
            end,
            updates,
            ..
        } = &mut self.watching;
        let ended = async {
            match end {
                Some(end) => end.await.unwrap_or(StreamEnd::Replaced),
                None => std::future::pending().await,
            }
        };
        let (wake, age) = tokio::select! {
            end = ended => (Wake::End(end), FRESH),
            () = presence.changed() => (Wake::Look, FRESH),
            () = updates.arrived() => (Wake::Look, FRESH),
            // An app that is still held here is watched here, until its socket ends.
            () = self.node.draining.cancelled(), if !is_connected => (Wake::Drain, FRESH),
            // While it is absent it may register elsewhere, which nobody tells this node: of all
            // who watch it, the first to wake reads the record, and the others take a look at it.
            () = sleep(look_again), if !is_connected => (Wake::Look, FRESH),
            Ok(()) = self.looks.changed(), if !is_connected => {
                (Wake::Look, limits::WATCH_POLL_INTERVAL)
            }
        };
        self.age = age;
        wake
    }
}
