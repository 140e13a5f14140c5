//! What an app asks for with `input_required`, and which capabilities that needs (MCP 2026-07-28
//! "Multi Round-Trip Requests").

use std::collections::HashSet;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::json::{self, Json, JsonError, Text};
use crate::mcp::error::RpcError;
use crate::mcp::message::string;

/// The `resultType` by which an app asks.
pub const INPUT_REQUIRED: &str = "input_required";

/// What an app asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// In the app's order.
    pub requests: Vec<InputRequest>,
    /// `requestState`, verbatim.
    pub state: Option<Json>,
}

/// One entry of `inputRequests`.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// The app's name for it; unique among those of a round.
    pub key: String,
    /// What it asks for.
    pub kind: Kind,
    /// Its params, verbatim.
    pub params: Option<Json>,
}

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `elicitation/create` by a form.
    Form,
    /// `elicitation/create` by a URL.
    Url,
    /// `sampling/createMessage`.
    Sampling {
        /// The model may use tools.
        tools: bool,
    },
    /// `roots/list`.
    Roots,
}

impl Kind {
    /// The method of the request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Form | Kind::Url => "elicitation/create",
            Kind::Sampling { .. } => "sampling/createMessage",
            Kind::Roots => "roots/list",
        }
    }

    /// The capability that an agent must have declared, and the part of it.
    const fn capability(self) -> (&'static str, Option<&'static str>) {
        match self {
            Kind::Form => ("elicitation", Some("form")),
            Kind::Url => ("elicitation", Some("url")),
            Kind::Sampling { tools: true } => ("sampling", Some("tools")),
            Kind::Sampling { tools: false } => ("sampling", None),
            Kind::Roots => ("roots", None),
        }
    }
}

/// The members of a result that say what is asked for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    input_requests: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    request_state: Option<&'a RawValue>,
}

impl Asked {
    /// What an app's result asks for; `None` if it asks for nothing.
    ///
    /// # Errors
    /// -32603 if the result cannot be read, or asks in a way that MCP does not have.
    pub fn in_result(result: &Bytes) -> Result<Option<Asked>, RpcError> {
        if !may_ask(result) {
            return Ok(None);
        }
        let unusable = |error: JsonError| {
            RpcError::app_fault(format!("The application's result cannot be used: {error}"))
        };
        let text = Text::new(result.clone()).map_err(unusable)?;
        let members: Members<'_> = text.read().map_err(unusable)?;
        if members.result_type.and_then(string).as_deref() != Some(INPUT_REQUIRED) {
            return Ok(None);
        }
        Asked::read(&text, members.input_requests, members.request_state).map(Some)
    }

    /// Reads `inputRequests` and `requestState` of a result.
    ///
    /// # Errors
    /// -32603 if they are not what MCP says, or both are missing.
    pub(in crate::mcp) fn read(
        text: &Text,
        requests: Option<&RawValue>,
        state: Option<&RawValue>,
    ) -> Result<Asked, RpcError> {
        if requests.is_none() && state.is_none() {
            return Err(RpcError::app_fault(
                "The application asked for input, and neither said what nor gave a state",
            ));
        }
        let state = state.map(|state| text.part(state));
        if state.as_ref().is_some_and(|state| !state.is_string()) {
            return Err(RpcError::app_fault(
                "The application's requestState is no string",
            ));
        }
        let requests = requests.map(|requests| text.part(requests));
        let requests = match &requests {
            None => Vec::new(),
            Some(requests) => read_requests(requests).map_err(|_| unknown())?,
        };
        Ok(Asked { requests, state })
    }

    /// The client capabilities that these requests need together.
    #[must_use]
    pub fn required(&self) -> Map<String, Value> {
        let mut required = Map::new();
        for request in &self.requests {
            let (name, part) = request.kind.capability();
            let entry = required.entry(name).or_insert_with(|| json!({}));
            if let Some(part) = part {
                entry[part] = json!({});
            }
        }
        required
    }
}

/// An app asked for input in answer to a method whose results cannot.
pub(in crate::mcp) fn not_allowed() -> RpcError {
    RpcError::app_fault(
        "The application asked for input in answer to a method that does not allow it",
    )
}

/// Whether it is worth reading a result to see whether it asks: most do not, and some are large.
fn may_ask(result: &[u8]) -> bool {
    // The letters may be written as escapes.
    std::str::from_utf8(result).map_or(true, |text| {
        text.contains(INPUT_REQUIRED) || text.contains("\\u")
    })
}

fn unknown() -> RpcError {
    RpcError::app_fault("The application asked for input that MCP does not have")
}

fn read_requests(requests: &Json) -> Result<Vec<InputRequest>, JsonError> {
    let mut keys = HashSet::new();
    let mut read = Vec::new();
    for (key, raw) in requests.members()? {
        let key = key.into_owned();
        if !keys.insert(key.clone()) {
            return Err(JsonError::Duplicate(key));
        }
        read.push(read_request(key, &requests.part(raw))?);
    }
    Ok(read)
}

fn read_request(key: String, request: &Json) -> Result<InputRequest, JsonError> {
    #[derive(Deserialize)]
    struct Request<'a> {
        method: String,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        #[serde(borrow, default)]
        mode: Option<&'a RawValue>,
        #[serde(borrow, default)]
        tools: Option<&'a RawValue>,
        #[serde(borrow, default)]
        tool_choice: Option<&'a RawValue>,
    }
    let asked: Request<'_> = request.read()?;
    let raw = asked.params.map(|params| request.part(params));
    let params: Params<'_> = match &raw {
        Some(params) => params.read()?,
        None => Params::default(),
    };
    let kind = match (asked.method.as_str(), params.mode.map(string)) {
        ("roots/list", _) => Kind::Roots,
        ("sampling/createMessage", _) => Kind::Sampling {
            tools: params.tools.is_some() || params.tool_choice.is_some(),
        },
        ("elicitation/create", None) => Kind::Form,
        ("elicitation/create", Some(mode)) => match mode.as_deref() {
            Some("form") => Kind::Form,
            Some("url") => Kind::Url,
            _ => return Err(JsonError::Shape("another mode of elicitation".to_owned())),
        },
        _ => return Err(JsonError::Shape("another method".to_owned())),
    };
    Ok(InputRequest {
        key,
        kind,
        params: raw,
    })
}

#[cfg(test)]
mod tests;
