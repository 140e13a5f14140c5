//! A verdict on a call as the JSON-RPC response that says it.

use bytes::Bytes;
use clientmcp_core::json::Json;
use clientmcp_core::mcp::app_error;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::outcome::Reply;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::result;
use clientmcp_core::tool::RestContent;
use http::StatusCode;

use crate::body::Response;
use crate::refusal;
use crate::verdict::{Answered, Verdict};

/// A JSON-RPC response, and what HTTP says about it if nothing was said before.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The message.
    pub(crate) message: Bytes,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Status(StatusCode),
    /// A status that asks for headers.
    Error(RpcError),
}

impl Answer {
    /// A message with the status 200.
    pub(crate) fn ok(message: Bytes) -> Self {
        Self {
            message,
            kind: Kind::Status(StatusCode::OK),
        }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        match &self.kind {
            Kind::Status(status) => *status,
            Kind::Error(error) => error.status,
        }
    }

    /// The answer as a whole HTTP response.
    pub(crate) fn into_response(self) -> Response {
        match self.kind {
            Kind::Status(status) => refusal::json(status, self.message),
            Kind::Error(error) => refusal::error(&error),
        }
    }
}

impl From<RpcError> for Answer {
    fn from(error: RpcError) -> Self {
        Self {
            message: error.to_body(),
            kind: Kind::Error(error),
        }
    }
}

/// The answer to a call; `None` if nothing is to be answered.
pub(crate) fn of_call(request: &Request, answered: Answered) -> Option<Answer> {
    let known = answered.known.as_ref();
    let unknown = RestContent::default();
    let rest = known.map_or(&unknown, |known| &*known.offer.rest);
    Some(match answered.verdict {
        Verdict::Result(result) => of_result(request, result, rest),
        Verdict::Error(error) => of_app_error(request, error),
        Verdict::Failed(failure) => of_reply(request, failure.to_answer(request.method), rest),
        Verdict::Refused(reply) => of_reply(request, reply, rest),
        Verdict::Cancelled => return None,
    })
}

/// The answer with a result: the app's, or one of ours.
pub(crate) fn of_result(request: &Request, result: Bytes, rest: &RestContent) -> Answer {
    match result::respond(result, request, rest) {
        Ok(message) => Answer::ok(message),
        Err(error) => error.into(),
    }
}

fn of_reply(request: &Request, reply: Reply, rest: &RestContent) -> Answer {
    match reply {
        Reply::Result(result) => of_result(request, result.into_bytes(), rest),
        Reply::Error(error) => request.refuse(error).into(),
    }
}

fn of_app_error(request: &Request, error: Bytes) -> Answer {
    match Json::parse(error) {
        Ok(error) => {
            let (message, status) = app_error::respond(request, &error);
            Answer {
                message,
                kind: Kind::Status(status),
            }
        }
        Err(error) => {
            let message = format!("The application's error cannot be used: {error}");
            request.refuse(RpcError::app_fault(message)).into()
        }
    }
}
