//! Header values that carry text which no header may hold: `=?base64?…?=` (MCP "Streamable
//! HTTP", Value Encoding).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// The text that a header value stands for; `None` if it has the form of the encoding but not
/// its content (alphabet, padding, UTF-8). Without both prefix and suffix, which are
/// case-sensitive, a value stands for itself.
pub(super) fn decode(value: &str) -> Option<Cow<'_, str>> {
    let encoded = value
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX));
    match encoded {
        None => Some(value.into()),
        Some(encoded) => {
            let bytes = STANDARD.decode(encoded).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_read_strictly() {
        for (value, text) in [
            ("us-west1", Some("us-west1")),
            ("", Some("")),
            ("=?base64?SGVsbG8=?=", Some("Hello")),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", Some("Hello, 世界")),
            ("=?base64?IHBhZGRlZCA=?=", Some(" padded ")),
            ("=?base64?bGluZTEKbGluZTI=?=", Some("line1\nline2")),
            (
                "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
                Some("=?base64?literal?="),
            ),
            ("=?base64??=", Some("")),
            // Padding, alphabet, trailing bits and UTF-8 are checked.
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVsbG8==?=", None),
            ("=?base64?SGVs!G8=?=", None),
            ("=?base64?SGVs bG8=?=", None),
            ("=?base64?SGVsbG9=?=", None),
            ("=?base64?_-8=?=", None),
            ("=?base64?/w==?=", None),
            // Without both ends it is no encoding.
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
            ("SGVsbG8=?=", Some("SGVsbG8=?=")),
            ("=?BASE64?SGVsbG8=?=", Some("=?BASE64?SGVsbG8=?=")),
            ("=?base64?=", Some("=?base64?=")),
        ] {
            assert_eq!(decode(value).as_deref(), text, "{value}");
        }
    }
}
