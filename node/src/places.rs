//! Where a client ID is, when this node does not hold it: the store knows, and if it does not
//! answer, the other nodes say whether they hold it.
//!
//! A record counts as long as the run of the node that wrote it lives. A run whose lease has
//! lapsed may still be reached, and is called then: probes decide reachability, leases only
//! placement.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::member::Standing;
use clientmcp_cluster::store::{Record, StoreError};
use clientmcp_cluster::view::{Loss, Whereabouts};
use clientmcp_core::claim::{Claim, Holder};
use clientmcp_core::close::Departure;
use clientmcp_core::ids::{ClientId, Incarnation, InstanceId, MemberId};
use clientmcp_core::registration::Hashes;
use clientmcp_proto::v1::absent::Why;
use clientmcp_proto::v1::{Absent, Elsewhere};

use crate::asking::FRESH;
use crate::claims;
use crate::limits;
use crate::lookout::Lookout;
use crate::registry::{Found, Holding};
use crate::state::NodeState;

/// Where a client ID is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// It is held here.
    Here(Box<Holding>),
    /// The session in whose name it was asked was ended.
    SessionEnded,
    /// Another node holds it.
    Elsewhere(Elsewhere),
    /// Nobody does. This is what is remembered of it.
    Absent(Absent, Option<Last>),
    /// The store did not answer, and no other node says that it holds it.
    Unknown,
}

/// What is remembered of a client ID whose app is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Last {
    /// What it offered.
    pub(crate) hashes: Hashes,
    /// The instance that did.
    pub(crate) instance: InstanceId,
    /// Whether that one remembers call IDs.
    pub(crate) resume: bool,
}

/// Runs of nodes that whoever asks cannot reach.
pub(crate) type Unreachable = [(MemberId, Incarnation)];

/// Nobody is out of reach.
pub(crate) const ALL_REACHABLE: &Unreachable = &[];

/// Finds a client ID. Reads the store only if it is not held here.
pub(crate) async fn find(
    node: &Arc<NodeState>,
    client_id: &ClientId,
    session: Option<&str>,
    unreachable: &Unreachable,
) -> Place {
    match node.registry.find(client_id, session) {
        Found::Here(holding) => Place::Here(holding),
        Found::SessionEnded => Place::SessionEnded,
        Found::NotHere { .. } => {
            let lookout = node.lookouts.of(client_id);
            find_as_of(node, &lookout, session, unreachable, FRESH).await
        }
    }
}

/// As [`find`]; what the store says may be of so long ago. An app that comes here meanwhile is
/// found at once, whatever the store or another node is waited for.
pub(crate) async fn find_as_of(
    node: &Arc<NodeState>,
    lookout: &Lookout,
    session: Option<&str>,
    unreachable: &Unreachable,
    age: Duration,
) -> Place {
    let client_id = &lookout.client_id;
    let mut presence = node.registry.presence(client_id);
    let mut elsewhere = pin!(look_elsewhere(node, lookout, session, unreachable, age));
    let mut looked = None;
    loop {
        match (node.registry.find(client_id, session), looked) {
            (Found::Here(holding), _) => return Place::Here(holding),
            (Found::SessionEnded, _) => return Place::SessionEnded,
            (Found::NotHere { .. }, Some(place)) => return place,
            (Found::NotHere { .. }, None) => {}
        }
        looked = tokio::select! {
            place = &mut elsewhere => Some(place),
            () = presence.changed() => None,
        };
    }
}

async fn look_elsewhere(
    node: &Arc<NodeState>,
    lookout: &Lookout,
    session: Option<&str>,
    unreachable: &Unreachable,
    age: Duration,
) -> Place {
    await_change(node, &lookout.client_id).await;
    let mut reading = pin!(read(node, lookout, session, unreachable, age));
    let read = tokio::select! {
        read = &mut reading => Some(read),
        () = tokio::time::sleep(limits::STORE_PATIENCE) => None,
    };
    if !matches!(read, Some(Ok(_)))
        && let Some(holder) = lookout.holder(node).await
    {
        return Place::Elsewhere(holder);
    }
    let read = match read {
        Some(read) => read,
        None => reading.await,
    };
    read.unwrap_or_else(|error| {
        tracing::debug!(client_id = %lookout.client_id, %error, "cannot look a client ID up");
        Place::Unknown
    })
}

/// Waits for a register or a release that is under way here, for a little while: what the store
/// says may be out of date in a moment.
async fn await_change(node: &NodeState, client_id: &ClientId) {
    let is_changing = || {
        let found = node.registry.find(client_id, None);
        matches!(found, Found::NotHere { changing: true })
    };
    if !is_changing() {
        return;
    }
    let mut presence = node.registry.presence(client_id);
    let settled = async {
        while is_changing() {
            presence.changed().await;
        }
    };
    // Whatever came of it is looked at next.
    let _ = tokio::time::timeout(limits::REGISTER_WAIT, settled).await;
}

async fn read(
    node: &Arc<NodeState>,
    lookout: &Lookout,
    session: Option<&str>,
    unreachable: &Unreachable,
    age: Duration,
) -> Result<Place, StoreError> {
    if let Some(session) = session {
        let notes = lookout.sessions(node, age).await?;
        if notes
            .iter()
            .any(|(noted, note)| noted == session && note.ended)
        {
            return Ok(Place::SessionEnded);
        }
    }
    if let Some(record) = lookout.record(node, age).await? {
        return judge(node, &lookout.client_id, record, unreachable).await;
    }
    // A store that has lost everything says the same of apps that are connected: their nodes
    // write it again in a moment.
    let why = if node.mark.store_is_whole(&*node.store).await? {
        Why::NeverSeen
    } else {
        Why::Away
    };
    Ok(Place::Absent(absent(why, Duration::ZERO), None))
}

/// What a record means, given what is known of the node that wrote it.
async fn judge(
    node: &Arc<NodeState>,
    client_id: &ClientId,
    record: Record,
    unreachable: &Unreachable,
) -> Result<Place, StoreError> {
    let last = Some(Last {
        hashes: record.hashes,
        instance: record.instance,
        resume: record.resume,
    });
    let Some(holder) = record.holder else {
        let (departure, ago) = record
            .departed
            .unwrap_or((Departure::Clean, Duration::ZERO));
        return Ok(Place::Absent(absent(why(node, departure, ago), ago), last));
    };
    let incarnation = holder.claim.incarnation;
    if node.is_me(holder.node.as_str(), incarnation.0) {
        return Ok(Place::Absent(
            give_back(node, client_id, holder.claim),
            last,
        ));
    }
    let view = node.membership.view();
    Ok(match view.whereabouts(&holder.node, incarnation) {
        // Whoever cannot reach it is right as long as this node cannot either.
        Whereabouts::Present(member)
            if unreachable.contains(&(holder.node.clone(), incarnation))
                && !answers(node, &member.address, &holder).await =>
        {
            Place::Absent(absent(Why::Away, Duration::ZERO), last)
        }
        Whereabouts::Present(_) => Place::Elsewhere(elsewhere(node, &holder)),
        Whereabouts::Lost(lost) => {
            let ago = node.membership.now().since(lost.since);
            if lost.how == Loss::Lapsed && answers(node, &lost.member.address, &holder).await {
                return Ok(Place::Elsewhere(elsewhere(node, &holder)));
            }
            Place::Absent(absent(why(node, Departure::Lost, ago), ago), last)
        }
        Whereabouts::Unknown if just_joined(node, &holder).await?.is_some() => {
            Place::Elsewhere(elsewhere(node, &holder))
        }
        Whereabouts::Unknown => {
            // If it was replaced, as when a node is killed and started again at once, that was
            // before this node was there to see it; else its tombstone is gone as well.
            let is_replaced = view.member(&holder.node).is_some();
            let ago = if is_replaced {
                node.membership.now().0
            } else {
                node.timings.grace
            };
            Place::Absent(absent(why(node, Departure::Lost, ago), ago), last)
        }
    })
}

/// A run that the view does not have yet may be among the members that the store names. Gives
/// its address.
pub(crate) async fn just_joined(
    node: &NodeState,
    holder: &Holder,
) -> Result<Option<String>, StoreError> {
    let members = node.store.members().await?;
    let joined = members.into_iter().find(|observed| {
        observed.member.id == holder.node
            && observed.member.incarnation == holder.claim.incarnation
            && matches!(observed.standing, Standing::Alive { .. })
    });
    Ok(joined.map(|observed| observed.member.address))
}

/// A record that names this run for what it does not hold is left over from a claim or a release
/// that never got its answer.
fn give_back(node: &Arc<NodeState>, client_id: &ClientId, claim: Claim) -> Absent {
    let found = node.registry.find(client_id, None);
    if matches!(found, Found::NotHere { changing: false }) {
        tracing::info!(%client_id, "giving a claim back that nobody here has");
        let client_id = client_id.clone();
        let giving = claims::release(node.clone(), client_id, claim, Departure::Lost);
        node.errand(giving);
    }
    absent(Why::Away, Duration::ZERO)
}

async fn answers(node: &NodeState, address: &str, holder: &Holder) -> bool {
    node.peers.probe(address).await == Ok(holder.claim.incarnation)
}

fn why(node: &NodeState, departure: Departure, ago: Duration) -> Why {
    let grace = match departure {
        Departure::Clean => Duration::ZERO,
        Departure::Left => node.timings.grace_after_leaving,
        Departure::Lost => node.timings.grace,
    };
    if ago < grace { Why::Away } else { Why::Gone }
}

fn absent(why: Why, since: Duration) -> Absent {
    Absent {
        why: why.into(),
        since_ms: since.as_millis().try_into().unwrap_or(u64::MAX),
    }
}

pub(crate) fn elsewhere(node: &NodeState, holder: &Holder) -> Elsewhere {
    Elsewhere {
        node_id: holder.node.to_string(),
        incarnation: holder.claim.incarnation.0,
        epoch: holder.claim.epoch.0,
        address: address(node, &holder.node, holder.claim.incarnation),
    }
}

/// Where a run of a node is, as far as this one knows; empty if it does not.
pub(crate) fn address(node: &NodeState, id: &MemberId, incarnation: Incarnation) -> String {
    match node.membership.view().whereabouts(id, incarnation) {
        Whereabouts::Present(member) => member.address.clone(),
        Whereabouts::Lost(lost) => lost.member.address.clone(),
        Whereabouts::Unknown => String::new(),
    }
}
