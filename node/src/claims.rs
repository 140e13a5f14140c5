//! From a checked registration to a client ID that is held here, and back (SPEC.md §4.5, §4.6).
//!
//! Contents are stored first, then the client ID is claimed in the store, then the former holder
//! lets go, then it is held here: in this order, so that nobody is told of what is not there yet,
//! and no two sockets get calls for longer than it takes to tell the older.

mod displacing;
mod keeping;
mod provisional;
mod releasing;

use std::sync::Arc;

use clientmcp_cluster::store::{ClaimRequest, Claimed as Answer, StoreError};
use clientmcp_core::channel::{ClaimInput, Claimed};
use clientmcp_core::claim::{Claim, Epoch, Holder};
use clientmcp_core::close::{CloseCode, Closing, Departure};
use clientmcp_core::ids::ClientId;
use clientmcp_core::registration::{ContentHash, Kind};
use tokio::sync::SemaphorePermit;
use tokio::time::{sleep, timeout};

use crate::connection::{Connection, TakenOver, successor};
use crate::content::Registration;
use crate::limits;
use crate::places;
use crate::registry::{Found, NewerHolder};
use crate::state::NodeState;

pub(crate) use displacing::displace_here;
pub(crate) use keeping::keep;
pub(crate) use releasing::release;

/// Looks for contents that an app named by hash, and tells its channel which are not known.
pub(crate) async fn look_up(connection: Arc<Connection>, wanted: Vec<(Kind, ContentHash)>) {
    let node = &connection.node;
    let mut unknown = Vec::new();
    for (kind, hash) in wanted {
        match node.contents.find(&*node.store, kind, hash).await {
            Ok(Some(_)) => {}
            Ok(None) => unknown.push(kind),
            Err(error) => {
                // The app has it: asking the app needs no store.
                tracing::debug!(%error, "cannot look content up");
                unknown.push(kind);
            }
        }
    }
    connection.handle_contents(&unknown);
}

/// Brings a checked registration to the store, and its answer to the channel.
pub(crate) async fn claim(connection: Arc<Connection>, input: ClaimInput) {
    let node = &connection.node;
    // Of a process that was stopped, what came before is served only after what it has missed.
    while node.membership.is_late() {
        sleep(limits::WAKE_UP_STEP).await;
    }
    // First of all: however long the rest takes, it does not become newer by that.
    let began = begin(&connection, &input).await;
    match node.admission.take_turn(&connection.client_id) {
        Ok(wait) => sleep(wait).await,
        Err(_) => {
            let text = "too many apps come at once: try again later";
            connection.close(Closing::new(CloseCode::TryLater, text));
            node.metrics
                .registers
                .with_label_values(&["overloaded"])
                .inc();
            return;
        }
    }
    if connection.has_ended() {
        // Nobody is displaced for it.
        return;
    }
    let brought = if input.again {
        update(&connection, &input).await
    } else if let Some(began) = began.filter(|_| node.membership.store_answers()) {
        take(&connection, &input, began).await
    } else {
        provisional::take(&connection, &input).await
    };
    let result = match brought {
        Ok(result) => result,
        Err(error) => {
            tracing::warn!(client_id = %connection.client_id, %error, "cannot register");
            connection.handle_claimed(Claimed::Unreachable);
            "unreachable"
        }
    };
    node.metrics.registers.with_label_values(&[result]).inc();
}

/// When the first registration of a connection begins; `None` if the store does not say.
async fn begin(connection: &Connection, input: &ClaimInput) -> Option<Epoch> {
    let node = &connection.node;
    if input.again || !node.membership.store_answers() {
        return None;
    }
    let ticket = || node.store.ticket(&connection.client_id);
    try_often(&connection.client_id, ticket).await.ok()
}

/// The first registration of a connection. Gives what a metric calls its result.
async fn take(
    connection: &Arc<Connection>,
    input: &ClaimInput,
    began: Epoch,
) -> Result<&'static str, StoreError> {
    let node = &connection.node;
    let turn = wait_for_turn(node).await;
    let Ok(registration) = store_contents(node, input).await else {
        return provisional::take(connection, input).await;
    };
    let request = ClaimRequest {
        client_id: connection.client_id.clone(),
        node: node.member_id.clone(),
        incarnation: node.incarnation,
        nonce: rand::random(),
        seen: node.registry.seen(&connection.client_id),
        began,
        instance: input.instance.clone(),
        connection: input.connection,
        moving: input.moving,
        resume: input.resume,
        hashes: input.hashes,
    };
    let Ok(answer) = ask(node, &request).await else {
        return provisional::take(connection, input).await;
    };
    let (claim, previous) = match answer {
        Answer::Taken { claim, previous } => (claim, previous),
        Answer::Late { holder } if holder.instance == input.instance => {
            connection.handle_claimed(Claimed::Late);
            return Ok("late");
        }
        Answer::Late { holder } => {
            let by = successor(&input.instance, Some(&holder.instance));
            connection.displace(by, places::elsewhere(node, &holder));
            return Ok("displaced");
        }
    };
    let ours = NewerHolder {
        node: node.member_id.clone(),
        incarnation: node.incarnation,
        epoch: claim.epoch,
        instance: input.instance.clone(),
        connection: input.connection,
        address: node.address.clone(),
    };
    // A former holder that does not answer holds up nobody but its own successor.
    drop(turn);
    make_way(connection, previous, &ours).await;
    // What a session has changed until the former holder let go is in the store.
    remember_sessions(connection).await;
    match connection.take_over(claim, began, input, registration, true) {
        TakenOver::Settled => Ok("registered"),
        TakenOver::Ended => {
            let client_id = connection.client_id.clone();
            release(node.clone(), client_id, claim, Departure::Lost).await;
            Ok("gone")
        }
    }
}

/// A further registration on a connection that holds its client ID.
async fn update(
    connection: &Arc<Connection>,
    input: &ClaimInput,
) -> Result<&'static str, StoreError> {
    let node = &connection.node;
    let client_id = &connection.client_id;
    let Some(claim) = connection.present_claim() else {
        return Ok("displaced");
    };
    let _turn = wait_for_turn(node).await;
    let registration = registration(node, input).await?;
    let written = async {
        let now = node.clock.now();
        node.contents.keep(&*node.store, &registration, now).await?;
        node.store.update(client_id, &claim, &input.hashes).await
    };
    let written = match written.await {
        Ok(true) => true,
        Ok(false) => {
            let holder = holder(connection, input, claim);
            let Found::Here(holding) = node.registry.find(client_id, None) else {
                return Ok("displaced");
            };
            if !keeping::reassert(node, &holder, holding.began, &registration).await? {
                return Ok("displaced");
            }
            true
        }
        Err(error) => {
            // It stands here all the same, and is written when the claims are read again.
            tracing::warn!(%client_id, %error, "cannot write a registration");
            false
        }
    };
    if !node
        .registry
        .update(client_id, &claim, registration, written)
    {
        return Ok("displaced");
    }
    connection.handle_claimed(Claimed::Taken);
    Ok("updated")
}

/// So many registers are brought to the store at the same time, however many come at once.
async fn wait_for_turn(node: &NodeState) -> SemaphorePermit<'_> {
    let turn = node.registers.acquire().await;
    turn.expect("the semaphore is never closed")
}

fn holder(connection: &Connection, input: &ClaimInput, claim: Claim) -> Holder {
    Holder {
        client_id: connection.client_id.clone(),
        node: connection.node.member_id.clone(),
        claim,
        instance: input.instance.clone(),
        connection: input.connection,
        resume: input.resume,
    }
}

/// The whole registration, with what came along and what was known before.
async fn registration(node: &NodeState, input: &ClaimInput) -> Result<Registration, StoreError> {
    let came_along: Vec<_> = input
        .contents
        .iter()
        .map(|(_, hash, text)| node.contents.intern(*hash, || text.clone()))
        .collect();
    let registration = node
        .contents
        .registration(&*node.store, &input.hashes)
        .await?;
    drop(came_along);
    registration.ok_or_else(|| {
        StoreError::Corrupt("content that was there a moment ago is missing".to_owned())
    })
}

async fn store_contents(node: &NodeState, input: &ClaimInput) -> Result<Registration, StoreError> {
    let registration = registration(node, input).await?;
    let now = node.clock.now();
    node.contents.keep(&*node.store, &registration, now).await?;
    Ok(registration)
}

/// Claims, and asks again under the same nonce while there is no answer: if the claim was made
/// and its answer lost, it is read back, not made twice.
async fn ask(node: &Arc<NodeState>, request: &ClaimRequest) -> Result<Answer, StoreError> {
    let answer = try_often(&request.client_id, || node.store.claim(request)).await;
    if answer.is_err() {
        let lost = releasing::release_unanswered(node.clone(), request.clone());
        node.errand(lost);
    }
    answer
}

async fn try_often<T, F>(client_id: &ClientId, ask: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut tries = 1;
    loop {
        match ask().await {
            Err(error) if tries < limits::CLAIM_TRIES => {
                tracing::debug!(%client_id, %error, tries, "the store gave a register no answer");
                tries += 1;
                sleep(limits::RETRY_INTERVAL).await;
            }
            answer => return answer,
        }
    }
}

/// From here on the node answers for the sessions of this client ID. A store that is slow in
/// this moment holds up no move.
async fn remember_sessions(connection: &Connection) {
    let (node, client_id) = (&connection.node, &connection.client_id);
    match timeout(limits::SESSIONS_WAIT, node.store.sessions(client_id)).await {
        Ok(Ok(notes)) => node.registry.replace_sessions(client_id, notes),
        Ok(Err(_)) | Err(_) => {
            node.errand(remember_sessions_late(node.clone(), client_id.clone()));
        }
    }
}

async fn remember_sessions_late(node: Arc<NodeState>, client_id: ClientId) {
    for _ in 0..limits::RELEASE_TRIES {
        match node.store.sessions(&client_id).await {
            Ok(notes) => return node.registry.complete_sessions(&client_id, notes),
            Err(error) => {
                tracing::debug!(%client_id, %error, "cannot read what is noted of sessions");
                sleep(limits::RETRY_INTERVAL).await;
            }
        }
    }
}

/// Has the former holder let go, or gives it its time to.
async fn make_way(connection: &Arc<Connection>, previous: Option<Holder>, ours: &NewerHolder) {
    let node = &connection.node;
    displace_here(node, &connection.client_id, ours);
    let is_here = |holder: &Holder| {
        holder.node == node.member_id && holder.claim.incarnation == node.incarnation
    };
    let Some(previous) = previous.filter(|holder| !is_here(holder)) else {
        return;
    };
    let telling = displacing::tell(node.clone(), previous, ours.clone());
    // It goes on in the background if it takes longer.
    let told = node.errand(telling);
    if timeout(node.timings.displace_wait, told).await.is_err() {
        tracing::info!(client_id = %connection.client_id, "the former holder has not let go yet");
    }
}
