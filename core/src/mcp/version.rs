//! Protocol revisions, their eras, and negotiation (SPEC.md §5.3, §5.5; MCP "Versioning").

use http::HeaderMap;

use super::header::{self, Field};

/// Which of the two shapes of MCP a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, GET streams.
    Legacy,
    /// 2026-07-28: each request stands by itself.
    Modern,
}

/// The revisions that are served. Ordered by age: a later one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// 2025-03-26, the first with Streamable HTTP; the only one with batches.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25, the last with sessions.
    V2025_11_25,
    /// 2026-07-28, the first that is stateless.
    V2026_07_28,
}

impl Version {
    /// Every revision, oldest first.
    pub const ALL: [Version; 4] = [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ];

    /// What `initialize` answers to a revision that is not served.
    pub const NEWEST_LEGACY: Version = Version::V2025_11_25;

    /// The only modern revision: what `supportedVersions` and -32022 name.
    pub const MODERN: Version = Version::V2026_07_28;

    /// The revision's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }

    /// Reads a revision's name; `None` if it is not served.
    #[must_use]
    pub fn parse(text: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|v| v.as_str() == text)
    }

    /// The era of the revision.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Version::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

/// The revision that `initialize` answers: the one that its body asks for if that is a legacy
/// one, else the newest legacy one. A modern revision in the body selects nothing: clients that
/// mean it send no `initialize`.
#[must_use]
pub fn negotiate(requested: Option<&str>) -> Version {
    requested
        .and_then(Version::parse)
        .filter(|version| version.era() == Era::Legacy)
        .unwrap_or(Version::NEWEST_LEGACY)
}

/// What the `MCP-Protocol-Version` header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionHeader<'a> {
    /// There is none.
    Absent,
    /// A revision that is served.
    Served(Version),
    /// A date before 2026-07-28 that names no served revision.
    Outdated(&'a str),
    /// A later revision, or no revision at all.
    Unknown(&'a str),
    /// Two values, or characters that no value may have.
    Malformed(&'static str),
}

impl VersionHeader<'_> {
    /// Reads the header.
    #[must_use]
    pub fn read(headers: &HeaderMap) -> VersionHeader<'_> {
        match header::read(headers, &header::PROTOCOL_VERSION) {
            Field::Absent => VersionHeader::Absent,
            Field::Malformed(problem) => VersionHeader::Malformed(problem),
            Field::One(text) => match Version::parse(text) {
                Some(version) => VersionHeader::Served(version),
                None if is_date(text) && text < Version::MODERN.as_str() => {
                    VersionHeader::Outdated(text)
                }
                None => VersionHeader::Unknown(text),
            },
        }
    }

    /// Whether the header alone makes a request modern (SPEC.md §5.3).
    #[must_use]
    pub fn is_modern(self) -> bool {
        match self {
            VersionHeader::Served(version) => version.era() == Era::Modern,
            VersionHeader::Unknown(_) => true,
            VersionHeader::Absent | VersionHeader::Outdated(_) | VersionHeader::Malformed(_) => {
                false
            }
        }
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_body_of_initialize_decides() {
        for (requested, answer) in [
            (Some("2025-03-26"), Version::V2025_03_26),
            (Some("2025-06-18"), Version::V2025_06_18),
            (Some("2025-11-25"), Version::V2025_11_25),
            (Some("2026-07-28"), Version::V2025_11_25),
            (Some("2024-11-05"), Version::V2025_11_25),
            (Some("9999-99-99"), Version::V2025_11_25),
            (Some(""), Version::V2025_11_25),
            (None, Version::V2025_11_25),
        ] {
            assert_eq!(negotiate(requested), answer, "{requested:?}");
        }
    }

    #[test]
    fn the_header_is_modern_from_2026_on_and_when_unknown() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(
                    "mcp-protocol-version",
                    HeaderValue::from_str(value).unwrap(),
                );
            }
            VersionHeader::read(&headers).is_modern()
        };
        for (values, modern) in [
            (&[][..], false),
            (&["2025-11-25"], false),
            (&["2025-03-26"], false),
            (&["2020-01-01"], false),
            (&["2024-11-05"], false),
            (&[" 2026-07-28 "], true),
            (&["2026-07-28", "2026-07-28"], true),
            (&["2026-07-28", "2025-11-25"], false),
            (&["2027-01-01"], true),
            (&["v999.0.0"], true),
            (&["DRAFT-2026-v1"], true),
            (&[""], true),
        ] {
            assert_eq!(read(values), modern, "{values:?}");
        }
    }
}
