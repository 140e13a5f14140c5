//! JSON texts as they come from everywhere, for property tests.
//!
//! Included with `#[path]` by the tests of whichever crate needs it: it is no part of any library.
//! The texts are valid, and otherwise as unfriendly as they get: numbers that no machine type
//! holds, duplicate members, escapes wherever they may stand, lone surrogates, blanks and line
//! ends of every kind between tokens.

#![allow(dead_code, reason = "each test uses what it needs")]

use proptest::collection::vec;
use proptest::prelude::*;

/// Any JSON value, nested a few levels, with blanks and line ends between its tokens.
pub(crate) fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(5, 48, 6, |inner| {
        prop_oneof![array(inner.clone()), object_of(inner)]
    })
}

/// Any JSON object.
pub(crate) fn object() -> impl Strategy<Value = String> {
    object_of(value())
}

/// A value of exactly so many nested arrays and objects.
pub(crate) fn nested(depth: usize) -> impl Strategy<Value = String> {
    vec((any::<bool>(), blank()), depth).prop_map(|levels| {
        let mut text = "0".to_owned();
        for (is_array, blank) in levels {
            text = if is_array {
                format!("[{blank}{text}]")
            } else {
                format!("{{\"a\":{blank}{text}}}")
            };
        }
        text
    })
}

/// A value that is neither an array nor an object.
pub(crate) fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number(),
        string(),
    ]
}

/// A number, as likely as not one that no machine type holds.
pub(crate) fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        "-?[1-9][0-9]{15,110}",
        "-?(0|[1-9][0-9]{0,20})\\.[0-9]{1,20}",
        "-?[1-9][0-9]{0,3}(\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,4}",
        Just("-0".to_owned()),
        Just("1.0".to_owned()),
        Just("1e400".to_owned()),
        Just("18446744073709551616".to_owned()),
    ]
}

/// A string with its quotes.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ !#-\\[\\]-~]{0,12}",
        1 => "[\u{a0}-\u{2030}\u{1f300}-\u{1f6ff}]{0,3}",
        1 => Just(r"\u2028 {[,:]}".to_owned()),
        1 => prop::sample::select(vec![
            r#"\""#, r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t", r"\u0000", r"\u000A",
            r"\ud83d\ude00", r"\ud800", r"\udc00", "\u{7f}", "\u{2028}",
        ])
        .prop_map(str::to_owned),
    ];
    vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// Blanks and line ends, or nothing.
pub(crate) fn blank() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "", "", "", " ", "\n", "\r\n", "\r", "\t", " \n  ", "\n\n",
    ])
    .prop_map(str::to_owned)
}

/// Keys that collide now and then, escaped in several ways.
fn key() -> impl Strategy<Value = String> {
    let colliding = prop::sample::select(vec![r#""a""#, r#""\u0061""#, r#""type""#, r#""id""#]);
    prop_oneof![colliding.prop_map(str::to_owned), string()]
}

fn array(entry: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    vec((blank(), entry, blank()), 0..6).prop_map(|entries| {
        let entries: Vec<String> = entries
            .into_iter()
            .map(|(before, entry, after)| before + &entry + &after)
            .collect();
        format!("[{}]", entries.join(","))
    })
}

fn object_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    vec((blank(), key(), blank(), value, blank()), 0..6).prop_map(|members| {
        let members: Vec<String> = members
            .into_iter()
            .map(|(before, key, between, value, after)| {
                format!("{before}{key}{between}:{between}{value}{after}")
            })
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// What becomes of a JSON text at entry: CR and LF outside strings are spaces, and blanks around
/// the value are gone. Written the slow and obvious way.
pub(crate) fn normalised(text: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    let text: String = text
        .chars()
        .map(|c| {
            if in_string {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '"' => in_string = false,
                    _ => {}
                }
                return c;
            }
            in_string = c == '"';
            if c == '\r' || c == '\n' { ' ' } else { c }
        })
        .collect();
    text.trim_matches([' ', '\t']).to_owned()
}
