//! Frames and messages out of bytes (RFC 6455, 5 and 8.1), without I/O.

use bytes::{Buf as _, Bytes, BytesMut};

/// The longest payload of a control frame.
const CONTROL_BYTES: u64 = 125;

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;

/// What came over the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Received {
    /// A whole text message; it is UTF-8.
    Text(Bytes),
    /// A ping, to be answered with a pong that carries the same.
    Ping(Bytes),
    /// A pong.
    Pong,
    /// A part of a long message: the peer is alive.
    Part,
    /// The peer's close frame, with its code if it gave one.
    Close(Option<u16>),
}

/// How a peer broke the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("protocol error: {0}")]
    Protocol(&'static str),
    #[error("a binary frame")]
    Binary,
    #[error("text that is not UTF-8")]
    InvalidText,
    #[error("a message over the limit")]
    TooLarge,
}

/// Puts frames and messages together. Bytes are put into [`input`](Decoder::input) or, for the
/// rest of a long frame, straight into [`message`](Decoder::message).
#[derive(Debug)]
pub(super) struct Decoder {
    max_message_bytes: usize,
    /// Bytes that were read and not looked at yet.
    pub(super) input: BytesMut,
    /// The text message whose frames are arriving.
    pub(super) message: BytesMut,
    /// The data frame whose payload is arriving.
    frame: Option<DataFrame>,
    /// A message has begun, and its last frame has not.
    fragmented: bool,
    mode: Mode,
}

#[derive(Debug, Clone, Copy)]
struct DataFrame {
    last: bool,
    mask: [u8; 4],
    /// Bytes of the payload that are still to come.
    missing: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Reading,
    /// Only the peer's close frame still matters.
    Discarding,
    /// Where the next frame begins is not known: nothing can be read any more.
    Lost,
}

struct Header {
    last: bool,
    opcode: u8,
    mask: [u8; 4],
    payload: u64,
    /// Length of the header itself.
    bytes: usize,
}

impl Decoder {
    pub(super) fn new(leftover: &[u8], max_message_bytes: usize) -> Self {
        Self {
            max_message_bytes,
            input: BytesMut::from(leftover),
            message: BytesMut::new(),
            frame: None,
            fragmented: false,
            mode: Mode::Reading,
        }
    }

    /// From here on data is dropped, whatever is under way too.
    pub(super) fn discard(&mut self) {
        if self.mode == Mode::Reading {
            self.mode = Mode::Discarding;
        }
        self.message = BytesMut::new();
    }

    /// How many bytes of a long frame are to be read straight into `message`; 0: read into
    /// `input`.
    pub(super) fn missing(&self) -> usize {
        match (self.mode, &self.frame) {
            (Mode::Reading, Some(frame)) => frame.missing,
            _ => 0,
        }
    }

    /// So many bytes of the frame were read straight into `message`.
    pub(super) fn filled(&mut self, bytes: usize) {
        if let Some(frame) = &mut self.frame {
            let start = self.message.len() - bytes;
            frame.unmask(&mut self.message[start..]);
        }
    }

    /// What the bytes so far give; `None`: more must be read.
    pub(super) fn next(&mut self) -> Result<Option<Received>, Fault> {
        let next = self.step();
        if matches!(next, Err(Fault::Protocol(_))) {
            self.mode = Mode::Lost;
        }
        next
    }

    fn step(&mut self) -> Result<Option<Received>, Fault> {
        if self.mode == Mode::Lost {
            self.input.clear();
            return Ok(None);
        }
        loop {
            if let Some(frame) = self.frame {
                self.take_payload();
                if self.frame.is_some_and(|frame| frame.missing > 0) {
                    return Ok(None);
                }
                self.frame = None;
                self.fragmented = !frame.last;
                if frame.last && self.mode == Mode::Reading {
                    return self.complete().map(Some);
                }
            }
            let Some(header) = Header::parse(&self.input)? else {
                return Ok(None);
            };
            if header.opcode >= CLOSE {
                match self.control(&header)? {
                    Control::Incomplete => return Ok(None),
                    Control::Ignored => {}
                    Control::Received(received) => return Ok(Some(received)),
                }
            } else {
                self.begin_frame(&header)?;
            }
        }
    }

    /// Moves what has been read of the frame's payload out of `input`.
    fn take_payload(&mut self) {
        let Some(frame) = &mut self.frame else {
            return;
        };
        let size = frame.missing.min(self.input.len());
        if self.mode == Mode::Reading {
            let start = self.message.len();
            self.message.extend_from_slice(&self.input[..size]);
            frame.unmask(&mut self.message[start..]);
        } else {
            frame.missing -= size;
        }
        self.input.advance(size);
    }

    fn begin_frame(&mut self, header: &Header) -> Result<(), Fault> {
        match (header.opcode, self.fragmented) {
            (TEXT | BINARY, false) | (CONTINUATION, true) => {}
            (CONTINUATION, false) => return Err(Fault::Protocol("nothing to continue")),
            _ => return Err(Fault::Protocol("the message before this one has not ended")),
        }
        let size = usize::try_from(header.payload).unwrap_or(usize::MAX);
        let too_large = size > self.max_message_bytes.saturating_sub(self.message.len());
        self.input.advance(header.bytes);
        self.frame = Some(DataFrame {
            last: header.last,
            mask: header.mask,
            missing: size,
        });
        if self.mode != Mode::Reading {
            return Ok(());
        }
        // Where the next frame begins is known all the same: the peer's close frame is found.
        if header.opcode == BINARY {
            self.discard();
            return Err(Fault::Binary);
        }
        if too_large {
            self.discard();
            return Err(Fault::TooLarge);
        }
        self.message.reserve(size);
        Ok(())
    }

    fn complete(&mut self) -> Result<Received, Fault> {
        let message = std::mem::take(&mut self.message).freeze();
        if std::str::from_utf8(&message).is_err() {
            self.discard();
            return Err(Fault::InvalidText);
        }
        Ok(Received::Text(message))
    }

    fn control(&mut self, header: &Header) -> Result<Control, Fault> {
        if !header.last || header.payload > CONTROL_BYTES {
            return Err(Fault::Protocol("a control frame is whole and short"));
        }
        let size = usize::try_from(header.payload).expect("checked above");
        if self.input.len() < header.bytes + size {
            return Ok(Control::Incomplete);
        }
        self.input.advance(header.bytes);
        let mut payload = self.input.split_to(size);
        unmask(&mut payload, header.mask);
        let discarding = self.mode == Mode::Discarding;
        Ok(match header.opcode {
            CLOSE => Control::Received(Received::Close(close_code(&payload)?)),
            _ if discarding => Control::Ignored,
            // Copied, so that an idle socket does not keep the buffer it came in.
            PING => Control::Received(Received::Ping(Bytes::copy_from_slice(&payload))),
            _ => Control::Received(Received::Pong),
        })
    }
}

enum Control {
    Incomplete,
    Ignored,
    Received(Received),
}

impl DataFrame {
    /// Takes the next bytes of the payload.
    fn unmask(&mut self, bytes: &mut [u8]) {
        unmask(bytes, self.mask);
        self.mask.rotate_left(bytes.len() % 4);
        self.missing -= bytes.len();
    }
}

impl Header {
    fn parse(input: &[u8]) -> Result<Option<Self>, Fault> {
        let &[first, second, ..] = input else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err(Fault::Protocol("no extension was agreed on"));
        }
        if second & 0x80 == 0 {
            return Err(Fault::Protocol("frames of a client are masked"));
        }
        let opcode = first & 0x0F;
        if !matches!(opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG) {
            return Err(Fault::Protocol("unknown kind of frame"));
        }
        let length_bytes = match second & 0x7F {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let bytes = 2 + length_bytes + 4;
        if input.len() < bytes {
            return Ok(None);
        }
        let (length, mask) = input[2..bytes].split_at(length_bytes);
        let payload = match length_bytes {
            0 => u64::from(second & 0x7F),
            _ => length
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        if payload >> 63 != 0 {
            return Err(Fault::Protocol("length out of range"));
        }
        Ok(Some(Self {
            last: first & 0x80 != 0,
            opcode,
            mask: mask.try_into().expect("four bytes remain"),
            payload,
            bytes,
        }))
    }
}

/// The code of a close frame. Codes that may not be on the wire, and reasons that are no text,
/// are protocol errors.
fn close_code(payload: &[u8]) -> Result<Option<u16>, Fault> {
    let (code, reason) = match payload {
        [] => return Ok(None),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        [_] => return Err(Fault::Protocol("half a close code")),
    };
    let allowed = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    if !allowed || std::str::from_utf8(reason).is_err() {
        return Err(Fault::Protocol("a close frame that may not be sent"));
    }
    Ok(Some(code))
}

fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let wide = u64::from_ne_bytes([
        mask[0], mask[1], mask[2], mask[3], mask[0], mask[1], mask[2], mask[3],
    ]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests;
