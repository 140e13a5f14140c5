//! The two directions of a link.

use bytes::Bytes;

use super::CallKey;
use crate::v1::{Chunk, NodeFrame, RouterFrame, node_frame, router_frame};

/// A frame of one direction.
pub trait Frame: prost::Message + Send + Sized + 'static {
    /// A further part of a payload.
    fn chunk(call: CallKey, data: Bytes) -> Self;
}

impl Frame for RouterFrame {
    fn chunk(call: CallKey, data: Bytes) -> Self {
        router_frame::Frame::Chunk(Chunk {
            call_id: call.to_bytes(),
            data,
        })
        .into()
    }
}

impl Frame for NodeFrame {
    fn chunk(call: CallKey, data: Bytes) -> Self {
        node_frame::Frame::Chunk(Chunk {
            call_id: call.to_bytes(),
            data,
        })
        .into()
    }
}

impl From<router_frame::Frame> for RouterFrame {
    fn from(frame: router_frame::Frame) -> Self {
        Self { frame: Some(frame) }
    }
}

impl From<node_frame::Frame> for NodeFrame {
    fn from(frame: node_frame::Frame) -> Self {
        Self { frame: Some(frame) }
    }
}
