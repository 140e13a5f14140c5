//! What a router tells its link.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clientmcp_core::message::CancelReason;
use clientmcp_proto::link::{Arrived, AssembleError, Assembler, Begun, CallKey, Drain};
use clientmcp_proto::v1::outcome::Outcome as Word;
use clientmcp_proto::v1::{
    Call, Cancel, Cancelled, Chunk, Credit, NodeFrame, RouterFrame, Welcome, cancel, node_frame,
    router_frame,
};
use futures_util::{Stream, StreamExt as _};
use tonic::Status;

use super::Link;
use super::replies::{call_id, lost};
use crate::limits;
use crate::moving;
use crate::state::NodeState;

/// A frame that no router of this protocol sends: the link ends.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum Broken {
    #[error("the router sent more than was agreed")]
    Overrun(#[from] AssembleError),
    #[error("a frame without a call ID")]
    NoCallId,
}

/// Begins a link: gives the frames for the router, and the task that reads the router's.
pub(crate) fn serve(
    node: Arc<NodeState>,
    router: String,
    frames: impl Stream<Item = Result<RouterFrame, Status>> + Send + 'static,
) -> (Drain<NodeFrame>, impl Future<Output = ()> + Send + 'static) {
    let (link, drain) = Link::new(node.next_number());
    link.send(welcome(&node));
    let reader = LinkReader {
        assembler: Assembler::new(limits::LINK),
        stands: Stands::new(node, link, router),
    };
    (drain, reader.read(frames))
}

/// The first frame of every link: who is here.
pub(crate) fn welcome(node: &NodeState) -> node_frame::Frame {
    node_frame::Frame::Welcome(who_is_here(node))
}

/// This run of this node, as it introduces itself.
pub(crate) fn who_is_here(node: &NodeState) -> Welcome {
    Welcome {
        node_id: node.member_id.to_string(),
        incarnation: node.incarnation.0,
    }
}

struct LinkReader {
    stands: Stands,
    assembler: Assembler<Call>,
}

/// While the link stands. Dropped when its task ends, however it does: no call waits for an
/// answer on a link that nobody reads.
struct Stands {
    node: Arc<NodeState>,
    link: Arc<Link>,
    router: String,
}

impl Stands {
    fn new(node: Arc<NodeState>, link: Arc<Link>, router: String) -> Self {
        tracing::info!(link = link.number, router, "link begins");
        node.metrics.links.inc();
        Self { node, link, router }
    }
}

impl Drop for Stands {
    fn drop(&mut self) {
        self.link.lose();
        self.node.metrics.links.dec();
        tracing::info!(link = self.link.number, router = self.router, "link ends");
    }
}

impl LinkReader {
    async fn read(mut self, frames: impl Stream<Item = Result<RouterFrame, Status>>) {
        let mut frames = pin!(frames);
        let node = self.stands.node.clone();
        loop {
            let frame = tokio::select! {
                frame = frames.next() => frame,
                () = node.end_links.cancelled() => {
                    // What was said to the router still arrives.
                    self.stands.link.outbox.finish();
                    return;
                }
            };
            let handled = match frame {
                Some(Ok(frame)) => self.handle(frame),
                Some(Err(status)) => {
                    tracing::debug!(link = self.link().number, code = ?status.code(), "link lost");
                    break;
                }
                None => break,
            };
            if let Err(error) = handled {
                tracing::warn!(link = self.link().number, %error, "ending a link");
                break;
            }
        }
        self.link().outbox.close();
    }

    fn link(&self) -> &Arc<Link> {
        &self.stands.link
    }

    fn handle(&mut self, frame: RouterFrame) -> Result<(), Broken> {
        match frame.frame {
            Some(router_frame::Frame::Call(call)) => self.handle_call(call),
            Some(router_frame::Frame::Chunk(chunk)) => self.handle_chunk(&chunk),
            Some(router_frame::Frame::Credit(credit)) => {
                let call = CallKey::read(&credit.call_id).ok_or(Broken::NoCallId)?;
                self.link().outbox.credit(call, credit.bytes);
                Ok(())
            }
            Some(router_frame::Frame::Cancel(cancel)) => self.handle_cancel(&cancel),
            Some(router_frame::Frame::Settled(settled)) => {
                self.link().settle(&settled);
                Ok(())
            }
            Some(router_frame::Frame::Draining(draining)) => {
                let within = Duration::from_millis(draining.within_ms);
                moving::away_from_router(&self.stands.node, &self.stands.router, within);
                Ok(())
            }
            // Said once, before; and what a later version says is not for us.
            Some(router_frame::Frame::Hello(_)) | None => Ok(()),
        }
    }

    fn handle_call(&mut self, mut call: Call) -> Result<(), Broken> {
        let call_key = CallKey::read(&call.call_id).ok_or(Broken::NoCallId)?;
        let within = std::mem::take(&mut call.params);
        let total = call.params_bytes;
        match self.assembler.begin(call_key, call, within, total) {
            Ok(Begun::Whole(call, params)) => self.link().begin(&self.stands.node, call, params),
            Ok(Begun::Partial) => {}
            Err(AssembleError::Overrun) => return Err(AssembleError::Overrun.into()),
            Err(error) => {
                tracing::warn!(link = self.link().number, ?call_key, %error, "call not taken");
                self.link().say(call_id(call_key), lost(true));
            }
        }
        Ok(())
    }

    fn handle_chunk(&mut self, chunk: &Chunk) -> Result<(), Broken> {
        let call_key = CallKey::read(&chunk.call_id).ok_or(Broken::NoCallId)?;
        match self.assembler.chunk(call_key, &chunk.data)? {
            Arrived::Whole(call, params) => self.link().begin(&self.stands.node, call, params),
            Arrived::Partial { credit: 0 } | Arrived::Unknown => {}
            Arrived::Partial { credit } => self.link().send(node_frame::Frame::Credit(Credit {
                call_id: call_key.to_bytes(),
                bytes: credit,
            })),
        }
        Ok(())
    }

    fn handle_cancel(&mut self, cancel: &Cancel) -> Result<(), Broken> {
        let call_key = CallKey::read(&cancel.call_id).ok_or(Broken::NoCallId)?;
        let id = call_id(call_key);
        let was_arriving = self.assembler.forget(call_key).is_some();
        let was_sought = self.link().stop_seeking(id);
        let reason = reason(cancel.reason());
        // First: a call whose app was found in this moment is sought and runs.
        if let Some(connection) = self.link().runs_at(id) {
            connection.cancel(id, reason);
        } else if was_arriving || was_sought {
            self.link().say(id, Word::Cancelled(Cancelled {}));
        }
        Ok(())
    }
}

pub(super) fn reason(reason: cancel::Reason) -> CancelReason {
    match reason {
        cancel::Reason::Agent => CancelReason::Agent,
        cancel::Reason::Disconnect | cancel::Reason::Unspecified => CancelReason::Disconnect,
        cancel::Reason::Timeout => CancelReason::Timeout,
        cancel::Reason::Shutdown => CancelReason::Shutdown,
    }
}
