//! The other nodes: telling them that they hold a client ID no more, and asking who they are.

use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clientmcp_cluster::view::View;
use clientmcp_core::claim::Epoch;
use clientmcp_core::ids::Incarnation;
use clientmcp_core::secret::Secrets;
use clientmcp_core::timings::Timings;
use clientmcp_proto::headers;
use clientmcp_proto::transport::{Probing, endpoint};
use clientmcp_proto::v1::bridge_client::BridgeClient;
use clientmcp_proto::v1::{DisplaceRequest, DisplaceResponse, HoldsRequest, IdentifyRequest};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::asking::Question;
use crate::limits;

/// Why a peer gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PeerError {
    /// Nobody listens there: the process is gone.
    #[error("nobody listens there")]
    Refused,
    /// It did not answer, or not in time.
    #[error("it did not answer")]
    Silent,
}

/// Who answers at an address.
type Probe = Question<Result<Incarnation, PeerError>>;

/// Connections to other nodes, one for each address, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Peers {
    channels: Mutex<HashMap<String, Channel>>,
    /// The last probe of each address that was asked about.
    probes: Mutex<HashMap<String, Arc<Probe>>>,
    probing: Probing,
    probe_again: Duration,
    answer_within: Duration,
    cluster_key: MetadataValue<Ascii>,
}

impl Peers {
    pub(crate) fn new(secrets: &Secrets, timings: &Timings) -> Self {
        let mut cluster_key =
            MetadataValue::try_from(secrets.cluster_key()).expect("base64url is ASCII");
        cluster_key.set_sensitive(true);
        Self {
            channels: Mutex::default(),
            probing: Probing {
                connect_timeout: timings.connect_timeout,
                probe_interval: timings.probe_interval,
                probe_timeout: timings.probe_timeout,
            },
            probes: Mutex::default(),
            probe_again: limits::PROBE_AGAIN.min(timings.heartbeat),
            answer_within: timings.connect_timeout + timings.probe_timeout,
            cluster_key,
        }
    }

    /// Tells the node at `address` that a newer claim exists.
    pub(crate) async fn displace(
        &self,
        address: &str,
        request: DisplaceRequest,
    ) -> Result<DisplaceResponse, PeerError> {
        let mut client = self.client(address)?;
        let asked = client.displace(self.signed(request));
        self.answer(asked).await
    }

    /// Since which epoch the node at `address` holds a client ID, if it does.
    pub(crate) async fn holds(&self, address: &str, request: HoldsRequest) -> Option<Epoch> {
        let mut client = self.client(address).ok()?;
        let asked = self.answer(client.holds(self.signed(request)));
        // Whoever asks has calls that wait for it.
        let answer = tokio::time::timeout(limits::PROBE_WITHIN, asked)
            .await
            .ok()?;
        Some(Epoch(answer.ok()?.epoch)).filter(|epoch| *epoch > Epoch(0))
    }

    /// Which run of a node answers at `address`, if one does.
    pub(crate) async fn identify(&self, address: &str) -> Result<Incarnation, PeerError> {
        let mut client = self.client(address)?;
        let request = IdentifyRequest { ask_store: false };
        let answer = self.answer(client.identify(self.signed(request))).await?;
        Ok(Incarnation(answer.incarnation))
    }

    /// Whether the node at `address` has the store.
    pub(crate) async fn has_store(&self, address: &str) -> bool {
        let Ok(mut client) = self.client(address) else {
            return false;
        };
        let request = IdentifyRequest { ask_store: true };
        let answer = self.answer(client.identify(self.signed(request))).await;
        answer.is_ok_and(|answer| answer.store_answers)
    }

    /// As [`identify`](Self::identify), asked at most once at a time, and not again for a little
    /// while, however many want to know.
    pub(crate) async fn probe(&self, address: &str) -> Result<Incarnation, PeerError> {
        let probe = {
            let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
            probes.entry(address.to_owned()).or_default().clone()
        };
        // Whoever asks has calls that wait for it.
        let asking = async {
            let answer = tokio::time::timeout(limits::PROBE_WITHIN, self.identify(address)).await;
            answer.unwrap_or(Err(PeerError::Silent))
        };
        probe.ask(self.probe_again, asking).await
    }

    /// Lets connections to addresses go that no member has any more.
    pub(crate) fn retain(&self, view: &View) {
        let is_known = |address: &String| view.nodes().any(|node| node.address == *address);
        self.lock().retain(|address, _| is_known(address));
        let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        probes.retain(|address, _| is_known(address));
    }

    async fn answer<T>(
        &self,
        asked: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> Result<T, PeerError> {
        match tokio::time::timeout(self.answer_within, asked).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) if nobody_listens(&status) => Err(PeerError::Refused),
            Ok(Err(status)) => {
                tracing::debug!(code = ?status.code(), "a peer did not answer");
                Err(PeerError::Silent)
            }
            Err(_) => Err(PeerError::Silent),
        }
    }

    fn client(&self, address: &str) -> Result<BridgeClient<Channel>, PeerError> {
        let mut channels = self.lock();
        if let Some(channel) = channels.get(address) {
            return Ok(BridgeClient::new(channel.clone()));
        }
        let endpoint = endpoint(address, &self.probing).map_err(|error| {
            tracing::warn!(%error, address, "a member's address cannot be used");
            PeerError::Silent
        })?;
        let channel = endpoint.connect_lazy();
        channels.insert(address.to_owned(), channel.clone());
        Ok(BridgeClient::new(channel))
    }

    fn signed<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        metadata.insert(headers::CLUSTER_KEY, self.cluster_key.clone());
        request
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a status says that the connection was refused.
fn nobody_listens(status: &Status) -> bool {
    let mut source = status.source();
    while let Some(error) = source {
        let refused = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if refused {
            return true;
        }
        source = error.source();
    }
    false
}
