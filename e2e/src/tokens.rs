//! Tokens: those that a cluster gives, and those that it must refuse.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clientmcp_core::ids::{ClientId, Subject};
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{Claims, mint};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How long tokens are valid that need not end within a test, in seconds.
const TTL_S: i64 = 3_600;

/// Mints tokens with one secret.
#[derive(Debug, Clone)]
pub struct Tokens {
    secret: String,
}

impl Tokens {
    /// Tokens of a cluster with this secret.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self {
            secret: secret.to_owned(),
        }
    }

    /// The secret as the cluster takes it.
    ///
    /// # Panics
    /// If it is too short.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        Secrets::from_text(&self.secret).expect("a test's secret is long enough")
    }

    /// A token for an app.
    #[must_use]
    pub fn app(&self, client: &str) -> String {
        self.mint(client, None, Scope::Serve, TTL_S)
    }

    /// A token for an agent.
    #[must_use]
    pub fn agent(&self, client: &str) -> String {
        self.mint(client, None, Scope::Call, TTL_S)
    }

    /// A token for an agent that says who it is.
    #[must_use]
    pub fn agent_named(&self, client: &str, agent: &str) -> String {
        self.mint(client, Some(agent), Scope::Call, TTL_S)
    }

    /// A token that ends so many seconds from now.
    #[must_use]
    pub fn ending_in(&self, client: &str, scope: Scope, seconds: i64) -> String {
        self.mint(client, None, scope, seconds)
    }

    /// Header and claims as they are, signed with HMAC-SHA256 under the secret whatever the header
    /// says.
    #[must_use]
    pub fn signed(&self, header: &str, claims: &str) -> String {
        let content = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims)
        );
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes())
            .expect("HMAC takes keys of any length");
        mac.update(content.as_bytes());
        format!(
            "{content}.{}",
            URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
        )
    }

    fn mint(&self, client: &str, agent: Option<&str>, scope: Scope, seconds: i64) -> String {
        let claims = Claims {
            client_id: ClientId::parse(client).expect("a test's client ID is one"),
            agent: agent.map(|agent| Subject::parse(agent).expect("a test's subject is one")),
            serve: scope == Scope::Serve,
            call: scope == Scope::Call,
            expires_at: now_s().saturating_add_signed(seconds),
            not_before: None,
        };
        mint(&self.secrets(), &claims)
    }
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// To connect as the app.
    Serve,
    /// To call it.
    Call,
}

/// The time in seconds since 1970.
///
/// # Panics
/// If the clock stands before that.
#[must_use]
pub fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock stands after 1970")
        .as_secs()
}
