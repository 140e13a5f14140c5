//! The trunk to a node: opened when the first app needs it, on the way that leads to the node then.

use clientmcp_proto::tunnel::{Trunk, trunk};
use clientmcp_proto::v1::{self, TunnelFrame, tunnel_frame};
use tokio_util::sync::CancellationToken;
use tonic::Streaming;

use super::Run;
use super::bridge::Bridge;

/// Why there is no trunk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoTrunk {
    #[error("cannot be reached: {0}")]
    Status(#[from] Box<tonic::Status>),
    #[error("another process answers at its address")]
    SomebodyElse,
}

/// Opens a trunk, and makes sure of who answers.
pub(super) async fn open(
    bridge: &Bridge,
    router: &Run,
    node: &Run,
) -> Result<(Trunk, Streaming<TunnelFrame>), NoTrunk> {
    let (trunk, drain) = trunk();
    trunk.introduce(tunnel_frame::Frame::Hello(v1::Hello {
        router_id: router.member.to_string(),
        router_incarnation: router.incarnation.0,
        target: Some(node.target()),
    }));
    let mut client = bridge.client();
    let mut frames = client.trunk(drain).await.map_err(Box::new)?.into_inner();
    let first = frames.message().await.map_err(Box::new)?;
    match first.and_then(|frame| frame.frame) {
        Some(tunnel_frame::Frame::Welcome(welcome))
            if welcome.node_id == node.member.as_str()
                && welcome.incarnation == node.incarnation.0 =>
        {
            Ok((trunk, frames))
        }
        _ => Err(NoTrunk::SomebodyElse),
    }
}

/// What ends a trunk.
#[derive(Debug)]
pub(super) struct Ends {
    /// The node turns out to be out of reach: one that hangs or is cut off ends nothing itself.
    pub(super) reach: CancellationToken,
    /// The router ends.
    pub(super) stop: CancellationToken,
    /// Another way leads to the node: the trunk ends with the last tunnel on it.
    pub(super) left: CancellationToken,
}

/// Reads a trunk until it ends. All its tunnels end with it.
pub(super) async fn read(trunk: Trunk, mut frames: Streaming<TunnelFrame>, ends: Ends) {
    let Ends { reach, stop, left } = ends;
    let reading = async {
        while let Ok(Some(frame)) = frames.message().await {
            if let Err(error) = trunk.handle(frame) {
                tracing::warn!(%error, "ending a trunk");
                return;
            }
        }
    };
    let left = async {
        left.cancelled().await;
        trunk.retire();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = reading => {}
        () = left => {}
        () = reach.cancelled() => {}
        () = stop.cancelled() => {}
    }
    tracing::debug!(tunnels = trunk.tunnels(), "trunk ends");
    trunk.lose();
}
