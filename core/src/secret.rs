//! The cluster's secrets, and the keys that are derived from them (SPEC.md §3.1).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::limits;

/// What the key between the processes of a cluster is derived for.
const CLUSTER_PURPOSE: &str = "clientmcp cluster v1";

/// Why secrets were refused. Never quotes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is none.
    #[error("no secret is given")]
    Missing,
    /// One is too short.
    #[error(
        "secret {position} has {bytes} bytes; at least {} are needed",
        limits::SECRET_BYTES_MIN
    )]
    TooShort {
        /// Which one, counted from 1.
        position: usize,
        /// Its length.
        bytes: usize,
    },
}

/// The secrets of a cluster: the first signs, each verifies. Never empty, never short, and never
/// shown.
#[derive(Clone)]
pub struct Secrets(Vec<Box<[u8]>>);

impl Secrets {
    /// Takes secrets as bytes.
    ///
    /// # Errors
    /// [`SecretError`] if there is none, or one of fewer than [`limits::SECRET_BYTES_MIN`] bytes.
    pub fn new<I>(secrets: I) -> Result<Self, SecretError>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let secrets: Vec<Box<[u8]>> = secrets.into_iter().map(|s| s.as_ref().into()).collect();
        if secrets.is_empty() {
            return Err(SecretError::Missing);
        }
        for (index, secret) in secrets.iter().enumerate() {
            if secret.len() < limits::SECRET_BYTES_MIN {
                return Err(SecretError::TooShort {
                    position: index + 1,
                    bytes: secret.len(),
                });
            }
        }
        Ok(Self(secrets))
    }

    /// Reads secrets as they stand in a variable (between commas) or in a file (one a line).
    /// Blanks around each are dropped, and so is what follows the last comma or line end, if it
    /// is empty.
    ///
    /// # Errors
    /// As for [`Secrets::new`]; an empty one between two others is too short.
    pub fn from_text(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        let text = text.strip_suffix(',').unwrap_or(text);
        if text.is_empty() {
            return Err(SecretError::Missing);
        }
        let lines = text
            .lines()
            .map(|line| line.strip_suffix(',').unwrap_or(line));
        Self::new(lines.flat_map(|line| line.split(',')).map(str::trim))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: there is at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// A key for one purpose, from the first secret; what is signed with it is verified with
    /// [`Secrets::derive_each`].
    #[must_use]
    pub fn derive(&self, purpose: &str) -> DerivedKey {
        DerivedKey::new(&self.0[0], purpose)
    }

    /// The keys for one purpose, from each secret in turn.
    #[must_use]
    pub fn derive_each(&self, purpose: &str) -> Vec<DerivedKey> {
        self.0
            .iter()
            .map(|secret| DerivedKey::new(secret, purpose))
            .collect()
    }

    /// What processes of a cluster show to each other.
    #[must_use]
    pub fn cluster_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.derive(CLUSTER_PURPOSE).0)
    }

    /// Whether a process that shows this key has one of these secrets. Compared in constant time.
    #[must_use]
    pub fn is_cluster_key(&self, shown: &str) -> bool {
        let Ok(shown) = URL_SAFE_NO_PAD.decode(shown) else {
            return false;
        };
        self.0.iter().any(|secret| {
            mac(secret, CLUSTER_PURPOSE.as_bytes())
                .verify_slice(&shown)
                .is_ok()
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} redacted)", self.0.len())
    }
}

/// A key that was derived for one purpose, HMAC-SHA256 of the purpose under a secret: it signs
/// and verifies what the processes of a cluster tell each other through others' hands.
#[derive(Clone)]
pub struct DerivedKey([u8; 32]);

impl DerivedKey {
    fn new(secret: &[u8], purpose: &str) -> Self {
        Self(
            mac(secret, purpose.as_bytes())
                .finalize()
                .into_bytes()
                .into(),
        )
    }

    /// HMAC-SHA256 of a message under this key.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> [u8; 32] {
        mac(&self.0, message).finalize().into_bytes().into()
    }

    /// Whether `signature` is this key's for `message`, or, if it is shorter than 32 bytes, the
    /// first bytes of it; at least 16 are asked for. Compared in constant time.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        signature.len() >= 16
            && mac(&self.0, message)
                .verify_truncated_left(signature)
                .is_ok()
    }
}

impl fmt::Debug for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DerivedKey(redacted)")
    }
}

fn mac(key: &[u8], message: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn secrets_are_read_from_variables_and_files() {
        for text in [
            format!("{OLD},{NEW}"),
            format!("{OLD}, {NEW},"),
            format!("{OLD}\n{NEW}\n"),
            format!("{OLD}\r\n{NEW}\r\n"),
            format!("{OLD},\n{NEW}"),
        ] {
            let secrets = Secrets::from_text(&text).unwrap();
            let read: Vec<_> = secrets.iter().collect();
            assert_eq!(read, [OLD.as_bytes(), NEW.as_bytes()], "{text:?}");
        }
    }

    #[test]
    fn missing_and_short_secrets_are_refused() {
        for text in ["", " \n", ",", "\n\n"] {
            assert_eq!(Secrets::from_text(text).unwrap_err(), SecretError::Missing);
        }
        let short = |position, bytes| SecretError::TooShort { position, bytes };
        assert_eq!(Secrets::from_text("12345678").unwrap_err(), short(1, 8));
        let gap = format!("{OLD},,{NEW}");
        assert_eq!(Secrets::from_text(&gap).unwrap_err(), short(2, 0));
    }

    #[test]
    fn nothing_shows_a_secret() {
        let secrets = Secrets::new([OLD]).unwrap();
        assert_eq!(format!("{secrets:?}"), "Secrets(1 redacted)");
        assert_eq!(format!("{:?}", secrets.derive("x")), "DerivedKey(redacted)");
        assert!(
            !Secrets::from_text("shortsecret")
                .unwrap_err()
                .to_string()
                .contains("short")
        );
    }

    #[test]
    fn a_cluster_key_is_accepted_through_a_rotation() {
        let old = Secrets::new([OLD]).unwrap();
        let both = Secrets::new([NEW, OLD]).unwrap();
        let new = Secrets::new([NEW]).unwrap();
        assert!(both.is_cluster_key(&old.cluster_key()));
        assert!(both.is_cluster_key(&new.cluster_key()));
        assert!(!old.is_cluster_key(&new.cluster_key()));
        for wrong in ["", "AAAA", OLD, "?"] {
            assert!(!both.is_cluster_key(wrong));
        }
    }

    #[test]
    fn derived_keys_differ_by_purpose_and_sign() {
        let secrets = Secrets::new([NEW, OLD]).unwrap();
        let signature = secrets.derive("session").sign(b"message");
        let [new, old] = &secrets.derive_each("session")[..] else {
            panic!("one key for each secret");
        };
        assert!(new.verifies(b"message", &signature));
        assert!(new.verifies(b"message", &signature[..16]));
        assert!(!new.verifies(b"message", &signature[..15]));
        assert!(!new.verifies(b"massage", &signature));
        assert!(!old.verifies(b"message", &signature));
        assert!(!secrets.derive("other").verifies(b"message", &signature));
    }
}
