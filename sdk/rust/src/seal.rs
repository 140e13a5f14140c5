//! What agents bring back of a round: they can neither read nor alter it, and it is of use where
//! it was given out alone (MCP 2026-07-28, "Multi Round-Trip Requests", server requirements).

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use clientmcp_core::json::Json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

const NONCE_BYTES: usize = 24;
const EXPIRY_BYTES: usize = 8;

/// What a retry must have in common with the call that was answered with requests: who calls, and
/// what for. The order of the arguments' members does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding([u8; 32]);

impl Binding {
    pub(crate) fn of(subject: &str, method: &str, params: &Json) -> Self {
        #[derive(Default, Deserialize)]
        struct View<'a> {
            #[serde(borrow, default)]
            name: Option<&'a RawValue>,
            #[serde(borrow, default)]
            uri: Option<&'a RawValue>,
            #[serde(borrow, default)]
            arguments: Option<&'a RawValue>,
        }
        let view: View<'_> = params.read().unwrap_or_default();
        let parts = [view.name, view.uri, view.arguments].map(|part| canonical(part));
        let mut hash = Sha256::new();
        for part in [subject, method]
            .into_iter()
            .chain(parts.iter().map(String::as_str))
        {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
}

/// A value with its members in alphabetical order; as it is where numbers are too large for that.
fn canonical(part: Option<&RawValue>) -> String {
    let Some(part) = part else {
        return String::new();
    };
    match serde_json::from_str::<Value>(part.get()) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        Err(_) => part.get().to_owned(),
    }
}

/// Seals with a key of its own: another instance opens nothing.
pub(crate) struct Seal {
    cipher: XChaCha20Poly1305,
    made_at: Instant,
}

impl Seal {
    pub(crate) fn new(now: Instant) -> Self {
        let key: [u8; 32] = rand::random();
        Self {
            cipher: XChaCha20Poly1305::new(&key.into()),
            made_at: now,
        }
    }

    /// A text that [`Seal::open`] takes until `expires`.
    pub(crate) fn close(&self, state: &Json, binding: &Binding, expires: Instant) -> String {
        let expires = self.milliseconds(expires).to_be_bytes();
        let plain = [&expires, state.as_str().as_bytes()].concat();
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload {
            msg: &plain,
            aad: &binding.0,
        };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("a message is far smaller than what the cipher takes");
        URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat())
    }

    /// The state, if this seal closed it for the same call and it has not expired.
    pub(crate) fn open(&self, text: &str, binding: &Binding, now: Instant) -> Option<Json> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: sealed,
            aad: &binding.0,
        };
        let plain = self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        let (expires, state) = plain.split_first_chunk::<EXPIRY_BYTES>()?;
        if self.milliseconds(now) >= u64::from_be_bytes(*expires) {
            return None;
        }
        Json::parse(state.to_vec()).ok()
    }

    fn milliseconds(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.made_at);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

/// How long an agent may take to answer.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(params: &'static str) -> Binding {
        Binding::of("s", "tools/call", &Json::parse(params).unwrap())
    }

    #[test]
    fn a_binding_is_of_who_calls_and_what_for() {
        let params = r#"{"name":"a","arguments":{"x":{"b":1,"a":[2]},"y":1.0}}"#;
        let same = [
            r#"{"arguments":{"y":1.0,"x":{"a":[2],"b":1}},"name":"a"}"#,
            r#"{"name":"a","arguments":{"x":{"b":1,"a":[2]},"y":1.0},"_meta":{},"requestState":"s","inputResponses":{}}"#,
        ];
        for same in same {
            assert_eq!(binding(params), binding(same));
        }
        let other = [
            r#"{"name":"b","arguments":{"x":{"b":1,"a":[2]},"y":1.0}}"#,
            r#"{"uri":"a","arguments":{"x":{"b":1,"a":[2]},"y":1.0}}"#,
            r#"{"name":"a","arguments":{"x":{"b":1,"a":[3]},"y":1.0}}"#,
            r#"{"name":"a"}"#,
            "[]",
        ];
        for other in other {
            assert_ne!(binding(params), binding(other), "{other}");
        }
        let large = r#"{"name":"a","arguments":{"n":1e400}}"#;
        assert_eq!(binding(large), binding(large));
        let json = Json::parse(params).unwrap();
        assert_ne!(binding(params), Binding::of("t", "tools/call", &json));
        assert_ne!(binding(params), Binding::of("s", "prompts/get", &json));
    }

    #[test]
    fn a_state_comes_back_where_it_was_given_out_and_in_time() {
        let now = Instant::now();
        let seal = Seal::new(now);
        let state = Json::parse(r#"{ "secret":"\u0000é" }"#).unwrap();
        let expires = now + ANSWERED_WITHIN;
        let here = binding(r#"{"name":"a"}"#);
        let text = seal.close(&state, &here, expires);
        assert!(!text.contains("secret"));
        assert_ne!(
            text,
            seal.close(&state, &here, expires),
            "never twice the same"
        );

        assert_eq!(seal.open(&text, &here, now), Some(state.clone()));
        let last = expires - Duration::from_millis(1);
        assert_eq!(seal.open(&text, &here, last), Some(state));
        assert_eq!(seal.open(&text, &here, expires), None, "too late");
        let elsewhere = binding(r#"{"name":"b"}"#);
        assert_eq!(seal.open(&text, &elsewhere, now), None, "another call");
        assert_eq!(Seal::new(now).open(&text, &here, now), None, "another key");
        for n in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[n] = if altered[n] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(seal.open(&altered, &here, now), None, "{n}");
        }
        for wrong in ["", "A", "\u{fffd}", &text[1..], &format!("{text}-TAMPERED")] {
            assert_eq!(seal.open(wrong, &here, now), None, "{wrong}");
        }
    }
}
