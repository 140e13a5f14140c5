//! How a socket of an app ends: codes, reasons, and what that says about the app (SPEC.md §4.9).

use std::borrow::Cow;
use std::fmt;

/// The longest reason of a close frame, in bytes (RFC 6455, 5.5: 125 less the code).
pub const REASON_BYTES: usize = 123;

/// Why a socket is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CloseCode {
    /// 1000: the app left, or its next socket took over.
    Normal,
    /// 1001: the page was left, or a proxy said so.
    Leaving,
    /// 1002: the WebSocket protocol was broken.
    ProtocolError,
    /// 1003: a binary frame.
    Binary,
    /// 1007: text that is no UTF-8.
    InvalidText,
    /// 1009: a message over the limit.
    TooLarge,
    /// 1012: the node or router stops.
    Restart,
    /// 1013: overloaded, or the store is out of reach.
    TryLater,
    /// 4400: a message that was not understood.
    NotUnderstood,
    /// 4401: the token is missing, wrong or expired.
    Unauthorized,
    /// 4403: scope or origin are not allowed.
    Forbidden,
    /// 4408: no register in time, or silent too long.
    TimedOut,
    /// 4409: another instance took over.
    Replaced,
}

impl CloseCode {
    /// All codes that the cluster sends, in the order of their numbers.
    pub const ALL: [CloseCode; 13] = [
        CloseCode::Normal,
        CloseCode::Leaving,
        CloseCode::ProtocolError,
        CloseCode::Binary,
        CloseCode::InvalidText,
        CloseCode::TooLarge,
        CloseCode::Restart,
        CloseCode::TryLater,
        CloseCode::NotUnderstood,
        CloseCode::Unauthorized,
        CloseCode::Forbidden,
        CloseCode::TimedOut,
        CloseCode::Replaced,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            CloseCode::Normal => 1000,
            CloseCode::Leaving => 1001,
            CloseCode::ProtocolError => 1002,
            CloseCode::Binary => 1003,
            CloseCode::InvalidText => 1007,
            CloseCode::TooLarge => 1009,
            CloseCode::Restart => 1012,
            CloseCode::TryLater => 1013,
            CloseCode::NotUnderstood => 4400,
            CloseCode::Unauthorized => 4401,
            CloseCode::Forbidden => 4403,
            CloseCode::TimedOut => 4408,
            CloseCode::Replaced => 4409,
        }
    }

    /// The code with this number, if the protocol has it. 1005, 1006 and 1015 are never on the
    /// wire and have none.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// A close frame: the code, and a short sentence that names the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    code: CloseCode,
    reason: Cow<'static, str>,
}

impl Closing {
    /// A closing; a reason of more than [`REASON_BYTES`] is cut at a character.
    #[must_use]
    pub fn new(code: CloseCode, reason: impl Into<Cow<'static, str>>) -> Self {
        let mut reason = reason.into();
        if reason.len() > REASON_BYTES {
            let end = reason.floor_char_boundary(REASON_BYTES);
            reason = reason[..end].to_owned().into();
        }
        Self { code, reason }
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> CloseCode {
        self.code
    }

    /// Its reason, at most [`REASON_BYTES`] long.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.code, self.reason)
    }
}

/// How an app went away: decides whether calls wait for it to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Departure {
    /// It ended on purpose, or will not come back by itself: calls fail at once.
    Clean,
    /// Its page was left or reloaded (1001): it may be back in a moment.
    Left,
    /// The connection was lost, or the app was told to come back.
    Lost,
}

impl Departure {
    /// What the app's own close frame says; `None` when the socket ended without one (1006).
    #[must_use]
    pub fn of_peer(code: Option<u16>) -> Self {
        match code {
            Some(1000) => Departure::Clean,
            Some(1001) => Departure::Left,
            _ => Departure::Lost,
        }
    }

    /// What follows from our own close frame: an SDK that stops after it is gone, one that
    /// connects again is only away.
    #[must_use]
    pub fn of_ours(code: CloseCode) -> Self {
        match code {
            CloseCode::NotUnderstood | CloseCode::Forbidden | CloseCode::Replaced => {
                Departure::Clean
            }
            CloseCode::Normal
            | CloseCode::Leaving
            | CloseCode::ProtocolError
            | CloseCode::Binary
            | CloseCode::InvalidText
            | CloseCode::TooLarge
            | CloseCode::Restart
            | CloseCode::TryLater
            | CloseCode::Unauthorized
            | CloseCode::TimedOut => Departure::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_their_numbers_and_those_that_are_never_sent_have_none() {
        for code in CloseCode::ALL {
            assert_eq!(CloseCode::from_number(code.number()), Some(code));
        }
        for number in [0, 1004, 1005, 1006, 1008, 1015, 4402] {
            assert_eq!(CloseCode::from_number(number), None);
        }
    }

    #[test]
    fn a_reason_fits_into_a_close_frame_and_stays_text() {
        let closing = Closing::new(CloseCode::TryLater, "ä".repeat(100));
        assert_eq!(closing.reason().len(), 122);
        assert_eq!(Closing::new(CloseCode::Normal, "bye").reason(), "bye");
    }
}
