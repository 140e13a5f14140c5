//! What the node's own sockets and tables may use. Limits of the protocol stand in
//! [`clientmcp_core::limits`].

use std::time::Duration;

use clientmcp_core::limits;
use clientmcp_proto::link;

/// Connections of one listener that are open at once, app sockets among them.
pub(crate) const CONNECTIONS: usize = 200_000;
/// From accepting a connection to its first request, head and all: a connection that dribbles
/// bytes is not kept longer.
pub(crate) const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Header fields of one request.
pub(crate) const HEADERS: usize = 128;
/// The head of a request; above, the answer is 431.
pub(crate) const HEADER_BYTES: usize = limits::HANDSHAKE_HEADER_BYTES;
/// gRPC requests under way on one connection: each GET stream of an agent is one `Watch`.
pub(crate) const HTTP2_STREAMS: u32 = 100_000;

/// Registers look so often whether a process that was stopped has taken in what it missed.
pub(crate) const WAKE_UP_STEP: Duration = Duration::from_millis(20);

/// Between two looks at what the ring has given to other nodes, when no view changes.
pub(crate) const REBALANCE_INTERVAL: Duration = Duration::from_secs(30);
/// Between two apps that are asked to move because the ring has changed.
pub(crate) const MOVE_STEP: Duration = Duration::from_millis(5);
/// An app that came back here is asked again after this time, then twice as long, and so on.
pub(crate) const MOVE_AGAIN: Duration = Duration::from_secs(60);

/// A node that does not answer a probe within this time is taken for one that does not.
pub(crate) const PROBE_WITHIN: Duration = Duration::from_millis(500);
/// What another node has answered to a probe holds for so long.
pub(crate) const PROBE_AGAIN: Duration = Duration::from_millis(250);

/// Whether the store answers is asked so often, however many registers want to know.
pub(crate) const STORE_AGAIN: Duration = Duration::from_millis(100);

/// A node that stops looks so often which sockets have no call in flight any more.
pub(crate) const DRAIN_STEP: Duration = Duration::from_millis(50);
/// Sockets that are closed in one such step, if the drain is long enough: 500 in a second.
pub(crate) const DRAIN_BATCH: usize = 25;
/// A node that stops gives all sockets so long to end: more than each of them takes.
pub(crate) const SOCKETS_END_WITHIN: Duration = Duration::from_secs(6);
/// A node that stops waits so long for each thing that it tells the store.
pub(crate) const STORE_WAIT: Duration = Duration::from_secs(2);
/// From the opening of a link to its first frame.
pub(crate) const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// A closed socket waits so long for the peer's close frame.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// A frame that a closing socket has begun to write may take so long to go out.
pub(crate) const LAST_WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of queued messages that are written together.
pub(crate) const WRITE_BATCH_BYTES: usize = 64 * 1024;

/// Registers that are brought to the store at the same time.
pub(crate) const REGISTERS_AT_ONCE: usize = 256;
/// Tries to bring one register to a store that does not answer.
pub(crate) const CLAIM_TRIES: u32 = 3;
/// Between two tries to tell a former holder, and between tries to give a claim up.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Tries to give a claim up in a store that does not answer.
pub(crate) const RELEASE_TRIES: u32 = 240;
/// Between two rounds in which the node reads its claims again.
pub(crate) const RENEW_INTERVAL: Duration = Duration::from_secs(30);
/// Claims that are read again with one command.
pub(crate) const RENEW_BATCH: usize = 500;
/// Claims that are written again at the same time.
pub(crate) const RESTORES_AT_ONCE: usize = 32;
/// Client IDs that are looked for in the store at the same time.
pub(crate) const LOOKUPS_AT_ONCE: usize = 256;
/// A lookup waits so long for the store before it asks the other nodes as well.
pub(crate) const STORE_PATIENCE: Duration = Duration::from_millis(250);
/// The other nodes are asked for one client ID at most so often.
pub(crate) const PEERS_AGAIN: Duration = Duration::from_millis(250);
/// A lookup waits so long for a register that is under way here.
pub(crate) const REGISTER_WAIT: Duration = Duration::from_secs(2);
/// While somebody watches an absent client ID, its record is read again after this time.
pub(crate) const WATCH_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longer it stays absent, the less often, but at least so often.
pub(crate) const WATCH_POLL_MAX: Duration = Duration::from_secs(15);
/// Sessions of one client ID of which something is noted in memory.
pub(crate) const SESSIONS_NOTED: usize = limits::SESSIONS_NOTED_PER_CLIENT;
/// A takeover waits so long for what the store has noted of sessions; later it is noted late.
pub(crate) const SESSIONS_WAIT: Duration = Duration::from_millis(250);

/// Answered calls of one link that wait to be settled.
pub(crate) const UNSETTLED_CALLS: usize = 65_536;

/// Sizes of the links to routers.
pub(crate) const LINK: link::Limits = link::Limits {
    chunk_bytes: limits::LINK_CHUNK_BYTES,
    window_bytes: limits::LINK_WINDOW_BYTES,
    payload_bytes: limits::MESSAGE_BYTES,
    queue_bytes: 64 * 1024 * 1024,
};
