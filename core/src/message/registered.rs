//! `registered`, the answer to a registration that stands (SPEC.md §4.5).

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::MessageError;
use super::cluster::write_expiry;
use super::wire::View;
use crate::ids::ClientId;
use crate::json::{ArrayWriter, Json, ObjectWriter};
use crate::limits;
use crate::registration::{ContentHash, Hashes, Kind};
use crate::timings::Timings;

/// A registration that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Under which the app is reached.
    pub client_id: ClientId,
    /// What it offers; the app may name the same content by these hashes later on.
    pub hashes: Hashes,
    /// What was refused of it.
    pub rejected: Vec<Rejection>,
    /// When the token ends, in seconds since 1970.
    pub expires_at: u64,
    /// How long the token lasts.
    pub expires_in: Duration,
    /// What the connection is held to.
    pub limits: ChannelLimits,
    /// The first reconnect is uniform within this time.
    pub reconnect_within: Duration,
}

/// An entry of a registration that was refused; it hides no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The kind it belongs to.
    pub kind: Kind,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// What is wrong with it.
    pub reason: Cow<'static, str>,
}

/// What a connection is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelLimits {
    /// The largest message, in bytes.
    pub max_message_bytes: usize,
    /// Calls in flight at a time.
    pub max_calls_in_flight: usize,
    /// Between WebSocket pings to an app from which nothing came.
    pub ping_interval: Duration,
    /// After which silence a connection is closed.
    pub silence_timeout: Duration,
}

impl From<&Timings> for ChannelLimits {
    fn from(timings: &Timings) -> Self {
        Self {
            max_message_bytes: limits::MESSAGE_BYTES,
            max_calls_in_flight: limits::CALLS_IN_FLIGHT_PER_APP,
            ping_interval: timings.ping_interval,
            silence_timeout: timings.silence_timeout,
        }
    }
}

impl Registered {
    pub(super) fn of(view: &View<'_>) -> Result<Self, MessageError> {
        let client_id = view.client_id.as_deref();
        let client_id = client_id.and_then(|id| ClientId::parse(id).ok());
        let hashes = read_or_default::<HashesView<'_>>(view.hashes)?;
        let rejected: Vec<RejectionView> = match view.rejected {
            Some(rejected) => read(rejected)?,
            None => Vec::new(),
        };
        let rejected = rejected.into_iter().filter_map(|rejected| {
            Some(Rejection {
                kind: Kind::parse(&rejected.kind)?,
                name: rejected.name,
                reason: rejected.reason.into(),
            })
        });
        let expires_in_ms = view.expires_in_ms.unwrap_or(u64::MAX);
        let reconnect_ms = view
            .reconnect_within_ms
            .unwrap_or(limits::RECONNECT_WITHIN_MS);
        Ok(Self {
            client_id: client_id.ok_or(invalid("clientId must be a client ID"))?,
            hashes: Hashes::each(|kind| hashes.get(kind)),
            rejected: rejected.collect(),
            expires_at: view.expires_at,
            expires_in: Duration::from_millis(expires_in_ms),
            limits: read_or_default::<LimitsView>(view.limits)?.or_default(),
            reconnect_within: Duration::from_millis(reconnect_ms),
        })
    }

    pub(super) fn write(&self, object: &mut ObjectWriter) {
        object
            .name("type", "registered")
            .name("clientId", &self.client_id);
        let mut hashes = ObjectWriter::with_capacity(256);
        for kind in Kind::ALL {
            hashes.name(kind.as_str(), self.hashes.get(kind));
        }
        let mut rejected = ArrayWriter::new();
        for rejection in &self.rejected {
            let mut entry = ObjectWriter::new();
            entry.name("kind", rejection.kind);
            match &rejection.name {
                Some(name) => entry.string("name", name),
                None => entry.raw("name", &Json::NULL),
            };
            entry.string("reason", &rejection.reason);
            rejected.raw(&entry.finish());
        }
        object
            .raw("hashes", &hashes.finish())
            .raw("rejected", &rejected.finish());
        write_expiry(object, self.expires_at, self.expires_in);
        let mut limits = ObjectWriter::new();
        limits
            .plain("maxMessageBytes", self.limits.max_message_bytes)
            .plain("maxCallsInFlight", self.limits.max_calls_in_flight)
            .plain("pingIntervalMs", self.limits.ping_interval.as_millis())
            .plain("silenceTimeoutMs", self.limits.silence_timeout.as_millis());
        object.raw("limits", &limits.finish());
        object.plain("reconnectWithinMs", self.reconnect_within.as_millis());
    }
}

fn read<'a, T: Deserialize<'a>>(part: &'a RawValue) -> Result<T, MessageError> {
    serde_json::from_str(part.get()).map_err(|_| invalid("a member has the wrong type"))
}

fn read_or_default<'a, T: Deserialize<'a> + Default>(
    part: Option<&'a RawValue>,
) -> Result<T, MessageError> {
    part.map_or_else(|| Ok(T::default()), read)
}

fn invalid(problem: &'static str) -> MessageError {
    MessageError::Invalid {
        kind: "registered",
        problem,
    }
}

/// The hashes; the kinds that a cluster does not name are empty to it.
#[derive(Default, Deserialize)]
struct HashesView<'a> {
    #[serde(borrow, default)]
    tools: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    prompts: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    resources: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    rest: Option<Cow<'a, str>>,
}

impl HashesView<'_> {
    fn get(&self, kind: Kind) -> ContentHash {
        let hash = match kind {
            Kind::Tools => &self.tools,
            Kind::Prompts => &self.prompts,
            Kind::Resources => &self.resources,
            Kind::Rest => &self.rest,
        };
        let hash = hash.as_deref().and_then(ContentHash::parse);
        hash.unwrap_or_else(|| kind.empty_hash())
    }
}

#[derive(Deserialize)]
struct RejectionView {
    kind: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    reason: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LimitsView {
    max_message_bytes: Option<usize>,
    max_calls_in_flight: Option<usize>,
    ping_interval_ms: Option<u64>,
    silence_timeout_ms: Option<u64>,
}

impl LimitsView {
    fn or_default(self) -> ChannelLimits {
        let default = ChannelLimits::from(&Timings::default());
        let ms = |ms: Option<u64>, default| ms.map_or(default, Duration::from_millis);
        ChannelLimits {
            max_message_bytes: self.max_message_bytes.unwrap_or(default.max_message_bytes),
            max_calls_in_flight: self
                .max_calls_in_flight
                .unwrap_or(default.max_calls_in_flight),
            ping_interval: ms(self.ping_interval_ms, default.ping_interval),
            silence_timeout: ms(self.silence_timeout_ms, default.silence_timeout),
        }
    }
}
