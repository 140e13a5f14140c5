//! The agent endpoint, `/mcp`: MCP of both eras (SPEC.md §5).
//!
//! Each check stands where its order puts it; what they let through is handed on.

mod batch;
mod call;
mod get_stream;
mod input;
mod legacy;
mod listen;
mod lists;
mod stream;

use std::sync::Arc;

use clientmcp_core::mcp::accept::{Accept, check_content_type};
use clientmcp_core::mcp::cors;
use clientmcp_core::mcp::error::RpcError;
use clientmcp_core::mcp::inbound::{self, Inbound};
use clientmcp_core::mcp::method::Method;
use clientmcp_core::mcp::request::Request;
use clientmcp_core::mcp::version::Era;
use clientmcp_core::token::CallGrant;
use http::HeaderMap;
use hyper::body::Incoming;

use crate::answer::Answer;
use crate::authorize;
use crate::body::Response;
use crate::gateway::{Gateway, unix_seconds};
use crate::refusal;
use crate::request_body::Share;
use crate::respond;
use crate::tasks;

/// What every handler of a POST needs. There is none without a grant.
struct Asking {
    gateway: Arc<Gateway>,
    grant: CallGrant,
    headers: Arc<HeaderMap>,
    accept: Accept,
    /// Of the body, parts of which go on with calls.
    share: Share,
}

/// Answers a request whose Host and Origin are allowed, and which is no preflight.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    request: http::Request<Incoming>,
) -> Result<Response, RpcError> {
    let (head, body) = request.into_parts();
    let mut asked = Asked::Unreadable;
    let answered = match head.method {
        http::Method::POST => post(gateway, head.headers, body, &mut asked).await,
        http::Method::GET => {
            asked = Asked::Legacy("stream");
            get_stream::answer(gateway, &head.headers).await
        }
        http::Method::DELETE => {
            asked = Asked::Legacy("delete");
            legacy::end(gateway, &head.headers).await
        }
        _ => Err(RpcError::method_not_allowed(cors::ALLOW)),
    };
    let status = match &answered {
        Ok(response) => response.status(),
        Err(error) => error.status,
    };
    let (method, era) = asked.labels();
    gateway.metrics.answered(method, era, status);
    answered
}

async fn post(
    gateway: &Arc<Gateway>,
    headers: HeaderMap,
    body: Incoming,
    asked: &mut Asked,
) -> Result<Response, RpcError> {
    let grant = authorize::call(gateway, &headers)?;
    check_content_type(&headers)?;
    let accept = Accept::read(&headers)?;
    let (body, share) = gateway.bodies.read(body, &gateway.closing).await?;
    let inbound = inbound::receive(&headers, body, &gateway.sessions, &grant, unix_seconds())?;
    *asked = Asked::of(&inbound);
    let asking = Asking {
        gateway: gateway.clone(),
        grant,
        headers: Arc::new(headers),
        accept,
        share,
    };
    match inbound {
        Inbound::Request(request) => asking.request(Arc::from(request)).await,
        Inbound::Initialize(initialize) => legacy::initialize(&asking, &initialize).await,
        Inbound::Batch(session, entries) => batch::answer(&asking, &session, entries).await,
        // A notice of a modern agent has nothing to act on.
        Inbound::Notice(None, _) => Ok(refusal::accepted()),
        Inbound::Notice(Some(session), notice) => {
            legacy::notice(&asking, &session, notice).await?;
            Ok(refusal::accepted())
        }
        Inbound::Response(session, response) => {
            input::answer(&asking, &session, &response).await?;
            Ok(refusal::accepted())
        }
    }
}

impl Asking {
    /// Answers one request of either era.
    async fn request(&self, request: Arc<Request>) -> Result<Response, RpcError> {
        if request.method == Method::Listen {
            return listen::answer(self, &request).await;
        }
        if let Some(answer) = self.answer_here(&request).await {
            return Ok(respond::deliver(answer, self.accept));
        }
        Ok(respond::respond(call::of(self, &request), self.accept).await)
    }

    /// The answer to one request of a batch; `None` if there is none.
    async fn entry(&self, request: Arc<Request>) -> Option<Answer> {
        if let Some(answer) = self.answer_here(&request).await {
            return Some(answer);
        }
        respond::collect(call::of(self, &request)).await
    }

    /// The answer to a request that needs no app; `None` for those that do.
    async fn answer_here(&self, request: &Request) -> Option<Answer> {
        if request.method.is_call() {
            return None;
        }
        if let Some(answer) = tasks::answer(&self.gateway, &self.grant, request).await {
            return Some(answer);
        }
        match legacy::change(self, request).await {
            Some(answer) => Some(answer),
            None => lists::answer(self, request).await,
        }
    }
}

/// What a request was, for the metrics.
enum Asked {
    /// It was refused before that was known.
    Unreadable,
    Legacy(&'static str),
    Modern(&'static str),
}

impl Asked {
    fn of(inbound: &Inbound) -> Self {
        match inbound {
            Inbound::Request(request) => match request.era() {
                Era::Legacy => Self::Legacy(request.method.as_str()),
                Era::Modern => Self::Modern(request.method.as_str()),
            },
            Inbound::Initialize(_) => Self::Legacy(Method::Initialize.as_str()),
            Inbound::Batch(..) => Self::Legacy("batch"),
            Inbound::Notice(None, _) => Self::Modern("notification"),
            Inbound::Notice(Some(_), _) => Self::Legacy("notification"),
            Inbound::Response(..) => Self::Legacy("response"),
        }
    }

    fn labels(&self) -> (&'static str, &'static str) {
        match self {
            Self::Unreadable => ("none", "none"),
            Self::Legacy(method) => (method, "legacy"),
            Self::Modern(method) => (method, "modern"),
        }
    }
}
