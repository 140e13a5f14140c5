//! Names of headers and metadata between processes of one cluster.

/// Proves that the sender belongs to the cluster: metadata of each gRPC request, and a header of
/// the request for a relay.
pub const CLUSTER_KEY: &str = "clientmcp-cluster-key";

/// On the request for a relay: the member ID of the node that it is meant for.
pub const NODE: &str = "clientmcp-node";

/// On the request for a relay: the node's incarnation, 16 hexadecimal digits.
pub const INCARNATION: &str = "clientmcp-incarnation";

/// One run of a router, as `<member ID>/<incarnation>`.
#[must_use]
pub fn router_run(member_id: &str, incarnation: u64) -> String {
    format!("{member_id}/{incarnation:016x}")
}

/// The path, and the protocol to upgrade to, of a relay: the node connects to the node that
/// [`NODE`] and [`INCARNATION`] name and passes bytes on, for a router that cannot reach it.
pub const RELAY_PATH: &str = "/v1/relay";
/// See [`RELAY_PATH`].
pub const RELAY_PROTOCOL: &str = "clientmcp-relay";

/// The largest gRPC message that either side encodes or decodes, in bytes. It lies well above
/// the largest WebSocket message, so that no payload that passed the edge fails in between.
pub const GRPC_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
