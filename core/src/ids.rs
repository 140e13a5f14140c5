//! The names of things: client IDs, instances, calls, members.
//!
//! Each is checked once, where it enters, and is a type of its own from then on (SPEC.md §2).

use std::fmt;
use std::sync::Arc;

use crate::limits;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {problem}")]
pub struct InvalidId {
    what: &'static str,
    problem: &'static str,
}

macro_rules! checked_name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:expr, $allowed:expr, $problem:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the text and takes it as a name.
            ///
            /// # Errors
            /// [`InvalidId`] if it is empty, too long or has a character that the grammar lacks.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                let allowed: fn(u8) -> bool = $allowed;
                if text.is_empty() || text.len() > $max || !text.bytes().all(allowed) {
                    return Err(InvalidId { what: $what, problem: $problem });
                }
                Ok(Self(text.into()))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

checked_name!(
    /// The identity under which an app connects and an agent reaches it: `[A-Za-z0-9._~@:-]{1,128}`.
    ClientId,
    "client ID",
    limits::CLIENT_ID_BYTES,
    |b| b.is_ascii_alphanumeric() || b"._~@:-".contains(&b),
    "must be 1 to 128 characters of A-Z a-z 0-9 . _ ~ @ : -"
);

checked_name!(
    /// One run of an app, a random string made by its SDK: `[A-Za-z0-9_-]{1,128}`.
    InstanceId,
    "instance",
    limits::INSTANCE_ID_BYTES,
    |b| b.is_ascii_alphanumeric() || b"_-".contains(&b),
    "must be 1 to 128 characters of A-Z a-z 0-9 _ -"
);

checked_name!(
    /// The name of a member (node or router) of the cluster: `[A-Za-z0-9._-]{1,63}`.
    MemberId,
    "member ID",
    limits::MEMBER_ID_BYTES,
    |b| b.is_ascii_alphanumeric() || b"._-".contains(&b),
    "must be 1 to 63 characters of A-Z a-z 0-9 . _ -"
);

checked_name!(
    /// Who calls: the token's `agent`, else its `sub` (SPEC.md §3.2). 1 to 128 bytes of text
    /// without control characters.
    Subject,
    "subject",
    limits::SUBJECT_BYTES,
    |b| b >= 0x20 && b != 0x7f,
    "must be 1 to 128 bytes without control characters"
);

/// One run of a member: a new one each time the process starts, so that a recycled name or
/// address is told from the process that had it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub u64);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl serde::Serialize for Incarnation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Incarnation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Incarnation {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

impl From<&ClientId> for Subject {
    fn from(id: &ClientId) -> Self {
        Self(Arc::clone(&id.0))
    }
}

/// The ID of a call, given by the router (`UUIDv7`), never derived from the agent's request id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub uuid::Uuid);

impl CallId {
    /// Reads the textual form.
    ///
    /// # Errors
    /// [`InvalidId`] if the text is no UUID.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        uuid::Uuid::try_parse(text)
            .map(Self)
            .map_err(|_| InvalidId {
                what: "call ID",
                problem: "must be a UUID",
            })
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// The ID of a task: 128 random bits as 32 hexadecimal digits. Whoever has it still needs the
/// token of the subject that began the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(u128);

impl TaskId {
    /// The ID that these random bits make.
    #[must_use]
    pub fn from_random(bits: u128) -> Self {
        Self(bits)
    }

    /// Reads the textual form.
    ///
    /// # Errors
    /// [`InvalidId`] if the text is none that [`fmt::Display`] gives.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_form = text.len() == 32 && text.bytes().all(is_digit);
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| is_form);
        bits.map(Self).ok_or(InvalidId {
            what: "task ID",
            problem: "must be 32 hexadecimal digits",
        })
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_ids_follow_their_grammar() {
        for good in ["a", "user@example.com:tab-1", "~x._-", &"a".repeat(128)] {
            assert_eq!(ClientId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a/b", "ä", "a\n", "a%2F", &"a".repeat(129)] {
            assert!(ClientId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn task_ids_have_one_form() {
        for bits in [0, 1, u128::MAX] {
            let id = TaskId::from_random(bits);
            assert_eq!(TaskId::parse(&id.to_string()), Ok(id));
        }
        let upper = "A".repeat(32);
        for bad in ["", "0", "+0000000000000000000000000000000", &upper] {
            assert!(TaskId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn incarnations_survive_their_text_form() {
        for value in [0, 1, u64::MAX] {
            let text = Incarnation(value).to_string();
            assert_eq!(text.len(), 16);
            assert_eq!(text.parse(), Ok(Incarnation(value)));
        }
    }
}
