//! Every limit and default of the protocol and the cluster, in one place (SPEC.md §10).
//!
//! Units are in the names. Tests scale intervals down through configuration, never here.

/// The largest WebSocket message, in bytes, in either direction (SPEC.md §4.2).
pub const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// The head of an HTTP request, WebSocket handshakes among them.
pub const HANDSHAKE_HEADER_BYTES: usize = 64 * 1024;
/// The largest body of an agent's request: a message must fit around it.
pub const REQUEST_BODY_BYTES: usize = MESSAGE_BYTES;
/// Nesting of JSON arrays and objects that is still read.
pub const JSON_DEPTH: usize = 128;

/// Length of a client ID.
pub const CLIENT_ID_BYTES: usize = 128;
/// Length of an instance name.
pub const INSTANCE_ID_BYTES: usize = 128;
/// Length of the name of whoever calls.
pub const SUBJECT_BYTES: usize = 128;
/// Length of an agent's request id, as JSON text.
pub const REQUEST_ID_BYTES: usize = 1_024;
/// Length of the name and version of an agent that a session remembers, each.
pub const CLIENT_INFO_BYTES: usize = 64;
/// Length of a session ID that is looked at.
pub const SESSION_ID_BYTES: usize = 2_048;
/// Length of a member ID.
pub const MEMBER_ID_BYTES: usize = 63;
/// Length of the URI of a resource, or of a URI template.
pub const URI_BYTES: usize = 8 * 1024;
/// Length of a tool name.
pub const TOOL_NAME_BYTES: usize = 128;
/// Shortest secret that signs tokens.
pub const SECRET_BYTES_MIN: usize = 32;
/// Entries of one kind in a registration.
pub const REGISTRATION_ENTRIES: usize = 10_000;

/// Calls in flight to one app.
pub const CALLS_IN_FLIGHT_PER_APP: usize = 256;
/// A progress or log message of a call, on its way from the app to the router.
pub const EVENT_BYTES: usize = 64 * 1024;
/// Entries of the `rejected` list of one `registered`; what is left over is counted in a last one.
pub const REJECTIONS_LISTED: usize = 100;
/// Cancels that found no call and are kept, per app.
pub const EARLY_CANCELS_PER_APP: usize = 256;
/// Answers to calls whose router is lost are kept for it, per app, up to so many bytes.
pub const ORPHANED_ANSWER_BYTES_PER_APP: usize = 8 * 1024 * 1024;
/// Call IDs that were answered are remembered, per app, to refuse a second delivery.
pub const ANSWERED_CALLS_PER_APP: usize = 1_024;
/// Settled call IDs in one message to an app.
pub const SETTLED_PER_MESSAGE: usize = 64;
/// Bytes queued towards one app; a message that is being written counts no more.
pub const QUEUE_BYTES_PER_CONNECTION: usize = 8 * 1024 * 1024;
/// Sessions of one client ID of which something is noted: that they were ended, or what they
/// asked for.
pub const SESSIONS_NOTED_PER_CLIENT: usize = 1_024;
/// Resources that one stream watches.
pub const WATCHED_PER_STREAM: usize = 256;
/// The same in bytes of their URIs.
pub const WATCHED_BYTES_PER_STREAM: usize = 16 * 1024;
/// The same of all sessions of one client ID, for their notes are read at once.
pub const WATCHED_BYTES_BY_SESSIONS: usize = 256 * 1024;
/// Bytes of the URIs in one `subscriptions`; the app is not told of those that do not fit.
pub const WATCHED_BYTES_PER_APP: usize = 1024 * 1024;
/// Requests in one batch (2025-03-26 alone).
pub const BATCH_REQUESTS: usize = 50;
/// How often an app may ask for input in one chain of rounds (SPEC.md §7.7).
pub const ROUNDS_PER_CALL: u32 = 8;
/// Requests for input of one round, as far as the cluster carries them to the agent.
pub const INPUT_REQUESTS_PER_ROUND: usize = 32;
/// Calls of one client ID that wait for input at the same time.
pub const INPUT_WAITS_PER_CLIENT_ID: usize = 256;
/// Agents' answers that nobody has taken yet, for each client ID, and in bytes.
pub const ANSWERS_KEPT_PER_CLIENT_ID: usize = 64;
/// See [`ANSWERS_KEPT_PER_CLIENT_ID`].
pub const ANSWER_BYTES_KEPT_PER_CLIENT_ID: usize = 8 * 1024 * 1024;
/// Entries of one list page.
pub const PAGE_ENTRIES: usize = 1_000;
/// Bytes of one list page.
pub const PAGE_BYTES: usize = 1024 * 1024;

/// A call's deadline if the tool asks for none.
pub const CALL_DEADLINE_MS: u64 = 120_000;
/// The longest deadline that a tool may ask for.
pub const CALL_DEADLINE_MAX_MS: u64 = 900_000;
/// Time from accepting an app's socket to its register.
pub const REGISTER_DEADLINE_MS: u64 = 10_000;
/// Between WebSocket pings to an app.
pub const PING_INTERVAL_MS: u64 = 20_000;
/// An app that sent nothing for so long is gone.
pub const SILENCE_TIMEOUT_MS: u64 = 45_000;
/// An app that took nothing of what waits for it for so long is gone.
pub const WRITE_STALL_MS: u64 = 30_000;
/// What is watched is told to an app at most this late.
pub const WATCHED_WITHIN_MS: u64 = 50;
/// Settled call IDs are told to an app at most this late.
pub const SETTLE_WITHIN_MS: u64 = 100;
/// The first reconnect is uniform within this window.
pub const RECONNECT_WITHIN_MS: u64 = 200;
/// A cancel that finds no call waits so long for the call that is on its way.
pub const EARLY_CANCEL_MS: u64 = 10_000;
/// An agent has so long to answer the requests for input of one round.
pub const INPUT_DEADLINE_MS: u64 = 600_000;
/// An agent's answer that nobody waits for is kept so long for the call that it belongs to.
pub const ANSWER_KEPT_MS: u64 = 10_000;
/// An app that asks for nothing but to be called again is called after this time.
pub const ROUND_PAUSE_MS: u64 = 1_000;
/// A call whose router's link broke waits so long for the router to attach again.
pub const ORPHAN_MS: u64 = 5_000;
/// How long `registered` is held back for the old holder's acknowledgement.
pub const DISPLACE_WAIT_MS: u64 = 500;
/// Apps count as away, not gone, for so long after an unclean loss.
pub const GRACE_MS: u64 = 15_000;
/// The same after close code 1001: a page that is left or reloaded.
pub const GRACE_AFTER_LEAVING_MS: u64 = 5_000;
/// A registration answers lists for so long after its app left.
pub const REGISTRATION_RETENTION_MS: u64 = 3_600_000;
/// A process that stops says so, and takes new work all the same, for so long.
pub const PRE_DRAIN_MS: u64 = 5_000;
/// What is in flight may end within this time while a process stops.
pub const DRAIN_MS: u64 = 30_000;
/// The error code by which an app says that it was asked for a call again and has forgotten it
/// (SPEC.md §7.4).
pub const FORGOTTEN_CALL: i64 = -31_002;
/// Calls that wait for one client ID whose app is away.
pub const CALLS_WAITING_PER_CLIENT_ID: usize = 32;
/// Bytes of the params of all calls that wait at one node.
pub const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// While calls wait for an app, its record is read so often.
pub const WAITING_POLL_MS: u64 = 250;
/// Runs of nodes that may be lost under one call within [`SUSPECT_WITHIN_MS`] of getting it, without
/// progress in between.
pub const RUNS_LOST_PER_CALL: usize = 3;
/// A run that is lost so soon after it got a call may have been lost by it.
pub const SUSPECT_WITHIN_MS: u64 = 1_000;
/// Runs of nodes that may be lost under one call at any time, without progress in between.
pub const RUNS_LOST_PER_CALL_IN_ALL: usize = 8;
/// Registers that a node admits per second, and at once after a quiet time.
pub const REGISTERS_PER_SECOND: u32 = 500;
/// See [`REGISTERS_PER_SECOND`].
pub const REGISTERS_BURST: u32 = 1_000;
/// Registers of one client ID that a node admits per second, and at once after a quiet time.
pub const REGISTERS_PER_SECOND_OF_CLIENT_ID: u32 = 10;
/// See [`REGISTERS_PER_SECOND_OF_CLIENT_ID`].
pub const REGISTERS_BURST_OF_CLIENT_ID: u32 = 50;
/// A register waits at most so long for its turn; later ones are told to come back.
pub const REGISTER_TURN_MS: u64 = 8_000;
/// A connection that stood for so long has proved itself: the next loss is met without backoff.
pub const STABLE_CONNECTION_MS: u64 = 2_000;
/// What the ring has given to other nodes is left in place for so long after it has changed.
pub const SETTLE_RING_MS: u64 = 2_000;
/// A call becomes a stream after this time, and gets a comment each time it passes again.
pub const STREAM_AFTER_MS: u64 = 1_000;
/// A call that may become a task is one after this time.
pub const TASK_AFTER_MS: u64 = 500;
/// A router drives a task for so long without renewing that; then another one takes it over.
pub const TASK_LEASE_MS: u64 = 6_000;
/// A task is kept for so long after it began, if its app does not say otherwise.
pub const TASK_TTL_MS: u64 = 3_600_000;
/// The shortest time for which an app may have a task kept.
pub const TASK_TTL_MIN_MS: u64 = 10_000;
/// The longest time for which an app may have a task kept.
pub const TASK_TTL_MAX_MS: u64 = 24 * 3_600_000;
/// Agents are to ask for a task so often, if its app does not say otherwise.
pub const TASK_POLL_INTERVAL_MS: u64 = 1_000;
/// The shortest interval that an app may suggest.
pub const TASK_POLL_MIN_MS: u64 = 100;
/// The longest interval that an app may suggest.
pub const TASK_POLL_MAX_MS: u64 = 3_600_000;
/// Requests for input of one task, all rounds together.
pub const TASK_QUESTIONS: usize = 64;
/// The last moment that is written as a date, in milliseconds since 1970: the year 9999.
pub const UNIX_MS_MAX: u64 = 253_402_300_799_999;
/// Between comments on long-lived streams.
pub const STREAM_COMMENT_MS: u64 = 15_000;
/// Tolerance for `exp` and `nbf`.
pub const TOKEN_LEEWAY_S: u64 = 5;

/// A member's lease.
pub const LEASE_MS: u64 = 3_000;
/// Between a member's heartbeats.
pub const HEARTBEAT_MS: u64 = 1_000;
/// A claim's own time to live; it is valid while its node lives.
pub const CLAIM_TTL_MS: u64 = 24 * 3_600_000;
/// Ring points of each member.
pub const RING_POINTS: usize = 160;
/// Redirects that a router follows for one call.
pub const REDIRECTS: usize = 3;

/// One chunk of a payload on the link between router and node.
pub const LINK_CHUNK_BYTES: usize = 64 * 1024;
/// Bytes of one payload that may be under way on the link without credit.
pub const LINK_WINDOW_BYTES: usize = 1024 * 1024;
/// Time to establish a connection between processes.
pub const CONNECT_TIMEOUT_MS: u64 = 1_000;
/// HTTP/2 ping between processes, and the time to answer it.
pub const PROBE_INTERVAL_MS: u64 = 1_000;
/// A peer that left a probe unanswered for so long is dead.
pub const PROBE_TIMEOUT_MS: u64 = 1_000;
