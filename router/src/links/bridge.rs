//! Requests to a node beside the link, on the same connection.

use std::time::Duration;

use clientmcp_core::timings::Timings;
use clientmcp_proto::headers::{CLUSTER_KEY, GRPC_MESSAGE_BYTES};
use clientmcp_proto::transport::{Probing, endpoint};
use clientmcp_proto::v1::bridge_client::BridgeClient;
use http::HeaderValue;
use hyper_util::rt::TokioIo;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::relay::Relay;

/// A gRPC client that shows the cluster's key.
pub(crate) type Client = BridgeClient<InterceptedService<Channel, ClusterKey>>;

/// What proves to a node that this process belongs to the cluster.
#[derive(Clone)]
pub(crate) struct ClusterKey(MetadataValue<Ascii>);

impl ClusterKey {
    /// Takes the key that the secrets give; it is never shown.
    pub(crate) fn new(key: &str) -> Self {
        let mut value: MetadataValue<Ascii> =
            key.parse().expect("the key is base64url, which is ASCII");
        value.set_sensitive(true);
        Self(value)
    }

    /// As a header of a request that is not gRPC.
    pub(super) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_bytes(self.0.as_bytes())
            .expect("the key is base64url, which is ASCII");
        value.set_sensitive(true);
        value
    }
}

impl std::fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClusterKey(redacted)")
    }
}

impl Interceptor for ClusterKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert(CLUSTER_KEY, self.0.clone());
        Ok(request)
    }
}

/// The way to one node: connects when it is used, and again after each loss.
#[derive(Debug, Clone)]
pub(crate) struct Bridge {
    client: Client,
    answer_within: Duration,
}

/// A node gave no answer: its process or the way to it failed. What it was asked may have
/// happened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Silence {
    #[error("no answer in time")]
    Timeout,
    #[error("{0}")]
    Status(Box<Status>),
}

impl Bridge {
    pub(super) fn new(
        address: &str,
        key: &ClusterKey,
        timings: &Timings,
    ) -> Result<Self, tonic::transport::Error> {
        let probing = Probing {
            connect_timeout: timings.connect_timeout,
            probe_interval: timings.probe_interval,
            probe_timeout: timings.probe_timeout,
        };
        let channel = endpoint(address, &probing)?.connect_lazy();
        Ok(Self::on(channel, key, timings))
    }

    /// The way through another node.
    pub(super) fn relayed(relay: &Relay, timings: &Timings) -> Self {
        let probing = Probing {
            connect_timeout: timings.connect_timeout,
            probe_interval: timings.probe_interval,
            probe_timeout: timings.probe_timeout,
        };
        let way = relay.clone();
        let connector = tower::service_fn(move |_: http::Uri| {
            let way = way.clone();
            async move { way.connect().await.map(TokioIo::new) }
        });
        // The address is that of the node which passes bytes on: it has been connected to before.
        let endpoint = endpoint(&relay.address, &probing);
        let endpoint = endpoint.expect("the address of a node that is linked to is usable");
        let channel = endpoint.connect_with_connector_lazy(connector);
        Self::on(channel, &relay.key, timings)
    }

    fn on(channel: Channel, key: &ClusterKey, timings: &Timings) -> Self {
        let client = BridgeClient::with_interceptor(channel, key.clone())
            .max_decoding_message_size(GRPC_MESSAGE_BYTES)
            .max_encoding_message_size(GRPC_MESSAGE_BYTES);
        Self {
            client,
            answer_within: timings.connect_timeout + timings.probe_interval + timings.probe_timeout,
        }
    }

    /// A client of its own: they are cheap, and each carries one request at a time.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Waits for an answer. Whatever status comes instead of one, it is the transport or the
    /// process that failed: what nodes have to say travels in message bodies.
    pub(crate) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Silence> {
        self.within_more(Duration::ZERO, answer).await
    }

    /// The same for an answer that may take so much longer.
    pub(crate) async fn within_more<T>(
        &self,
        more: Duration,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Silence> {
        match tokio::time::timeout(self.answer_within + more, answer).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(Silence::Status(Box::new(status))),
            Err(_) => Err(Silence::Timeout),
        }
    }
}
