//! Requests and registrations for tests.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Value, json};

use super::capability::Capabilities;
use super::message::RequestId;
use super::method::Method;
use super::offer::Offer;
use super::params::Params;
use super::request::Request;
use super::version::Version;
use crate::json::Json;
use crate::registration::{ContentHash, Hashes, Kind};
use crate::tool::{RestContent, ToolIndex};

/// A request with id 7 of an agent without capabilities.
pub(super) fn request(version: Version, method: Method, params: &Value) -> Request {
    Request {
        id: RequestId::parse("7").unwrap(),
        method,
        params: Params::read(Some(Json::of(params))).unwrap(),
        version,
        session: None,
        capabilities: Capabilities::default(),
        capabilities_json: Json::EMPTY_OBJECT,
        client_info: None,
        progress_token: None,
        log_level: None,
        trace: super::meta::Members::default().trace(&HeaderMap::new()),
    }
}

/// The same, of an agent that declares capabilities.
pub(super) fn capable(mut request: Request, declared: Value) -> Request {
    request.capabilities_json = Json::of(&declared);
    request.capabilities = Capabilities::declared(declared).unwrap();
    request
}

/// What an app offers that registered these tools and this rest.
pub(super) fn offer(tools: &str, rest: &Value) -> Offer {
    let rest_text = rest.to_string();
    let rest = RestContent::read(rest_text.clone().into()).unwrap();
    let content = tools.to_owned().into_bytes();
    Offer {
        hashes: Hashes::each(|kind| match kind {
            Kind::Tools => ContentHash::of(kind, &content),
            Kind::Rest => ContentHash::of(kind, rest_text.as_bytes()),
            Kind::Prompts | Kind::Resources => kind.empty_hash(),
        }),
        tools: Arc::new(ToolIndex::read(content.clone().into(), &rest).unwrap()),
        rest: Arc::new(rest),
    }
}

/// An app that has a name and nothing else.
pub(super) fn bare_offer() -> Offer {
    offer("[]", &json!({"serverInfo": {"name": "n", "version": "1"}}))
}

/// The value of a text that must be JSON.
pub(super) fn value(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}
