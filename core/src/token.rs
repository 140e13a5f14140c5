//! Tokens: signed, stateless, one client ID each (SPEC.md §3).
//!
//! Verifying gives a [`Grant`]; what it allows is taken out of it as a [`ServeGrant`] or a
//! [`CallGrant`], and handlers ask for these, so that an unchecked path does not compile. The
//! text of a token appears in no error and in no `Debug` output.

use std::fmt;
use std::time::Duration;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use crate::close::{CloseCode, Closing};
use crate::ids::{ClientId, Subject};
use crate::limits;
use crate::secret::Secrets;

/// The scope of an app.
pub const SCOPE_SERVE: &str = "clientmcp:serve";
/// The scope of an agent.
pub const SCOPE_CALL: &str = "clientmcp:call";

/// Why a token is not accepted. The texts are for its bearer, and quote nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no JWT that can be read.
    #[error("the token is malformed")]
    Malformed,
    /// It is signed with another algorithm than HS256.
    #[error("the token must be signed with HS256")]
    Algorithm,
    /// No secret of this cluster signed it.
    #[error("the token's signature does not match")]
    Signature,
    /// A claim is missing or has the wrong type.
    #[error("the token's claims are incomplete: sub, scope and exp are required")]
    Claims,
    /// `sub` is no client ID.
    #[error("the token's sub is no client ID")]
    ClientId,
    /// `agent` is no subject.
    #[error("the token's agent must be 1 to 128 bytes without control characters")]
    Agent,
    /// `exp` has passed.
    #[error("the token has expired")]
    Expired,
    /// `nbf` lies ahead.
    #[error("the token is not valid yet")]
    NotYetValid,
}

impl TokenError {
    /// What a metric calls it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            TokenError::Malformed => "malformed",
            TokenError::Algorithm => "algorithm",
            TokenError::Signature => "signature",
            TokenError::Claims => "claims",
            TokenError::ClientId => "client_id",
            TokenError::Agent => "agent",
            TokenError::Expired => "expired",
            TokenError::NotYetValid => "not_yet_valid",
        }
    }

    /// The close frame for an app with this token.
    #[must_use]
    pub fn closing(self) -> Closing {
        Closing::new(CloseCode::Unauthorized, self.to_string())
    }
}

/// The token is good, but does not allow this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the token's scope must contain {0}")]
pub struct ScopeError(&'static str);

impl ScopeError {
    /// The scope that is missing.
    #[must_use]
    pub fn missing(self) -> &'static str {
        self.0
    }

    /// The close frame for an app with this token.
    #[must_use]
    pub fn closing(self) -> Closing {
        Closing::new(CloseCode::Forbidden, self.to_string())
    }
}

/// A token as its bearer sent it, not verified yet. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    /// Takes the text of a token.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for [`Verifier::verify`] and for the wire alone.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(redacted)")
    }
}

/// What [`mint`] writes into a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The client ID (`sub`).
    pub client_id: ClientId,
    /// Who calls, if that is somebody else (`agent`).
    pub agent: Option<Subject>,
    /// Whether its bearer may connect as the app.
    pub serve: bool,
    /// Whether its bearer may call the app.
    pub call: bool,
    /// Seconds since 1970 at which it ends (`exp`).
    pub expires_at: u64,
    /// Seconds since 1970 before which it is not valid (`nbf`).
    pub not_before: Option<u64>,
}

/// Signs a token with the first secret.
#[must_use]
pub fn mint(secrets: &Secrets, claims: &Claims) -> String {
    let scopes = [(claims.serve, SCOPE_SERVE), (claims.call, SCOPE_CALL)];
    let scopes: Vec<&str> = scopes.iter().filter(|s| s.0).map(|s| s.1).collect();
    let claims = WrittenClaims {
        sub: &claims.client_id,
        scope: scopes.join(" "),
        agent: claims.agent.as_ref(),
        exp: claims.expires_at,
        nbf: claims.not_before,
    };
    let secret = secrets.iter().next().expect("secrets are never empty");
    EncodingKey::from_secret(secret)
        .and_then(|key| jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key))
        .expect("HS256 signs any claims with any secret that is not empty")
}

/// Verifies tokens. Clones of its keys are made once.
#[derive(Debug)]
pub struct Verifier {
    keys: Vec<DecodingKey>,
    validation: Validation,
}

impl Verifier {
    /// A verifier that accepts what any of these secrets signed.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        let key = |secret| DecodingKey::from_secret(secret).expect("secrets are never empty");
        // The library checks the algorithm and the signature alone: it reads its own clock.
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        Self {
            keys: secrets.iter().map(key).collect(),
            validation,
        }
    }

    /// Verifies a token at a time in seconds since 1970. `exp` and `nbf` have a leeway of
    /// [`limits::TOKEN_LEEWAY_S`].
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn verify(&self, token: &str, now_unix_s: u64) -> Result<Grant, TokenError> {
        let (key_index, claims) = self.check_signature(token)?;
        let client_id = ClientId::parse(&claims.sub).map_err(|_| TokenError::ClientId)?;
        let agent = claims.agent.as_deref().map(Subject::parse).transpose();
        let agent = agent.map_err(|_| TokenError::Agent)?;
        if now_unix_s >= claims.exp.0.saturating_add(limits::TOKEN_LEEWAY_S) {
            return Err(TokenError::Expired);
        }
        let not_before = claims.nbf.map_or(0, |nbf| nbf.0);
        if not_before > now_unix_s.saturating_add(limits::TOKEN_LEEWAY_S) {
            return Err(TokenError::NotYetValid);
        }
        Ok(Grant {
            subject: agent.unwrap_or_else(|| Subject::from(&client_id)),
            client_id,
            serve: claims.scope.contains(SCOPE_SERVE),
            call: claims.scope.contains(SCOPE_CALL),
            expires_at: claims.exp.0,
            verified_at: now_unix_s,
            key_index,
        })
    }

    /// The next key is tried only if the signature does not match the one before.
    fn check_signature(&self, token: &str) -> Result<(usize, ReadClaims), TokenError> {
        for (index, key) in self.keys.iter().enumerate() {
            match jsonwebtoken::decode::<ReadClaims>(token, key, &self.validation) {
                Ok(data) => return Ok((index, data.claims)),
                Err(error) => match error.into_kind() {
                    ErrorKind::InvalidSignature => {}
                    ErrorKind::InvalidAlgorithm => return Err(TokenError::Algorithm),
                    ErrorKind::Json(error) if error.is_data() => {
                        return Err(classify_data_error(token));
                    }
                    _ => return Err(TokenError::Malformed),
                },
            }
        }
        Err(TokenError::Signature)
    }
}

/// An error of types arises from the header, which is read first, or from the claims: an
/// algorithm that the library does not know is one of the header.
fn classify_data_error(token: &str) -> TokenError {
    match jsonwebtoken::decode_header(token) {
        Ok(_) => TokenError::Claims,
        Err(_) => TokenError::Algorithm,
    }
}

/// What a verified token says. Take [`Grant::serve`] or [`Grant::call`] out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    client_id: ClientId,
    subject: Subject,
    serve: bool,
    call: bool,
    expires_at: u64,
    verified_at: u64,
    key_index: usize,
}

impl Grant {
    /// Which secret verified it, counted from 0: what a metric shows, so that an operator sees
    /// when an old one is out of use.
    #[must_use]
    pub fn key_index(&self) -> usize {
        self.key_index
    }

    /// The client ID that it names.
    #[must_use]
    pub fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// The same of the same token at a later time: its signature need not be checked again.
    ///
    /// # Errors
    /// [`TokenError::Expired`].
    pub fn again(&self, now_unix_s: u64) -> Result<Self, TokenError> {
        if now_unix_s >= self.expires_at.saturating_add(limits::TOKEN_LEEWAY_S) {
            return Err(TokenError::Expired);
        }
        Ok(Self {
            verified_at: now_unix_s,
            ..self.clone()
        })
    }

    /// The right to connect as the app.
    ///
    /// # Errors
    /// [`ScopeError`] if the scope lacks [`SCOPE_SERVE`].
    pub fn serve(self) -> Result<ServeGrant, ScopeError> {
        if !self.serve {
            return Err(ScopeError(SCOPE_SERVE));
        }
        Ok(ServeGrant(self))
    }

    /// The right to call the app.
    ///
    /// # Errors
    /// [`ScopeError`] if the scope lacks [`SCOPE_CALL`].
    pub fn call(self) -> Result<CallGrant, ScopeError> {
        if !self.call {
            return Err(ScopeError(SCOPE_CALL));
        }
        Ok(CallGrant(self))
    }

    fn expires_in(&self) -> Duration {
        Duration::from_secs(self.expires_at.saturating_sub(self.verified_at))
    }
}

macro_rules! authorisation {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(Grant);

        impl $name {
            /// The client ID.
            #[must_use]
            pub fn client_id(&self) -> &ClientId {
                &self.0.client_id
            }

            /// Who it is that calls or connects: `agent`, else the client ID.
            #[must_use]
            pub fn subject(&self) -> &Subject {
                &self.0.subject
            }

            /// When the token ends, in seconds since 1970.
            #[must_use]
            pub fn expires_at(&self) -> u64 {
                self.0.expires_at
            }

            /// How long after its verification the token ends. Whoever keeps a connection makes
            /// a monotonic deadline of this at once, [`limits::TOKEN_LEEWAY_S`] later.
            #[must_use]
            pub fn expires_in(&self) -> Duration {
                self.0.expires_in()
            }
        }
    };
}

authorisation!(
    /// The right to connect as the app of a client ID.
    ServeGrant
);
authorisation!(
    /// The right to call the app of a client ID.
    CallGrant
);

#[derive(Serialize)]
struct WrittenClaims<'a> {
    sub: &'a ClientId,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a Subject>,
    exp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbf: Option<u64>,
}

#[derive(Deserialize)]
struct ReadClaims {
    sub: String,
    scope: Scope,
    exp: UnixSeconds,
    nbf: Option<UnixSeconds>,
    agent: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scope {
    Text(String),
    List(Vec<String>),
}

impl Scope {
    fn contains(&self, wanted: &str) -> bool {
        match self {
            Scope::Text(text) => text.split(' ').any(|word| word == wanted),
            Scope::List(list) => list.iter().any(|word| word == wanted),
        }
    }
}

/// RFC 7519 allows fractions of a second, which are cut off.
struct UnixSeconds(u64);

impl<'de> Deserialize<'de> for UnixSeconds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let number = serde_json::Number::deserialize(deserializer)?;
        if let Some(seconds) = number.as_u64() {
            return Ok(Self(seconds));
        }
        match number.as_f64() {
            // As far as f64 counts in whole seconds.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Some(seconds) if (0.0..9e15).contains(&seconds) => Ok(Self(seconds as u64)),
            _ => Err(D::Error::custom("not a time in seconds since 1970")),
        }
    }
}

#[cfg(test)]
mod tests;
