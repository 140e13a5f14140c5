//! Tokens of one run, signed with a secret that nobody else has.

use std::time::{Duration, SystemTime};

use clientmcp_core::ids::ClientId;
use clientmcp_core::secret::Secrets;
use clientmcp_core::token::{self, Claims};

/// Longer than any run.
const LIFE: Duration = Duration::from_secs(24 * 3600);

/// Mints tokens for apps and agents.
#[derive(Debug)]
pub struct Tokens {
    text: String,
    secrets: Secrets,
    expires_at: u64,
}

impl Tokens {
    /// With a new random secret.
    ///
    /// # Panics
    /// If the clock stands before 1970.
    #[must_use]
    pub fn new() -> Self {
        let random: [u8; 32] = rand::random();
        let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let secrets = Secrets::from_text(&text).expect("64 bytes are enough");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.expect("it is later than 1970");
        Self {
            text,
            secrets,
            expires_at: (now + LIFE).as_secs(),
        }
    }

    /// The secret, for the cluster's file.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.text
    }

    /// A token that lets an app connect.
    #[must_use]
    pub fn app(&self, client_id: &str) -> String {
        self.mint(client_id, true)
    }

    /// A token that lets an agent call.
    #[must_use]
    pub fn agent(&self, client_id: &str) -> String {
        self.mint(client_id, false)
    }

    fn mint(&self, client_id: &str, serve: bool) -> String {
        let claims = Claims {
            client_id: ClientId::parse(client_id).expect("client IDs of a run are valid"),
            agent: None,
            serve,
            call: !serve,
            expires_at: self.expires_at,
            not_before: None,
        };
        token::mint(&self.secrets, &claims)
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self::new()
    }
}
