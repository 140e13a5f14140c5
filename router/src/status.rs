//! `/status`: what one router knows of the cluster, for `clientmcp status`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_cluster::member::{Member, Role};
use clientmcp_cluster::membership::Membership;
use clientmcp_core::ids::MemberId;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::fetch;
use crate::gateway::Gateway;
use crate::links::Run;

/// A node has so long to tell what it holds.
const NODE_ANSWERS_WITHIN: Duration = Duration::from_millis(500);

/// The page. Nodes are asked, all at once, for what they alone know.
pub(crate) async fn page(gateway: Arc<Gateway>, membership: Arc<Membership>, own: Member) -> Value {
    let view = membership.view();
    let shares: BTreeMap<MemberId, f64> = view.ring().shares().into_iter().collect();
    let members = join_all(view.members().iter().map(|member| {
        let share = shares.get(&member.id).copied();
        describe(&gateway, member, share)
    }))
    .await;
    json!({
        "member": own.id,
        "incarnation": own.incarnation,
        "role": own.role,
        "version": own.version,
        "state": view.member(&own.id).map_or(own.state, |member| member.state),
        "ready": gateway.readiness().is_ok(),
        "storeAnswers": membership.store_answers(),
        "tunnels": gateway.metrics.tunnels(),
        "callsInFlight": gateway.metrics.calls_in_flight(),
        "members": members,
    })
}

async fn describe(gateway: &Gateway, member: &Member, share: Option<f64>) -> Value {
    let mut page = json!({
        "id": member.id,
        "incarnation": member.incarnation,
        "role": member.role,
        "state": member.state,
        "address": member.address,
        "version": member.version,
    });
    if member.role == Role::Node {
        let link = gateway.links.peer(&Run::of(member));
        page["publicUrl"] = json!(member.public_url);
        page["ringShare"] = json!(share.unwrap_or_default());
        page["linkUp"] = json!(link.as_ref().is_some_and(|peer| peer.is_up()));
        page["callsFromHere"] = json!(link.map_or(0, |peer| peer.in_flight()));
        let told = fetch::json(&member.admin_address, "/status", NODE_ANSWERS_WITHIN).await;
        for number in ["connections", "calls"] {
            page[number] = told
                .as_ref()
                .and_then(|told| told.get(number))
                .cloned()
                .unwrap_or_default();
        }
    }
    page
}
