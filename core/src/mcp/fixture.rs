//! Requests and registrations for tests.

use bytes::Bytes;
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
    offer_of(tools, "[]", "{}", &rest.to_string())
}

/// What an app offers that registered this content of each kind.
pub(super) fn offer_of(tools: &str, prompts: &str, resources: &str, rest: &str) -> Offer {
    let content = |kind| {
        let text = match kind {
            Kind::Tools => tools,
            Kind::Prompts => prompts,
            Kind::Resources => resources,
            Kind::Rest => rest,
        };
        Bytes::copy_from_slice(text.as_bytes())
    };
    let hashes = Hashes::each(|kind| ContentHash::of(kind, &content(kind)));
    Offer::read(hashes, content).unwrap()
}

/// An app that has a name and nothing else.
pub(super) fn bare_offer() -> Offer {
    offer("[]", &json!({"serverInfo": {"name": "n", "version": "1"}}))
}

/// The value of a text that must be JSON.
pub(super) fn value(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}
