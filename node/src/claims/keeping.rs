//! Reading the claims again: a claim that was lost here or in the store is noticed, at the latest
//! after [`limits::RENEW_INTERVAL`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use clientmcp_cluster::store::{Restored, StoreError};
use clientmcp_core::claim::{Epoch, Holder};
use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::ids::ClientId;
use clientmcp_core::message::MoveReason;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::{Instant, sleep, sleep_until};

use super::displace_here;
use crate::content::Registration;
use crate::limits;
use crate::moving;
use crate::places;
use crate::registry::{Holding, NewerHolder};
use crate::state::NodeState;

/// Reads all claims and renews all contents, round after round, until it is dropped: when it is
/// time, when this process was paused (others may have taken over what it holds), and when the
/// store may have lost what was written.
pub(crate) async fn keep(node: Arc<NodeState>) {
    let mut pauses = node.membership.pauses();
    let mut losses = node.membership.losses();
    let mut next_round = Instant::now() + limits::RENEW_INTERVAL;
    loop {
        tokio::select! {
            () = sleep_until(next_round) => {}
            Ok(()) = pauses.changed() => {
                tracing::warn!("this process was paused: reading its claims again");
            }
            Ok(()) = losses.changed() => {
                tracing::info!("the store may have lost claims: reading them again");
                node.mark.note_loss();
            }
            () = lost_store(&node) => hand_over(&node).await,
            () = node.unwritten.notified() => {
                sleep(limits::RETRY_INTERVAL).await;
            }
        }
        node.peers.retain(&node.membership.view());
        let mut warned = false;
        // Pauses from here on are mended by the next round.
        let mut paused = node.membership.pause_count();
        while let Err(error) = read_again(&node).await {
            // Once for each time that the store is away.
            if std::mem::replace(&mut warned, true) {
                tracing::debug!(%error, "still cannot read the claims again");
            } else {
                tracing::warn!(%error, fenced = node.is_fenced(), "cannot read the claims again");
            }
            hand_over(&node).await;
            sleep(limits::RETRY_INTERVAL).await;
            paused = node.membership.pause_count();
        }
        node.pauses_mended.store(paused, Ordering::Release);
        node.cut_off.store(false, Ordering::Relaxed);
        next_round = Instant::now() + limits::RENEW_INTERVAL;
    }
}

/// Resolves when the store has not answered for as long as a lease, and this node has not been
/// found to be cut off yet.
async fn lost_store(node: &NodeState) {
    let mut silent = 0;
    loop {
        sleep(node.timings.heartbeat).await;
        silent = if node.membership.store_answers() {
            0
        } else {
            silent + 1
        };
        if silent >= 2 && !node.is_cut_off() {
            return;
        }
    }
}

/// A store that is away for this node alone is not away: then its apps move to nodes that have
/// it. If nobody has it, all carry on as they are.
async fn hand_over(node: &Arc<NodeState>) {
    if node.membership.store_answers() || node.is_cut_off() || !node.peers_have_store().await {
        return;
    }
    tracing::warn!("other nodes have the store and this one does not: its apps move to them");
    node.cut_off.store(true, Ordering::Relaxed);
    let state = node.clone();
    node.errand(async move {
        // Until the lease has lapsed, the ring would bring them back here.
        let open = state.open_sockets();
        moving::ask(&state, &open, MoveReason::Rebalance, state.timings.lease).await;
    });
}

async fn read_again(node: &Arc<NodeState>) -> Result<(), StoreError> {
    let holdings = node.registry.holdings();
    for batch in holdings.chunks(limits::RENEW_BATCH) {
        let claims: Vec<_> = batch
            .iter()
            .map(|(client_id, holding)| (client_id.clone(), holding.claim))
            .collect();
        let held = node.store.renew(&claims).await?;
        let keeping = batch.iter().zip(held);
        let keeping: Vec<_> = keeping
            .map(|((client_id, holding), held)| keep_one(node, client_id, holding, held))
            .collect();
        // After a loss every one of them is written: not one after the other.
        let keeping = stream::iter(keeping).buffer_unordered(limits::RESTORES_AT_ONCE);
        keeping.try_collect::<()>().await?;
    }
    node.mark.keep(&*node.store).await?;
    node.contents.renew(&*node.store, node.clock.now()).await
}

async fn keep_one(
    node: &Arc<NodeState>,
    client_id: &ClientId,
    holding: &Holding,
    held: bool,
) -> Result<(), StoreError> {
    let hashes = holding.registration.hashes();
    if !held {
        let holder = Holder {
            client_id: client_id.clone(),
            node: node.member_id.clone(),
            claim: holding.claim,
            instance: holding.instance.clone(),
            connection: holding.number,
            resume: holding.resume,
        };
        reassert(node, &holder, holding.began, &holding.registration).await?;
    } else if !holding.written && node.store.update(client_id, &holding.claim, hashes).await? {
        node.registry
            .mark_written(client_id, &holding.claim, hashes);
    }
    Ok(())
}

/// Writes a claim again that the store does not have. `false`: somebody else has a newer one,
/// and the app here was told.
pub(super) async fn reassert(
    node: &NodeState,
    holder: &Holder,
    began: Epoch,
    registration: &Registration,
) -> Result<bool, StoreError> {
    // A store that lost the claim may have lost the contents as well.
    registration.distrust();
    let now = node.clock.now();
    node.contents.keep(&*node.store, registration, now).await?;
    let hashes = registration.hashes();
    match node.store.restore(holder, began, hashes).await? {
        Restored::Held => {
            tracing::info!(client_id = %holder.client_id, "wrote a claim again");
            node.registry
                .mark_written(&holder.client_id, &holder.claim, hashes);
            Ok(true)
        }
        Restored::Beaten { by } if by.claim.epoch == holder.claim.epoch => {
            // A tie, after a store that had lost both: the app comes back to whoever is right.
            if let Some(holding) = node.registry.remove(&holder.client_id, &holder.claim) {
                node.metrics.apps.dec();
                let closing = "another node holds this client ID too: connect again";
                let closing = Closing::new(CloseCode::Restart, closing);
                holding.connection.close(closing);
            }
            Ok(false)
        }
        Restored::Beaten { by } => {
            let by = NewerHolder {
                address: places::address(node, &by.node, by.claim.incarnation),
                node: by.node,
                incarnation: by.claim.incarnation,
                epoch: by.claim.epoch,
                instance: by.instance,
                connection: by.connection,
            };
            displace_here(node, &holder.client_id, &by);
            Ok(false)
        }
    }
}
