//! What can be told of a text by its brackets, quotes and line ends alone.

use bytes::{Bytes, BytesMut};

/// What [`scan`] found. True of a text that is JSON; of others it is a guess that nothing
/// depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scan {
    /// The deepest nesting of arrays and objects.
    pub(super) depth: usize,
    /// Whether there is a CR or LF outside strings.
    pub(super) line_ends: bool,
}

pub(super) fn scan(text: &[u8]) -> Scan {
    let mut found = Scan {
        depth: 0,
        line_ends: false,
    };
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'[' | b'{' => {
                depth += 1;
                found.depth = found.depth.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'\r' | b'\n' => found.line_ends = true,
            _ => {}
        }
        at += 1;
    }
    found
}

/// Replaces CR and LF between the tokens of a JSON text by spaces; in place if nobody else has
/// the bytes.
pub(super) fn without_line_ends(text: Bytes) -> Bytes {
    let mut text = text
        .try_into_mut()
        .unwrap_or_else(|text| BytesMut::from(&text[..]));
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(&text, at),
            b'\r' | b'\n' => text[at] = b' ',
            _ => {}
        }
        at += 1;
    }
    text.freeze()
}

/// The position of the quote that ends the string that begins at `start`, or the text's end.
fn end_of_string(text: &[u8], start: usize) -> usize {
    /// Most keys and many values are shorter than what makes a vectorised search worth its start.
    const SHORT: usize = 16;

    let mut at = start + 1;
    let short_end = text.len().min(at + SHORT);
    while at < short_end {
        match text[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        if text[at] == b'"' {
            return at;
        }
        at += 2;
    }
    text.len()
}
