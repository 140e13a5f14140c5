//! The application's token: when another is needed, and whether asking for one is of any use
//! (SPEC.md §3).
//!
//! Pure: lifetimes run on the monotonic clock from the moment the cluster named them, so a wrong
//! wall clock changes nothing.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A token is renewed after this share of its life.
const RENEW_AT: f64 = 0.8;
/// Between attempts to renew, at least.
const RENEW_RETRY: Duration = Duration::from_secs(1);

/// Why a token is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenReason {
    /// For the first connection.
    Connect,
    /// The present one ends soon, or has ended.
    Expiring,
    /// The cluster refused the present one (close code 4401).
    Refused,
}

/// A token that can travel in a header. Its text appears in no log.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(Arc<str>);

impl Token {
    /// Takes a text for a token. A stray newline at its end is the usual mistake, and forgiven.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("there is no token");
        }
        let travels = |b: u8| b.is_ascii_alphanumeric() || b"._~+-".contains(&b);
        if !text.bytes().all(travels) {
            return Err("the token is no JWT: it has characters that cannot travel in a header");
        }
        Ok(Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where the next connection gets its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Present(Token),
    Ask(TokenReason),
}

/// The present token and what is known of it.
#[derive(Debug)]
pub(crate) struct Tokens {
    renewable: bool,
    present: Option<Token>,
    /// The present one was refused.
    refused: bool,
    /// It came after a refusal, and has not been accepted yet.
    replacement: bool,
    renew_at: Option<Instant>,
    ends_at: Option<Instant>,
}

impl Tokens {
    /// One token for good.
    pub(crate) fn fixed(token: Token) -> Self {
        Self {
            renewable: false,
            present: Some(token),
            ..Self::renewable()
        }
    }

    /// Tokens that are asked for.
    pub(crate) fn renewable() -> Self {
        Self {
            renewable: true,
            present: None,
            refused: false,
            replacement: false,
            renew_at: None,
            ends_at: None,
        }
    }

    pub(crate) fn is_renewable(&self) -> bool {
        self.renewable
    }

    /// The token that is in use.
    pub(crate) fn present(&self) -> Option<&Token> {
        self.present.as_ref()
    }

    /// The token for the next connection. It is asked for only where the present one will not do.
    pub(crate) fn for_connection(&self, now: Instant) -> Source {
        match &self.present {
            None => Source::Ask(TokenReason::Connect),
            Some(_) if self.refused && self.renewable => Source::Ask(TokenReason::Refused),
            Some(_) if self.renew_at.is_some_and(|at| now >= at) => {
                Source::Ask(TokenReason::Expiring)
            }
            Some(token) => Source::Present(token.clone()),
        }
    }

    /// A token came that was asked for. The error says why asking again is useless.
    pub(crate) fn handle_token(&mut self, token: Token, now: Instant) -> Result<(), &'static str> {
        let same = self.present.as_ref() == Some(&token);
        if self.refused && same {
            return Err("the token provider gave the refused token again");
        }
        if same {
            self.renew_later(now);
            return Ok(());
        }
        self.replacement = self.refused;
        self.refused = false;
        self.present = Some(token);
        self.renew_at = None;
        self.ends_at = None;
        Ok(())
    }

    /// No token came. Returns the present one if it will do for another while.
    pub(crate) fn handle_no_token(&mut self, now: Instant) -> Option<Token> {
        self.renew_later(now);
        let alive = !self.refused && self.ends_at.is_none_or(|at| now < at);
        self.present.clone().filter(|_| alive)
    }

    /// The cluster took this token, and says how long it lives.
    pub(crate) fn handle_accepted(&mut self, token: &Token, expires_in: Duration, now: Instant) {
        if self.present.as_ref() != Some(token) {
            return;
        }
        self.refused = false;
        self.replacement = false;
        self.ends_at = now.checked_add(expires_in);
        let renew_at = now.checked_add(expires_in.mul_f64(RENEW_AT));
        self.renew_at = renew_at.filter(|_| self.renewable);
    }

    /// The cluster refused the present token. Returns why no other will help, if so.
    pub(crate) fn handle_refused(&mut self) -> Option<&'static str> {
        if !self.renewable {
            return Some("the token is a fixed one, so there is no other to try");
        }
        if self.replacement {
            return Some("a new token from the provider was refused as well");
        }
        self.refused = true;
        None
    }

    /// When [`Tokens::handle_timeout`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.renew_at
    }

    /// Time has passed. Returns whether another token is to be asked for.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let due = self.renew_at.is_some_and(|at| now >= at);
        if due {
            self.renew_later(now);
        }
        due
    }

    /// Forgets what was refused, for a start that was asked for.
    pub(crate) fn reset(&mut self) {
        if self.renewable {
            *self = Self::renewable();
        }
    }

    fn renew_later(&mut self, now: Instant) {
        let left = self.ends_at.map(|at| at.saturating_duration_since(now));
        let left = left.filter(|left| self.renewable && !left.is_zero());
        self.renew_at = left.map(|left| now + (left / 2).max(RENEW_RETRY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(100);

    fn token(text: &str) -> Token {
        Token::parse(text).unwrap()
    }

    fn accepted(now: Instant) -> Tokens {
        let mut tokens = Tokens::renewable();
        tokens.handle_token(token("a"), now).unwrap();
        tokens.handle_accepted(&token("a"), LIFE, now);
        tokens
    }

    #[test]
    fn a_token_is_text_that_a_header_carries() {
        assert_eq!(token(" a.b-c_d \n").as_str(), "a.b-c_d");
        for bad in ["", " \n", "a b", "a,b", "ä", "a\nb", "a\"b"] {
            assert!(Token::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(format!("{:?}", token("secret")), "Token(…)");
    }

    #[test]
    fn it_is_kept_between_connections_until_it_is_to_be_renewed() {
        let now = Instant::now();
        let mut tokens = Tokens::renewable();
        assert_eq!(
            tokens.for_connection(now),
            Source::Ask(TokenReason::Connect)
        );
        tokens.handle_token(token("a"), now).unwrap();
        tokens.handle_accepted(&token("a"), LIFE, now);
        let renew_at = now + LIFE.mul_f64(0.8);
        assert_eq!(tokens.poll_timeout(), Some(renew_at));
        let before = renew_at - Duration::from_millis(1);
        assert_eq!(tokens.for_connection(before), Source::Present(token("a")));
        assert_eq!(
            tokens.for_connection(renew_at),
            Source::Ask(TokenReason::Expiring)
        );
    }

    #[test]
    fn a_renewal_that_failed_is_tried_again_at_half_of_what_is_left() {
        let now = Instant::now();
        let mut tokens = accepted(now);
        let at = now + Duration::from_secs(80);
        assert!(tokens.handle_timeout(at));
        assert!(!tokens.handle_timeout(at), "said once");
        assert_eq!(tokens.handle_no_token(at), Some(token("a")));
        assert_eq!(tokens.poll_timeout(), Some(at + Duration::from_secs(10)));
        let late = now + LIFE - Duration::from_millis(10);
        tokens.handle_token(token("a"), late).unwrap();
        assert_eq!(
            tokens.poll_timeout(),
            Some(late + RENEW_RETRY),
            "the same token again is no renewal"
        );
        let end = now + LIFE;
        assert_eq!(tokens.handle_no_token(end), None, "it has ended");
        assert_eq!(tokens.poll_timeout(), None);
    }

    #[test]
    fn a_refused_token_is_replaced_once() {
        let now = Instant::now();
        let mut tokens = accepted(now);
        assert_eq!(tokens.handle_refused(), None);
        assert_eq!(
            tokens.for_connection(now),
            Source::Ask(TokenReason::Refused)
        );
        assert!(tokens.handle_token(token("a"), now).is_err(), "the same");
        tokens.handle_token(token("b"), now).unwrap();
        assert_eq!(tokens.for_connection(now), Source::Present(token("b")));
        assert!(tokens.handle_refused().is_some(), "refused as well");

        let mut tokens = accepted(now);
        tokens.handle_refused();
        tokens.handle_token(token("b"), now).unwrap();
        tokens.handle_accepted(&token("a"), LIFE, now);
        assert!(tokens.handle_refused().is_some(), "an older one was");
        tokens.handle_accepted(&token("b"), LIFE, now);
        assert_eq!(tokens.handle_refused(), None, "it was accepted between");
    }

    #[test]
    fn a_fixed_token_is_neither_renewed_nor_replaced() {
        let now = Instant::now();
        let mut tokens = Tokens::fixed(token("a"));
        tokens.handle_accepted(&token("a"), LIFE, now);
        assert_eq!(tokens.poll_timeout(), None);
        assert_eq!(
            tokens.for_connection(now + LIFE),
            Source::Present(token("a"))
        );
        assert!(tokens.handle_refused().is_some());
    }
}
