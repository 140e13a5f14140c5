//! The members of the cluster's messages, read in one pass.
//!
//! SDKs outlive clusters: what a later cluster may add to (kinds, reasons, levels) is read
//! tolerantly, and what it may leave out has a default.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::MessageError;
use crate::ids::CallId;

/// The members of all messages of the cluster.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) root_id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) round: u32,
    #[serde(default)]
    pub(super) attempt: u32,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) deadline_ms: Option<u64>,
    #[serde(borrow, default)]
    pub(super) traceparent: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) tracestate: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) context: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) reason: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) kinds: Vec<String>,
    #[serde(default)]
    pub(super) ids: Vec<String>,
    #[serde(default)]
    pub(super) within_ms: u64,
    #[serde(borrow, default)]
    pub(super) url: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) uris: Vec<String>,
    #[serde(default)]
    pub(super) expires_at: u64,
    #[serde(default)]
    pub(super) expires_in_ms: Option<u64>,
    #[serde(borrow, default)]
    pub(super) client_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) hashes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) rejected: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) limits: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) reconnect_within_ms: Option<u64>,
}

impl View<'_> {
    /// The call that the message is about.
    pub(super) fn call_id(&self, kind: &'static str) -> Result<CallId, MessageError> {
        let id = self.id.as_deref().and_then(|id| CallId::parse(id).ok());
        id.ok_or(MessageError::Invalid {
            kind,
            problem: "id must be a UUID",
        })
    }
}
