//! What legacy sessions ask through whichever router: cancelling a request, ending a session,
//! another level of log messages, news of resources.

use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::store::StoreError;
use clientmcp_core::channel::Origin;
use clientmcp_core::ids::ClientId;
use clientmcp_core::json::Json;
use clientmcp_core::message::LogLevel;
use clientmcp_core::session_note::{SessionChange, SessionNote};
use clientmcp_proto::v1::{
    Accepted, CancelRequestRequest, CancelRequestResponse, ChangeSessionRequest,
    ChangeSessionResponse, EndSessionRequest, EndSessionResponse, NotHere, SessionEnded, TooMany,
    cancel_request_response, change_session_request, change_session_response, end_session_response,
    not_here,
};
use tokio::time::sleep;
use tonic::Status;

use super::client_id;
use crate::limits;
use crate::places::{self, ALL_REACHABLE, Place};
use crate::state::NodeState;

/// How often a change follows its client ID that comes and goes.
const CHANGE_ROUNDS: usize = 3;

/// Cancels the call that a session's request became, whether it runs, waits for its app, or has
/// not arrived yet.
pub(super) async fn cancel_request(
    node: &Arc<NodeState>,
    checked: Result<(), NotHere>,
    request: CancelRequestRequest,
) -> Result<CancelRequestResponse, Status> {
    use cancel_request_response::At;

    if let Err(not_here) = checked {
        return Ok(CancelRequestResponse {
            at: Some(At::NotHere(not_here)),
        });
    }
    let client_id = client_id(&request.client_id)?;
    let request_id = Json::parse(request.request_id)
        .map_err(|_| Status::invalid_argument("the request id is no JSON"))?;
    let keep = node.timings.early_cancel;
    let place = places::find(node, &client_id, Some(&request.session_id), ALL_REACHABLE).await;
    let origin = Origin {
        session: request.session_id,
        request_id,
    };
    // Between two rounds nobody can say whether the call waits for input or is on its way: both
    // are told.
    if matches!(place, Place::Here(_) | Place::Absent(..) | Place::Unknown) {
        node.answers.cancel(&client_id, &origin, keep);
    }
    let at = match place {
        Place::Here(holding) => {
            holding
                .connection
                .cancel_request(&origin.session, &origin.request_id);
            At::Accepted(Accepted {})
        }
        Place::SessionEnded => At::SessionEnded(SessionEnded {}),
        Place::Elsewhere(elsewhere) => At::Elsewhere(elsewhere),
        Place::Absent(..) | Place::Unknown => {
            // The call waits for the app here, or is on its way.
            node.waiting.cancel(&client_id, origin, keep);
            At::Accepted(Accepted {})
        }
    };
    Ok(CancelRequestResponse { at: Some(at) })
}

/// Notes what a session asks for.
///
/// Who holds the client ID has the notes of its sessions in memory; the store is told before the
/// agent is, so that the next holder has them as well. Without the store the change counts all the
/// same, and is written when the store is back. Of a client ID that nobody holds the store alone
/// has the notes.
pub(super) async fn change_session(
    node: &Arc<NodeState>,
    checked: Result<(), NotHere>,
    request: ChangeSessionRequest,
) -> Result<ChangeSessionResponse, Status> {
    use change_session_response::At;

    let answer = |at| Ok(ChangeSessionResponse { at: Some(at) });
    if let Err(not_here) = checked {
        return answer(At::NotHere(not_here));
    }
    let client_id = client_id(&request.client_id)?;
    let change = read_change(request.change)?;
    let changing = Changing {
        node,
        client_id: &client_id,
        session: &request.session_id,
        change: &change,
        ttl: Duration::from_secs(request.ttl_s),
    };
    let lookout = node.lookouts.of(&client_id);
    let _turn = lookout.changes.lock().await;
    // The client ID may go from one place to the other meanwhile: then it is noted there as well.
    for _ in 0..CHANGE_ROUNDS {
        let place = changing.place().await;
        let is_here = matches!(place, Place::Here(_));
        let changed = match place {
            Place::Here(_) => changing.here().await,
            Place::Absent(..) => changing.in_store().await,
            Place::SessionEnded => return answer(At::SessionEnded(SessionEnded {})),
            Place::Elsewhere(elsewhere) => return answer(At::Elsewhere(elsewhere)),
            Place::Unknown => Changed::NotNow,
        };
        match changed {
            Changed::Noted if matches!(changing.place().await, Place::Here(_)) == is_here => {
                return answer(At::Accepted(Accepted {}));
            }
            Changed::Noted => {}
            Changed::TooMany => return answer(At::TooMany(TooMany {})),
            Changed::NotNow => break,
        }
    }
    answer(At::NotHere(super::not_here(
        not_here::Why::StoreUnreachable,
    )))
}

/// A change that is to be noted.
struct Changing<'a> {
    node: &'a Arc<NodeState>,
    client_id: &'a ClientId,
    session: &'a str,
    change: &'a SessionChange,
    ttl: Duration,
}

enum Changed {
    Noted,
    TooMany,
    /// The store does not answer.
    NotNow,
}

impl Changing<'_> {
    async fn place(&self) -> Place {
        places::find(self.node, self.client_id, Some(self.session), ALL_REACHABLE).await
    }

    async fn here(&self) -> Changed {
        let registry = &self.node.registry;
        let Ok(note) = registry.change_session(self.client_id, self.session, self.change) else {
            return Changed::TooMany;
        };
        if self.write(&note).await.is_err() {
            let (client_id, session) = (self.client_id.clone(), self.session.to_owned());
            let again = write_late(self.node.clone(), client_id, session, self.ttl);
            self.node.errand(again);
        }
        Changed::Noted
    }

    async fn in_store(&self) -> Changed {
        let Ok(notes) = self.node.store.sessions(self.client_id).await else {
            return Changed::NotNow;
        };
        let of_all = notes.iter().map(|(_, note)| note.weight()).sum();
        let noted = notes.into_iter().find(|(noted, _)| noted == self.session);
        let mut note = noted.map(|(_, note)| note).unwrap_or_default();
        if note.change(self.change, of_all).is_err() {
            return Changed::TooMany;
        }
        match self.write(&note).await {
            Ok(()) => Changed::Noted,
            Err(_) => Changed::NotNow,
        }
    }

    async fn write(&self, note: &SessionNote) -> Result<(), StoreError> {
        let store = &self.node.store;
        let written = store.note_session(self.client_id, self.session, note, self.ttl);
        written.await.inspect_err(|error| {
            tracing::warn!(client_id = %self.client_id, %error, "cannot note what a session asks for");
        })
    }
}

/// Writes what is noted here when the store is back.
async fn write_late(node: Arc<NodeState>, client_id: ClientId, session: String, ttl: Duration) {
    for _ in 0..limits::RELEASE_TRIES {
        sleep(limits::RETRY_INTERVAL).await;
        let Some(note) = node.registry.session_note(&client_id, &session) else {
            return;
        };
        let written = node.store.note_session(&client_id, &session, &note, ttl);
        if written.await.is_ok() {
            return;
        }
    }
}

fn read_change(change: Option<change_session_request::Change>) -> Result<SessionChange, Status> {
    use change_session_request::Change;

    let unreadable = || Status::invalid_argument("the change cannot be read");
    Ok(match change.ok_or_else(unreadable)? {
        Change::LogLevel(level) => {
            SessionChange::LogLevel(LogLevel::parse(&level).ok_or_else(unreadable)?)
        }
        Change::Subscribe(uri) => SessionChange::Subscribe(uri),
        Change::Unsubscribe(uri) => SessionChange::Unsubscribe(uri),
    })
}

/// Ends a session: noted in the store, so that it outlives this node, and remembered here, so
/// that calls are refused without asking the store.
pub(super) async fn end_session(
    node: &Arc<NodeState>,
    checked: Result<(), NotHere>,
    request: EndSessionRequest,
) -> Result<EndSessionResponse, Status> {
    use end_session_response::At;

    if let Err(not_here) = checked {
        return Ok(EndSessionResponse {
            at: Some(At::NotHere(not_here)),
        });
    }
    let client_id = client_id(&request.client_id)?;
    let session = &request.session_id;
    let at = match places::find(node, &client_id, Some(session), ALL_REACHABLE).await {
        Place::Here(_) | Place::Absent(..) => {
            let ttl = Duration::from_secs(request.ttl_s);
            // What the store does not know would live again with the next node: then nothing has
            // ended, and the agent is told to ask again.
            let ended = SessionNote::ended();
            match node
                .store
                .note_session(&client_id, session, &ended, ttl)
                .await
            {
                Ok(()) => {
                    node.registry.end_session(&client_id, session);
                    node.answers.end_session(&client_id, session);
                    At::Accepted(Accepted {})
                }
                Err(error) => {
                    tracing::warn!(%client_id, %error, "cannot note that a session was ended");
                    At::NotHere(super::not_here(not_here::Why::StoreUnreachable))
                }
            }
        }
        Place::SessionEnded => At::SessionEnded(SessionEnded {}),
        Place::Elsewhere(elsewhere) => At::Elsewhere(elsewhere),
        Place::Unknown => At::NotHere(super::not_here(not_here::Why::StoreUnreachable)),
    };
    Ok(EndSessionResponse { at: Some(at) })
}
