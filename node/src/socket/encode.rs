//! Frames into bytes. A server's frames are not masked, and each message is one frame.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use clientmcp_core::close::Closing;

/// Payloads up to this size are copied behind their header: one write for many frames.
const COPY_BYTES: usize = 4 * 1024;

/// What goes over the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A text message.
    Text(Bytes),
    /// A ping without payload.
    Ping,
    /// The answer to a ping, with its payload.
    Pong(Bytes),
    /// The last frame.
    Close(Closing),
    /// The answer to a close frame: its code, if it had one.
    CloseEcho(Option<u16>),
}

impl Frame {
    /// Bytes of the payload.
    pub(crate) fn payload_bytes(&self) -> usize {
        match self {
            Frame::Text(payload) | Frame::Pong(payload) => payload.len(),
            Frame::Ping => 0,
            Frame::Close(closing) => 2 + closing.reason().len(),
            Frame::CloseEcho(code) => code.map_or(0, |_| 2),
        }
    }
}

/// Bytes on their way out, in as few pieces as copying pays for.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pieces: VecDeque<Bytes>,
    tail: BytesMut,
}

impl Encoded {
    pub(super) fn push(&mut self, frame: Frame) {
        let size = frame.payload_bytes();
        match frame {
            Frame::Text(payload) => {
                self.header(0x1, size);
                self.payload(payload);
            }
            Frame::Ping => self.header(0x9, 0),
            Frame::Pong(payload) => {
                self.header(0xA, size);
                self.payload(payload);
            }
            Frame::Close(closing) => {
                self.header(0x8, size);
                self.tail.put_u16(closing.code().number());
                self.tail.put_slice(closing.reason().as_bytes());
            }
            Frame::CloseEcho(code) => {
                self.header(0x8, size);
                if let Some(code) = code {
                    self.tail.put_u16(code);
                }
            }
        }
    }

    fn header(&mut self, opcode: u8, size: usize) {
        self.tail.put_u8(0x80 | opcode);
        match (u8::try_from(size), u16::try_from(size)) {
            (Ok(short @ 0..=125), _) => self.tail.put_u8(short),
            (_, Ok(medium)) => {
                self.tail.put_u8(126);
                self.tail.put_u16(medium);
            }
            _ => {
                self.tail.put_u8(127);
                self.tail.put_u64(size as u64);
            }
        }
    }

    fn payload(&mut self, payload: Bytes) {
        if payload.len() <= COPY_BYTES {
            self.tail.put_slice(&payload);
        } else {
            self.end_piece();
            self.pieces.push_back(payload);
        }
    }

    fn end_piece(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push_back(self.tail.split().freeze());
        }
    }

    /// What is left to write, as slices; fills as many as fit.
    pub(super) fn slices<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize {
        self.end_piece();
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        count
    }

    /// So many bytes were written.
    pub(super) fn advance(&mut self, mut bytes: usize) {
        while let Some(piece) = self.pieces.front_mut() {
            if bytes < piece.len() {
                piece.advance(bytes);
                return;
            }
            bytes -= piece.len();
            self.pieces.pop_front();
        }
    }

    /// The next piece, as far as there is room.
    pub(super) fn take(&mut self, room: usize) -> Option<Bytes> {
        self.end_piece();
        let piece = self.pieces.front_mut()?;
        let taken = piece.split_to(piece.len().min(room));
        if piece.is_empty() {
            self.pieces.pop_front();
        }
        Some(taken)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tail.is_empty()
    }
}

#[cfg(test)]
mod tests;
