//! Tokens that were verified are remembered until they expire: an agent shows the same one with
//! each call.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{Grant, TokenError, Verifier};

use crate::bounded::Bounded;
use crate::limits;

/// A verifier with a memory.
pub(crate) struct Verified {
    verifier: Verifier,
    grants: Mutex<Bounded<Box<str>, Grant>>,
}

impl Verified {
    pub(crate) fn new(secrets: &Secrets) -> Self {
        Self {
            verifier: Verifier::new(secrets),
            grants: Mutex::new(Bounded::new(limits::TOKENS_BYTES)),
        }
    }

    /// Verifies a token at a time in seconds since 1970.
    ///
    /// # Errors
    /// [`TokenError`]. What was refused is not remembered.
    pub(crate) fn verify(&self, token: &str, now_unix_s: u64) -> Result<Grant, TokenError> {
        if let Some(grant) = self.recall(token) {
            return grant.again(now_unix_s);
        }
        let grant = self.verifier.verify(token, now_unix_s)?;
        let weight = size_of::<Grant>() + token.len();
        // Nothing that runs under the lock panics half-way.
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        grants.insert(token.into(), grant.clone(), weight);
        Ok(grant)
    }

    fn recall(&self, token: &str) -> Option<Grant> {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        grants.get(token).map(|grant| grant.clone())
    }
}

/// Shows no token.
impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verified")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clientmcp_core::ids::ClientId;
    use clientmcp_core::limits::TOKEN_LEEWAY_S;
    use clientmcp_core::token::{self, Claims};

    #[test]
    fn a_token_that_is_known_expires_like_any_other() {
        let secrets = Secrets::new(["a secret of at least thirty-two bytes"]).unwrap();
        let verified = Verified::new(&secrets);
        let claims = Claims {
            client_id: ClientId::parse("desk-1").unwrap(),
            agent: None,
            serve: false,
            call: true,
            expires_at: 2_000,
            not_before: Some(1_000),
        };
        let token = token::mint(&secrets, &claims);
        let early = verified.verify(&token, 900);
        assert_eq!(early.unwrap_err(), TokenError::NotYetValid);
        for now in [1_000, 1_500, 1_999 + TOKEN_LEEWAY_S] {
            let fresh = Verifier::new(&secrets).verify(&token, now);
            assert_eq!(verified.verify(&token, now), fresh, "{now}");
        }
        let late = verified.verify(&token, 2_000 + TOKEN_LEEWAY_S);
        assert_eq!(late.unwrap_err(), TokenError::Expired);
        let forged = verified.verify(&format!("{token}x"), 1_500);
        assert!(forged.is_err());
    }
}
