//! A POST, from its body to what has to be done (SPEC.md §5.2 to §5.5).

use bytes::Bytes;
use http::HeaderMap;

use super::era;
use super::error::RpcError;
use super::legacy::{self, Initialize, Notice};
use super::message::{Incoming, Message, Response};
use super::modern;
use super::request::Request;
use super::session::{Session, SessionKeys};
use super::version::{Era, Version, VersionHeader};
use crate::token::CallGrant;

/// What an agent's POST asks for.
#[derive(Debug)]
pub enum Inbound {
    /// Answer this request.
    Request(Box<Request>),
    /// Begin a session, and answer with its ID in `Mcp-Session-Id`.
    Initialize(Initialize),
    /// Answer each of these with an array of responses, as JSON; 202 if none of them is answered.
    Batch(Session, Vec<Entry>),
    /// Answer 202. A notice of a modern agent has no session, and so nothing to act on.
    Notice(Option<Session>, Notice),
    /// Answer 202: this is the answer to a request of ours.
    Response(Session, Response),
}

/// One message of a batch.
#[derive(Debug)]
pub enum Entry {
    /// Answer this request.
    Request(Box<Request>),
    /// Answer with this error.
    Refused(RpcError),
    /// No answer.
    Notice(Notice),
    /// No answer.
    Response(Response),
}

/// Reads a POST whose headers allow a JSON body and an answer, of an agent with this right.
///
/// # Errors
/// As [`Incoming::parse`], [`modern::check`], [`legacy::session`] and [`legacy::check`] say; 400,
/// -32600 for a response in the modern era, and for a batch outside 2025-03-26 sessions or with
/// an `initialize` in it.
pub fn receive(
    headers: &HeaderMap,
    body: Bytes,
    keys: &SessionKeys,
    grant: &CallGrant,
    now_unix_s: u64,
) -> Result<Inbound, RpcError> {
    let session = || legacy::session(headers, keys, grant, now_unix_s);
    let message = match Incoming::parse(body)? {
        Incoming::One(message) => *message,
        Incoming::Batch(messages) => return receive_batch(headers, messages, session),
    };
    match (era::of(&message, headers), message) {
        (Era::Modern, Message::Request(request)) => {
            let request = modern::check(headers, request)?;
            Ok(Inbound::Request(Box::new(request)))
        }
        (Era::Modern, Message::Notification(_)) => Ok(Inbound::Notice(None, Notice::Other)),
        (Era::Modern, Message::Response(_)) => Err(RpcError::invalid_request(
            "Agents of this revision send no responses",
        )),
        (Era::Legacy, Message::Request(request)) if request.method == "initialize" => {
            Ok(Inbound::Initialize(legacy::initialize(request)))
        }
        (Era::Legacy, Message::Request(request)) => {
            let session = session().map_err(|error| error.for_request(&request.id))?;
            let request = legacy::check(headers, &session, request)?;
            Ok(Inbound::Request(Box::new(request)))
        }
        (Era::Legacy, Message::Notification(notification)) => {
            Ok(Inbound::Notice(Some(session()?), Notice::of(&notification)))
        }
        (Era::Legacy, Message::Response(response)) => Ok(Inbound::Response(session()?, response)),
    }
}

fn receive_batch(
    headers: &HeaderMap,
    messages: Vec<Message>,
    session: impl Fn() -> Result<Session, RpcError>,
) -> Result<Inbound, RpcError> {
    if VersionHeader::read(headers).is_modern() {
        return Err(no_batches(Version::MODERN));
    }
    let session = session()?;
    if session.version != Version::V2025_03_26 {
        return Err(no_batches(session.version));
    }
    let modern = |message: &Message| era::of(message, headers) == Era::Modern;
    let initializes = |message: &Message| matches!(message, Message::Request(request) if request.method == "initialize");
    if messages.iter().any(initializes) {
        return Err(RpcError::invalid_request("initialize cannot be in a batch"));
    }
    if messages.iter().any(modern) {
        return Err(no_batches(Version::MODERN));
    }
    let entry = |message| match message {
        Message::Request(request) => match legacy::check(headers, &session, request) {
            Ok(request) => Entry::Request(Box::new(request)),
            Err(error) => Entry::Refused(error),
        },
        Message::Notification(notification) => Entry::Notice(Notice::of(&notification)),
        Message::Response(response) => Entry::Response(response),
    };
    let entries = messages.into_iter().map(entry).collect();
    Ok(Inbound::Batch(session, entries))
}

fn no_batches(version: Version) -> RpcError {
    let message = format!("MCP {} has no batches", version.as_str());
    RpcError::invalid_request(message)
}

#[cfg(test)]
mod tests;
