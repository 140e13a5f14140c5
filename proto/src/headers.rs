//! Names of headers and metadata between processes of one cluster.

/// Proves that the sender belongs to the cluster: metadata of each gRPC request, and a header of
/// the upgrade request by which a router opens a tunnel.
pub const CLUSTER_KEY: &str = "clientmcp-cluster-key";

/// On a tunnel's upgrade request: the member ID of the node that it is meant for.
pub const NODE: &str = "clientmcp-node";

/// On a tunnel's upgrade request: the node's incarnation, 16 hexadecimal digits.
pub const INCARNATION: &str = "clientmcp-incarnation";

/// The largest gRPC message that either side encodes or decodes, in bytes. It lies well above
/// the largest WebSocket message, so that no payload that passed the edge fails in between.
pub const GRPC_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
