//! What goes into a [`super::Channel`] and what comes out of it.

use bytes::Bytes;

use crate::close::{Closing, Departure};
use crate::ids::{CallId, InstanceId};
use crate::json::Json;
use crate::mcp::version::Era;
use crate::message::Call;
use crate::registration::{ContentHash, Hashes, Kind};
use crate::token::BearerToken;

/// A call that a router asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRequest {
    /// The call as the app gets it; its deadline counts from when it is asked for.
    pub call: Call,
    /// Whose rules it follows when its router is lost.
    pub era: Era,
    /// Deliver to this instance alone.
    pub instance: Option<InstanceId>,
    /// The contents that the router checked it against.
    pub checked: Vec<(Kind, ContentHash)>,
    /// What a legacy cancel names.
    pub origin: Option<Origin>,
}

/// The agent's own name for a call: its legacy session and its request id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The session.
    pub session: String,
    /// The request id, verbatim: its JSON type counts.
    pub request_id: Json,
}

/// Why a call was not taken. It was not sent, and never will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No app is registered on this connection, or it takes no new calls any more.
    #[error("the app is not registered here")]
    Unavailable,
    /// Another instance serves than the one that is meant. For a call that was delivered before,
    /// nobody can say any more how it ended.
    #[error("another instance of the app serves")]
    OtherInstance,
    /// The app offers other contents than those that the router checked against.
    #[error("the registration has changed")]
    Stale,
    /// [`crate::limits::CALLS_IN_FLIGHT_PER_APP`] calls are in flight.
    #[error("too many calls are in flight")]
    TooManyCalls,
    /// [`crate::limits::QUEUE_BYTES_PER_CONNECTION`] bytes wait for the app.
    #[error("too many bytes wait for the app")]
    QueueFull,
    /// The encoded call exceeds [`crate::limits::MESSAGE_BYTES`].
    #[error("the call exceeds the message limit")]
    TooLarge,
    /// A call with this ID is in flight, or was answered.
    #[error("the call is known already")]
    Duplicate,
    /// It was cancelled before it arrived.
    #[error("the call was cancelled already")]
    Cancelled,
    /// It was delivered before to an app that remembers no calls: it must not run again.
    #[error("the app may have run the call before, and does not remember")]
    NotRepeatable,
}

/// What became of a call that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is in flight from here on, and has one [`Output::Answer`] to come.
    Begun,
    /// It was in flight here, or its answer was held: as [`super::Channel::attach`].
    Attached,
}

/// The one and last word on a call that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The app's result, verbatim.
    Result(Json),
    /// The app's JSON-RPC error object, verbatim.
    Error(Json),
    /// The connection ended, or the deadline passed, before a byte of the call left the outbox.
    NotDelivered,
    /// The connection ended while the call ran.
    Lost,
    /// A newer connection of the same instance took over, and the app remembers calls: the call is
    /// to be delivered again there.
    Moved,
    /// The app was asked again and has forgotten: nobody can say whether the call ran.
    Unknown,
    /// The deadline passed; the app was told to stop.
    TimedOut,
    /// It was cancelled; the app was told, unless it had not got the call yet.
    Cancelled,
}

/// A router asks for a call that this channel cannot give back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAttached {
    /// It was never taken here, or so long ago that it is forgotten.
    #[error("the call is not known")]
    Unknown,
    /// It was answered, and the answer is not kept.
    #[error("the call was answered already")]
    Answered,
}

/// What the store said to a [`ClaimInput`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The client ID is ours, and the former holder was given its time to let go.
    Taken,
    /// This instance has registered with a higher connection number already.
    Late,
    /// The store gave no answer.
    Unreachable,
}

/// Who takes a client ID away from this channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Successor {
    /// A newer connection of the same instance: the socket closes with 1000.
    SameInstance,
    /// Another instance: the socket closes with 4409, and its SDK stays away.
    OtherInstance,
}

/// A registration that was checked and now has to be claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimInput {
    /// The app's instance.
    pub instance: InstanceId,
    /// Its connection number.
    pub connection: u64,
    /// Whether an earlier connection of the instance still stands: then no other instance is
    /// displaced.
    pub moving: bool,
    /// Whether it remembers call IDs (`resume`).
    pub resume: bool,
    /// What it offers.
    pub hashes: Hashes,
    /// The content that came along: to be stored under its hash before the claim. Kinds that the
    /// app named by hash are missing; their content is known.
    pub contents: Vec<(Kind, ContentHash, Bytes)>,
    /// This connection holds the claim already: only the hashes are new.
    pub again: bool,
}

/// What a channel tells its driver, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The app named content by hash: look whether the cluster has it, and tell with
    /// [`super::Channel::handle_contents`].
    LookUp(Vec<(Kind, ContentHash)>),
    /// Store the contents, claim the client ID, let the former holder go, and tell with
    /// [`super::Channel::handle_claimed`].
    Claim(Box<ClaimInput>),
    /// The registration stands from here on: calls may come. Again after each further `register`,
    /// whether or not a hash has changed.
    Registered(Hashes),
    /// Verify the token and tell with [`super::Channel::handle_verified`].
    Verify(BearerToken),
    /// The call is on its way: from here on its loss is "unknown".
    Dispatched(CallId),
    /// `{progress, total?, message?}` of a call that wants it; values grow.
    Progress(CallId, Json),
    /// `{ttlMs?, pollIntervalMs?, statusMessage?}` of a call that may become a task: it does, or says
    /// more of the task that it has become.
    Task(CallId, Json),
    /// `{level, logger?, data}` of a call.
    Log(CallId, Json),
    /// A resource has changed: whoever watches it is to be told, with these params.
    ResourceUpdated {
        /// Its URI.
        uri: String,
        /// The params of the notification, verbatim.
        params: Json,
    },
    /// Look what is watched, and tell with [`super::Channel::handle_watched`].
    ListWatched,
    /// A message about a call that goes on could not be read, and was dropped; this is how it would
    /// have closed the connection. For logs.
    Misread(Closing),
    /// The last word on a call. Exactly one for each call that was taken.
    Answer(CallId, Outcome),
    /// The app is gone: give up its claim. Once, after all answers, as the last output; bytes may
    /// still have to be sent.
    Ended(Departure),
}

/// What goes to the socket, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transmit {
    /// A text frame.
    Text(Bytes),
    /// A WebSocket ping.
    Ping,
    /// The close frame. Nothing follows it: send it, read on until the peer's, then end the
    /// connection.
    Close(Closing),
}
