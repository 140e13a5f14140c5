//! The task that keeps the link to one run of a node open, on the direct way or through another
//! node.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use clientmcp_proto::link::{Assembler, outbox};
use clientmcp_proto::v1::{self, RouterFrame, node_frame, router_frame};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;

use super::{DOWN, Peer, UP, Way, lock};
use crate::limits;
use crate::links::bridge::Bridge;
use crate::links::relay::Relay;
use crate::links::session::{Reading, Session};
use crate::links::{Links, Run, link_limits};
use crate::metrics::Held;

/// Answers that arrived are told to the node together, at most this late.
const SETTLE_WITHIN: Duration = Duration::from_millis(50);
/// And at most so many at once.
const SETTLE_AT: usize = 64;
/// Between attempts to reach a node that cannot be reached.
const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// While a node is reached through another one, the direct way is tried so often.
const DIRECT_AGAIN: Duration = Duration::from_secs(3);

/// What a peer's task tells and is told.
#[derive(Debug, Clone)]
pub(in crate::links) struct Surroundings {
    /// This router, as it introduces itself.
    pub(in crate::links) router: Run,
    /// Counts changes of any link.
    pub(in crate::links) changed: watch::Sender<u64>,
    /// Cancelled when the router ends.
    pub(in crate::links) stop: CancellationToken,
    /// All links.
    pub(in crate::links) links: Weak<Links>,
}

/// Why a link was not established.
#[derive(Debug, thiserror::Error)]
enum LinkError {
    #[error("no answer in time")]
    Timeout,
    #[error("{0}")]
    Status(#[from] Box<tonic::Status>),
    #[error("another process answers at its address")]
    SomebodyElse,
    #[error("its address cannot be used")]
    Address,
}

impl LinkError {
    /// Whether nobody listens there, or somebody who is not meant: no detour leads any further.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Timeout => false,
            Self::SomebodyElse | Self::Address => true,
            Self::Status(status) => {
                self.is_foreign() || cause_of::<io::Error>(status).is_some_and(is_refused)
            }
        }
    }

    /// Whether the node does not take this process for one of its cluster.
    fn is_foreign(&self) -> bool {
        matches!(self, Self::Status(status) if status.code() == tonic::Code::Unauthenticated)
    }
}

impl Peer {
    /// Keeps the link open until the router ends, or the node has left and its link broke.
    pub(in crate::links) async fn keep_link(self: Arc<Self>, around: Surroundings) {
        let node = &self.member.id;
        let mut backoff = BACKOFF_MIN;
        let mut warned = false;
        // After a loss, a node that lives answers at once; one that hangs must be noticed.
        let mut patience = self.timings.connect_timeout + self.timings.probe_timeout;
        loop {
            let established = tokio::select! {
                established = self.establish_somehow(patience, &around) => established,
                () = around.stop.cancelled() => return,
            };
            match established {
                Ok((session, frames)) => {
                    tracing::info!(%node, "link established");
                    self.state.store(UP, Ordering::Relaxed);
                    self.carry(session, frames, &around).await;
                    backoff = BACKOFF_MIN;
                    patience = self.timings.probe_timeout / 4;
                }
                Err(error) => {
                    if error.is_foreign() && !std::mem::replace(&mut warned, true) {
                        tracing::warn!(%node, "the node refuses this router's key: are the secrets the same?");
                    }
                    tracing::debug!(%node, %error, "no link");
                    self.lose_reach();
                    if self.state.swap(DOWN, Ordering::Relaxed) != DOWN {
                        around.changed.send_modify(|version| *version += 1);
                    }
                    patience = self.timings.connect_timeout + self.timings.probe_timeout;
                    let pause = backoff.mul_f64(rand::random_range(0.5..1.0));
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = self.retired.cancelled() => {}
                        () = around.stop.cancelled() => {}
                    }
                }
            }
            if self.retired.is_cancelled() || around.stop.is_cancelled() {
                self.lose_reach();
                return;
            }
        }
    }

    /// Opens the stream on the direct way or, if the node hangs or is cut off there while others
    /// have it in their view, through another node.
    async fn establish_somehow(
        &self,
        patience: Duration,
        around: &Surroundings,
    ) -> Result<(Arc<Session>, Streaming<v1::NodeFrame>), LinkError> {
        let direct = Bridge::new(&self.member.address, &self.key, &self.timings);
        let direct = direct.map_err(|_| LinkError::Address)?;
        let direct = Way::new(direct, false);
        let error = match self
            .establish_within(patience, direct, &around.router)
            .await
        {
            Err(error) if !error.is_refusal() && !self.retired.is_cancelled() => error,
            done => return done,
        };
        // Tunnels are on the direct way: nobody ends them there.
        self.lose_reach();
        let links = around.links.upgrade();
        let Some(other) = links.and_then(|links| links.detour(&self.run())) else {
            return Err(error);
        };
        let relay = Relay {
            address: other.member.address.clone(),
            key: self.key.clone(),
            node: self.run(),
        };
        let way = Way::new(Bridge::relayed(&relay, &self.timings), true);
        let patience = self.timings.connect_timeout;
        let established = self.establish_within(patience, way, &around.router).await?;
        tracing::info!(node = %self.member.id, through = %other.member.id, "reached through another node");
        Ok(established)
    }

    async fn establish_within(
        &self,
        patience: Duration,
        way: Way,
        router: &Run,
    ) -> Result<(Arc<Session>, Streaming<v1::NodeFrame>), LinkError> {
        *lock(&self.way) = way;
        tokio::time::timeout(patience, self.establish(router))
            .await
            .unwrap_or(Err(LinkError::Timeout))
    }

    /// Resolves when a node that is reached through another one can be reached directly again.
    async fn direct_again(&self) {
        if !self.is_relayed() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(DIRECT_AGAIN).await;
            let Ok(bridge) = Bridge::new(&self.member.address, &self.key, &self.timings) else {
                continue;
            };
            let mut client = bridge.client();
            let answer = bridge
                .within(client.identify(v1::IdentifyRequest::default()))
                .await;
            if answer.is_ok_and(|answer| answer.incarnation == self.member.incarnation.0) {
                return;
            }
        }
    }

    /// Opens the stream, and makes sure of who answers.
    async fn establish(
        &self,
        router: &Run,
    ) -> Result<(Arc<Session>, Streaming<v1::NodeFrame>), LinkError> {
        let (outbox, drain) = outbox::<RouterFrame>(link_limits(limits::LINK_SEND_BYTES));
        let hello = router_frame::Frame::Hello(v1::Hello {
            router_id: router.member.to_string(),
            router_incarnation: router.incarnation.0,
            target: self.target(),
        });
        // The outbox is new and its drain lives, so there is room.
        let _ = outbox.send(hello);
        let mut frames = self
            .bridge()
            .client()
            .link(drain)
            .await
            .map_err(Box::new)?
            .into_inner();
        let first = frames.message().await.map_err(Box::new)?;
        match first.and_then(|frame| frame.frame) {
            Some(node_frame::Frame::Welcome(welcome))
                if welcome.node_id == self.member.id.as_str()
                    && welcome.incarnation == self.member.incarnation.0 =>
            {
                Ok((Arc::new(Session::new(outbox, self.metrics.clone())), frames))
            }
            _ => Err(LinkError::SomebodyElse),
        }
    }

    /// Carries calls until the stream ends.
    async fn carry(
        &self,
        session: Arc<Session>,
        frames: Streaming<v1::NodeFrame>,
        around: &Surroundings,
    ) {
        *lock(&self.session) = Some(session.clone());
        let _up = Held::new(self.metrics.links_up.clone());
        around.changed.send_modify(|version| *version += 1);
        let node = &self.member.id;
        let reading = tokio::select! {
            ended = read(&session, frames, &around.stop) => ended,
            () = self.direct_again() => Some("the direct way is open again".to_owned()),
        };
        match reading {
            Some(reason) => {
                self.metrics.links_lost.inc();
                tracing::info!(%node, reason, "link lost");
            }
            None => tracing::debug!(%node, "link closed"),
        }
        *lock(&self.session) = None;
        self.state.store(DOWN, Ordering::Relaxed);
        session.handle_loss();
        around.changed.send_modify(|version| *version += 1);
    }
}

/// Reads the stream to its end. Gives the reason, unless it was told to stop.
async fn read(
    session: &Session,
    mut frames: Streaming<v1::NodeFrame>,
    stop: &CancellationToken,
) -> Option<String> {
    let mut reading = Reading {
        assembler: Assembler::new(link_limits(limits::LINK_RECEIVE_BYTES)),
        settled: Vec::new(),
    };
    let mut settle = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
    loop {
        let message = tokio::select! {
            message = frames.message() => message,
            () = &mut settle, if !reading.settled.is_empty() => {
                session.settle(&mut reading);
                continue;
            }
            () = stop.cancelled() => return None,
        };
        let frame = match message {
            // Whatever the status says: it is the transport that speaks here.
            Err(status) => return Some(describe(&status)),
            Ok(None) => return Some("the node ended it".to_owned()),
            Ok(Some(frame)) => frame.frame,
        };
        let waited = !reading.settled.is_empty();
        if let Some(frame) = frame
            && let Err(error) = session.handle_frame(&mut reading, frame)
        {
            return Some(error.to_string());
        }
        if reading.settled.len() >= SETTLE_AT {
            session.settle(&mut reading);
        } else if !waited && !reading.settled.is_empty() {
            settle
                .as_mut()
                .reset(tokio::time::Instant::now() + SETTLE_WITHIN);
        }
    }
}

fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// The first cause of a status that is of this type.
fn cause_of<E: std::error::Error + 'static>(status: &tonic::Status) -> Option<&E> {
    use std::error::Error as _;
    let mut cause = status.source();
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// A status and what caused it; the code alone says little about a broken transport.
fn describe(status: &tonic::Status) -> String {
    use std::error::Error as _;
    let mut text = format!("{:?}: {}", status.code(), status.message());
    let mut cause = status.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
