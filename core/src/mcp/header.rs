//! The request headers that MCP adds, and how one of them is read.

use http::{HeaderMap, HeaderName};

/// `MCP-Protocol-Version`.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// `Mcp-Session-Id`.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// `Mcp-Method`.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// `Mcp-Name`.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// What the names of mirrored arguments begin with: `Mcp-Param-`.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// A header field that may have one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// There is no such field.
    Absent,
    /// Its value, without blanks around it. A field that is repeated with the same value counts
    /// once.
    One(&'a str),
    /// It cannot be read as one value; the text says why.
    Malformed(&'static str),
}

/// Reads a field that may have one value.
#[must_use]
pub fn read<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Field<'a> {
    let mut found = Field::Absent;
    for value in headers.get_all(name) {
        let Ok(text) = value.to_str() else {
            return Field::Malformed("has characters other than visible ASCII and blanks");
        };
        let text = text.trim_matches([' ', '\t']);
        match found {
            Field::One(earlier) if earlier != text => {
                return Field::Malformed("is given twice with different values");
            }
            _ => found = Field::One(text),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_field_has_one_value() {
        let described = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(NAME, HeaderValue::from_bytes(value).unwrap());
            }
            match read(&headers, &NAME) {
                Field::Absent => "absent".to_owned(),
                Field::One(text) => format!("one {text}"),
                Field::Malformed(_) => "malformed".to_owned(),
            }
        };
        for (values, expected) in [
            (&[][..], "absent"),
            (&[&b"a"[..]], "one a"),
            (&[b" \ta b\t "], "one a b"),
            (&[b""], "one "),
            (&[b"a", b" a"], "one a"),
            (&[b"a", b"b"], "malformed"),
            (&[b"a", b"a", b"b"], "malformed"),
            (&["ä".as_bytes()], "malformed"),
        ] {
            assert_eq!(described(values), expected, "{values:?}");
        }
    }
}
