//! One socket as the session sees it: what was asked on it, and until when it has to do something.
//!
//! Pure: time is an argument.

use std::time::{Duration, Instant};

use clientmcp_core::message::ChannelLimits;
use clientmcp_core::timings::Timings;

use crate::registration::Asked;
use crate::session::SocketId;
use crate::token::Token;

/// From the first packet to the end of the upgrade.
const OPEN_WITHIN: Duration = Duration::from_secs(15);
/// From the upgrade to `registered`. The cluster delays registers while very many applications
/// come back at once.
const REGISTERED_WITHIN: Duration = Duration::from_secs(60);
/// How long a socket that was taken over from may finish what it carries.
const RETIRED_FOR: Duration = Duration::from_secs(30);

/// Why a socket is given up by this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// The upgrade did not end in time.
    Open,
    /// There was no `registered` in time.
    Registered,
    /// Nothing was received for so long.
    Silent(Duration),
    /// It was taken over from, and the cluster has not closed it.
    Retired,
}

/// What is due on a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Ping,
    GiveUp(Overdue),
}

/// A socket, from the first packet to the last.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: SocketId,
    /// The token that it was opened with, or that renewed it.
    pub(crate) token: Token,
    pub(crate) limits: ChannelLimits,
    /// The `register` whose answer is awaited.
    pub(crate) asked: Option<Asked>,
    /// The content has changed since.
    pub(crate) ask_again: bool,
    opened: bool,
    received_at: Instant,
    pinged_at: Instant,
    deadline: Option<(Instant, Overdue)>,
}

impl Link {
    pub(crate) fn new(socket: SocketId, token: Token, now: Instant) -> Self {
        Self {
            socket,
            token,
            limits: default_limits(),
            asked: None,
            ask_again: false,
            opened: false,
            received_at: now,
            pinged_at: now,
            deadline: Some((now + OPEN_WITHIN, Overdue::Open)),
        }
    }

    /// Whether frames can be sent on it.
    pub(crate) fn is_open(&self) -> bool {
        self.opened
    }

    /// The upgrade succeeded.
    pub(crate) fn handle_opened(&mut self, now: Instant) {
        self.opened = true;
        self.received_at = now;
        self.pinged_at = now;
        self.deadline = Some((now + REGISTERED_WITHIN, Overdue::Registered));
    }

    /// A frame of any kind came.
    pub(crate) fn handle_received(&mut self, now: Instant) {
        self.received_at = now;
    }

    /// The cluster took a registration on it.
    pub(crate) fn handle_registered(&mut self, limits: ChannelLimits) {
        self.limits = limits;
        self.deadline = None;
    }

    /// Another socket has taken over.
    pub(crate) fn retire(&mut self, now: Instant) {
        self.ask_again = false;
        self.deadline = Some((now + RETIRED_FOR, Overdue::Retired));
    }

    /// When [`Link::handle_timeout`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let deadline = self.deadline.map(|(at, _)| at);
        if !self.opened {
            return deadline;
        }
        let alive = self.ping_at().min(self.silent_at());
        Some(deadline.map_or(alive, |at| at.min(alive)))
    }

    /// Time has passed. A ping that is due is taken as sent.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Due {
        match self.deadline {
            Some((at, overdue)) if now >= at => return Due::GiveUp(overdue),
            _ => {}
        }
        if !self.opened {
            return Due::Nothing;
        }
        if now >= self.silent_at() {
            return Due::GiveUp(Overdue::Silent(self.limits.silence_timeout));
        }
        if now >= self.ping_at() {
            self.pinged_at = now;
            return Due::Ping;
        }
        Due::Nothing
    }

    fn silent_at(&self) -> Instant {
        self.received_at + self.limits.silence_timeout
    }

    /// The cluster pings a socket on which nothing happens, so this side asks only when such a
    /// ping is overdue by a quarter.
    fn ping_at(&self) -> Instant {
        let interval = self.limits.ping_interval;
        self.received_at.max(self.pinged_at) + interval + interval / 4
    }
}

/// What holds until the first `registered` states it.
pub(crate) fn default_limits() -> ChannelLimits {
    ChannelLimits::from(&Timings::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ChannelLimits = ChannelLimits {
        max_message_bytes: 1000,
        max_calls_in_flight: 256,
        ping_interval: Duration::from_secs(20),
        silence_timeout: Duration::from_secs(45),
    };

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn link(now: Instant) -> Link {
        Link::new(SocketId(1), Token::parse("t").unwrap(), now)
    }

    #[test]
    fn opening_and_registering_have_deadlines() {
        let now = Instant::now();
        let mut link = link(now);
        assert_eq!(link.poll_timeout(), Some(now + OPEN_WITHIN));
        assert_eq!(link.handle_timeout(now), Due::Nothing);
        assert_eq!(
            link.handle_timeout(now + OPEN_WITHIN),
            Due::GiveUp(Overdue::Open)
        );
        link.handle_opened(now);
        link.handle_received(now + seconds(59));
        assert_eq!(
            link.handle_timeout(now + REGISTERED_WITHIN),
            Due::GiveUp(Overdue::Registered)
        );
        link.handle_registered(LIMITS);
        link.handle_received(now + REGISTERED_WITHIN);
        assert_eq!(link.handle_timeout(now + REGISTERED_WITHIN), Due::Nothing);
    }

    #[test]
    fn a_silent_socket_is_asked_and_then_given_up() {
        let now = Instant::now();
        let mut link = link(now);
        link.handle_opened(now);
        link.handle_registered(LIMITS);
        assert_eq!(link.poll_timeout(), Some(now + seconds(25)));
        assert_eq!(link.handle_timeout(now + seconds(24)), Due::Nothing);
        assert_eq!(link.handle_timeout(now + seconds(25)), Due::Ping);
        assert_eq!(link.handle_timeout(now + seconds(26)), Due::Nothing);
        assert_eq!(link.poll_timeout(), Some(now + seconds(45)));
        assert_eq!(
            link.handle_timeout(now + seconds(45)),
            Due::GiveUp(Overdue::Silent(seconds(45)))
        );
    }

    #[test]
    fn any_frame_is_a_sign_of_life() {
        let now = Instant::now();
        let mut link = link(now);
        link.handle_opened(now);
        link.handle_registered(LIMITS);
        for n in 1..10 {
            link.handle_received(now + seconds(20 * n));
            assert_eq!(
                link.handle_timeout(now + seconds(20 * n + 19)),
                Due::Nothing
            );
        }
    }

    #[test]
    fn a_retired_socket_has_some_time_left() {
        let now = Instant::now();
        let mut link = link(now);
        link.handle_opened(now);
        link.handle_registered(LIMITS);
        link.retire(now);
        link.handle_received(now + seconds(29));
        assert_eq!(link.handle_timeout(now + seconds(29)), Due::Nothing);
        assert_eq!(
            link.handle_timeout(now + RETIRED_FOR),
            Due::GiveUp(Overdue::Retired)
        );
    }
}
