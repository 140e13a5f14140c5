//! Every interval that a process keeps, in one value, so that tests can scale them down.

use std::time::Duration;

use crate::limits;

/// The intervals of a cluster; [`Default`] is the product's (SPEC.md §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// A member's lease in the store.
    pub lease: Duration,
    /// Between a member's heartbeats.
    pub heartbeat: Duration,
    /// Between HTTP/2 pings of one process to another.
    pub probe_interval: Duration,
    /// A process that left a probe unanswered for so long is dead.
    pub probe_timeout: Duration,
    /// To establish a connection to another process.
    pub connect_timeout: Duration,
    /// A claim's own time to live.
    pub claim_ttl: Duration,
    /// How long `registered` is held back for the old holder's acknowledgement.
    pub displace_wait: Duration,
    /// From accepting an app's socket to its register.
    pub register_deadline: Duration,
    /// Between WebSocket pings to an app from which nothing came.
    pub ping_interval: Duration,
    /// An app that sent nothing for so long is gone.
    pub silence_timeout: Duration,
    /// An app that took nothing of what waits for it for so long is gone.
    pub write_stall: Duration,
    /// An app's first reconnect is uniform within this window.
    pub reconnect_within: Duration,
    /// Apps count as away, not gone, for so long after an unclean loss.
    pub grace: Duration,
    /// The same after close code 1001.
    pub grace_after_leaving: Duration,
    /// What the ring has given to other nodes is left in place for so long after it has changed.
    pub settle_ring: Duration,
    /// A registration answers lists for so long after its app left.
    pub registration_retention: Duration,
    /// A call's deadline if the tool asks for none.
    pub call_deadline: Duration,
    /// The longest deadline that a tool may ask for.
    pub call_deadline_max: Duration,
    /// A cancel that finds no call waits so long for the call that is on its way.
    pub early_cancel: Duration,
    /// An agent has so long to answer the requests for input of one round.
    pub input_deadline: Duration,
    /// An agent's answer that nobody waits for is kept so long for the call that it belongs to.
    pub answer_kept: Duration,
    /// An app that asks for nothing but to be called again is called after this time.
    pub round_pause: Duration,
    /// A call whose router's link broke waits so long for the router to attach again.
    pub orphan: Duration,
    /// Settled call IDs are told to an app at most this late.
    pub settle_within: Duration,
    /// A process that stops says so, and takes new work all the same, for so long: load balancers
    /// notice late.
    pub pre_drain: Duration,
    /// What is in flight may end within this time while a process stops.
    pub drain: Duration,
    /// A call becomes a stream after this time, and gets a comment each time it passes again.
    pub stream_after: Duration,
    /// A call that may become a task is one after this time.
    pub task_after: Duration,
    /// A router drives a task for so long without renewing that; then another one takes it over.
    pub task_lease: Duration,
    /// Between comments on long-lived streams.
    pub stream_comment: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            lease: ms(limits::LEASE_MS),
            heartbeat: ms(limits::HEARTBEAT_MS),
            probe_interval: ms(limits::PROBE_INTERVAL_MS),
            probe_timeout: ms(limits::PROBE_TIMEOUT_MS),
            connect_timeout: ms(limits::CONNECT_TIMEOUT_MS),
            claim_ttl: ms(limits::CLAIM_TTL_MS),
            displace_wait: ms(limits::DISPLACE_WAIT_MS),
            register_deadline: ms(limits::REGISTER_DEADLINE_MS),
            ping_interval: ms(limits::PING_INTERVAL_MS),
            silence_timeout: ms(limits::SILENCE_TIMEOUT_MS),
            write_stall: ms(limits::WRITE_STALL_MS),
            reconnect_within: ms(limits::RECONNECT_WITHIN_MS),
            grace: ms(limits::GRACE_MS),
            grace_after_leaving: ms(limits::GRACE_AFTER_LEAVING_MS),
            settle_ring: ms(limits::SETTLE_RING_MS),
            registration_retention: ms(limits::REGISTRATION_RETENTION_MS),
            call_deadline: ms(limits::CALL_DEADLINE_MS),
            call_deadline_max: ms(limits::CALL_DEADLINE_MAX_MS),
            early_cancel: ms(limits::EARLY_CANCEL_MS),
            input_deadline: ms(limits::INPUT_DEADLINE_MS),
            answer_kept: ms(limits::ANSWER_KEPT_MS),
            round_pause: ms(limits::ROUND_PAUSE_MS),
            orphan: ms(limits::ORPHAN_MS),
            settle_within: ms(limits::SETTLE_WITHIN_MS),
            pre_drain: ms(limits::PRE_DRAIN_MS),
            drain: ms(limits::DRAIN_MS),
            stream_after: ms(limits::STREAM_AFTER_MS),
            task_after: ms(limits::TASK_AFTER_MS),
            task_lease: ms(limits::TASK_LEASE_MS),
            stream_comment: ms(limits::STREAM_COMMENT_MS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_fit_together() {
        let timings = Timings::default();
        assert!(timings.heartbeat * 2 < timings.lease);
        assert!(timings.ping_interval * 2 < timings.silence_timeout);
        assert!(timings.call_deadline <= timings.call_deadline_max);
        assert!(timings.displace_wait < timings.register_deadline);
    }
}
