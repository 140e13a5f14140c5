//! What follows from the end of a connection, and when to connect again (SPEC.md §4.9).
//!
//! Pure: time and random numbers are arguments.

use std::time::{Duration, Instant};

use clientmcp_core::close::CloseCode;
use clientmcp_core::limits;

/// The close code that stands for "no close frame was seen".
pub(crate) const NO_CLOSE_FRAME: u16 = 1006;

/// The longest first backoff.
const BACKOFF_BASE: Duration = Duration::from_millis(500);
/// The longest backoff at all.
const BACKOFF_CAP: Duration = Duration::from_secs(30);
/// A connection that stood this long has proved itself; shorter ones do not reset the backoff.
const STABLE: Duration = Duration::from_millis(limits::STABLE_CONNECTION_MS);

/// What is known of the connection that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Situation {
    /// It is the one in use, or on its way to be that; not one that was taken over from, nor one
    /// that this side closed.
    pub(crate) current: bool,
    /// Another token may be had.
    pub(crate) token_renewable: bool,
}

/// What to do after a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It does not matter any more.
    Ignore,
    /// Stop until told otherwise.
    Stop,
    /// Ask for another token, then connect.
    NewToken,
    /// Connect again.
    Reconnect(Pace),
}

/// How soon to connect again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At once, spread over the window in which all lost connections come back.
    Spread,
    /// Not at once: the cause is likely to be there still.
    Backoff,
}

/// The table of SPEC.md §4.9. Codes that it does not name are backed off from.
pub(crate) fn decide(code: u16, situation: Situation) -> Decision {
    if !situation.current {
        return Decision::Ignore;
    }
    if code == NO_CLOSE_FRAME {
        return Decision::Reconnect(Pace::Spread);
    }
    let Some(code) = CloseCode::from_number(code) else {
        return Decision::Reconnect(Pace::Backoff);
    };
    match code {
        CloseCode::Normal | CloseCode::Leaving | CloseCode::Restart => {
            Decision::Reconnect(Pace::Spread)
        }
        CloseCode::ProtocolError
        | CloseCode::Binary
        | CloseCode::InvalidText
        | CloseCode::TooLarge
        | CloseCode::TryLater
        | CloseCode::TimedOut => Decision::Reconnect(Pace::Backoff),
        CloseCode::Unauthorized if situation.token_renewable => Decision::NewToken,
        CloseCode::Unauthorized
        | CloseCode::NotUnderstood
        | CloseCode::Forbidden
        | CloseCode::Replaced => Decision::Stop,
    }
}

/// Whether this code says that something is wrong with the application or its configuration, so
/// that a developer has to hear of it though the SDK may go on.
pub(crate) fn is_reported(code: u16) -> bool {
    matches!(
        CloseCode::from_number(code),
        Some(
            CloseCode::ProtocolError
                | CloseCode::Binary
                | CloseCode::InvalidText
                | CloseCode::NotUnderstood
                | CloseCode::Unauthorized
                | CloseCode::Forbidden
        )
    )
}

/// What a code means, for where the close frame carried no reason.
pub(crate) fn meaning(code: u16) -> &'static str {
    if code == NO_CLOSE_FRAME {
        return "the connection was lost";
    }
    let Some(code) = CloseCode::from_number(code) else {
        return "the connection was closed";
    };
    match code {
        CloseCode::Normal => "the cluster closed the connection",
        CloseCode::Leaving => "the cluster, or a proxy before it, went away",
        CloseCode::ProtocolError => "protocol error",
        CloseCode::Binary => "a frame of a kind that the cluster does not take",
        CloseCode::InvalidText => "a frame was not UTF-8",
        CloseCode::TooLarge => "a message was larger than the cluster takes",
        CloseCode::Restart => "the cluster restarts",
        CloseCode::TryLater => "the cluster is overloaded",
        CloseCode::NotUnderstood => "the cluster did not understand a message",
        CloseCode::Unauthorized => "the token is missing, wrong or expired",
        CloseCode::Forbidden => "the token's scope or the origin is not allowed",
        CloseCode::TimedOut => "silent for too long",
        CloseCode::Replaced => "another instance of this application took over",
    }
}

/// Delays between connections: a short spread first, then exponential with full jitter.
#[derive(Debug)]
pub(crate) struct Delays {
    within: Duration,
    /// Connections were tried since the last one that was stable.
    tried: bool,
    /// How many of these tries were backed off before.
    backoffs: u32,
    /// Since when connections have stood, each taking over from the one before.
    standing_since: Option<Instant>,
}

impl Delays {
    pub(crate) fn new() -> Self {
        Self {
            within: Duration::from_millis(limits::RECONNECT_WITHIN_MS),
            tried: false,
            backoffs: 0,
            standing_since: None,
        }
    }

    /// A connection was registered; `within` is the window that the cluster named. If it takes over
    /// from one that was not lost, it has stood as long as that one.
    pub(crate) fn handle_registered(&mut self, within: Duration, now: Instant) {
        self.standing_since.get_or_insert(now);
        self.within = within;
    }

    /// No connection is registered any more. Said again, it says nothing new.
    pub(crate) fn handle_lost(&mut self, now: Instant) {
        let stood = self.standing_since.take().map(|since| now - since);
        if stood >= Some(STABLE) {
            self.reset();
        }
    }

    /// The delay before the next connection. `random` is in [0, 1).
    pub(crate) fn next(&mut self, pace: Pace, random: f64) -> Duration {
        let first = !std::mem::replace(&mut self.tried, true);
        if first && pace == Pace::Spread {
            return self.within.mul_f64(random);
        }
        let doublings = self.backoffs.min(16);
        self.backoffs = self.backoffs.saturating_add(1);
        let longest = BACKOFF_BASE.saturating_mul(1 << doublings).min(BACKOFF_CAP);
        longest.mul_f64(random)
    }

    /// Forgets earlier connections and tries.
    pub(crate) fn reset(&mut self) {
        self.standing_since = None;
        self.tried = false;
        self.backoffs = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: Situation = Situation {
        current: true,
        token_renewable: true,
    };

    #[test]
    fn each_close_code_has_its_consequence() {
        use Decision::{NewToken, Reconnect, Stop};
        use Pace::{Backoff, Spread};
        let table = [
            // code, consequence, told to the developer
            (1000, Reconnect(Spread), false),
            (1001, Reconnect(Spread), false),
            (1002, Reconnect(Backoff), true),
            (1003, Reconnect(Backoff), true),
            (1006, Reconnect(Spread), false),
            (1007, Reconnect(Backoff), true),
            (1009, Reconnect(Backoff), false),
            (1012, Reconnect(Spread), false),
            (1013, Reconnect(Backoff), false),
            (4400, Stop, true),
            (4401, NewToken, true),
            (4403, Stop, true),
            (4408, Reconnect(Backoff), false),
            (4409, Stop, false),
            // not in the table
            (1008, Reconnect(Backoff), false),
            (1011, Reconnect(Backoff), false),
            (3000, Reconnect(Backoff), false),
            (4999, Reconnect(Backoff), false),
        ];
        for (code, consequence, reported) in table {
            assert_eq!(decide(code, LIVE), consequence, "{code}");
            assert_eq!(is_reported(code), reported, "{code}");
            assert!(!meaning(code).is_empty(), "{code}");
        }
    }

    #[test]
    fn a_token_that_is_fixed_cannot_be_replaced() {
        let fixed = Situation {
            token_renewable: false,
            ..LIVE
        };
        assert_eq!(decide(4401, fixed), Decision::Stop);
        assert_eq!(decide(1012, fixed), Decision::Reconnect(Pace::Spread));
    }

    #[test]
    fn codes_of_older_connections_are_ignored() {
        let older = Situation {
            current: false,
            ..LIVE
        };
        for code in [1000, 1001, 1006, 1012, 4400, 4401, 4409] {
            assert_eq!(decide(code, older), Decision::Ignore, "{code}");
        }
    }

    #[test]
    fn the_first_delay_is_within_the_window_and_later_ones_double_up_to_the_cap() {
        let mut delays = Delays::new();
        let now = Instant::now();
        delays.handle_registered(Duration::from_millis(400), now);
        delays.handle_lost(now);
        let longest: Vec<u128> = (0..9)
            .map(|_| delays.next(Pace::Spread, 1.0).as_millis())
            .collect();
        assert_eq!(
            longest,
            [400, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
        );
        assert_eq!(delays.next(Pace::Spread, 0.0), Duration::ZERO);
        assert_eq!(
            delays.next(Pace::Backoff, 0.5),
            Duration::from_secs(15),
            "uniform from nought to the longest"
        );
    }

    #[test]
    fn backoff_skips_the_window() {
        let mut delays = Delays::new();
        for longest in [500, 1000, 2000] {
            assert_eq!(
                delays.next(Pace::Backoff, 1.0),
                Duration::from_millis(longest)
            );
        }
    }

    #[test]
    fn only_a_connection_that_stood_starts_over() {
        let start = Instant::now();
        let mut delays = Delays::new();
        for _ in 0..4 {
            delays.next(Pace::Spread, 0.0);
        }
        delays.handle_registered(Duration::from_millis(200), start);
        delays.handle_lost(start + STABLE - Duration::from_millis(1));
        assert_eq!(delays.next(Pace::Spread, 1.0), Duration::from_secs(4));
        delays.handle_registered(Duration::from_millis(200), start);
        delays.handle_lost(start + STABLE);
        assert_eq!(delays.next(Pace::Spread, 1.0), Duration::from_millis(200));
    }

    #[test]
    fn connections_that_take_over_from_each_other_stand_together() {
        let start = Instant::now();
        let mut delays = Delays::new();
        delays.next(Pace::Spread, 0.0);
        for seconds in [0, 4, 8] {
            let at = start + Duration::from_secs(seconds);
            delays.handle_registered(Duration::from_millis(200), at);
        }
        delays.handle_lost(start + STABLE);
        assert_eq!(delays.next(Pace::Spread, 1.0), Duration::from_millis(200));
    }
}
