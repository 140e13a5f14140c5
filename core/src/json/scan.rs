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

/// The strings that the members of these names have in an object, as far as that can be told of a
/// text that may be no JSON. `None`: it is not there before the text goes wrong, is no string, or
/// stands there twice.
pub(super) fn strings<const N: usize>(text: &[u8], names: [&str; N]) -> [Option<String>; N] {
    let mut found = [const { None }; N];
    let mut is_twice = [false; N];
    let mut at = text
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(text.len());
    if text.get(at) == Some(&b'{') {
        while let Some((name, value, next)) = member(text, at + 1) {
            at = next;
            if let Some(which) = names.iter().position(|wanted| name == *wanted) {
                is_twice[which] |= found[which].is_some();
                found[which] = Some(string(value));
            }
            if text.get(at) != Some(&b',') {
                break;
            }
        }
    }
    let mut which = 0;
    found.map(|value| {
        which += 1;
        value.flatten().filter(|_| !is_twice[which - 1])
    })
}

/// The member that begins at `at`: its name, its value, and where the comma or the bracket behind
/// it is.
fn member(text: &[u8], at: usize) -> Option<(String, &[u8], usize)> {
    let blanks = |at: usize| {
        let rest = text.get(at..)?;
        let skipped = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        Some(at + skipped)
    };
    let begin = blanks(at)?;
    let end = end_of_string(text, begin);
    let name = string(text.get(begin..=end)?)?;
    let colon = blanks(end + 1).filter(|at| text[*at] == b':')?;
    let value = blanks(colon + 1)?;
    let end = end_of_value(text, value);
    Some((name, text[value..end].trim_ascii_end(), end))
}

/// Where the comma or the bracket is that follows the value that begins at `at`.
fn end_of_value(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'[' | b'{' => depth += 1,
            b',' | b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn string(text: &[u8]) -> Option<String> {
    serde_json::from_slice(text).ok()
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
