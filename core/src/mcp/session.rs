//! Sessions of the 2025 revisions: signed values that every router verifies (SPEC.md §6).
//!
//! No router keeps a session. What its ID says is under a signature that also covers the client
//! ID and the subject of the token: under another token the ID is as unknown as a forged one.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::capability::Capabilities;
use super::version::{Era, Version};
use crate::json::Json;
use crate::limits;
use crate::secret::{DerivedKey, Secrets};
use crate::token::CallGrant;

/// What the signing key is derived for.
const PURPOSE: &str = "clientmcp session v1";

/// Makes and verifies session IDs. The first secret signs, each verifies.
#[derive(Debug, Clone)]
pub struct SessionKeys {
    signs: DerivedKey,
    verifies: Vec<DerivedKey>,
}

/// What a session ID says.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Names the session between processes: random, never the session ID itself.
    pub key: SessionKey,
    /// The negotiated revision.
    pub version: Version,
    /// What the agent can do, as far as a session remembers it.
    pub capabilities: Capabilities,
    /// Name and version of the agent, shortened; an object.
    pub client_info: Option<Json>,
    /// When it ends, in seconds since 1970: with the token under which it began.
    pub expires_at: u64,
}

/// The name of a session between processes: 22 characters of base64url.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionKey(String);

impl SessionKey {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What `initialize` negotiated.
#[derive(Debug, Clone, PartialEq)]
pub struct Negotiated {
    /// The revision.
    pub version: Version,
    /// What the agent declared.
    pub capabilities: Capabilities,
    /// Who the agent says it is, as it said it.
    pub client_info: Option<Json>,
}

/// The session ID is forged, foreign, expired or no session ID at all. Which of these is not
/// told: an agent does the same in each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown session")]
pub struct UnknownSession;

/// The signed part of a session ID, in JSON.
#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(rename = "v")]
    version: String,
    #[serde(rename = "c")]
    capabilities: u8,
    #[serde(rename = "n", skip_serializing_if = "Option::is_none", default)]
    name: Option<String>,
    #[serde(rename = "w", skip_serializing_if = "Option::is_none", default)]
    name_version: Option<String>,
    #[serde(rename = "x")]
    expires_at: u64,
    #[serde(rename = "k")]
    key: String,
}

impl SessionKeys {
    /// The keys that the cluster's secrets give.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        Self {
            signs: secrets.derive(PURPOSE),
            verifies: secrets.derive_each(PURPOSE),
        }
    }

    /// A new session ID: visible ASCII. `random` is fresh for each.
    #[must_use]
    pub fn mint(&self, grant: &CallGrant, negotiated: &Negotiated, random: [u8; 16]) -> String {
        let (name, name_version) = short_info(negotiated.client_info.as_ref());
        let content = Content {
            version: negotiated.version.as_str().to_owned(),
            capabilities: negotiated.capabilities.to_bits(),
            name,
            name_version,
            expires_at: grant.expires_at(),
            key: URL_SAFE_NO_PAD.encode(random),
        };
        let content = Json::of(&content);
        let signature = self.signs.sign(&signed(grant, content.bytes()));
        format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(content.bytes()),
            URL_SAFE_NO_PAD.encode(signature)
        )
    }

    /// Reads a session ID that came with this token, at a time in seconds since 1970. Its end
    /// has the leeway of tokens.
    ///
    /// # Errors
    /// [`UnknownSession`].
    pub fn verify(
        &self,
        text: &str,
        grant: &CallGrant,
        now_unix_s: u64,
    ) -> Result<Session, UnknownSession> {
        self.read(text, grant)
            .filter(|session| {
                now_unix_s < session.expires_at.saturating_add(limits::TOKEN_LEEWAY_S)
            })
            .ok_or(UnknownSession)
    }

    fn read(&self, text: &str, grant: &CallGrant) -> Option<Session> {
        if text.len() > limits::SESSION_ID_BYTES {
            return None;
        }
        let (content, signature) = text.split_once('.')?;
        let content = URL_SAFE_NO_PAD.decode(content).ok()?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let message = signed(grant, &content);
        if !self
            .verifies
            .iter()
            .any(|key| key.verifies(&message, &signature))
        {
            return None;
        }
        let content: Content = serde_json::from_slice(&content).ok()?;
        let version = Version::parse(&content.version)?;
        (version.era() == Era::Legacy).then(|| Session {
            key: SessionKey(content.key),
            version,
            capabilities: Capabilities::from_bits(content.capabilities),
            client_info: content.name.map(|name| {
                let version = content.name_version.unwrap_or_default();
                Json::of(&json!({ "name": name, "version": version }))
            }),
            expires_at: content.expires_at,
        })
    }
}

/// What is signed: client ID and subject with their lengths, so that no two pairs read alike,
/// then the content.
fn signed(grant: &CallGrant, content: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(content.len() + 280);
    for name in [grant.client_id().as_str(), grant.subject().as_str()] {
        message.extend_from_slice(&(name.len() as u64).to_be_bytes());
        message.extend_from_slice(name.as_bytes());
    }
    message.extend_from_slice(content);
    message
}

fn short_info(info: Option<&Json>) -> (Option<String>, Option<String>) {
    #[derive(Deserialize, Default)]
    struct Info {
        name: String,
        #[serde(default)]
        version: String,
    }
    let info = info.and_then(|info| info.read::<Info>().ok());
    let short =
        |text: String| text[..text.floor_char_boundary(limits::CLIENT_INFO_BYTES)].to_owned();
    match info {
        Some(info) => (Some(short(info.name)), Some(short(info.version))),
        None => (None, None),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ids::{ClientId, Subject};
    use crate::token::{Claims, Verifier, mint};

    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    const NEXT: &str = "fedcba9876543210fedcba9876543210";

    /// The right to call `client` as `agent`, until second 1,000.
    pub(in crate::mcp) fn grant(client: &str, agent: &str) -> CallGrant {
        let secrets = Secrets::new([SECRET]).unwrap();
        let claims = Claims {
            client_id: ClientId::parse(client).unwrap(),
            agent: Some(Subject::parse(agent).unwrap()),
            serve: false,
            call: true,
            expires_at: 1_000,
            not_before: None,
        };
        let token = mint(&secrets, &claims);
        let verified = Verifier::new(&secrets).verify(&token, 500).unwrap();
        verified.call().unwrap()
    }

    pub(in crate::mcp) fn keys() -> SessionKeys {
        SessionKeys::new(&Secrets::new([SECRET]).unwrap())
    }

    pub(in crate::mcp) fn negotiated(version: Version) -> Negotiated {
        let declared = json!({"sampling": {}, "elicitation": {}});
        Negotiated {
            version,
            capabilities: Capabilities::declared(declared).unwrap(),
            client_info: Some(Json::parse(r#"{"name":"agent","version":"1","icons":[]}"#).unwrap()),
        }
    }

    #[test]
    fn a_session_says_what_was_negotiated() {
        let grant = grant("c1", "a1");
        for version in [
            Version::V2025_03_26,
            Version::V2025_06_18,
            Version::V2025_11_25,
        ] {
            let text = keys().mint(&grant, &negotiated(version), [7; 16]);
            assert!(text.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
            let session = keys().verify(&text, &grant, 600).unwrap();
            assert_eq!(session.version, version);
            assert_eq!(session.expires_at, 1_000);
            assert_eq!(session.key.as_str(), URL_SAFE_NO_PAD.encode([7; 16]));
            assert_eq!(
                session.client_info.unwrap().as_str(),
                r#"{"name":"agent","version":"1"}"#
            );
            assert_eq!(
                session.capabilities.to_json().as_str(),
                r#"{"elicitation":{"form":{}},"sampling":{}}"#
            );
        }
    }

    #[test]
    fn a_foreign_forged_or_expired_session_is_unknown() {
        let own = grant("c1", "a1");
        let text = keys().mint(&own, &negotiated(Version::V2025_11_25), [7; 16]);
        let forged = text.replacen('e', "f", 1);
        let unsigned = text.split_once('.').unwrap().0.to_owned();
        let long = format!("{text}{}", "A".repeat(limits::SESSION_ID_BYTES));
        for (text, grant, now, known) in [
            (&text, &own, 600, true),
            (&text, &own, 1_004, true),
            (&text, &own, 1_005, false),
            (&text, &grant("c2", "a1"), 600, false),
            (&text, &grant("c1", "a2"), 600, false),
            (&text, &grant("c1a", "1"), 600, false),
            (&forged, &own, 600, false),
            (&unsigned, &own, 600, false),
            (&format!("{unsigned}."), &own, 600, false),
            (&long, &own, 600, false),
            (&"nonsense".to_owned(), &own, 600, false),
            (&String::new(), &own, 600, false),
        ] {
            assert_eq!(
                keys().verify(text, grant, now).is_ok(),
                known,
                "{text} {now}"
            );
        }
    }

    #[test]
    fn sessions_survive_a_rotation_of_secrets() {
        let grant = grant("c1", "a1");
        let both = SessionKeys::new(&Secrets::new([NEXT, SECRET]).unwrap());
        let next = SessionKeys::new(&Secrets::new([NEXT]).unwrap());
        let old_text = keys().mint(&grant, &negotiated(Version::V2025_11_25), [1; 16]);
        let new_text = both.mint(&grant, &negotiated(Version::V2025_11_25), [2; 16]);
        assert!(both.verify(&old_text, &grant, 600).is_ok());
        assert!(next.verify(&new_text, &grant, 600).is_ok());
        assert!(next.verify(&old_text, &grant, 600).is_err());
    }

    #[test]
    fn a_talkative_agent_gets_a_short_session() {
        let grant = grant(&"c".repeat(128), &"s".repeat(128));
        for letter in ["v", "ä", "\u{1}"] {
            let name = letter.repeat(10_000);
            let talkative = Negotiated {
                client_info: Some(Json::of(&json!({"name": name, "version": name}))),
                ..negotiated(Version::V2025_11_25)
            };
            let text = keys().mint(&grant, &talkative, [1; 16]);
            assert!(text.len() < limits::SESSION_ID_BYTES, "{}", text.len());
            assert!(keys().verify(&text, &grant, 600).is_ok());
        }
    }
}
